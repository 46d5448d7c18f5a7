"""A status mark before a line of text."""

from __future__ import annotations

from PySide6.QtCore import QRectF, QSize
from PySide6.QtGui import QPainter, QPaintEvent
from PySide6.QtWidgets import QSizePolicy, QWidget

from ui.style.marks import Mark, paint_mark
from ui.style.theme import ICON, Appearance

_MARK = 10


class MarkSign(QWidget):
    """As high as a line of text, with the mark centred."""

    def __init__(self, appearance: Appearance, mark: Mark, words: str = "", size: int = _MARK) -> None:
        super().__init__()
        self._appearance = appearance
        self._mark = mark
        self._size = size
        self.setToolTip(words)
        self.setSizePolicy(QSizePolicy.Policy.Fixed, QSizePolicy.Policy.Fixed)
        appearance.changed.connect(self.update)

    @property
    def mark(self) -> Mark:
        return self._mark

    def show_mark(self, mark: Mark, words: str) -> None:
        """Show a mark and its meaning as a tooltip."""
        self._mark = mark
        self.setToolTip(words)
        self.update()

    def sizeHint(self) -> QSize:  # noqa: N802 - Qt's name
        return QSize(ICON, self.fontMetrics().height())

    def paintEvent(self, _event: QPaintEvent) -> None:  # noqa: N802 - Qt's name
        painter = QPainter(self)
        box = QRectF(
            (self.width() - self._size) / 2, (self.height() - self._size) / 2, self._size, self._size
        )
        paint_mark(painter, box, self._mark.shape, self._appearance.colour(self._mark.tone))
        painter.end()
