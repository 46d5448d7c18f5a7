"""Icons and status marks as widgets, and links with a mark before them."""

from __future__ import annotations

from PySide6.QtCore import QEvent, QRect, QRectF, QSize, Qt
from PySide6.QtGui import QColor, QEnterEvent, QFont, QFontMetrics, QIcon, QPainter, QPaintEvent, QPen
from PySide6.QtWidgets import QAbstractButton, QSizePolicy, QWidget

from ui.style.icons import picture
from ui.style.marks import Mark, paint_mark
from ui.style.theme import GRID, HALF, Appearance, Tone, icon_size
from ui.style.wording import one_line, plain_tooltip

_SIGN_SIZE = 10
ABOVE_LINK = 2
"""The margin above and below the text, for the focus frame."""
_LINK_MARK = 8
_LONGEST = 300


class LineIcon(QWidget):
    """A line icon in a tone, or the application icon."""

    def __init__(
        self, appearance: Appearance, name: str, tone: Tone | None = Tone.TEXT, size: int = 0
    ) -> None:
        super().__init__()
        self._appearance = appearance
        self._name = name
        self._tone = tone
        self.setFixedSize(size or icon_size(), size or icon_size())
        appearance.changed.connect(self.update)

    def set_icon(self, name: str, tone: Tone | None) -> None:
        if (name, tone) != (self._name, self._tone):
            self._name, self._tone = name, tone
            self.update()

    def _icon(self) -> QIcon:
        return picture(self._name) if self._tone is None else self._appearance.icon(self._name, self._tone)

    # --- Qt -----------------------------------------------------------------------------------------

    def paintEvent(self, _event: QPaintEvent) -> None:  # noqa: N802
        painter = QPainter(self)
        self._icon().paint(painter, self.rect(), Qt.AlignmentFlag.AlignCenter)


class MarkSign(QWidget):
    """As high as a line of text, with the mark centred."""

    def __init__(self, appearance: Appearance, mark: Mark, words: str = "", size: int = _SIGN_SIZE) -> None:
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
        return QSize(icon_size(), self.fontMetrics().height())

    def paintEvent(self, _event: QPaintEvent) -> None:  # noqa: N802 - Qt's name
        painter = QPainter(self)
        box = QRectF(
            (self.width() - self._size) / 2, (self.height() - self._size) / 2, self._size, self._size
        )
        paint_mark(painter, box, self._mark.shape, self._appearance.colour(self._mark.tone))
        painter.end()


class LinkLine(QAbstractButton):
    """Shows an optional mark, a link and text after it; a click or a key follows the link.

    Disabled, it is muted and does nothing.
    """

    def __init__(self, appearance: Appearance, *, name: str) -> None:
        super().__init__()
        self.setObjectName(name)
        self._appearance = appearance
        self._mark: Mark | None = None
        self._shown = self._rest = ""
        self.setSizePolicy(QSizePolicy.Policy.Ignored, QSizePolicy.Policy.Fixed)
        self.setCursor(Qt.CursorShape.PointingHandCursor)
        self.setFocusPolicy(Qt.FocusPolicy.TabFocus)
        appearance.changed.connect(self.update)

    def show_link(self, text: str, rest: str = "", *, mark: Mark | None = None, leads: bool = True) -> None:
        """Show an untrusted text as a link, followed by `rest`."""
        shown, rest = one_line(text, _LONGEST), one_line(rest, _LONGEST)
        # Escape "&", which Qt treats as a mnemonic, also for screen readers.
        self.setText(shown.replace("&", "&&"))
        self._shown, self._rest, self._mark = shown, rest, mark
        self.setAccessibleName(", ".join(filter(None, [shown, rest])))
        self.setToolTip(plain_tooltip("\n".join(filter(None, [shown, rest]))))
        self.setEnabled(leads)
        self.setCursor(Qt.CursorShape.PointingHandCursor if leads else Qt.CursorShape.ArrowCursor)
        self.update()

    # --- Qt -----------------------------------------------------------------------------------------

    def sizeHint(self) -> QSize:  # noqa: N802
        return QSize(200, QFontMetrics(self.font()).height() + 2 * ABOVE_LINK)

    def enterEvent(self, event: QEnterEvent) -> None:  # noqa: N802
        self.update()
        super().enterEvent(event)

    def leaveEvent(self, event: QEvent) -> None:  # noqa: N802
        self.update()
        super().leaveEvent(event)

    def paintEvent(self, _event: QPaintEvent) -> None:  # noqa: N802
        painter = QPainter(self)
        self._paint_focus(painter)
        area = self.rect()
        if self._mark is not None:
            place = QRectF(1, (self.height() - _LINK_MARK) / 2, _LINK_MARK, _LINK_MARK)
            paint_mark(painter, place, self._mark.shape, self._appearance.colour(self._mark.tone))
            area = area.adjusted(_LINK_MARK + GRID + 1, 0, 0, 0)
        self._paint_words(painter, area)

    def _paint_focus(self, painter: QPainter) -> None:
        if self.hasFocus():
            painter.setRenderHint(QPainter.RenderHint.Antialiasing)
            painter.setPen(QPen(QColor(self._appearance.colours.accent), 1))
            # Around the text only, not through the mark.
            left = 0.5 if self._mark is None else _LINK_MARK + HALF + 1.5
            painter.drawRoundedRect(QRectF(self.rect()).adjusted(left, 0.5, -0.5, -0.5), HALF, HALF)

    def _paint_words(self, painter: QPainter, area: QRect) -> None:
        metrics = QFontMetrics(self.font())
        gap = GRID if self._rest else 0
        # The text after the link is short; the link identifies the item.
        rest_width = min(metrics.horizontalAdvance(self._rest), area.width() // 2)
        room = max(area.width() - rest_width - gap, 0)
        link = metrics.elidedText(self._shown, Qt.TextElideMode.ElideRight, room)
        font = QFont(self.font())
        font.setUnderline(self.isEnabled() and self.underMouse())
        painter.setFont(font)
        painter.setPen(self._appearance.colour(Tone.ACCENT if self.isEnabled() else Tone.MUTED))
        flags = Qt.AlignmentFlag.AlignVCenter | Qt.AlignmentFlag.AlignLeft
        painter.drawText(area, flags, link)
        area.setLeft(area.left() + metrics.horizontalAdvance(link) + gap)
        painter.setFont(self.font())
        painter.setPen(self._appearance.colour(Tone.MUTED))
        rest = metrics.elidedText(self._rest, Qt.TextElideMode.ElideRight, area.width())
        painter.drawText(area, flags, rest)
