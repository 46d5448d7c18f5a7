"""A small calendar that marks the days with runs; tooltips show their times."""

from __future__ import annotations

import calendar
from collections.abc import Iterator
from datetime import date

from PySide6.QtCore import QEvent, QPoint, QRect, QRectF, QSize, Qt
from PySide6.QtGui import QColor, QFont, QFontMetrics, QHelpEvent, QPainter, QPaintEvent, QPen
from PySide6.QtWidgets import QSizePolicy, QToolTip, QWidget

from halo_scheduler.grammar.english import MONTHS, WEEKDAYS, listed, ordinal, spans
from ui.style.marks import Shape, paint_mark
from ui.style.theme import GRID, HALF, Appearance, Tone, small_font, strong_font
from ui.style.wording import plain_tooltip, sentence_case

from .preview import Day, Month

_WEEK = 7
_MARK = 5
_RADIUS = 4
_FROM_MONDAY = (*WEEKDAYS[1:], WEEKDAYS[0])


class MonthStrip(QWidget):
    """Paints the days of some months, one week per row."""

    def __init__(self, appearance: Appearance) -> None:
        super().__init__()
        self.setObjectName("monthStrip")
        self.setAccessibleName(self.tr("Days with runs"))
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
        self._appearance = appearance
        self._months: tuple[Month, ...] = ()
        appearance.changed.connect(self.update)

    def show_months(self, months: tuple[Month, ...]) -> None:
        """Show other months."""
        if months != self._months:
            self._months = months
            self.setAccessibleDescription(" ".join(_month_words(month) for month in months))
            self.updateGeometry()
            self.update()

    def day_rect(self, month: int, day: int) -> QRect:
        """Return the cell of a day; months count from 0."""
        return next(cell for found, number, cell in self._cells() if (found, number) == (month, day))

    def _cells(self) -> Iterator[tuple[int, int, QRect]]:
        """Yield the index of the month, the day and its cell."""
        top = 0
        for index, month in enumerate(self._months):
            top += 2 * self._row
            for week in calendar.monthcalendar(month.year, month.month):
                for column, day in enumerate(week):
                    if day:
                        yield index, day, self._cell(column, top)
                top += self._row
            top += GRID

    def _cell(self, column: int, top: int) -> QRect:
        left, right = (self.width() * place // _WEEK for place in (column, column + 1))
        return QRect(left, top, right - left, self._row)

    @property
    def _row(self) -> int:
        return QFontMetrics(self._font).height() + HALF

    @property
    def _font(self) -> QFont:
        return small_font(self.font())

    def _words_at(self, place: QPoint) -> str:
        for index, day, cell in self._cells():
            if cell.contains(place):
                return _day_words(self._months[index], day)
        return ""

    # --- Drawing -------------------------------------------------------------------------------------

    def _paint_headings(self, painter: QPainter) -> None:
        top = 0
        for month in self._months:
            painter.setFont(strong_font(self._font))
            painter.setPen(self._appearance.colour(Tone.TEXT))
            title = QRect(HALF, top, self.width() - HALF, self._row)
            painter.drawText(title, Qt.AlignmentFlag.AlignVCenter, f"{MONTHS[month.month - 1]} {month.year}")
            painter.setFont(self._font)
            painter.setPen(self._appearance.colour(Tone.MUTED))
            for column, name in enumerate(_FROM_MONDAY):
                cell = self._cell(column, top + self._row)
                painter.drawText(cell, Qt.AlignmentFlag.AlignCenter, name[:2])
            top += self._row * (2 + len(calendar.monthcalendar(month.year, month.month))) + GRID

    def _paint_day(self, painter: QPainter, month: Month, number: int, cell: QRect) -> None:
        day = month.days.get(number, Day())
        box = QRectF(cell).adjusted(1.5, 0.5, -1.5, -0.5)
        painter.setPen(Qt.PenStyle.NoPen)
        if day.times:
            painter.setBrush(QColor(self._appearance.colours.selected))
            painter.drawRoundedRect(box, _RADIUS, _RADIUS)
        if number == month.today:
            painter.setBrush(Qt.BrushStyle.NoBrush)
            painter.setPen(QPen(self._appearance.colour(Tone.ACCENT), 1))
            painter.drawRoundedRect(box, _RADIUS, _RADIUS)
        painter.setFont(strong_font(self._font) if day.times else self._font)
        painter.setPen(self._appearance.colour(Tone.TEXT if day.times else Tone.MUTED))
        painter.drawText(cell, Qt.AlignmentFlag.AlignCenter, str(number))
        if day.clock_change:
            corner = QRectF(box.right() - _MARK - 1, box.top() + 1, _MARK, _MARK)
            paint_mark(painter, corner, Shape.TRIANGLE, self._appearance.colour(Tone.WARN))
        elif day.left_out:
            corner = QRectF(box.right() - _MARK - 1, box.top() + 1, _MARK, _MARK)
            paint_mark(painter, corner, Shape.RING, self._appearance.colour(Tone.MUTED))

    # --- Qt -----------------------------------------------------------------------------------------

    def sizeHint(self) -> QSize:  # noqa: N802 - Qt's name
        weeks = sum(2 + len(calendar.monthcalendar(month.year, month.month)) for month in self._months)
        return QSize(_WEEK * 3 * GRID, weeks * self._row + GRID * max(0, len(self._months) - 1))

    def paintEvent(self, _event: QPaintEvent) -> None:  # noqa: N802 - Qt's name
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        self._paint_headings(painter)
        for index, number, cell in self._cells():
            self._paint_day(painter, self._months[index], number, cell)

    def event(self, event: QEvent) -> bool:
        if event.type() == QEvent.Type.ToolTip and isinstance(event, QHelpEvent):
            QToolTip.showText(event.globalPos(), plain_tooltip(self._words_at(event.pos())), self)
            return True
        return super().event(event)


def _day_words(month: Month, number: int) -> str:
    """Return a day's times, its clock change and why it is excluded: "Wed 18 Nov: 09:00"; "" for none of these."""
    day = month.days.get(number)
    if day is None:
        return ""
    found = date(month.year, month.month, number)
    name = f"{_FROM_MONDAY[found.weekday()][:3]} {number} {MONTHS[month.month - 1][:3]}"
    more = " …" if day.has_more else ""
    times = f"{name}: {', '.join(day.times)}{more}" if day.times else name
    left_out = day.left_out and f"Excluded: {day.left_out}"
    return "\n".join(filter(None, (times, left_out, sentence_case(day.clock_change))))


def _month_words(month: Month) -> str:
    """Return the days with runs and clock changes as sentences for screen readers."""
    days = sorted(number for number, day in month.days.items() if day.times)
    name = f"{MONTHS[month.month - 1]} {month.year}"
    runs = listed(spans(days, [str(number) for number in days], " to ")) if days else "no runs"
    changes = (
        f" On the {ordinal(number)} {day.clock_change}."
        for number, day in month.days.items()
        if day.clock_change
    )
    left_out = (
        f" The {ordinal(number)} is excluded: {day.left_out}."
        for number, day in month.days.items()
        if day.left_out
    )
    return f"{name}: {runs}.{''.join(changes)}{''.join(left_out)}"
