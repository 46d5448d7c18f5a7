"""Requests to the engine: manual runs, stops, and runs requested by other runs and events."""

from __future__ import annotations

import json
import zlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum

from halo_scheduler.model import NO_DETAILS, JobSpec, Run, WaitingDetails, WaitingFor
from halo_scheduler.store.connection import Database, Row, Value
from halo_scheduler.store.job_lines import waiting_details_of, waiting_text

_BY_HAND = "kind IN ('trigger', 'test', 'answer')"
# An event may start later, after a delay, a retry or a back-off.
_QUEUED = "kind IN ('chain', 'event') AND (kind = 'chain' OR at <= ?)"
_QUEUED_BY_TURN = (
    "(SELECT *, row_number() OVER (PARTITION BY job_id ORDER BY at, seq) AS turn "
    f"FROM scheduler_requests WHERE {_QUEUED})"
)


class RequestKind(StrEnum):
    """What a request asks for."""

    TRIGGER = "trigger"
    TEST = "test"
    ANSWER = "answer"
    CHAIN = "chain"
    EVENT = "event"
    """A run that an event starts at `at` or later."""
    TEST_UNDER_WAY = "test-under-way"
    LATER = "later"
    """A manual run that starts at `at` or later, once its job is not running."""
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
    event_id: str | None = None
    """The event that starts the run; `attempt` counts its retries."""
    attempt: int = 1
    schedule_key: str = ""
    """The key of the event among the job's schedules."""
    folded: int = 0
    """How many later events were folded into this one."""

    @property
    def spec(self) -> JobSpec | None:
        """The edited job of a test run; None if it cannot be read."""
        try:
            return JobSpec.from_dict(json.loads(self.payload))
        except ValueError:
            return None


def _request_of(row: Row) -> Request:
    kind, job_id, run_id, at, payload, waiting_for, details, waits_until = row[:8]
    passes_group, parameters, input_bytes, event_id, attempt, schedule_key, folded = row[8:]
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
        event_id=event_id,
        attempt=attempt,
        schedule_key=schedule_key,
        folded=folded,
    )


def _given(request: Request, content: bytes) -> tuple[Value, ...]:
    """Return the columns with parameters and input."""
    values = json.dumps(dict(request.parameters), ensure_ascii=False)
    return values, len(content), zlib.compress(content) if content else None


class RequestTable:
    """Reads and writes requests."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def append(self, request: Request, content: bytes = b"") -> None:
        """Store a request; `content` is the input of its run."""
        self._database.rows(
            "INSERT INTO scheduler_requests "
            "(kind, job_id, run_id, at, payload, passes_group, parameters, input_bytes, input, "
            "event_id, attempt, schedule_key) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
            [
                *(request.kind, request.job_id, request.run_id, request.at, request.payload),
                int(request.passes_group),
                *_given(request, content),
                *(request.event_id, request.attempt, request.schedule_key),
            ],
        )

    def take_input(self, request: Request) -> None:
        """Move the input of a request to its run, which is written in the same transaction."""
        if request.input_bytes:
            self._database.rows(
                "INSERT INTO scheduler_run_input (run_id, total_bytes, stored_bytes, content) "
                "SELECT run_id, input_bytes, length(input), input FROM scheduler_requests "
                "WHERE kind = ? AND run_id = ? AND input IS NOT NULL",
                [request.kind, request.run_id],
            )

    def has_lost_input(self, request: Request) -> bool:
        """Return whether the input of a retry had been deleted when the retry was requested.

        It may have been pruned, and backups have no input of started runs.
        """
        if request.attempt == 1 or not request.input_bytes:
            return False
        condition, values = "kind = ? AND run_id = ? AND input IS NULL", [request.kind, request.run_id]
        return self._database.row(f"SELECT 1 FROM scheduler_requests WHERE {condition}", values) is not None

    def append_chain_runs(self, requests: Sequence[Request]) -> None:
        """Request chain runs; at most one per run and next job, ever."""
        self._database.run_many(
            "INSERT OR IGNORE INTO scheduler_requests (kind, job_id, run_id, at, payload) "
            "SELECT 'chain', ?1, ?2, ?3, ?4 WHERE NOT EXISTS "
            "(SELECT 1 FROM scheduler_run_log WHERE caused_by = ?4 AND job_id = ?1)",
            [(request.job_id, request.run_id, request.at, request.payload) for request in requests],
        )

    def save_waiting(self, requests: Sequence[Request]) -> None:
        """Store what queued runs wait for."""
        self._database.run_many(
            "UPDATE scheduler_requests SET waiting_for = ?, waiting_details = ?, waits_until = ? "
            "WHERE kind IN ('chain', 'event') AND run_id = ?",
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

    def mark_waiting(self, now_ms: int) -> list[str]:
        """Mark the manual runs that could not start as waiting for the limit; return their jobs."""
        rows = self._database.rows(
            "UPDATE scheduler_requests SET waiting_for = 'at_capacity' "
            "WHERE (kind = 'trigger' OR (kind = 'later' AND at <= ?)) AND waiting_for IS NULL RETURNING job_id",
            [now_ms],
        )
        return [job_id for (job_id,) in rows]

    def let_pass(self, job_id: str) -> str | None:
        """Make a job's waiting manual run or answer ignore its group's limit; return the run's id, or None."""
        row = self._database.row(
            "UPDATE scheduler_requests SET passes_group = 1 WHERE kind IN ('trigger', 'answer', 'later') "
            "AND job_id = ? AND (kind <> 'later' OR waiting_for IS NOT NULL) RETURNING run_id",
            [job_id],
        )
        return None if row is None else str(row[0])

    def find_queued(self, run_id: str) -> Request | None:
        """Return the request of a chain run or of the run of an event; None if there is none."""
        found = self._select("kind IN ('chain', 'event') AND run_id = ?", run_id)
        return found[0] if found else None

    def triggers(self, now_ms: int = 0, limit: int = -1) -> list[Request]:
        """Return the requested manual and test runs that are due, oldest first."""
        return self._select(f"{_BY_HAND} OR (kind = 'later' AND at <= ?)", now_ms, limit=limit)

    def later(self, now_ms: int) -> list[Request]:
        """Return the manual runs planned for a time after now, earliest first."""
        return self._select("kind = 'later' AND at > ?", now_ms, order="at, seq")

    def count_later(self, job_id: str) -> int:
        """Return how many planned manual runs of a job have not started."""
        row = self._database.row(
            "SELECT count(*) FROM scheduler_requests WHERE kind = 'later' AND job_id = ?", [job_id]
        )
        return 0 if row is None else int(row[0])

    def others(self) -> list[Request]:
        """Return all other requests, oldest first."""
        return self._select("kind IN ('cancel', 'refresh')")

    def queued(self, now_ms: int) -> list[Request]:
        """Return the due requests of other runs and events, longest wait first."""
        return self._select(_QUEUED, now_ms, order="at, seq")

    def queued_of_job(self, job_id: str) -> list[Request]:
        """Return the requests of other runs and events for a job, including those planned for later."""
        return self._select("kind IN ('chain', 'event') AND job_id = ?", job_id, order="at, seq")

    def queued_in_turn(self, now_ms: int) -> list[Request]:
        """Return the due queued runs, without those known to wait for an earlier run of their job.

        A run waits while its job is running, or while another queued run of the job comes first. Thousands may pile up
        behind a slow job.
        """
        return self._select(
            "waiting_for IS NOT 'previous_run' OR NOT EXISTS (SELECT 1 FROM scheduler_jobs AS job "
            "WHERE job.id = job_id AND job.removed_at IS NULL AND (job.run_id IS NOT NULL OR turn > 1))",
            now_ms,
            table=_QUEUED_BY_TURN,
            order="at, seq",
        )

    def queued_behind(self, job_ids: Iterable[str], now_ms: int) -> list[Request]:
        """Return the queued runs of some jobs that wait for an earlier run."""
        return self._select(
            f"{_QUEUED} AND waiting_for = 'previous_run' AND job_id IN (SELECT value FROM json_each(?))",
            now_ms,
            json.dumps(list(job_ids)),
            order="at, seq",
        )

    # --- Events --------------------------------------------------------------------------------------

    def events(self) -> list[Request]:
        """Return the waiting events, ordered by earliest start."""
        return self._select("kind = 'event'", order="at, seq")

    def find_event(self, event_id: str) -> str | None:
        """Return the id of an event's run, requested or recorded; None if there is none."""
        row = self._database.row(
            "SELECT run_id FROM scheduler_requests WHERE event_id = ?1 "
            "UNION ALL SELECT id FROM scheduler_run_log WHERE event_id = ?1 LIMIT 1",
            [event_id],
        )
        return None if row is None else str(row[0])

    def waiting_event(self, event_id: str) -> Request | None:
        """Return the waiting request for an event's run or its retry; None if there is none."""
        found = self._select("kind = 'event' AND event_id = ?", event_id, limit=1)
        return found[0] if found else None

    def is_waiting(self, job_id: str, run_id: str) -> bool:
        """Return whether a run of a job is requested and has not started."""
        row = self._database.row(
            "SELECT 1 FROM scheduler_requests WHERE run_id = ? AND job_id = ? AND kind = 'event'",
            [run_id, job_id],
        )
        return row is not None

    def count_events(self, job_id: str, key: str) -> int:
        """Return how many events of one schedule of a job are waiting."""
        row = self._database.row(
            "SELECT count(*) FROM scheduler_requests WHERE kind = 'event' AND job_id = ? AND schedule_key = ?",
            [job_id, key],
        )
        return 0 if row is None else int(row[0])

    def last_event(self, job_id: str, key: str) -> Request | None:
        """Return the last accepted event of one schedule of a job, ignoring retries."""
        found = self._select(
            "kind = 'event' AND job_id = ? AND schedule_key = ? AND attempt = 1",
            job_id,
            key,
            limit=1,
            order="seq DESC",
        )
        return found[0] if found else None

    def fold_event(self, run_id: str) -> None:
        """Count one more event as folded into a waiting one."""
        self._database.rows(
            "UPDATE scheduler_requests SET folded = folded + 1 WHERE kind = 'event' AND run_id = ?", [run_id]
        )

    def event_input(self, run_id: str) -> bytes:
        """Return the input of a waiting event."""
        row = self._database.row(
            "SELECT input FROM scheduler_requests WHERE kind = 'event' AND run_id = ?", [run_id]
        )
        return b"" if row is None or row[0] is None else zlib.decompress(row[0])

    def save_event_input(self, run_id: str, content: bytes) -> None:
        """Replace the input of a waiting event."""
        self._database.rows(
            "UPDATE scheduler_requests SET input_bytes = ?, input = ? WHERE kind = 'event' AND run_id = ?",
            [len(content), zlib.compress(content), run_id],
        )

    def replace_event(self, run_id: str, request: Request, content: bytes) -> None:
        """Replace a waiting event with a newer one, and count the old one as folded."""
        self._database.rows(
            "UPDATE scheduler_requests SET folded = folded + 1, at = ?, event_id = ?, "
            "parameters = ?, input_bytes = ?, input = ? WHERE kind = 'event' AND run_id = ?",
            [request.at, request.event_id, *_given(request, content), run_id],
        )

    def append_retry(self, run: Run, run_id: str, at: int) -> None:
        """Request the next attempt of an event's ended run, with the same parameters and input."""
        self._database.rows(
            "INSERT INTO scheduler_requests (kind, job_id, run_id, at, payload, parameters, input_bytes, input, "
            "event_id, attempt, schedule_key) VALUES ('event', ?, ?, ?, '', ?, ?, "
            "(SELECT content FROM scheduler_run_input WHERE run_id = ?), ?, ?, ?)",
            [
                *(run.job_id, run_id, at),
                json.dumps(dict(run.parameters), ensure_ascii=False),
                *(run.input_bytes, run.id),
                *(run.event_id, run.attempt + 1, ",".join(run.schedule_keys)),
            ],
        )

    def put_off_events(self, job_id: str, until: int) -> None:
        """Delay the waiting events of a job to an instant at the earliest; retries keep their time."""
        self._database.rows(
            "UPDATE scheduler_requests SET at = max(at, ?) WHERE kind = 'event' AND job_id = ? AND attempt = 1",
            [until, job_id],
        )

    def shift_events(self, by_ms: int, now_ms: int) -> None:
        """Shift the start of delayed events after the clock was set."""
        self._database.rows(
            "UPDATE scheduler_requests SET at = max(0, at + ?) WHERE kind = 'event' AND at > ?",
            [by_ms, now_ms],
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
            "parameters, input_bytes, event_id, attempt, schedule_key, folded "
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
        self._database.rows(
            f"DELETE FROM scheduler_requests WHERE ({_BY_HAND} OR kind = 'later') AND run_id = ?", [run_id]
        )
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
