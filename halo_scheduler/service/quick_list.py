"""A fast overview of the jobs, which loads as little else as possible."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from halo_scheduler.model import JobStatus
from halo_scheduler.paths import database_path
from halo_scheduler.rules.situation import read_situations
from halo_scheduler.store.connection import Database
from halo_scheduler.store.job_lines import JobLine, NameTable
from halo_scheduler.store.schema import open_to_read

if TYPE_CHECKING:
    from halo_scheduler.model.settings import Settings
    from halo_scheduler.model.situation import Situation

__all__ = ["JobLine", "Overview"]


class Overview:
    """The rows of a job list; used only by the thread that opened it."""

    def __init__(self, database: Database, now_ms: int = 0) -> None:
        self._database = database
        self._now_ms = now_ms
        self.names = NameTable(database)

    @classmethod
    def open(cls, now_ms: int, path: Path | None = None) -> Self:
        """Open a database, or the default one, creating or migrating it if it can be written."""
        return cls(open_to_read(database_path() if path is None else path, now_ms), now_ms)

    @property
    def refusal(self) -> str:
        """Why the database is read-only, as a sentence; empty if it can be written."""
        return self._database.refusal

    @classmethod
    def open_for_reading(cls, path: Path | None = None) -> Self:
        """Open a database, or the default one, read-only as it is; nothing is created or migrated."""
        return cls(Database.open_for_reading(database_path() if path is None else path))

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._database.close()

    def list_jobs(
        self, *, status: JobStatus | None = None, group: str | None = None, text: str | None = None
    ) -> list[tuple[JobLine, Situation]]:
        """Return jobs with their situations by next run; a text is searched in everything a list shows of a job."""
        jobs = [
            (job, situation)
            for job, situation in read_situations(self._database, self._now_ms)
            if (status is None or job.status == status) and (group is None or job.group == group)
        ]
        return self._search(jobs, text) if text else jobs

    def _search(self, jobs: list[tuple[JobLine, Situation]], text: str) -> list[tuple[JobLine, Situation]]:
        """Return the jobs that match a text."""
        from halo_scheduler.store.job_records import read_actions  # noqa: PLC0415 - most lists do without
        from halo_scheduler.wording.jobs import is_found, searched_text  # noqa: PLC0415 - likewise

        actions = read_actions(self._database)
        return [
            (job, situation)
            for job, situation in jobs
            if is_found(
                text,
                searched_text(job.name, job.group, job.description, job.schedule, actions.get(job.id)),
            )
        ]

    def list_data(
        self, *, status: JobStatus | None = None, group: str | None = None, text: str | None = None
    ) -> list[tuple[dict[str, Any], Situation]]:
        """Return jobs as JSON data, with their situations; otherwise as `list_jobs` does."""
        from halo_scheduler.store.job_data import read_data  # noqa: PLC0415 - 10 ms that a table does without

        with self._database.snapshot():
            data = read_data(self._database)
            jobs = self.list_jobs(status=status, group=group, text=text)
        return [(data[job.id], situation) for job, situation in jobs if job.id in data]

    def is_run(self, now_ms: int) -> bool:
        """Return whether an engine runs the jobs, in any process."""
        from halo_scheduler.store.lease import LeaseTable  # noqa: PLC0415 - most lists do without

        row = LeaseTable(self._database).read()
        if row is None or not row.is_held(now_ms):
            return False
        from halo_scheduler.host.process import is_alive  # noqa: PLC0415 - likewise

        return is_alive(row.pid, row.process_start)

    def get_settings(self) -> Settings:
        """Return the settings."""
        from halo_scheduler.store.settings import SettingTable  # noqa: PLC0415 - a list does without

        return SettingTable(self._database).read()
