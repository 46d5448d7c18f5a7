"""The backups: which there are, make one, go back to one."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from pathlib import Path

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QHBoxLayout, QWidget

from halo_scheduler.errors import SchedulerError
from halo_scheduler.service.scheduler import Scheduler
from ui.backend.backend import Lane
from ui.style.theme import Appearance
from ui.style.wording import ago, moment, size_words
from ui.widgets.labels import button, label, set_role, tint

from .confirmation import Confirmation
from .link import SettingsLink
from .page import Card, Page, Row, sentence


@dataclass(frozen=True, slots=True)
class _Listed:
    path: Path
    made_at: int
    size: int


class BackupsPage(Page):
    """Lists the backups; going back is the program's matter, as it must stop the engine for it."""

    restore_requested = Signal(object)
    """The Path of the backup that is to take the database's place."""

    def __init__(self, link: SettingsLink, appearance: Appearance) -> None:
        super().__init__()
        self._link = link
        self._confirmation: Confirmation | None = None
        self._is_busy = False
        self.add_title(
            self.tr("Backups"),
            self.tr(
                "Once a day Halo keeps a copy of all jobs, settings and the history, without the output of "
                "runs. The newest seven stay."
            ),
        )
        self._make = button(self.tr("&Make a backup now"), name="makeBackupButton")
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
        """Look which backups there are."""
        self._link.backend.ask(_list, self._show, self._fail, owner=self)

    def show_busy(self) -> None:
        """Say that the program is going back to a backup."""
        self._is_busy = True
        self._make.setEnabled(False)
        self._show_message("", "muted")
        if self._confirmation is not None:
            self._confirmation.show_busy(self.tr("Going back to this backup …"))

    def show_error(self, text: str) -> None:
        """Say why going back failed; everything is as before."""
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
                Row(self.tr("There is no backup yet"), self.tr("The first is made within a day."), None)
            )

    def _end_busy(self) -> None:
        """Go on when the settings were read anew: they are those of the backup."""
        if self._is_busy:
            self._is_busy = False
            self._make.setEnabled(True)
            self.refresh()

    def _row(self, backup: _Listed, now_ms: int) -> Row:
        when = moment(backup.made_at)
        restore = button(
            self.tr("Go back to this…"),
            name="restoreButton",
            accessible=self.tr("Go back to the backup of {when}").format(when=when),
        )
        row = Row(when, f"{ago(backup.made_at, now_ms)} · {size_words(backup.size)}", restore)
        restore.clicked.connect(partial(self._confirm, row, backup))
        return row

    def _confirm(self, row: Row, backup: _Listed) -> None:
        self._drop_confirmation()
        confirmation = Confirmation(
            self.tr(
                "All jobs, settings and the history go back to how they were on {when}. What is there now is "
                "set aside in a file beside the database, not deleted. It is done while no job runs, and jobs "
                "go on right after."
            ).format(when=moment(backup.made_at)),
            self.tr("Go back"),
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
        self._show_message(self.tr("Making a backup …"), "muted")
        self._link.backend.ask(
            lambda scheduler: scheduler.backups.make().made_at,
            self._take_made,
            self._fail,
            owner=self,
            lane=Lane.SLOW,
        )

    def _take_made(self, _made_at: int) -> None:
        self._make.setEnabled(True)
        self._show_message(self.tr("✓ The backup is made."), "ok")
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
