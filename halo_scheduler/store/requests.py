"""What someone asked of the engine: to start a run by hand, or to stop one."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from halo_scheduler.store.connection import Database


class RequestKind(StrEnum):
    """What is asked for."""

    TRIGGER = "trigger"
    CANCEL = "cancel"
    REFRESH = "refresh"


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """One wish; the id of a run to come is chosen by whoever asks, so that it can be waited for."""

    kind: RequestKind
    job_id: str
    run_id: str
    at: int


class RequestTable:
    """Reads and writes requests."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def append(self, request: Request) -> None:
        self._database.rows(
            "INSERT INTO scheduler_requests (kind, job_id, run_id, at) VALUES (?, ?, ?, ?)",
            [request.kind, request.job_id, request.run_id, request.at],
        )

    def triggers(self, limit: int = -1) -> list[Request]:
        """Return runs by hand that were asked for, oldest first."""
        return self._select("kind = 'trigger'", limit)

    def others(self) -> list[Request]:
        """Return everything else that was asked for, oldest first."""
        return self._select("kind <> 'trigger'", -1)

    def _select(self, which: str, limit: int) -> list[Request]:
        rows = self._database.rows(
            f"SELECT kind, job_id, run_id, at FROM scheduler_requests WHERE {which} ORDER BY seq LIMIT ?",
            [limit],
        )
        return [
            Request(kind=RequestKind(kind), job_id=job_id, run_id=run_id, at=at)
            for kind, job_id, run_id, at in rows
        ]

    def has_trigger(self, job_id: str) -> bool:
        """Tell whether a run by hand is already asked for."""
        return bool(
            self._database.rows(
                "SELECT 1 FROM scheduler_requests WHERE kind = 'trigger' AND job_id = ? LIMIT 1", [job_id]
            )
        )

    def withdraw_trigger(self, run_id: str) -> bool:
        """Take back a run by hand that has not started; tell whether there was one."""
        self._database.rows("DELETE FROM scheduler_requests WHERE kind = 'trigger' AND run_id = ?", [run_id])
        return self._database.changes() == 1

    def close(self, request: Request) -> None:
        self._database.rows(
            "DELETE FROM scheduler_requests WHERE kind = ? AND run_id = ?", [request.kind, request.run_id]
        )
