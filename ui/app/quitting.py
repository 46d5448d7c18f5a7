"""Quitting: asks about unsaved changes and current runs, then emits the decision."""

from __future__ import annotations

from collections.abc import Sequence
from enum import StrEnum
from functools import partial

from PySide6.QtCore import QObject, QSize, Qt, Signal
from PySide6.QtGui import QShowEvent
from PySide6.QtWidgets import QDialog, QHBoxLayout, QMessageBox, QPushButton, QVBoxLayout, QWidget

from halo_scheduler.service.scheduler import Scheduler
from ui.backend.backend import Backend
from ui.backend.engine_thread import ShutdownMode
from ui.style.theme import GRID, HALF, MARGIN
from ui.style.wording import one_line
from ui.widgets.arrange import fit_height
from ui.widgets.labels import button, label, with_shortcut

from .windows import Windows

_WIDTH = 480
_MOST_NAMES = 3
_LONGEST_NAME = 60
# Processes outlive Halo; requests and functions run inside it.
_LEAVABLE = frozenset({"command", "prompt"})


class QuitChoice(StrEnum):
    """What to do with the current runs."""

    WAIT = "wait"
    STOP = "stop"
    LEAVE = "leave"
    CANCEL = "cancel"


class QuitDialog(QDialog):
    """Asks what to do with the current runs and emits `chosen`."""

    chosen = Signal(object)
    """A QuitChoice, exactly once; closing the dialog is CANCEL."""

    def __init__(self, running: Sequence[tuple[str, str]], parent: QWidget | None = None) -> None:
        """Take the name of each running job and the kind of its action."""
        super().__init__(parent)
        self.setObjectName("quitDialog")
        self.setWindowTitle(self.tr("Quit Halo"))
        self.setFixedWidth(_WIDTH)
        self._choice = QuitChoice.CANCEL
        names = [one_line(name, _LONGEST_NAME) for name, _ in running]
        stuck = sum(kind not in _LEAVABLE for _, kind in running)
        box = QVBoxLayout(self)
        box.setContentsMargins(MARGIN + GRID, MARGIN + GRID, MARGIN + GRID, MARGIN)
        box.setSpacing(GRID)
        box.addWidget(label(self._heading(len(names)), "title"))
        box.addWidget(label(self._listed(names), "muted", name="quitNames", wrap=True))
        box.addSpacing(GRID)
        for choice, title, meaning, key in self._choices(len(names), stuck):
            made = _ChoiceButton(title, meaning, key)
            made.setObjectName(f"quit{choice.value.capitalize()}Button")
            made.setEnabled(choice is not QuitChoice.LEAVE or stuck < len(names))
            made.clicked.connect(partial(self._choose, choice))
            box.addWidget(made)
        cancel = button(self.tr("Cancel"), name="quitCancelButton", tip=self.tr("Cancel (Esc)"))
        cancel.clicked.connect(self.reject)
        last = QHBoxLayout()
        last.addStretch(1)
        last.addWidget(cancel)
        box.addSpacing(GRID)
        box.addLayout(last)
        self.finished.connect(self._tell)

    def _heading(self, count: int) -> str:
        return (
            self.tr("1 job is running")
            if count == 1
            else self.tr("{count} jobs are running").format(count=count)
        )

    def _listed(self, names: Sequence[str]) -> str:
        shown = ", ".join(names[:_MOST_NAMES])
        if len(names) <= _MOST_NAMES:
            return shown
        return self.tr("{names} and {count} more").format(names=shown, count=len(names) - _MOST_NAMES)

    def _choices(self, count: int, stuck: int) -> tuple[tuple[QuitChoice, str, str, str], ...]:
        return (
            (
                QuitChoice.WAIT,
                self.tr("Wait, then quit"),
                self.tr("No new runs start. Halo quits when the last one finishes."),
                "Alt+W",
            ),
            (
                QuitChoice.LEAVE,
                self.tr("Leave running"),
                self._leaving(count, stuck),
                "Alt+L",
            ),
            (
                QuitChoice.STOP,
                self.tr("Stop and quit"),
                self.tr("They're asked to exit, then killed. Their runs are recorded as stopped."),
                "Alt+S",
            ),
        )

    def _leaving(self, count: int, stuck: int) -> str:
        if stuck == count:
            return self.tr("Not available: HTTP requests and Python functions end with Halo.")
        words = self.tr("They keep running; Halo picks them up at the next start.")
        if stuck:
            ending = self.tr("Except {count}: HTTP requests and Python functions end with Halo.").format(
                count=stuck
            )
            return f"{words} {ending}"
        return words

    def _choose(self, choice: QuitChoice) -> None:
        self._choice = choice
        self.accept()

    def _tell(self) -> None:
        self.chosen.emit(self._choice)

    def showEvent(self, event: QShowEvent) -> None:  # noqa: N802
        fit_height(self, _WIDTH)
        super().showEvent(event)


class _ChoiceButton(QPushButton):
    """A button with a title and an explanation."""

    def __init__(self, title: str, meaning: str, key: str) -> None:
        super().__init__()
        self.setAccessibleName(title)
        self.setAccessibleDescription(meaning)
        self.setShortcut(key)
        self.setToolTip(with_shortcut(title, key))
        self.setAutoDefault(True)
        self._box = QVBoxLayout(self)
        self._box.setContentsMargins(MARGIN, GRID + HALF, MARGIN, GRID + HALF)
        self._box.setSpacing(HALF)
        for words in (label(title, "strong"), label(meaning, "small", wrap=True)):
            words.setAttribute(Qt.WidgetAttribute.WA_TransparentForMouseEvents)
            self._box.addWidget(words)

    def hasHeightForWidth(self) -> bool:  # noqa: N802
        return True

    def heightForWidth(self, width: int) -> int:  # noqa: N802
        return self._box.heightForWidth(width)

    def sizeHint(self) -> QSize:  # noqa: N802
        return self._box.sizeHint()

    def minimumSizeHint(self) -> QSize:  # noqa: N802
        return self._box.minimumSize()


class Quitting(QObject):
    """Asks one question at a time, without blocking."""

    decided = Signal(object)
    """A ShutdownMode."""

    def __init__(self, backend: Backend, windows: Windows, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._backend = backend
        self._windows = windows
        self._dialog: QuitDialog | QMessageBox | None = None

    def ask(self, *, is_engine_here: bool) -> None:
        """Ask whether and how to quit, if needed."""
        if self._dialog is not None and self._dialog.isVisible():
            self._dialog.raise_()
            self._dialog.activateWindow()
        elif self._windows.editing.unsaved_names():
            self._ask_about_edits(is_engine_here=is_engine_here)
        else:
            self._check_runs(is_engine_here=is_engine_here)

    def _ask_about_edits(self, *, is_engine_here: bool) -> None:
        self._windows.show_main()
        box = QMessageBox(self._windows.main)
        box.setObjectName("unsavedBox")
        box.setWindowTitle(self.tr("Quit Halo"))
        box.setText(self.tr("You have unsaved changes to a job."))
        box.setInformativeText(self.tr("They'll be lost if you quit now."))
        discard = box.addButton(self.tr("Discard and quit"), QMessageBox.ButtonRole.DestructiveRole)
        keep = box.addButton(self.tr("Keep editing"), QMessageBox.ButtonRole.RejectRole)
        box.setDefaultButton(keep)
        discard.clicked.connect(lambda: self._check_runs(is_engine_here=is_engine_here))
        keep.clicked.connect(self._windows.editing.raise_unsaved)
        self._dialog = box
        box.open()

    def _check_runs(self, *, is_engine_here: bool) -> None:
        if not is_engine_here:
            # The other engine continues to run the jobs.
            self.decided.emit(ShutdownMode.LEAVE)
            return
        self._backend.ask(
            _running_jobs,
            self._ask_about_runs,
            lambda _error: self.decided.emit(ShutdownMode.LEAVE),
            owner=self,
        )

    def _ask_about_runs(self, running: list[tuple[str, str]]) -> None:
        if not running:
            self.decided.emit(ShutdownMode.LEAVE)
            return
        self._windows.show_main()
        self._dialog = QuitDialog(running, self._windows.main)
        self._dialog.chosen.connect(self._take)
        self._dialog.open()

    def _take(self, choice: QuitChoice) -> None:
        if choice is not QuitChoice.CANCEL:
            self.decided.emit(ShutdownMode(choice.value))


def _running_jobs(scheduler: Scheduler) -> list[tuple[str, str]]:
    """Return the name of each running job and the kind of its action."""
    runs = scheduler.runs.running()
    jobs = scheduler.jobs.get_many({run.job_id for run in runs})
    return [
        (jobs[run.job_id].name, jobs[run.job_id].action.kind) if run.job_id in jobs else ("?", "command")
        for run in runs
    ]
