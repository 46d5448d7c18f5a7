"""A collapsible section of a page."""

from __future__ import annotations

from PySide6.QtCore import QRect, QRectF, QSize, Qt, Signal
from PySide6.QtGui import QColor, QEnterEvent, QFontMetrics, QPainter, QPaintEvent
from PySide6.QtWidgets import QAbstractButton, QSizePolicy, QVBoxLayout, QWidget

from ui.style.theme import GRID, MARGIN, ROW, Appearance, Tone, icon_size, strong_font
from ui.style.wording import one_line

_RADIUS = 6


class Fold(QWidget):
    """A section that is collapsed under a title and a summary."""

    opened = Signal()
    """The section is about to open."""

    def __init__(self, appearance: Appearance, title: str, *, name: str) -> None:
        super().__init__()
        self._head = _FoldHead(appearance, title, name=name)
        self._body = QWidget()
        self._inside = QVBoxLayout(self._body)
        self._inside.setContentsMargins(icon_size() + GRID, GRID, 0, GRID)
        self._inside.setSpacing(MARGIN)
        self._body.hide()
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.setSpacing(0)
        layout.addWidget(self._head)
        layout.addWidget(self._body)
        self._head.toggled.connect(self._show_body)

    def add(self, widget: QWidget) -> None:
        """Add a widget to the section."""
        self._inside.addWidget(widget)

    def set_title(self, title: str) -> None:
        """Change the title."""
        self._head.set_title(title)

    def set_summary(self, text: str) -> None:
        """Set the summary that is shown while collapsed."""
        self._head.set_summary(one_line(text))

    @property
    def summary(self) -> str:
        return self._head.summary

    @property
    def head(self) -> QWidget:
        """The header, which comes first in Tab order."""
        return self._head

    @property
    def is_open(self) -> bool:
        return self._head.isChecked()

    def unfold(self) -> None:
        """Expand the section."""
        self._head.setChecked(True)

    def _show_body(self, is_open: bool) -> None:  # noqa: FBT001 - a slot of `toggled`
        if is_open:
            self.opened.emit()
        self._body.setVisible(is_open)


class _FoldHead(QAbstractButton):
    """The header that expands and collapses a section."""

    def __init__(self, appearance: Appearance, title: str, *, name: str) -> None:
        super().__init__()
        self._appearance = appearance
        self.summary = ""
        self.setObjectName(name)
        # Excludes it from the snapshot: being open is not a value.
        self.setProperty("kind", "fold")
        self.set_title(title)
        self.setCheckable(True)
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.setCursor(Qt.CursorShape.PointingHandCursor)
        self.setAttribute(Qt.WidgetAttribute.WA_Hover)
        self.setSizePolicy(QSizePolicy.Policy.Ignored, QSizePolicy.Policy.Fixed)
        appearance.changed.connect(self.update)

    def set_title(self, title: str) -> None:
        """Change the title."""
        self.setText(title)
        self.setAccessibleName(title)

    def set_summary(self, text: str) -> None:
        """Show this beside the title while collapsed."""
        self.summary = text
        self.setAccessibleDescription(text)
        self.update()

    def sizeHint(self) -> QSize:  # noqa: N802 - Qt's name
        return QSize(MARGIN * 10, max(ROW, QFontMetrics(self.font()).height() + GRID))

    def enterEvent(self, event: QEnterEvent) -> None:  # noqa: N802 - Qt's name
        self.update()
        super().enterEvent(event)

    def paintEvent(self, _event: QPaintEvent) -> None:  # noqa: N802 - Qt's name
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        colours = self._appearance.colours
        if self.hasFocus():
            painter.setPen(QColor(colours.accent))
            painter.drawRoundedRect(QRectF(self.rect()).adjusted(0.5, 2.5, -0.5, -2.5), _RADIUS, _RADIUS)
        is_lit = self.underMouse() or self.hasFocus()
        arrow = self._appearance.icon(
            "chevron-down" if self.isChecked() else "chevron-right", Tone.TEXT if is_lit else Tone.MUTED
        )
        size = icon_size()
        arrow.paint(painter, QRect(0, (self.height() - size) // 2, size, size))
        font = strong_font(self.font())
        painter.setFont(font)
        painter.setPen(QColor(colours.text))
        left = size + GRID
        middle = Qt.AlignmentFlag.AlignVCenter
        painter.drawText(QRect(left, 0, self.width() - left, self.height()), middle, self.text())
        if not self.isChecked():
            left += QFontMetrics(font).horizontalAdvance(self.text()) + MARGIN
            room = self.width() - left
            painter.setFont(self.font())
            painter.setPen(QColor(colours.muted))
            shown = QFontMetrics(self.font()).elidedText(self.summary, Qt.TextElideMode.ElideRight, room)
            painter.drawText(QRect(left, 0, room, self.height()), middle, shown)
        painter.end()
