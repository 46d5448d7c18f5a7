"""Fields for plain text of several lines."""

from __future__ import annotations

import re

from PySide6.QtCore import QMimeData, Qt
from PySide6.QtGui import QResizeEvent, QTextOption
from PySide6.QtWidgets import QPlainTextEdit

from ui.style.theme import HALF

_BORDER = 1
# Looking for a place to break such a word takes Qt a time that grows with the square of its length.
_ENDLESS_WORD = re.compile(r"\S{2000}")


class PlainText(QPlainTextEdit):
    """A text that the Tab key leaves; one without blanks, however long, holds nothing up."""

    def __init__(self, *, name: str, title: str) -> None:
        super().__init__()
        self.setObjectName(name)
        self.setAccessibleName(title)
        self.setTabChangesFocus(True)

    def show_text(self, text: str) -> None:
        """Show a text in the place of what was there."""
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
    """Grows line by line, and scrolls only when it is as high as it may be."""

    def __init__(self, *, name: str, title: str, least: int, most: int) -> None:
        super().__init__(name=name, title=title)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self._least = least
        self._most = most
        self.document().documentLayout().documentSizeChanged.connect(self._fit)
        self._fit()

    def _fit(self) -> None:
        # The size of a plain text is counted in lines.
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
        # Lines that break elsewhere at another width are not told of.
        self._fit()
