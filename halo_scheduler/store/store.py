"""The store: one open database with its tables."""

from __future__ import annotations

from contextlib import AbstractContextManager
from functools import cached_property
from pathlib import Path
from typing import Self

from halo_scheduler.errors import StoreDamagedError
from halo_scheduler.store.chat import ChatTable
from halo_scheduler.store.connection import Database
from halo_scheduler.store.day_sources import DaySourceTable
from halo_scheduler.store.events import EventTable
from halo_scheduler.store.history import RunHistory
from halo_scheduler.store.jobs import JobTable
from halo_scheduler.store.lease import LeaseTable
from halo_scheduler.store.outputs import OutputTable
from halo_scheduler.store.questions import QuestionTable
from halo_scheduler.store.requests import RequestTable
from halo_scheduler.store.runs import RunTable, UsageTable
from halo_scheduler.store.schema import open_to_read, open_up_to_date
from halo_scheduler.store.secrets import SecretTable
from halo_scheduler.store.settings import GroupTable, SettingTable
from halo_scheduler.store.triggers import FoldedEventTable, WatchStateTable, WatchTroubleTable, WebhookTable


class Store:
    """An open database; each table is an attribute, created on first use."""

    jobs = cached_property(lambda self: JobTable(self.database))
    runs = cached_property(lambda self: RunTable(self.database))
    history = cached_property(lambda self: RunHistory(self.database))
    outputs = cached_property(lambda self: OutputTable(self.database))
    inputs = cached_property(lambda self: OutputTable(self.database, "scheduler_run_input"))
    secrets = cached_property(lambda self: SecretTable(self.database))
    events = cached_property(lambda self: EventTable(self.database))
    settings = cached_property(lambda self: SettingTable(self.database))
    groups = cached_property(lambda self: GroupTable(self.database))
    watch_states = cached_property(lambda self: WatchStateTable(self.database))
    watch_troubles = cached_property(lambda self: WatchTroubleTable(self.database))
    folded_events = cached_property(lambda self: FoldedEventTable(self.database))
    requests = cached_property(lambda self: RequestTable(self.database))
    lease = cached_property(lambda self: LeaseTable(self.database))
    questions = cached_property(lambda self: QuestionTable(self.database))
    day_sources = cached_property(lambda self: DaySourceTable(self.database))
    webhooks = cached_property(lambda self: WebhookTable(self.database))
    chat = cached_property(lambda self: ChatTable(self.database))
    usage = cached_property(lambda self: UsageTable(self.database))

    def __init__(self, database: Database) -> None:
        self.database = database

    @classmethod
    def open(cls, path: Path, now_ms: int) -> Self:
        """Open a database, creating or migrating it as needed."""
        return cls(open_up_to_date(path, now_ms))

    @classmethod
    def open_to_read(cls, path: Path, now_ms: int) -> Self:
        """Open a database as `open` does; if it cannot be written, open it read-only as it is."""
        return cls(open_to_read(path, now_ms))

    def transaction(self) -> AbstractContextManager[None]:
        """Run the block in a transaction."""
        return self.database.transaction()

    def check(self) -> None:
        """Raise StoreDamagedError unless SQLite's integrity check passes."""
        answer = self.database.rows("PRAGMA quick_check(1)")
        if answer != [("ok",)]:
            raise StoreDamagedError(
                f"{self.database.path} is damaged ({answer[0][0]}); restore a backup with: halo backup restore --latest"
            )

    def has_tables(self) -> bool:
        """Return whether the file has any tables, Halo's or not."""
        return bool(self.database.rows("SELECT 1 FROM sqlite_schema LIMIT 1"))

    def close(self) -> None:
        self.database.close()
