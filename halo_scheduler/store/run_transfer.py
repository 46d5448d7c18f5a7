"""Runs that move between databases: reads all of them in order, inserts those of another computer."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from halo_scheduler.model import Run
from halo_scheduler.store.connection import Database
from halo_scheduler.store.outputs import StoredOutput
from halo_scheduler.store.runs import COLUMNS, run_of, values_of

_PAGE = 500
_ENDED = "outcome <> 'running' AND job_id IN (SELECT id FROM scheduler_jobs WHERE removed_at IS NULL)"
_PLACES = ", ".join("?" * (len(COLUMNS) + 2))


@dataclass(frozen=True, slots=True, kw_only=True)
class RunCopy:
    """An ended run with its output, if that is copied too."""

    run: Run
    output: StoredOutput | None = None


class RunTransfer:
    """Copies ended runs out of a database and into it; memory is needed for one page only."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def count(self) -> int:
        """Return how many runs `read` yields."""
        row = self._database.row(f"SELECT count(*) FROM scheduler_run_log WHERE {_ENDED}")
        return 0 if row is None else int(row[0])

    def read(self, *, with_output: bool) -> Iterator[RunCopy]:
        """Yield the ended runs of all jobs that are not in the trash, in recorded order."""
        last: int | None = None
        while True:
            after = "" if last is None else f"AND seq > {last}"
            rows = self._database.rows(
                f"SELECT seq, {', '.join(COLUMNS)} FROM scheduler_run_log WHERE {_ENDED} {after} "
                "ORDER BY seq LIMIT ?",
                [_PAGE],
            )
            for _, *values in rows:
                run = run_of(tuple(values))
                yield RunCopy(run=run, output=self._output_of(run.id) if with_output else None)
            if len(rows) < _PAGE:
                return
            last = int(rows[-1][0])

    def known(self, run_ids: Iterable[str]) -> set[str]:
        """Return which of these runs are stored."""
        rows = self._database.rows(
            "SELECT id FROM scheduler_run_log WHERE id IN (SELECT value FROM json_each(?))",
            [json.dumps(list(run_ids))],
        )
        return {run_id for (run_id,) in rows}

    def first_place(self, count: int) -> int:
        """Return the row number at which `count` older runs begin, so that they end before all stored ones."""
        row = self._database.row(
            "SELECT min((SELECT ifnull(min(seq), 1) FROM scheduler_run_log), "
            "(SELECT ifnull(min(seq), 1) FROM scheduler_run_output), 1)"
        )
        return (1 if row is None else int(row[0])) - count

    def insert(self, copies: Sequence[RunCopy], place: int) -> None:
        """Store runs from row number `place` on; those that are stored already, or whose slot is, are left out."""
        self._database.run_many(
            f"INSERT INTO scheduler_run_log (seq, {', '.join(COLUMNS)}, generation) VALUES ({_PLACES}) "
            "ON CONFLICT DO NOTHING",
            ((place + index, *values_of(copy.run), 0) for index, copy in enumerate(copies)),
        )
        self._database.run_many(
            "INSERT INTO scheduler_run_output (seq, run_id, total_bytes, stored_bytes, content) "
            "SELECT ?1, ?2, ?3, ?4, ?5 WHERE EXISTS (SELECT 1 FROM scheduler_run_log WHERE id = ?2) "
            "ON CONFLICT DO NOTHING",
            (
                (place + index, one.run_id, one.total_bytes, len(one.content), one.content)
                for index, one in enumerate(copy.output for copy in copies)
                if one is not None
            ),
        )

    def _output_of(self, run_id: str) -> StoredOutput | None:
        row = self._database.row(
            "SELECT content, total_bytes FROM scheduler_run_output WHERE run_id = ?", [run_id]
        )
        return None if row is None else StoredOutput(run_id=run_id, content=row[0], total_bytes=row[1])
