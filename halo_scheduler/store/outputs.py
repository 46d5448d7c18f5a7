"""What runs printed, compressed; the oldest is dropped when there is too much of it."""

from __future__ import annotations

import zlib
from collections.abc import Sequence
from dataclasses import dataclass

from halo_scheduler.store.connection import Database


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredOutput:
    """The compressed output of a run, and how many bytes were printed in all."""

    run_id: str
    content: bytes
    total_bytes: int


class OutputTable:
    """Reads and writes output."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def insert(self, outputs: Sequence[StoredOutput]) -> None:
        self._database.run_many(
            "INSERT INTO scheduler_run_output (run_id, total_bytes, stored_bytes, content) VALUES (?, ?, ?, ?) "
            "ON CONFLICT (run_id) DO NOTHING",
            [(output.run_id, output.total_bytes, len(output.content), output.content) for output in outputs],
        )

    def has(self, run_id: str) -> bool:
        """Tell whether a run's output is here."""
        return bool(self._database.rows("SELECT 1 FROM scheduler_run_output WHERE run_id = ?", [run_id]))

    def read(self, run_id: str) -> bytes:
        """Return what a run printed; nothing, if it printed nothing or that was dropped."""
        row = self._database.row("SELECT content FROM scheduler_run_output WHERE run_id = ?", [run_id])
        return b"" if row is None or not row[0] else zlib.decompress(row[0])

    def prune(self, *, keep_bytes: int, most: int) -> int:
        """Drop some of the oldest output while there is more than so much; return how many runs lost theirs."""
        row = self._database.row("SELECT sum(stored_bytes) FROM scheduler_run_output")
        excess = (0 if row is None else row[0] or 0) - keep_bytes
        if excess <= 0:
            return 0
        self._database.rows(
            "DELETE FROM scheduler_run_output WHERE seq IN (SELECT seq FROM ("
            "SELECT seq, sum(stored_bytes) OVER (ORDER BY seq) - stored_bytes AS dropped FROM ("
            "SELECT seq, stored_bytes FROM scheduler_run_output ORDER BY seq LIMIT ?)) WHERE dropped < ?)",
            [most, excess],
        )
        return self._database.changes()
