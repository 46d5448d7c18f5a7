"""The deleted jobs: shown when wanted, and kept true while they are."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtCore import QObject, Signal
from PySide6.QtWidgets import QWidget

from halo_scheduler.model.changes import Change, ChangeKind
from halo_scheduler.service.scheduler import Scheduler
from ui.backend.backend import Backend
from ui.style.theme import Appearance

if TYPE_CHECKING:
    from .trash_dialog import TrashDialog


class Trash(QObject):
    """Makes the dialog when it is first wanted."""

    restore_wanted = Signal(object)
    """The ids of jobs."""

    def __init__(self, backend: Backend, appearance: Appearance, window: QWidget) -> None:
        super().__init__(window)
        self._backend = backend
        self._appearance = appearance
        self._window = window
        self._dialog: TrashDialog | None = None
        backend.changed.connect(self._follow)

    def show(self) -> None:
        """Show what was deleted."""
        if self._dialog is None:
            from .trash_dialog import TrashDialog  # noqa: PLC0415 - not before the first window

            self._dialog = TrashDialog(self._appearance, self._window)
            self._dialog.restore_wanted.connect(self.restore_wanted)
        self._fill(self._dialog)
        self._dialog.open()

    def _follow(self, change: Change) -> None:
        if change.kind is ChangeKind.JOB and self._dialog is not None and self._dialog.isVisible():
            self._fill(self._dialog)

    def _fill(self, dialog: TrashDialog) -> None:
        self._backend.ask(Scheduler.list_removed, dialog.set_jobs, owner=dialog)
