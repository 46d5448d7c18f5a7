"""The engine's lease: one engine per database, with a generation number that exposes a stale engine."""

from __future__ import annotations

from dataclasses import dataclass, replace

from halo_scheduler.errors import StaleEngineError
from halo_scheduler.store.connection import Database

LEASE_MS = 180_000
_COLUMNS = (
    *(
        "generation",
        "owner",
        "pid",
        "process_start",
        "expires_at",
        "started_at",
        "stopped_at",
        "last_tick_at",
    ),
    *("ticks", "runs", "zone", "file", "stopping_at"),
)
_SELECT = f"SELECT {', '.join(_COLUMNS)} FROM scheduler_engine WHERE id = 1"


@dataclass(frozen=True, slots=True, kw_only=True)
class EngineRow:
    """The engine that runs the jobs, or the last one that did."""

    generation: int
    owner: str
    pid: int
    process_start: str
    expires_at: int
    started_at: int
    stopped_at: int | None
    last_tick_at: int
    ticks: int
    runs: int
    zone: str
    file: str = ""
    """The identity of the database file that the engine has open; "" if an older version took the row."""
    stopping_at: int | None = None
    """Since when it is stopping: it starts no runs and waits for the current ones."""

    @property
    def awake_until(self) -> int:
        """When the engine last ticked."""
        return self.last_tick_at if self.stopped_at is None else self.stopped_at

    def is_held(self, now_ms: int) -> bool:
        return self.stopped_at is None and self.expires_at > now_ms


class LeaseTable:
    """Reads and writes the engine's row."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def read(self) -> EngineRow | None:
        """Return the engine that runs the jobs of this file, or the last one that did.

        In a copy, such as a restored backup, the row names an engine that runs the jobs of the original. Here that
        engine counts as stopped at the last tick that was copied.
        """
        found = self._database.row(_SELECT)
        if found is None:
            return None
        row = EngineRow(**dict(zip(_COLUMNS, found, strict=True)))
        is_copied = row.file not in ("", self._database.identity)
        return replace(row, stopped_at=row.awake_until) if is_copied else row

    def take(self, row: EngineRow) -> None:
        values = [getattr(row, name) for name in _COLUMNS]
        self._database.rows(
            f"INSERT OR REPLACE INTO scheduler_engine (id, {', '.join(_COLUMNS)}) "
            f"VALUES (1, {', '.join('?' * len(_COLUMNS))})",
            values,
        )

    def renew(self, generation: int, now_ms: int, *, runs: int, zone: str) -> None:
        """Renew the lease at a tick; StaleEngineError if it belongs to another engine."""
        self._database.rows(
            "UPDATE scheduler_engine "
            "SET expires_at = ?, last_tick_at = ?, ticks = ticks + 1, runs = runs + ?, zone = ? "
            "WHERE id = 1 AND generation = ? AND stopped_at IS NULL",
            [now_ms + LEASE_MS, now_ms, runs, zone, generation],
        )
        if self._database.changes() != 1:
            raise StaleEngineError("another engine has taken over this database")

    def check(self, generation: int) -> None:
        """Raise StaleEngineError if another engine has taken over."""
        row = self._database.row("SELECT generation FROM scheduler_engine WHERE id = 1")
        if row is None or row[0] != generation:
            raise StaleEngineError("another engine has taken over this database")

    def note_stopping(self, generation: int, since: int | None) -> None:
        """Record since when the engine starts no more runs; None if it starts them again."""
        self._database.rows(
            "UPDATE scheduler_engine SET stopping_at = ? WHERE id = 1 AND generation = ?",
            [since, generation],
        )

    def give_up(self, generation: int, now_ms: int) -> bool:
        """Mark the engine as stopped; return whether the lease was still its own."""
        self._database.rows(
            "UPDATE scheduler_engine SET stopped_at = ?, last_tick_at = ? WHERE id = 1 AND generation = ?",
            [now_ms, now_ms, generation],
        )
        return self._database.changes() == 1
