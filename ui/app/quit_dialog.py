"""Leaving while runs are under way: wait for them, stop them, or let them go on."""

from __future__ import annotations

from collections.abc import Sequence
from enum import StrEnum
from functools import partial

from PySide6.QtCore import QSize, Qt, Signal
from PySide6.QtGui import QShowEvent
from PySide6.QtWidgets import QDialog, QHBoxLayout, QPushButton, QVBoxLayout, QWidget

from ui.style.theme import GRID, HALF, MARGIN
from ui.style.wording import one_line
from ui.widgets.fitting import fit_height
from ui.widgets.labels import button, label, with_shortcut

_WIDTH = 480
_MOST_NAMES = 3
_LONGEST_NAME = 60
# What a process of its own does goes on without us; requests and functions are ours.
_LEAVABLE = frozenset({"command", "prompt"})


class QuitChoice(StrEnum):
    """What becomes of the runs under way."""

    WAIT = "wait"
    STOP = "stop"
    LEAVE = "leave"
    CANCEL = "cancel"


class QuitDialog(QDialog):
    """Asks what becomes of the runs under way; open it, and listen to `chosen`."""

    chosen = Signal(object)
    """A QuitChoice, exactly once; closing the dialog means not to quit."""

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
        cancel = button(self.tr("Do not quit"), name="quitCancelButton", tip=self.tr("Do not quit (Esc)"))
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
                self.tr("Nothing new starts. Halo quits as soon as the last one has ended."),
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
                self.tr("Each is asked to end, then ended. Its run is recorded as stopped."),
                "Alt+S",
            ),
        )

    def _leaving(self, count: int, stuck: int) -> str:
        if stuck == count:
            return self.tr("Not possible here: requests and functions end together with Halo.")
        words = self.tr("They go on without Halo, which takes them up again when it starts.")
        if stuck:
            return f"{words} {self.tr('Requests and functions cannot go on: {count} of them end.').format(count=stuck)}"
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
    """A button that says what it does, and below what that means."""

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
