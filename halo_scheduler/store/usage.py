"""How often jobs ran on a day, and for how much: what their caps are held against."""

from __future__ import annotations

from dataclasses import dataclass

from halo_scheduler.store.connection import Database


@dataclass(frozen=True, slots=True)
class Spent:
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
        return Spent(0, 0.0) if row is None else Spent(int(row[0]), float(row[1]))

    def add(self, job_id: str, day: str, *, runs: int = 0, cost: float = 0.0) -> None:
        self._database.rows(
            "INSERT INTO scheduler_usage (job_id, day, runs, cost) VALUES (?, ?, ?, ?) "
            "ON CONFLICT (job_id, day) DO UPDATE SET runs = runs + excluded.runs, cost = cost + excluded.cost",
            [job_id, day, runs, cost],
        )

    def forget_before(self, day: str) -> None:
        """Delete what no cap will be held against any more."""
        self._database.rows("DELETE FROM scheduler_usage WHERE day < ?", [day])
