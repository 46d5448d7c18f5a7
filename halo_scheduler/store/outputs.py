"""The stored output of runs, and their input."""

from __future__ import annotations

import zlib
from collections.abc import Sequence
from dataclasses import dataclass

from halo_scheduler.store.connection import Database


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredOutput:
    """The compressed output of a run, and how many bytes it printed in total."""

    run_id: str
    content: bytes
    total_bytes: int


class OutputTable:
    """Reads and writes the output of runs; and their input, in a table of the same form."""

    def __init__(self, database: Database, table: str = "scheduler_run_output") -> None:
        self._database = database
        self._table = table

    def insert(self, outputs: Sequence[StoredOutput]) -> None:
        self._database.run_many(
            f"INSERT INTO {self._table} (run_id, total_bytes, stored_bytes, content) VALUES (?, ?, ?, ?) "
            "ON CONFLICT (run_id) DO NOTHING",
            [(output.run_id, output.total_bytes, len(output.content), output.content) for output in outputs],
        )

    def copy(self, run_id: str, to: str) -> None:
        """Copy what is stored for a run to another one."""
        self._database.rows(
            f"INSERT INTO {self._table} (run_id, total_bytes, stored_bytes, content) "
            f"SELECT ?, total_bytes, stored_bytes, content FROM {self._table} WHERE run_id = ?",
            [to, run_id],
        )

    def total_bytes(self, run_id: str) -> int:
        """Return how many bytes a run printed in total; 0 if its output is not stored."""
        row = self._database.row(f"SELECT total_bytes FROM {self._table} WHERE run_id = ?", [run_id])
        return 0 if row is None else int(row[0])

    def has(self, run_id: str) -> bool:
        """Return whether a run's output is stored."""
        return bool(self._database.rows(f"SELECT 1 FROM {self._table} WHERE run_id = ?", [run_id]))

    def read(self, run_id: str) -> bytes:
        """Return a run's output; empty if it printed nothing or the output was pruned."""
        row = self._database.row(f"SELECT content FROM {self._table} WHERE run_id = ?", [run_id])
        return b"" if row is None or not row[0] else zlib.decompress(row[0])

    def prune(self, *, keep_bytes: int, most: int) -> int:
        """Delete some of the oldest output while the total exceeds the limit; return how many runs lost theirs."""
        row = self._database.row(f"SELECT sum(stored_bytes) FROM {self._table}")
        excess = (0 if row is None else row[0] or 0) - keep_bytes
        if excess <= 0:
            return 0
        self._database.rows(
            f"DELETE FROM {self._table} WHERE seq IN (SELECT seq FROM ("
            "SELECT seq, sum(stored_bytes) OVER (ORDER BY seq) - stored_bytes AS dropped FROM ("
            f"SELECT seq, stored_bytes FROM {self._table} ORDER BY seq LIMIT ?)) WHERE dropped < ?)",
            [most, excess],
        )
        return self._database.changes()
