"""An overview of the jobs for whoever waits for it: read with as little as possible of everything else."""

from __future__ import annotations

from pathlib import Path
from typing import Self

from halo_scheduler.home import database_path
from halo_scheduler.model import JobStatus
from halo_scheduler.store.connection import Database
from halo_scheduler.store.job_lines import JobLine, JobLineTable, WaitingAfter
from halo_scheduler.store.schema import migrate

__all__ = ["JobLine", "Overview", "WaitingAfter"]


class Overview:
    """What a list shows of the jobs; used by the thread that opened it."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._lines = JobLineTable(database)

    @classmethod
    def open(cls, now_ms: int, path: Path | None = None) -> Self:
        """Open a database, or the default one, creating it or bringing it up to date."""
        database = Database.open(database_path() if path is None else path)
        try:
            migrate(database, now_ms)
        except BaseException:
            database.close()
            raise
        return cls(database)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._database.close()

    def list_jobs(
        self, *, status: JobStatus | None = None, group: str | None = None, text: str | None = None
    ) -> list[JobLine]:
        """Return jobs by next run; a text is looked for in name, description and group."""
        wanted = (text or "").casefold()
        return [
            job
            for job in self._lines.all()
            if (status is None or job.status == status)
            and (group is None or job.group == group)
            and wanted in f"{job.name}\n{job.description}\n{job.group or ''}".casefold()
        ]

    def get_asking(self) -> set[str]:
        """Return the ids of the jobs that wait for an answer."""
        return self._lines.asking()

    def get_waiting_after(self) -> dict[str, WaitingAfter]:
        """Return what the runs of jobs after other jobs wait for, by the job's id."""
        return self._lines.waiting_after()
