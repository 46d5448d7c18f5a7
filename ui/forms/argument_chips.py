"""The arguments of a command, each in a frame."""

from __future__ import annotations

from PySide6.QtCore import QRectF, QSize, Qt
from PySide6.QtGui import QColor, QFontMetrics, QPainter, QPaintEvent, QPen
from PySide6.QtWidgets import QSizePolicy, QWidget

from ui.style.theme import GRID, HALF, Appearance, mono_font, small_font
from ui.style.wording import one_line

_MOST_LINES = 3
_LONGEST = 60
_MOST = 200


class ArgumentChips(QWidget):
    """Shows how a command line is split, in a few lines at most."""

    def __init__(self, appearance: Appearance, *, name: str) -> None:
        super().__init__()
        self.setObjectName(name)
        self._appearance = appearance
        self._texts: list[str] = []
        self.setFont(mono_font(small_font(self.font())))
        policy = QSizePolicy(QSizePolicy.Policy.Preferred, QSizePolicy.Policy.Minimum)
        policy.setHeightForWidth(True)
        self.setSizePolicy(policy)
        appearance.changed.connect(self.update)
        self.hide()

    def show_arguments(self, arguments: tuple[str, ...]) -> None:
        """Show the arguments; hidden for a single one."""
        self._texts = [one_line(text, _LONGEST) or "''" for text in arguments[:_MOST]]
        self.setVisible(len(self._texts) > 1)
        self.setAccessibleName(self.tr("Runs: {arguments}").format(arguments=" · ".join(self._texts)))
        self.updateGeometry()
        self.update()

    def _placed(self, width: int) -> tuple[list[tuple[QRectF, str]], int]:
        """Return the position of each chip, and how many do not fit."""
        metrics = QFontMetrics(self.font())
        height = metrics.height() + HALF
        x, y = 0, 0
        placed: list[tuple[QRectF, str]] = []
        room_for_rest = metrics.horizontalAdvance("+ 999") + GRID
        for index, text in enumerate(self._texts):
            needed = min(metrics.horizontalAdvance(text) + GRID * 2, width)
            is_last_line = y >= (_MOST_LINES - 1) * (height + HALF)
            if is_last_line and x + needed > width - room_for_rest and x:
                return placed, len(self._texts) - index
            if x and x + needed > width:
                x, y = 0, y + height + HALF
            placed.append((QRectF(x, y, needed, height), text))
            x += needed + HALF
        return placed, 0

    def hasHeightForWidth(self) -> bool:  # noqa: N802 - Qt's name
        return True

    def heightForWidth(self, width: int) -> int:  # noqa: N802 - Qt's name
        placed, _ = self._placed(width)
        return int(placed[-1][0].bottom()) + 1 if placed else 0

    def sizeHint(self) -> QSize:  # noqa: N802 - Qt's name
        return QSize(320, self.heightForWidth(self.width() or 320))

    def paintEvent(self, _event: QPaintEvent) -> None:  # noqa: N802 - Qt's name
        placed, left_out = self._placed(self.width())
        colours = self._appearance.colours
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        metrics = QFontMetrics(self.font())
        for index, (box, text) in enumerate(placed):
            painter.setPen(QPen(QColor(colours.line)))
            painter.setBrush(QColor(colours.selected if index == 0 else colours.sunken))
            painter.drawRoundedRect(box.adjusted(0.5, 0.5, -0.5, -0.5), HALF, HALF)
            painter.setPen(QColor(colours.text))
            shown = metrics.elidedText(text, Qt.TextElideMode.ElideMiddle, int(box.width()) - GRID)
            painter.drawText(box, Qt.AlignmentFlag.AlignCenter, shown)
        if left_out and placed:
            last = placed[-1][0]
            painter.setPen(QColor(colours.muted))
            rest = QRectF(last.right() + GRID, last.top(), self.width() - last.right() - GRID, last.height())
            painter.drawText(rest, Qt.AlignmentFlag.AlignVCenter, f"+ {left_out}")
        painter.end()
