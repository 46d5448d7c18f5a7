"""The bar that says that somebody's answer is waited for."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QHBoxLayout, QVBoxLayout, QWidget

from ui.marks import ASKS
from ui.theme import GRID, HALF, MARGIN, Look
from ui.widgets.labels import button, frame, label, set_words, with_shortcut
from ui.widgets.status_strip import MarkLabel
from ui.widgets.wrapped_text import WrappedText
from ui.wording import one_line

_KEYS = "Ctrl+I"
_LONGEST_NAME = 40


class NeedsYouBar(QWidget):
    """Opens the list of questions and closes it; hidden while nothing is asked."""

    list_wanted = Signal(bool)
    """The list is to be shown, or no longer."""

    def __init__(self, look: Look) -> None:
        super().__init__()
        self.setObjectName("needsYouBar")
        self._is_open = False
        outer = QVBoxLayout(self)
        outer.setContentsMargins(MARGIN, 0, MARGIN, GRID)
        box = frame("note")
        outer.addWidget(box)
        row = QHBoxLayout(box)
        row.setContentsMargins(GRID + HALF, HALF, HALF, HALF)
        row.setSpacing(GRID)
        mark = MarkLabel(look)
        mark.set_mark(ASKS)
        row.addWidget(mark)
        title = label(self.tr("Needs you"), "strong", name="needsYouTitle")
        row.addWidget(title)
        self._words = WrappedText(look, name="needsYouSummary", font=self.font(), most_lines=1)
        row.addWidget(self._words, 1)
        self.button = button("", name="needsYouButton", shortcut=_KEYS)
        self.button.clicked.connect(lambda: self.list_wanted.emit(not self._is_open))
        row.addWidget(self.button)
        self._fit_button()
        self.setVisible(False)

    def show_questions(self, asked: Sequence[tuple[str, str]]) -> None:
        """Say who asks what: each job's name with its question."""
        self.setVisible(bool(asked))
        if not asked:
            return
        names = list(dict.fromkeys(one_line(name, _LONGEST_NAME) for name, _ in asked))
        if len(asked) == 1:
            words = self.tr("{job} asks: {question}").format(job=names[0], question=one_line(asked[0][1]))
        else:
            count = self.tr("{count} questions").format(count=len(asked))
            words = self.tr("{count} from {jobs}").format(count=count, jobs=", ".join(names))
        self._words.set_text(words)

    def set_open(self, is_open: bool) -> None:  # noqa: FBT001 - it is what the name says
        """Offer the way back while the list is shown."""
        self._is_open = is_open
        self._fit_button()

    def _fit_button(self) -> None:
        words = self.tr("Back to the jobs") if self._is_open else self.tr("Answer…")
        tip = self.tr("Show the jobs again") if self._is_open else self.tr("Show the questions")
        set_words(self.button, words)
        self.button.setAccessibleName(words)
        self.button.setToolTip(with_shortcut(tip, _KEYS))
