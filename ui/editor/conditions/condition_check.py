"""The line below a condition that shows whether it is met now."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtCore import Qt, QTimer, Signal
from PySide6.QtWidgets import QHBoxLayout, QWidget

from halo_scheduler.errors import SchedulerError
from halo_scheduler.model import Condition
from ui.backend.backend import Asked, Backend, Lane
from ui.style.marks import Mark, Shape
from ui.style.theme import GRID, Appearance, Tone, small_font
from ui.widgets.arrange import show_if
from ui.widgets.labels import WrappedText
from ui.widgets.signs import MarkSign

if TYPE_CHECKING:
    from halo_scheduler.conditions.probes import ConditionState

# Wait for a pause in typing: each check of a host opens a connection.
_PAUSE_MS = 500
_MOST_LINES = 4
_UNKNOWN = Mark(Shape.DOTTED, Tone.MUTED)
_HOLDS = Mark(Shape.CIRCLE, Tone.OK)
_LACKS = Mark(Shape.TRIANGLE, Tone.WARN)
_BLIND = Mark(Shape.SQUARE, Tone.ERROR)


class ConditionCheck(QWidget):
    """Checks its condition while visible; drops answers to an earlier version of it."""

    learned = Signal()
    """A check has finished."""

    def __init__(self, backend: Backend, appearance: Appearance, *, name: str) -> None:
        super().__init__()
        self.setObjectName(name)
        self._backend = backend
        self._condition: Condition | None = None
        self._state: ConditionState | None = None
        self._request: Asked | None = None
        self._is_silent = False
        self._sign = MarkSign(appearance, _UNKNOWN)
        self._words = WrappedText(
            appearance,
            name=f"{name}Words",
            font=small_font(self.font()),
            tone=Tone.MUTED,
            most_lines=_MOST_LINES,
        )
        layout = QHBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.setSpacing(GRID)
        layout.addWidget(self._sign, alignment=Qt.AlignmentFlag.AlignTop)
        layout.addWidget(self._words, 1)
        self._timer = QTimer(self)
        self._timer.setSingleShot(True)
        self._timer.setInterval(_PAUSE_MS)
        self._timer.timeout.connect(self.recheck)
        self._show_parts()

    def check(self, condition: Condition | None) -> None:
        """Check another condition after a pause; None stands for an incomplete one."""
        if condition == self._condition:
            return
        self.stop()
        self._condition = condition
        self._state = None
        self._show(_UNKNOWN, "" if condition is None else self.tr("Checking…"))
        if condition is not None:
            self._timer.start()

    def recheck(self) -> None:
        """Check now if visible; keeps showing the last result until the new one arrives."""
        condition = self._condition
        if condition is None or not self.isVisible():
            return
        self.stop()
        self._request = self._backend.ask(
            lambda scheduler: scheduler.jobs.check_condition(condition),
            self._take,
            self._refuse,
            owner=self,
            lane=Lane.SLOW,
        )

    def refusal(self, condition: Condition) -> str:
        """Return why a condition can never be met on this system; empty if it can, or if that is unknown."""
        state = self._state if condition == self._condition else None
        return "" if state is None or state.is_observable else state.sentence

    def set_silent(self, is_silent: bool) -> None:  # noqa: FBT001 - like setEnabled
        """Hide the result while the field shows the same as an error."""
        self._is_silent = is_silent
        self._show_parts()

    def stop(self) -> None:
        """Cancel the pending check, so that others need not queue behind it."""
        self._timer.stop()
        if self._request is not None:
            self._request.cancel()
            self._request = None

    def _take(self, state: ConditionState) -> None:
        self._request = None
        self._state = state
        if not state.is_observable:
            self._show(_BLIND, state.sentence)
        elif state.holds is None:
            self._show(_UNKNOWN, self.tr("Unknown. {sentence}").format(sentence=state.sentence))
        elif state.holds:
            self._show(_HOLDS, self.tr("Met now. {sentence}").format(sentence=state.sentence))
        else:
            self._show(_LACKS, self.tr("Not met now. {sentence}").format(sentence=state.sentence))
        self.learned.emit()

    def _refuse(self, error: SchedulerError) -> None:
        self._request = None
        self._show(_UNKNOWN, self.tr("Unknown. {sentence}").format(sentence=str(error)))

    def _show(self, mark: Mark, words: str) -> None:
        self._sign.show_mark(mark, "")
        self._words.set_text(words)
        self._show_parts()

    def _show_parts(self) -> None:
        is_wanted = bool(self._words.text()) and not self._is_silent
        show_if(self._words, is_wanted)
        show_if(self._sign, is_wanted)
