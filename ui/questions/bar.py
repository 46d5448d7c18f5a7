"""The bar that announces open questions."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QHBoxLayout, QVBoxLayout, QWidget

from ui.style.marks import ASKS, Mark, Shape
from ui.style.theme import GRID, HALF, MARGIN, Appearance, Tone
from ui.style.wording import one_line
from ui.widgets.labels import button, frame, label, set_words, with_shortcut
from ui.widgets.status_strip import MarkLabel
from ui.widgets.wrapped_text import WrappedText

_KEYS = "Ctrl+I"
_LONGEST_NAME = 40
_SETTLED = Mark(Shape.CIRCLE, Tone.OK)


class NeedsYouBar(QWidget):
    """Opens and closes the questions page; hidden while there are no questions."""

    list_wanted = Signal(bool)
    """Whether the page is wanted."""

    def __init__(self, appearance: Appearance) -> None:
        super().__init__()
        self.setObjectName("needsYouBar")
        self._is_open = False
        self._count = 0
        outer = QVBoxLayout(self)
        outer.setContentsMargins(MARGIN, 0, MARGIN, GRID)
        box = frame("note")
        outer.addWidget(box)
        row = QHBoxLayout(box)
        row.setContentsMargins(GRID + HALF, HALF, HALF, HALF)
        row.setSpacing(GRID)
        self._mark = MarkLabel(appearance)
        row.addWidget(self._mark)
        self._title = label(self.tr("Needs you"), "strong", name="needsYouTitle")
        row.addWidget(self._title)
        self._words = WrappedText(appearance, name="needsYouSummary", font=self.font(), most_lines=1)
        row.addWidget(self._words, 1)
        self.button = button("", name="needsYouButton", shortcut=_KEYS)
        self.button.clicked.connect(lambda: self.list_wanted.emit(not self._is_open))
        row.addWidget(self.button)
        self._fit_button()
        self.setVisible(False)

    def show_questions(self, asked: Sequence[tuple[str, str]]) -> None:
        """Show the questions, each with its job's name."""
        self._count = len(asked)
        self._mark.set_mark(ASKS if asked else _SETTLED)
        self._title.setVisible(bool(asked))
        self._words.set_text(self._summary(asked))
        self._fit()

    def set_open(self, is_open: bool) -> None:  # noqa: FBT001 - it is what the name says
        """Offer the way back while the page is shown."""
        self._is_open = is_open
        self._fit_button()
        self._fit()

    def _fit(self) -> None:
        # It stays above the open page even without questions, so that nothing moves.
        self.setVisible(self._count > 0 or self._is_open)

    def _summary(self, asked: Sequence[tuple[str, str]]) -> str:
        names = list(dict.fromkeys(one_line(name, _LONGEST_NAME) for name, _ in asked))
        if not asked:
            return self.tr("No open questions.")
        if len(asked) == 1:
            return self.tr("{job} asks: {question}").format(job=names[0], question=one_line(asked[0][1]))
        return self.tr("{count} questions from {jobs}").format(count=len(asked), jobs=", ".join(names))

    def _fit_button(self) -> None:
        words = self.tr("Back to jobs") if self._is_open else self.tr("Answer…")
        tip = self.tr("Show the jobs") if self._is_open else self.tr("Show the questions")
        set_words(self.button, words)
        self.button.setAccessibleName(words)
        self.button.setToolTip(with_shortcut(tip, _KEYS))
