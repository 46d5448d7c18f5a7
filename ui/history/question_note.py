"""What a run asked, and what became of that."""

from __future__ import annotations

from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import QFrame, QHBoxLayout, QVBoxLayout

from halo_scheduler.model import Question, QuestionState
from ui.backend.questions import plain_lines
from ui.style.marks import ASKS
from ui.style.theme import GRID, HALF, Look, Tone, strong_font
from ui.style.wording import moment
from ui.widgets.labels import button
from ui.widgets.line_icon import LineIcon
from ui.widgets.wrapped_text import WrappedText

_QUESTION_LINES, _ANSWER_LINES = 6, 4


class QuestionNote(QFrame):
    """Shows a question; an open one can be answered where all of them are."""

    answer_requested = Signal()

    def __init__(self, look: Look) -> None:
        super().__init__()
        self.setObjectName("questionNote")
        self.setProperty("role", "note")
        self._icon = LineIcon(look, ASKS.shape, ASKS.tone)
        self._text = WrappedText(
            look, name="questionText", font=strong_font(self.font()), most_lines=_QUESTION_LINES
        )
        self._state = WrappedText(look, name="questionState", tone=Tone.MUTED)
        self._answer = WrappedText(look, name="questionAnswer", most_lines=_ANSWER_LINES)
        self._act = button(
            self.tr("Answer…"), name="answerQuestionButton", tip=self.tr("Answer or dismiss it")
        )
        self._act.clicked.connect(self.answer_requested)
        self._lay_out()
        self.hide()

    def show_question(self, question: Question | None, *, is_own: bool = True) -> None:
        """Show what a run asked, or nothing; one that is not its own is what it was given the answer to."""
        self.setVisible(question is not None)
        if question is None:
            return
        is_open = question.state is QuestionState.OPEN
        self._icon.set_icon(ASKS.shape, ASKS.tone if is_open else Tone.MUTED)
        self._text.set_text(plain_lines(question.text))
        self._state.set_text(self._state_words(question, is_own=is_own))
        self._answer.set_text(plain_lines(question.answer))
        self._act.setVisible(is_open)

    def _state_words(self, question: Question, *, is_own: bool) -> str:
        when = "" if question.settled_at is None else moment(question.settled_at)
        match question.state:
            case QuestionState.OPEN:
                return self.tr("It waits for your answer; until then it does not start by itself.")
            case QuestionState.ANSWERED if is_own:
                return self.tr("Answered on {when}:").format(when=when)
            case QuestionState.ANSWERED:
                return self.tr("Asked by an earlier run, answered on {when}:").format(when=when)
            case QuestionState.DISMISSED:
                return self.tr("Dismissed on {when}, without an answer.").format(when=when)

    def _lay_out(self) -> None:
        words = QVBoxLayout()
        words.setSpacing(HALF)
        for widget in (self._text, self._state, self._answer):
            words.addWidget(widget)
        row = QHBoxLayout(self)
        row.setContentsMargins(GRID + HALF, GRID, GRID, GRID)
        row.setSpacing(GRID)
        row.addWidget(self._icon, 0, Qt.AlignmentFlag.AlignTop)
        row.addLayout(words, 1)
        row.addWidget(self._act, 0, Qt.AlignmentFlag.AlignTop)
