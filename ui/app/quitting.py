"""Quitting: asks about unsaved edits and about runs under way, then tells what was decided."""

from __future__ import annotations

from PySide6.QtCore import QObject, Signal
from PySide6.QtWidgets import QMessageBox

from halo_scheduler.service.scheduler import Scheduler
from ui.backend.backend import Backend
from ui.backend.engine_thread import Farewell

from .quit_dialog import QuitChoice, QuitDialog
from .windows import Windows


class Quitting(QObject):
    """Asks what must be asked, one thing at a time; nothing here waits."""

    decided = Signal(object)
    """A Farewell."""

    def __init__(self, backend: Backend, windows: Windows, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._backend = backend
        self._windows = windows
        self._dialog: QuitDialog | QMessageBox | None = None

    def ask(self, *, is_engine_here: bool) -> None:
        """Find out whether and how to quit."""
        if self._dialog is not None and self._dialog.isVisible():
            self._dialog.raise_()
            self._dialog.activateWindow()
        elif self._windows.editing.unsaved_names():
            self._ask_about_edits(is_engine_here=is_engine_here)
        else:
            self._look_for_runs(is_engine_here=is_engine_here)

    def _ask_about_edits(self, *, is_engine_here: bool) -> None:
        self._windows.show_main()
        box = QMessageBox(self._windows.main)
        box.setObjectName("unsavedBox")
        box.setWindowTitle(self.tr("Quit Halo"))
        box.setText(self.tr("A job that you are editing is not saved."))
        box.setInformativeText(self.tr("If you quit now, what you changed in it is lost."))
        discard = box.addButton(self.tr("Discard and quit"), QMessageBox.ButtonRole.DestructiveRole)
        keep = box.addButton(self.tr("Keep editing"), QMessageBox.ButtonRole.RejectRole)
        box.setDefaultButton(keep)
        discard.clicked.connect(lambda: self._look_for_runs(is_engine_here=is_engine_here))
        keep.clicked.connect(self._windows.editing.raise_unsaved)
        self._dialog = box
        box.open()

    def _look_for_runs(self, *, is_engine_here: bool) -> None:
        if not is_engine_here:
            # Whoever runs the jobs goes on with them.
            self.decided.emit(Farewell.LEAVE)
            return
        self._backend.ask(
            _running_jobs, self._ask_about_runs, lambda _error: self.decided.emit(Farewell.LEAVE), owner=self
        )

    def _ask_about_runs(self, running: list[tuple[str, str]]) -> None:
        if not running:
            self.decided.emit(Farewell.LEAVE)
            return
        self._windows.show_main()
        self._dialog = QuitDialog(running, self._windows.main)
        self._dialog.chosen.connect(self._take)
        self._dialog.open()

    def _take(self, choice: QuitChoice) -> None:
        if choice is not QuitChoice.CANCEL:
            self.decided.emit(Farewell(choice.value))


def _running_jobs(scheduler: Scheduler) -> list[tuple[str, str]]:
    """Return the name of each running job and the kind of what it does."""
    runs = scheduler.list_running()
    jobs = scheduler.get_jobs({run.job_id for run in runs})
    return [
        (jobs[run.job_id].name, jobs[run.job_id].action.kind) if run.job_id in jobs else ("?", "command")
        for run in runs
    ]
