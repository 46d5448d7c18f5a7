"""The notes of the pane beside the job table: what somebody has to do, or was advised."""

from __future__ import annotations

from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import QFrame, QHBoxLayout, QVBoxLayout

from ui.style.marks import ASKS
from ui.style.theme import GRID, HALF, Look
from ui.widgets.labels import button
from ui.widgets.status_strip import MarkLabel
from ui.widgets.wrapped_text import WrappedText

_QUESTION_LINES = 6


class AskedNote(QFrame):
    """What a job asks; it is answered where all questions are."""

    answer_wanted = Signal()

    def __init__(self, look: Look) -> None:
        super().__init__()
        self.setObjectName("askedNote")
        self.setProperty("role", "note")
        row = QHBoxLayout(self)
        row.setContentsMargins(GRID, GRID, GRID, GRID)
        row.setSpacing(GRID)
        mark = MarkLabel(look)
        mark.set_mark(ASKS)
        left = QVBoxLayout()
        left.addSpacing(HALF)
        left.addWidget(mark)
        left.addStretch(1)
        row.addLayout(left)
        column = QVBoxLayout()
        column.setSpacing(GRID)
        row.addLayout(column, 1)
        self._text = WrappedText(look, name="askedText", most_lines=_QUESTION_LINES)
        column.addWidget(self._text)
        self._more = WrappedText(look, name="askedMore")
        self._more.setVisible(False)
        column.addWidget(self._more)
        answer = button(self.tr("Answer…"), name="askedAnswerButton", tip=self.tr("Answer or dismiss it"))
        answer.clicked.connect(self.answer_wanted)
        column.addWidget(answer, 0, Qt.AlignmentFlag.AlignLeft)

    def show_questions(self, texts: tuple[str, ...]) -> None:
        """Show the first question, and how many there are besides."""
        self.setVisible(bool(texts))
        if not texts:
            return
        self._text.set_text(texts[0])
        more = len(texts) - 1
        words = self.tr("and 1 more question") if more == 1 else self.tr("and {count} more questions")
        self._more.set_text(words.format(count=more) if more else "")


class SentenceNote(QFrame):
    """A sentence on a quiet ground; hidden while there is none."""

    def __init__(self, look: Look, *, name: str) -> None:
        super().__init__()
        self.setObjectName(f"{name}Note")
        self.setProperty("role", "note")
        row = QHBoxLayout(self)
        row.setContentsMargins(GRID, GRID, GRID, GRID)
        self._text = WrappedText(look, name=f"{name}Sentence")
        row.addWidget(self._text, 1)
        self.setVisible(False)

    def show_sentence(self, sentence: str) -> None:
        """Say something, or nothing any more."""
        self.setVisible(bool(sentence))
        self._text.set_text(sentence)
