"""The backups page: list, create, restore."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from pathlib import Path

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QHBoxLayout, QWidget

from halo_scheduler.errors import SchedulerError
from halo_scheduler.service.scheduler import Scheduler
from halo_scheduler.wording.measures import full_moment
from ui.backend.backend import Lane
from ui.style.theme import Appearance
from ui.style.wording import ago, size_words
from ui.widgets.labels import button, label, set_role, tint

from .page import Card, Confirmation, Page, Row, SettingsLink, sentence


@dataclass(frozen=True, slots=True)
class _Listed:
    path: Path
    made_at: int
    size: int


class BackupsPage(Page):
    """Lists the backups; the application restores them, because it must stop the engine."""

    restore_requested = Signal(object)
    """The Path of the backup to restore."""

    def __init__(self, link: SettingsLink, appearance: Appearance) -> None:
        super().__init__()
        self._link = link
        self._confirmation: Confirmation | None = None
        self._is_busy = False
        self.add_title(
            self.tr("Backups"),
            self.tr(
                "Halo backs up all jobs, settings and the run history once a day, without the output. The "
                "newest seven are kept."
            ),
        )
        self._make = button(self.tr("&Back up now"), name="makeBackupButton")
        tint(self._make, appearance, "backup")
        self._make.clicked.connect(self._make_one)
        self._message = label("", "ok", name="backupToldLabel", wrap=True)
        bar = QWidget()
        box = QHBoxLayout(bar)
        box.setContentsMargins(0, 0, 0, 0)
        box.addWidget(self._make)
        box.addWidget(self._message, 1)
        self.add(bar)
        self._card = Card()
        self.add(self._card)
        link.loaded.connect(self._end_busy)

    def refresh(self) -> None:
        """Load the list of backups."""
        self._link.backend.ask(_list, self._show, self._fail, owner=self)

    def show_busy(self) -> None:
        """Show that a backup is being restored."""
        self._is_busy = True
        self._make.setEnabled(False)
        self._show_message("", "muted")
        if self._confirmation is not None:
            self._confirmation.show_busy(self.tr("Restoring…"))

    def show_error(self, text: str) -> None:
        """Show why restoring failed; nothing has changed."""
        self._is_busy = False
        self._make.setEnabled(True)
        self._drop_confirmation()
        self._show_message(text, "error")

    def _show(self, backups: list[_Listed]) -> None:
        self._confirmation = None
        self._card.clear()
        now_ms = self._link.backend.now_ms()
        for backup in backups:
            self._card.add(self._row(backup, now_ms))
        if not backups:
            self._card.add(
                Row(self.tr("No backups yet"), self.tr("The first is created within a day."), None)
            )

    def _end_busy(self) -> None:
        """End the busy state when the restored settings are loaded."""
        if self._is_busy:
            self._is_busy = False
            self._make.setEnabled(True)
            self.refresh()

    def _row(self, backup: _Listed, now_ms: int) -> Row:
        when = full_moment(backup.made_at)
        restore = button(
            self.tr("Restore…"),
            name="restoreButton",
            accessible=self.tr("Restore the backup of {when}").format(when=when),
        )
        row = Row(when, f"{ago(backup.made_at, now_ms)} · {size_words(backup.size)}", restore)
        restore.clicked.connect(partial(self._confirm, row, backup))
        return row

    def _confirm(self, row: Row, backup: _Listed) -> None:
        self._drop_confirmation()
        confirmation = Confirmation(
            self.tr(
                "This restores all jobs, settings and the run history as of {when}. Current data is kept in "
                "a file next to the database. Stop running jobs first."
            ).format(when=full_moment(backup.made_at)),
            self.tr("Restore"),
        )
        confirmation.confirmed.connect(partial(self.restore_requested.emit, backup.path))
        confirmation.cancelled.connect(self._drop_confirmation)
        self._card.insert_below(row, confirmation)
        self._confirmation = confirmation
        confirmation.take_focus()

    def _drop_confirmation(self) -> None:
        if self._confirmation is not None:
            self._confirmation.hide()
            self._confirmation.deleteLater()
            self._confirmation = None

    def _make_one(self) -> None:
        self._make.setEnabled(False)
        self._show_message(self.tr("Backing up…"), "muted")
        self._link.backend.ask(
            lambda scheduler: scheduler.backups.make().made_at,
            self._take_made,
            self._fail,
            owner=self,
            lane=Lane.SLOW,
        )

    def _take_made(self, _made_at: int) -> None:
        self._make.setEnabled(True)
        self._show_message(self.tr("✓ Backup created"), "ok")
        self.refresh()

    def _fail(self, error: SchedulerError) -> None:
        self._make.setEnabled(True)
        self._show_message(sentence(error), "error")

    def _show_message(self, text: str, role: str) -> None:
        self._message.setText(text)
        set_role(self._message, role)


def _list(scheduler: Scheduler) -> list[_Listed]:
    found = scheduler.backups.list()
    return [_Listed(one.path, one.made_at, one.path.stat().st_size) for one in found if one.path.exists()]
