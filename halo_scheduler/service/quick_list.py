"""An overview of the jobs for whoever waits for it: read with as little as possible of everything else."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Self

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
    """What a list shows of the jobs; used by the thread that opened it."""

    def __init__(self, database: Database, now_ms: int = 0) -> None:
        self._database = database
        self._now_ms = now_ms
        self.names = NameTable(database)

    @classmethod
    def open(cls, now_ms: int, path: Path | None = None) -> Self:
        """Open a database, or the default one, creating it or bringing it up to date if it can be written."""
        return cls(open_to_read(database_path() if path is None else path, now_ms), now_ms)

    @property
    def refusal(self) -> str:
        """Why the database can only be read: a sentence; nothing if it can be written."""
        return self._database.refusal

    @classmethod
    def open_for_reading(cls, path: Path | None = None) -> Self:
        """Open a database, or the default one, as it is; nothing is made or brought up to date."""
        return cls(Database.open_for_reading(database_path() if path is None else path))

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._database.close()

    def list_jobs(
        self, *, status: JobStatus | None = None, group: str | None = None, text: str | None = None
    ) -> list[tuple[JobLine, Situation]]:
        """Return jobs with their situations by next run; a text is looked for in name, description and group."""
        wanted = (text or "").casefold()
        return [
            (job, situation)
            for job, situation in read_situations(self._database, self._now_ms)
            if (status is None or job.status == status)
            and (group is None or job.group == group)
            and wanted in f"{job.name}\n{job.description}\n{job.group or ''}".casefold()
        ]

    def is_run(self, now_ms: int) -> bool:
        """Tell whether some engine runs the jobs, in whatever process."""
        from halo_scheduler.host.process import is_alive  # noqa: PLC0415 - most lists do without
        from halo_scheduler.store.lease import LeaseTable  # noqa: PLC0415 - likewise

        row = LeaseTable(self._database).read()
        return row is not None and row.is_held(now_ms) and is_alive(row.pid, row.process_start)

    def get_settings(self) -> Settings:
        """Return what the user chose for the whole program."""
        from halo_scheduler.store.settings import SettingTable  # noqa: PLC0415 - a list does without

        return SettingTable(self._database).read()
