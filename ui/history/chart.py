"""The chart of runs per day, stacked by outcome; bars have tooltips and can be selected by mouse or keyboard."""

from __future__ import annotations

from collections.abc import Sequence
from math import ceil

from PySide6.QtCore import QEvent, QPointF, QRectF, QSize, QSizeF, Qt, Signal
from PySide6.QtGui import (
    QAccessible,
    QAccessibleEvent,
    QColor,
    QFocusEvent,
    QFont,
    QFontMetrics,
    QKeyEvent,
    QMouseEvent,
    QPainter,
    QPaintEvent,
    QPen,
    QPixmap,
    QResizeEvent,
)
from PySide6.QtWidgets import QSizePolicy, QWidget

from ui.style.theme import GRID, HALF, Appearance, Tone, small_font

from .chart_parts import bucket_words, paint_pattern, part_heights, short_count, short_words
from .choice import Bucket, DaySpan

_HEIGHT = 112
_WIDEST_BAR = 40
_FAINT = 0.28
_DATE_ROOM = 76
_COUNT_ROOM = 40
_Words = tuple[QRectF, Qt.AlignmentFlag, str, QFont]


class DayChart(QWidget):
    """Bars for hours, days, weeks or months; emits the highlighted and the chosen bar."""

    pointed = Signal(object)
    """The highlighted bucket, by mouse or keyboard, or None."""
    chosen = Signal(object)
    """The chosen bucket."""

    def __init__(self, appearance: Appearance, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("dayChart")
        self.setAccessibleName(self.tr("Runs per day"))
        self._appearance = appearance
        self._buckets: Sequence[Bucket] = ()
        self._span = DaySpan()
        self._pointed = -1
        # Bars and labels are computed once, and again only when they change.
        self._bars: QPixmap | None = None
        self._words: list[_Words] = []
        self._fit_font()
        self.setMouseTracking(True)
        self.setFocusPolicy(Qt.FocusPolicy.TabFocus)
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
        appearance.changed.connect(self._draw_anew)

    def show_buckets(self, buckets: Sequence[Bucket], span: DaySpan) -> None:
        """Show other numbers; days outside the span are drawn faintly."""
        if len(buckets) != len(self._buckets):
            self._pointed = -1
        self._buckets = buckets
        self._span = span
        self._point(self._pointed)
        self._draw_anew()

    def set_span(self, span: DaySpan) -> None:
        """Draw other days faintly."""
        if span != self._span:
            self._span = span
            self._draw_anew()

    @property
    def pointed_bucket(self) -> Bucket | None:
        """The highlighted bucket."""
        return self._buckets[self._pointed] if 0 <= self._pointed < len(self._buckets) else None

    def column_rect(self, index: int) -> QRectF:
        """Return the x position of a bucket's column."""
        area = self._area()
        width = area.width() / max(1, len(self._buckets))
        return QRectF(area.left() + index * width, area.top(), width, area.height())

    # --- Pointing ------------------------------------------------------------------------------------

    def _point(self, index: int) -> None:
        if index != self._pointed:
            self._pointed = index
            self.update()
        bucket = self.pointed_bucket
        words = "" if bucket is None else bucket_words(bucket)
        if words != self.accessibleDescription():
            self.setAccessibleDescription(words)
            QAccessible.updateAccessibility(QAccessibleEvent(self, QAccessible.Event.DescriptionChanged))
        self.pointed.emit(bucket)

    def _index_at(self, x: float) -> int:
        area = self._area()
        if not self._buckets or not area.left() <= x < area.right():
            return -1
        return min(int((x - area.left()) / area.width() * len(self._buckets)), len(self._buckets) - 1)

    def _choose(self) -> None:
        bucket = self.pointed_bucket
        if bucket is not None:
            self.chosen.emit(bucket)

    # --- Drawing -------------------------------------------------------------------------------------

    def _fit_font(self) -> None:
        self._small = small_font(self.font())
        metrics = QFontMetrics(self._small)
        self._line = metrics.height()
        self._count_room = max(_COUNT_ROOM, metrics.horizontalAdvance("9999") + GRID)

    def _draw_anew(self) -> None:
        self._bars = None
        self.update()

    def _area(self) -> QRectF:
        below = self._line + HALF
        return QRectF(self._count_room, HALF, self.width() - self._count_room, self.height() - below - HALF)

    def _draw(self) -> QPixmap:
        """Return the bars on a transparent background at the screen's resolution; the labels are kept beside them."""
        ratio = self.devicePixelRatioF()
        bars = QPixmap((QSizeF(self.size()) * ratio).toSize())
        bars.setDevicePixelRatio(ratio)
        bars.fill(Qt.GlobalColor.transparent)
        painter = QPainter(bars)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        most = max((bucket.total for bucket in self._buckets), default=0)
        for index in range(len(self._buckets)):
            self._paint_column(painter, index, most)
        self._paint_ground(painter, has_top=most > 0)
        painter.end()
        self._words = [*self._count_words(most), *self._date_words()]
        return bars

    def _paint_ground(self, painter: QPainter, *, has_top: bool) -> None:
        """Draw the base line and the line at the height of the tallest bar."""
        area = self._area()
        bottom, top = area.bottom() + 0.5, area.top() + 0.5
        painter.setPen(QPen(QColor(self._appearance.colours.line), 1))
        painter.drawLine(QPointF(area.left(), bottom), QPointF(area.right(), bottom))
        if has_top:
            painter.setPen(QPen(QColor(self._appearance.colours.line), 1, Qt.PenStyle.DotLine))
            painter.drawLine(QPointF(area.left(), top), QPointF(area.right(), top))

    def _paint_column(self, painter: QPainter, index: int, most: int) -> None:
        column = self.column_rect(index)
        bucket = self._buckets[index]
        gap = 1.0 if column.width() < 8 else max(2.0, column.width() * 0.3)  # noqa: PLR2004 - thin bars
        width = min(column.width() - gap, _WIDEST_BAR)
        bar = QRectF(column.center().x() - width / 2, column.top(), width, column.height())
        is_in_span = self._span.holds(bucket.first) or self._span.holds(bucket.last)
        painter.setOpacity(1.0 if is_in_span else _FAINT)
        bottom = bar.bottom()
        for series, height in part_heights(bucket, most, bar.height()):
            part = QRectF(bar.left(), bottom - height, bar.width(), height)
            paint_pattern(painter, part, series, self._appearance)
            bottom -= height
        painter.setOpacity(1.0)

    def _count_words(self, most: int) -> list[_Words]:
        """Return the number of runs at the top of the chart, or that there are none."""
        area = self._area()
        if not most:
            return [(area, Qt.AlignmentFlag.AlignCenter, self.tr("No runs in this period."), self.font())]
        side = Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter
        places = ((short_count(most), area.top() + 0.5 - HALF), ("0", area.bottom() - self._line + HALF))
        return [
            (QRectF(0, y, self._count_room - GRID, self._line), side, text, self._small) for text, y in places
        ]

    def _date_words(self) -> list[_Words]:
        area = self._area()
        metrics = QFontMetrics(self._small)
        side = Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignTop
        texts = [short_words(bucket) for bucket in self._buckets]
        widest = max([_DATE_ROOM, *(metrics.horizontalAdvance(text) + 2 * GRID for text in texts)])
        room = max(1, ceil(widest * len(texts) / max(1.0, area.width())))
        words: list[_Words] = []
        for index in range(len(self._buckets) - 1, -1, -room):
            text = texts[index]
            width = metrics.horizontalAdvance(text)
            middle = self.column_rect(index).center().x()
            left = min(max(area.left(), middle - width / 2), self.width() - width)
            spot = QRectF(left, area.bottom() + HALF, width + 1, self.height() - area.bottom() - HALF)
            words.append((spot, side, text, self._small))
        return words

    def _paint_focus(self, painter: QPainter) -> None:
        index = self._pointed if self._pointed >= 0 else len(self._buckets) - 1
        painter.setPen(QPen(QColor(self._appearance.colours.accent), 1))
        painter.setBrush(Qt.BrushStyle.NoBrush)
        painter.drawRoundedRect(self.column_rect(index).adjusted(0.5, 0.5, -0.5, -0.5), 2, 2)

    # --- Qt -----------------------------------------------------------------------------------------

    def sizeHint(self) -> QSize:  # noqa: N802 - Qt's name
        return QSize(480, _HEIGHT)

    def minimumSizeHint(self) -> QSize:  # noqa: N802 - Qt's name
        return QSize(160, _HEIGHT)

    def paintEvent(self, _event: QPaintEvent) -> None:  # noqa: N802 - Qt's name
        if self._bars is None or self._bars.devicePixelRatio() != self.devicePixelRatioF():
            self._bars = self._draw()
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        if self.pointed_bucket is not None:
            painter.fillRect(self.column_rect(self._pointed), QColor(self._appearance.colours.hover))
        painter.drawPixmap(0, 0, self._bars)
        painter.setPen(self._appearance.colour(Tone.MUTED))
        for spot, side, text, font in self._words:
            painter.setFont(font)
            painter.drawText(spot, side, text)
        if self._buckets and self.hasFocus():
            self._paint_focus(painter)

    def resizeEvent(self, event: QResizeEvent) -> None:  # noqa: N802 - Qt's name
        self._bars = None
        super().resizeEvent(event)

    def changeEvent(self, event: QEvent) -> None:  # noqa: N802 - Qt's name
        if event.type() == QEvent.Type.FontChange:
            self._fit_font()
            self._draw_anew()
        super().changeEvent(event)

    def mouseMoveEvent(self, event: QMouseEvent) -> None:  # noqa: N802 - Qt's name
        self._point(self._index_at(event.position().x()))
        over_one = self.pointed_bucket is not None
        self.setCursor(Qt.CursorShape.PointingHandCursor if over_one else Qt.CursorShape.ArrowCursor)

    def mousePressEvent(self, event: QMouseEvent) -> None:  # noqa: N802 - Qt's name
        if event.button() is Qt.MouseButton.LeftButton:
            self._point(self._index_at(event.position().x()))
            self._choose()

    def leaveEvent(self, event: QEvent) -> None:  # noqa: N802 - Qt's name
        if not self.hasFocus():
            self._point(-1)
        super().leaveEvent(event)

    def focusOutEvent(self, event: QFocusEvent) -> None:  # noqa: N802 - Qt's name
        self._point(-1)
        super().focusOutEvent(event)

    def keyPressEvent(self, event: QKeyEvent) -> None:  # noqa: N802 - Qt's name
        last = len(self._buckets) - 1
        now = self._pointed if self._pointed >= 0 else last + 1
        moves = {
            Qt.Key.Key_Left: max(0, now - 1),
            Qt.Key.Key_Right: min(last, now + 1),
            Qt.Key.Key_Home: 0,
            Qt.Key.Key_End: last,
        }
        if event.key() in moves and last >= 0:
            self._point(moves[Qt.Key(event.key())])
        elif event.key() in (Qt.Key.Key_Return, Qt.Key.Key_Enter, Qt.Key.Key_Space):
            self._choose()
        else:
            super().keyPressEvent(event)
