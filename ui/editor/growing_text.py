"""A plain text that is as high as it is long, within bounds."""

from __future__ import annotations

from PySide6.QtCore import Qt
from PySide6.QtGui import QResizeEvent
from PySide6.QtWidgets import QPlainTextEdit

from ui.theme import HALF

_BORDER = 1


class GrowingText(QPlainTextEdit):
    """Grows line by line, and scrolls only when it is as high as it may be."""

    def __init__(self, *, name: str, title: str, least: int, most: int) -> None:
        super().__init__()
        self.setObjectName(name)
        self.setAccessibleName(title)
        self.setTabChangesFocus(True)
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
