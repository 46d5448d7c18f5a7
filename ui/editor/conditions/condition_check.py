"""Whether a condition holds just now, shown beside it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtCore import Qt, QTimer, Signal
from PySide6.QtWidgets import QHBoxLayout, QWidget

from halo_scheduler.errors import SchedulerError
from halo_scheduler.model import Condition
from ui.backend.backend import Asked, Backend, Lane
from ui.forms.mark_sign import MarkSign
from ui.forms.seen import show_if
from ui.style.marks import Mark, Shape
from ui.style.theme import GRID, Appearance, Tone, small_font
from ui.widgets.wrapped_text import WrappedText

if TYPE_CHECKING:
    from halo_scheduler.conditions.probing import ConditionState

# So long nothing was typed: every look at a host is a connection.
_PAUSE_MS = 500
_MOST_LINES = 4
_UNKNOWN = Mark(Shape.DOTTED, Tone.MUTED)
_HOLDS = Mark(Shape.CIRCLE, Tone.OK)
_LACKS = Mark(Shape.TRIANGLE, Tone.WARN)
_BLIND = Mark(Shape.SQUARE, Tone.ERROR)


class ConditionCheck(QWidget):
    """Asks while it is seen, and shows only answers to the condition as it stands."""

    learned = Signal()
    """What is known of the condition is something else now."""

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
        """Look at another condition after a pause; None is one that cannot be read yet."""
        if condition == self._condition:
            return
        self.stop()
        self._condition = condition
        self._state = None
        self._show(_UNKNOWN, "" if condition is None else self.tr("Looking whether it holds now…"))
        if condition is not None:
            self._timer.start()

    def recheck(self) -> None:
        """Ask now how things stand, if anybody sees it; what is shown stays until the answer is there."""
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
        """Return why a condition can never hold here, as far as that is known; nothing if it can."""
        state = self._state if condition == self._condition else None
        return "" if state is None or state.is_observable else state.sentence

    def set_silent(self, is_silent: bool) -> None:  # noqa: FBT001 - like setEnabled
        """Leave it to an error to say how things stand."""
        self._is_silent = is_silent
        self._show_parts()

    def stop(self) -> None:
        """Wait for no answer any more; others may want to ask."""
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
            self._show(_UNKNOWN, self.tr("Not known now. {sentence}").format(sentence=state.sentence))
        elif state.holds:
            self._show(_HOLDS, self.tr("Holds now. {sentence}").format(sentence=state.sentence))
        else:
            self._show(_LACKS, self.tr("Does not hold now. {sentence}").format(sentence=state.sentence))
        self.learned.emit()

    def _refuse(self, error: SchedulerError) -> None:
        self._request = None
        self._show(_UNKNOWN, self.tr("Not known now. {sentence}").format(sentence=str(error)))

    def _show(self, mark: Mark, words: str) -> None:
        self._sign.show_mark(mark, "")
        self._words.set_text(words)
        self._show_parts()

    def _show_parts(self) -> None:
        is_wanted = bool(self._words.text()) and not self._is_silent
        show_if(self._words, is_wanted)
        show_if(self._sign, is_wanted)
