"""What things are called, for whoever types it."""

from __future__ import annotations

from halo_scheduler.store.connection import Database


class NameTable:
    """Reads names, and a word on each thing that has one."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def jobs(self, *, removed: bool = False) -> list[tuple[str, str]]:
        """Return the names of the jobs, or of those in the trash, and what is said of them."""
        which = "NOT NULL" if removed else "NULL"
        return self._database.rows(
            f"SELECT name, description FROM scheduler_jobs WHERE removed_at IS {which} ORDER BY name"
        )

    def groups(self) -> list[tuple[str, str]]:
        return self._database.rows(
            "SELECT group_name, '' FROM scheduler_jobs WHERE group_name IS NOT NULL AND removed_at IS NULL "
            "UNION SELECT name, '' FROM scheduler_groups ORDER BY 1"
        )

    def secrets(self) -> list[tuple[str, str]]:
        return self._database.rows("SELECT name, place FROM scheduler_secrets ORDER BY name")

    def runs(self, job: str, most: int) -> list[tuple[str, str]]:
        """Return the ids of a job's newest runs and how they ended; the job is meant by its name or its id."""
        return self._database.rows(
            "SELECT run.id, run.outcome FROM scheduler_run_log AS run JOIN scheduler_jobs AS job "
            "ON job.id = run.job_id WHERE (job.name = ?1 OR job.id = ?1) AND run.started_at IS NOT NULL "
            "ORDER BY run.seq DESC LIMIT ?2",
            [job, most],
        )

    def asking_runs(self) -> list[tuple[str, str]]:
        """Return the runs whose questions are open, and what they ask."""
        return self._database.rows(
            "SELECT run_id, text FROM scheduler_questions WHERE state = 'open' ORDER BY seq"
        )
