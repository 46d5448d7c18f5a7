"""What someone asked of the engine: to start a run by hand, or to stop one."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum

from halo_scheduler.model import NO_DETAILS, JobSpec, WaitingDetails, WaitingFor
from halo_scheduler.store.connection import Database, Value
from halo_scheduler.store.job_lines import waiting_details_of, waiting_text

_BY_HAND = "kind IN ('trigger', 'test', 'answer')"
_CHAIN_RUNS_BY_TURN = (
    "(SELECT *, row_number() OVER (PARTITION BY job_id ORDER BY at, seq) AS turn "
    "FROM scheduler_requests WHERE kind = 'chain')"
)


class RequestKind(StrEnum):
    """What is asked for."""

    TRIGGER = "trigger"
    TEST = "test"
    ANSWER = "answer"
    CHAIN = "chain"
    TEST_UNDER_WAY = "test-under-way"
    CANCEL = "cancel"
    REFRESH = "refresh"


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """One wish; the id of a run to come is chosen by whoever asks, so that it can be waited for."""

    kind: RequestKind
    job_id: str
    run_id: str
    at: int
    payload: str = ""
    """The edited job that a test run tries; the run that causes a chain run; the assistant that asks for a run."""
    waiting_for: WaitingFor | None = None
    waiting_details: WaitingDetails = NO_DETAILS
    waits_until: int | None = None

    @property
    def spec(self) -> JobSpec | None:
        """The edited job; None when it cannot be read here."""
        try:
            return JobSpec.from_dict(json.loads(self.payload))
        except ValueError:
            return None


class RequestTable:
    """Reads and writes requests."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def append(self, request: Request) -> None:
        self._database.rows(
            "INSERT INTO scheduler_requests (kind, job_id, run_id, at, payload) VALUES (?, ?, ?, ?, ?)",
            [request.kind, request.job_id, request.run_id, request.at, request.payload],
        )

    def append_chain_runs(self, requests: Sequence[Request]) -> None:
        """Ask for chain runs; one for each run and follower, ever."""
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

    def withdraw_chain_run(self, run_id: str) -> Request | None:
        """Take back a chain run that has not started; return it, if there was one."""
        found = next((request for request in self.chain_runs() if request.run_id == run_id), None)
        if found is not None:
            self.close(found)
        return found

    def triggers(self, limit: int = -1) -> list[Request]:
        """Return runs by hand, and test runs, that were asked for, oldest first."""
        return self._select(_BY_HAND, limit=limit)

    def others(self) -> list[Request]:
        """Return everything else that was asked for, oldest first."""
        return self._select("kind IN ('cancel', 'refresh')")

    def chain_runs(self, limit: int = -1) -> list[Request]:
        """Return the chain runs that wait for their turn, by the end of what caused them."""
        return self._select("kind = 'chain'", limit=limit, order="at, seq")

    def chain_runs_in_turn(self) -> list[Request]:
        """Return the chain runs that wait, without those that are known to wait for the run before them.

        These wait because their job runs, or because another chain run of it comes first. Thousands may pile up
        behind a job that takes long.
        """
        return self._select(
            "waiting_for IS NOT 'previous_run' OR NOT EXISTS (SELECT 1 FROM scheduler_jobs AS job "
            "WHERE job.id = job_id AND job.removed_at IS NULL AND (job.run_id IS NOT NULL OR turn > 1))",
            table=_CHAIN_RUNS_BY_TURN,
            order="at, seq",
        )

    def chain_runs_behind(self, job_ids: Iterable[str]) -> list[Request]:
        """Return the chain runs of some jobs that wait for the run before them."""
        return self._select(
            "kind = 'chain' AND waiting_for = 'previous_run' AND job_id IN (SELECT value FROM json_each(?))",
            json.dumps(list(job_ids)),
            order="at, seq",
        )

    def tests_under_way(self) -> dict[str, JobSpec]:
        """Return what the test runs under way try, by run."""
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
            "SELECT kind, job_id, run_id, at, payload, waiting_for, waiting_details, waits_until "
            f"FROM {table} WHERE {which} ORDER BY {order} LIMIT ?",
            [*values, limit],
        )
        return [
            Request(
                kind=RequestKind(kind),
                job_id=job_id,
                run_id=run_id,
                at=at,
                payload=payload,
                waiting_for=waiting_for and WaitingFor(waiting_for),
                waiting_details=waiting_details_of(details),
                waits_until=waits_until,
            )
            for kind, job_id, run_id, at, payload, waiting_for, details, waits_until in rows
        ]

    def has_trigger(self, job_id: str) -> bool:
        """Tell whether a run by hand or a test run is already asked for."""
        return bool(
            self._database.rows(
                f"SELECT 1 FROM scheduler_requests WHERE {_BY_HAND} AND job_id = ? LIMIT 1", [job_id]
            )
        )

    def withdraw_trigger(self, run_id: str) -> bool:
        """Take back a run by hand that has not started; tell whether there was one."""
        self._database.rows(f"DELETE FROM scheduler_requests WHERE {_BY_HAND} AND run_id = ?", [run_id])
        return self._database.changes() == 1

    def begin_test(self, run_id: str) -> None:
        """Keep what a test run tries until it has ended: the next engine may have to know."""
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
