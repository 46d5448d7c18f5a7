"""Questions of runs to people, and requests of people to the engine: manual runs, stops."""

from __future__ import annotations

import json
import zlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum

from halo_scheduler.model import NO_DETAILS, JobSpec, Question, QuestionState, WaitingDetails, WaitingFor
from halo_scheduler.store.connection import Database, Row, Value
from halo_scheduler.store.job_lines import waiting_details_of, waiting_text

_COLUMNS = (
    *("id", "job_id", "run_id", "asked_at", "text", "state"),
    *("answer", "settled_at", "answer_run_id", "work_id"),
)
_NOT_IN_TRASH = "job_id IN (SELECT id FROM scheduler_jobs WHERE removed_at IS NULL)"
_SELECT = f"SELECT {', '.join(_COLUMNS)} FROM scheduler_questions"
_BY_HAND = "kind IN ('trigger', 'test', 'answer')"
_CHAIN_RUNS_BY_TURN = (
    "(SELECT *, row_number() OVER (PARTITION BY job_id ORDER BY at, seq) AS turn "
    "FROM scheduler_requests WHERE kind = 'chain')"
)


class QuestionTable:
    """Reads and writes questions."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def insert(self, questions: Iterable[Question]) -> None:
        """Store questions; those of deleted jobs are dropped."""
        self._database.run_many(
            f"INSERT INTO scheduler_questions ({', '.join(_COLUMNS)}) SELECT {', '.join('?' * len(_COLUMNS))} "
            "WHERE EXISTS (SELECT 1 FROM scheduler_jobs WHERE id = ?2)",
            [tuple(getattr(question, name) for name in _COLUMNS) for question in questions],
        )

    def get(self, question_id: str) -> Question | None:
        return self._one("WHERE id = ?", question_id)

    def of_run(self, run_id: str) -> Question | None:
        """Return the question of a run, or None."""
        return self._one("WHERE run_id = ?", run_id)

    def answered_by(self, run_id: str) -> Question | None:
        """Return the question whose answer a run was given."""
        return self._one("WHERE answer_run_id = ?", run_id)

    def open_ones(self, limit: int = -1) -> list[Question]:
        """Return the open questions, oldest first; those of jobs in the trash are left out."""
        return self._many(f"WHERE state = 'open' AND {_NOT_IN_TRASH} ORDER BY seq LIMIT ?", limit)

    def newest(self, limit: int) -> list[Question]:
        """Return questions in any state, newest first; those of jobs in the trash are left out."""
        return self._many(f"WHERE {_NOT_IN_TRASH} ORDER BY seq DESC LIMIT ?", limit)

    def asked_by_jobs(self) -> dict[str, str]:
        """Return the oldest open question of each job that has one."""
        rows = self._database.rows(
            "SELECT job_id, text FROM scheduler_questions INDEXED BY scheduler_questions_open "
            "WHERE state = 'open' ORDER BY seq DESC"
        )
        return dict(rows)

    def settle(
        self,
        question_id: str,
        state: QuestionState,
        settled_at: int,
        *,
        answer: str = "",
        answer_run_id: str | None = None,
    ) -> bool:
        """Close an open question; return whether it was open."""
        self._database.rows(
            "UPDATE scheduler_questions SET state = ?, settled_at = ?, answer = ?, answer_run_id = ? "
            "WHERE id = ? AND state = 'open'",
            [state, settled_at, answer, answer_run_id, question_id],
        )
        return self._database.changes() == 1

    def reword(self, question_id: str, text: str) -> None:
        """Change the text of a question that is still open."""
        self._database.rows(
            "UPDATE scheduler_questions SET text = ? WHERE id = ? AND state = 'open'", [text, question_id]
        )

    def reopen(self, answer_run_id: str) -> Question | None:
        """Reopen the question whose answer no run will get; return it, or None."""
        question = self.answered_by(answer_run_id)
        if question is None:
            return None
        self._database.rows(
            "UPDATE scheduler_questions SET state = 'open', settled_at = NULL, answer = '', answer_run_id = NULL "
            "WHERE id = ?",
            [question.id],
        )
        return self.get(question.id)

    def take_back(self, question_id: str) -> bool:
        """Reopen a dismissed question; return whether it was dismissed."""
        self._database.rows(
            "UPDATE scheduler_questions SET state = 'open', settled_at = NULL WHERE id = ? AND state = 'dismissed'",
            [question_id],
        )
        return self._database.changes() == 1

    def _one(self, condition: str, value: str) -> Question | None:
        row = self._database.row(f"{_SELECT} {condition}", [value])
        return None if row is None else _question_of(row)

    def _many(self, condition: str, *values: int) -> list[Question]:
        return [_question_of(row) for row in self._database.rows(f"{_SELECT} {condition}", values)]


def _question_of(row: Row) -> Question:
    values = dict(zip(_COLUMNS, row, strict=True))
    values["state"] = QuestionState(values["state"])
    return Question(**values)


class RequestKind(StrEnum):
    """What a request asks for."""

    TRIGGER = "trigger"
    TEST = "test"
    ANSWER = "answer"
    CHAIN = "chain"
    TEST_UNDER_WAY = "test-under-way"
    SNOOZED = "snoozed"
    """A manual run that starts no earlier than `at`."""
    CANCEL = "cancel"
    REFRESH = "refresh"


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """A request; the requester chooses the id of the future run, so that it can wait for it."""

    kind: RequestKind
    job_id: str
    run_id: str
    at: int
    payload: str = ""
    """The edited job that a test run tries; the run that causes a chain run; the assistant that asks for a run."""
    waiting_for: WaitingFor | None = None
    waiting_details: WaitingDetails = NO_DETAILS
    waits_until: int | None = None
    passes_group: bool = False
    """Whether it may start although the limit of its job's group is reached."""
    parameters: Mapping[str, str] = field(default_factory=dict, hash=False)
    """The values that were given; the others have their defaults when the run starts."""
    input_bytes: int = 0
    """The size of its input, which is read with `take_input`."""

    @property
    def spec(self) -> JobSpec | None:
        """The edited job of a test run; None if it cannot be read."""
        try:
            return JobSpec.from_dict(json.loads(self.payload))
        except ValueError:
            return None


def _request_of(row: Row) -> Request:
    kind, job_id, run_id, at, payload, waiting_for, details, waits_until = row[:8]
    passes_group, parameters, input_bytes = row[8:]
    return Request(
        kind=RequestKind(kind),
        job_id=job_id,
        run_id=run_id,
        at=at,
        payload=payload,
        waiting_for=waiting_for and WaitingFor(waiting_for),
        waiting_details=waiting_details_of(details),
        waits_until=waits_until,
        passes_group=bool(passes_group),
        parameters={} if parameters == "{}" else json.loads(parameters),
        input_bytes=input_bytes,
    )


class RequestTable:
    """Reads and writes requests."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def append(self, request: Request, content: bytes = b"") -> None:
        """Store a request; `content` is the input of its run."""
        self._database.rows(
            "INSERT INTO scheduler_requests "
            "(kind, job_id, run_id, at, payload, passes_group, parameters, input_bytes, input) "
            "VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
            [
                *(request.kind, request.job_id, request.run_id, request.at, request.payload),
                int(request.passes_group),
                json.dumps(dict(request.parameters), ensure_ascii=False),
                *(len(content), zlib.compress(content) if content else None),
            ],
        )

    def take_input(self, request: Request) -> None:
        """Move the input of a request to its run, which is written in the same transaction."""
        if request.input_bytes:
            self._database.rows(
                "INSERT INTO scheduler_run_input (run_id, total_bytes, stored_bytes, content) "
                "SELECT run_id, input_bytes, length(input), input FROM scheduler_requests "
                "WHERE kind = ? AND run_id = ?",
                [request.kind, request.run_id],
            )

    def append_chain_runs(self, requests: Sequence[Request]) -> None:
        """Request chain runs; at most one per run and next job, ever."""
        self._database.run_many(
            "INSERT OR IGNORE INTO scheduler_requests (kind, job_id, run_id, at, payload) "
            "SELECT 'chain', ?1, ?2, ?3, ?4 WHERE NOT EXISTS "
            "(SELECT 1 FROM scheduler_run_log WHERE caused_by = ?4 AND job_id = ?1)",
            [(request.job_id, request.run_id, request.at, request.payload) for request in requests],
        )

    def save_waiting(self, requests: Sequence[Request]) -> None:
        """Write what chain runs wait for."""
        self._database.run_many(
            "UPDATE scheduler_requests SET waiting_for = ?, waiting_details = ?, waits_until = ? "
            "WHERE kind = 'chain' AND run_id = ?",
            [
                (
                    request.waiting_for,
                    waiting_text(request.waiting_details),
                    request.waits_until,
                    request.run_id,
                )
                for request in requests
            ],
        )

    def wake_snoozed(self, now_ms: int) -> None:
        """Turn what was snoozed until now into manual runs."""
        self._database.rows(
            "UPDATE scheduler_requests SET kind = 'trigger' WHERE kind = 'snoozed' AND at <= ?", [now_ms]
        )

    def mark_waiting(self) -> list[str]:
        """Mark the manual runs that could not start as waiting for the limit; return their jobs."""
        rows = self._database.rows(
            "UPDATE scheduler_requests SET waiting_for = 'at_capacity' "
            "WHERE kind = 'trigger' AND waiting_for IS NULL RETURNING job_id"
        )
        return [job_id for (job_id,) in rows]

    def let_pass(self, job_id: str) -> str | None:
        """Let a job's waiting manual run ignore its group's limit; return the run's id, or None."""
        row = self._database.row(
            "UPDATE scheduler_requests SET passes_group = 1 WHERE kind = 'trigger' AND job_id = ? "
            "RETURNING run_id",
            [job_id],
        )
        return None if row is None else str(row[0])

    def withdraw_chain_run(self, run_id: str) -> Request | None:
        """Withdraw a chain run that has not started; return it, or None."""
        found = next((request for request in self.chain_runs() if request.run_id == run_id), None)
        if found is not None:
            self.close(found)
        return found

    def triggers(self, limit: int = -1) -> list[Request]:
        """Return the requested manual runs and test runs, oldest first."""
        return self._select(_BY_HAND, limit=limit)

    def others(self) -> list[Request]:
        """Return all other requests, oldest first."""
        return self._select("kind IN ('cancel', 'refresh')")

    def chain_runs(self, limit: int = -1) -> list[Request]:
        """Return the waiting chain runs, ordered by the end of the run that caused them."""
        return self._select("kind = 'chain'", limit=limit, order="at, seq")

    def chain_runs_in_turn(self) -> list[Request]:
        """Return the waiting chain runs, without those known to wait for an earlier run of their job.

        These wait because their job runs, or because another of its chain runs comes first. Thousands may pile up
        behind a slow job.
        """
        return self._select(
            "waiting_for IS NOT 'previous_run' OR NOT EXISTS (SELECT 1 FROM scheduler_jobs AS job "
            "WHERE job.id = job_id AND job.removed_at IS NULL AND (job.run_id IS NOT NULL OR turn > 1))",
            table=_CHAIN_RUNS_BY_TURN,
            order="at, seq",
        )

    def chain_runs_behind(self, job_ids: Iterable[str]) -> list[Request]:
        """Return the chain runs of some jobs that wait for an earlier run."""
        return self._select(
            "kind = 'chain' AND waiting_for = 'previous_run' AND job_id IN (SELECT value FROM json_each(?))",
            json.dumps(list(job_ids)),
            order="at, seq",
        )

    def tests_under_way(self) -> dict[str, JobSpec]:
        """Return the edited jobs of active test runs, by run."""
        found = ((request.run_id, request.spec) for request in self._select("kind = 'test-under-way'"))
        return {run_id: spec for run_id, spec in found if spec is not None}

    def _select(
        self,
        which: str,
        *values: Value,
        limit: int = -1,
        table: str = "scheduler_requests",
        order: str = "seq",
    ) -> list[Request]:
        if self._database.row("SELECT 1 FROM scheduler_requests LIMIT 1") is None:
            return []  # As at most ticks, which ask three times: this is the quickest way to know.
        rows = self._database.rows(
            "SELECT kind, job_id, run_id, at, payload, waiting_for, waiting_details, waits_until, passes_group, "
            "parameters, input_bytes "
            f"FROM {table} WHERE {which} ORDER BY {order} LIMIT ?",
            [*values, limit],
        )
        return [_request_of(row) for row in rows]

    def has_trigger(self, job_id: str) -> bool:
        """Return whether a manual run or a test run is already requested."""
        return bool(
            self._database.rows(
                f"SELECT 1 FROM scheduler_requests WHERE {_BY_HAND} AND job_id = ? LIMIT 1", [job_id]
            )
        )

    def withdraw_trigger(self, run_id: str) -> bool:
        """Withdraw a manual run that has not started; return whether there was one."""
        self._database.rows(f"DELETE FROM scheduler_requests WHERE {_BY_HAND} AND run_id = ?", [run_id])
        return self._database.changes() == 1

    def begin_test(self, run_id: str) -> None:
        """Store what a test run runs until it ends, in case another engine takes over."""
        self._database.rows(
            "UPDATE scheduler_requests SET kind = 'test-under-way' WHERE kind = 'test' AND run_id = ?",
            [run_id],
        )

    def end_tests(self, run_ids: Sequence[str]) -> None:
        self._database.run_many(
            "DELETE FROM scheduler_requests WHERE kind = 'test-under-way' AND run_id = ?",
            [(run_id,) for run_id in run_ids],
        )

    def close(self, request: Request) -> None:
        self._database.rows(
            "DELETE FROM scheduler_requests WHERE kind = ? AND run_id = ?", [request.kind, request.run_id]
        )
