"""Multi-line plain text fields."""

from __future__ import annotations

import re

from PySide6.QtCore import QMimeData, Qt
from PySide6.QtGui import QResizeEvent, QTextOption
from PySide6.QtWidgets import QPlainTextEdit

from ui.style.theme import HALF

_BORDER = 1
# Qt takes quadratic time to break such a word.
_ENDLESS_WORD = re.compile(r"\S{2000}")


class PlainText(QPlainTextEdit):
    """Tab moves the focus on; very long words do not block the GUI."""

    def __init__(self, *, name: str, title: str) -> None:
        super().__init__()
        self.setObjectName(name)
        self.setAccessibleName(title)
        self.setTabChangesFocus(True)

    def show_text(self, text: str) -> None:
        """Replace the text."""
        self._choose_breaks(text)
        self.setPlainText(text)

    def _choose_breaks(self, text: str) -> None:
        breaks = QTextOption.WrapMode
        is_endless = _ENDLESS_WORD.search(text) is not None
        mode = breaks.WrapAnywhere if is_endless else breaks.WrapAtWordBoundaryOrAnywhere
        if mode != self.wordWrapMode():
            self.setWordWrapMode(mode)

    def insertFromMimeData(self, source: QMimeData) -> None:  # noqa: N802 - Qt's name
        if _ENDLESS_WORD.search(source.text()):
            self._choose_breaks(source.text())
        super().insertFromMimeData(source)


class GrowingText(PlainText):
    """Grows with its text, and scrolls at its maximum height."""

    def __init__(self, *, name: str, title: str, least: int, most: int) -> None:
        super().__init__(name=name, title=title)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self._least = least
        self._most = most
        self.document().documentLayout().documentSizeChanged.connect(self._fit)
        self._fit()

    def _fit(self) -> None:
        # The document size of a plain text is in lines.
        lines = round(self.document().size().height())
        bars = Qt.ScrollBarPolicy
        policy = bars.ScrollBarAsNeeded if lines > self._most else bars.ScrollBarAlwaysOff
        if policy != self.verticalScrollBarPolicy():
            self.setVerticalScrollBarPolicy(policy)
        around = round(self.document().documentMargin() * 2) + (HALF + _BORDER) * 2
        height = self.fontMetrics().lineSpacing() * min(max(lines, self._least), self._most) + around
        if height != self.maximumHeight():
            self.setFixedHeight(height)

    def resizeEvent(self, event: QResizeEvent) -> None:  # noqa: N802 - Qt's name
        super().resizeEvent(event)
        # Qt does not signal that lines wrap differently at another width.
        self._fit()
