"""A switch widget."""

from __future__ import annotations

from PySide6.QtCore import QPoint, QRectF, QSize, Qt
from PySide6.QtGui import QColor, QPainter, QPaintEvent, QPen
from PySide6.QtWidgets import QCheckBox, QWidget

from ui.style.theme import Appearance

_WIDTH, _HEIGHT = 40, 22
_KNOB_INSET = 4
_RING = 3


class Switch(QCheckBox):
    """A check box drawn as a switch; the position of the knob shows the state, not only the colour."""

    def __init__(
        self, appearance: Appearance, name: str, accessible: str, parent: QWidget | None = None
    ) -> None:
        super().__init__(parent)
        self._appearance = appearance
        self.setObjectName(name)
        self.setAccessibleName(accessible)
        self.setCursor(Qt.CursorShape.PointingHandCursor)
        appearance.changed.connect(self.update)

    def sizeHint(self) -> QSize:  # noqa: N802
        return QSize(_WIDTH + 2 * _RING, _HEIGHT + 2 * _RING)

    def minimumSizeHint(self) -> QSize:  # noqa: N802
        return self.sizeHint()

    def hitButton(self, pos: QPoint) -> bool:  # noqa: N802
        return self.rect().contains(pos)

    def paintEvent(self, _event: QPaintEvent) -> None:  # noqa: N802
        colours = self._appearance.colours
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        track = QRectF(_RING, (self.height() - _HEIGHT) / 2, _WIDTH, _HEIGHT)
        is_on = self.isChecked() and self.isEnabled()
        painter.setPen(QPen(QColor(colours.accent if is_on else colours.muted), 1))
        painter.setBrush(QColor(colours.accent if is_on else colours.sunken))
        painter.drawRoundedRect(track.adjusted(0.5, 0.5, -0.5, -0.5), _HEIGHT / 2, _HEIGHT / 2)
        side = _HEIGHT - 2 * _KNOB_INSET
        left = track.right() - side - _KNOB_INSET if self.isChecked() else track.left() + _KNOB_INSET
        painter.setPen(Qt.PenStyle.NoPen)
        painter.setBrush(QColor(colours.on_accent if is_on else colours.muted))
        painter.drawEllipse(QRectF(left, track.top() + _KNOB_INSET, side, side))
        if self.hasFocus():
            painter.setPen(QPen(QColor(colours.accent), 1.5))
            painter.setBrush(Qt.BrushStyle.NoBrush)
            ring = track.adjusted(-2, -2, 2, 2)
            painter.drawRoundedRect(ring, ring.height() / 2, ring.height() / 2)
        painter.end()
