"""How often jobs ran on a day, and for how much: what their caps are held against."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from halo_scheduler.store.connection import Database
from halo_scheduler.store.job_lines import COST_DECIMALS


class Spent(NamedTuple):
    """What a job has used up of a day."""

    runs: int
    cost: float


class UsageTable:
    """Counts runs and costs by job and day; a day is a local date like 2026-12-24."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def of(self, job_id: str, day: str) -> Spent:
        row = self._database.row(
            "SELECT runs, cost FROM scheduler_usage WHERE job_id = ? AND day = ?", [job_id, day]
        )
        return Spent(0, 0.0) if row is None else Spent(int(row[0]), round(float(row[1]), COST_DECIMALS))

    def add(self, spent: Iterable[tuple[str, str, Spent]]) -> None:
        """Count what jobs spent, each on its day; a job that does not exist any more has no caps either."""
        self._database.run_many(
            "INSERT INTO scheduler_usage (job_id, day, runs, cost) SELECT ?1, ?2, ?3, ?4 "
            "WHERE EXISTS (SELECT 1 FROM scheduler_jobs WHERE id = ?1) "
            "ON CONFLICT (job_id, day) DO UPDATE SET runs = runs + excluded.runs, cost = cost + excluded.cost",
            ((job_id, day, used.runs, used.cost) for job_id, day, used in spent),
        )

    def forget_before(self, day: str) -> None:
        """Delete what no cap will be held against any more."""
        self._database.rows("DELETE FROM scheduler_usage WHERE day < ?", [day])
