"""Calendars that pick a day: in a date field, or in a popup beside a text field."""

from __future__ import annotations

from datetime import date

from PySide6.QtCore import QDate, QPoint, QSize, Qt, Signal
from PySide6.QtGui import QTextCharFormat
from PySide6.QtWidgets import QCalendarWidget, QDateEdit, QFrame, QSpinBox, QToolButton, QVBoxLayout, QWidget

from ui.style.theme import Appearance, icon_size

from .labels import tint

_SIZE = QSize(288, 264)
# The calendar's cells are small, and its navigation bar must not look selected.
_SHEET = """
QCalendarWidget { border: 1px solid palette(mid); }
QCalendarWidget QTableView { selection-background-color: palette(highlight); }
QCalendarWidget QTableView:disabled { color: palette(placeholder-text); }
QCalendarWidget QTableView::item { padding: 0; }
QCalendarWidget QWidget#qt_calendar_navigationbar { background: palette(base); padding: 4px; }
QCalendarWidget QToolButton { padding: 4px 8px; }
QCalendarWidget QSpinBox { min-width: 64px; }
"""


class DayEdit(QDateEdit):
    """A date that can be typed or picked."""

    def __init__(self, appearance: Appearance, name: str, words: str, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName(name)
        self.setAccessibleName(words)
        self.setToolTip(words)
        self.setCalendarPopup(True)
        self.setDisplayFormat("d MMM yyyy")
        self.setStyleSheet("QDateEdit::drop-down { border: none; width: 24px; }")
        self.setCalendarWidget(new_calendar(appearance))

    def day(self) -> date:
        """Return the day."""
        found = self.date()
        return date(found.year(), found.month(), found.day())

    def set_day(self, day: date) -> None:
        """Set the day without a signal."""
        was_blocked = self.blockSignals(True)
        self.setDate(QDate(day.year, day.month, day.day))
        self.blockSignals(was_blocked)


def new_calendar(appearance: Appearance) -> QCalendarWidget:
    """Return a calendar in the program's colours and sizes."""
    calendar = QCalendarWidget()
    calendar.setVerticalHeaderFormat(QCalendarWidget.VerticalHeaderFormat.NoVerticalHeader)
    calendar.setStyleSheet(_SHEET)
    calendar.setAttribute(Qt.WidgetAttribute.WA_StyledBackground)
    calendar.setContentsMargins(1, 1, 1, 1)
    calendar.setMinimumSize(_SIZE)
    for day in (Qt.DayOfWeek.Saturday, Qt.DayOfWeek.Sunday):
        calendar.setWeekdayTextFormat(day, QTextCharFormat())
    for name, icon in (("qt_calendar_prevmonth", "chevron-left"), ("qt_calendar_nextmonth", "chevron-right")):
        arrow = calendar.findChild(QToolButton, name)
        if arrow is not None:
            arrow.setIconSize(QSize(icon_size(), icon_size()))
            tint(arrow, appearance, icon)
    for year in calendar.findChildren(QSpinBox):
        year.setAccessibleName("Year")
    return calendar


class DayPopup(QFrame):
    """A calendar below a button; closes when a day is picked or something else is clicked."""

    picked = Signal(object)
    """The datetime.date."""

    def __init__(self, appearance: Appearance, title: str, opener: QWidget) -> None:
        super().__init__(opener, Qt.WindowType.Popup)
        self.setObjectName(f"{opener.objectName()}Popup")
        self.setAccessibleName(title)
        self._opener = opener
        self._calendar = new_calendar(appearance)
        self._calendar.setObjectName(f"{opener.objectName()}Days")
        self._calendar.setAccessibleName(title)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.addWidget(self._calendar)
        self._calendar.clicked.connect(self._pick)
        # The Enter key.
        self._calendar.activated.connect(self._pick)

    def open_at(self, day: date, *, first: date) -> None:
        """Show a day's month; days before the first one are disabled."""
        self._calendar.setMinimumDate(QDate(first.year, first.month, first.day))
        self._calendar.setSelectedDate(QDate(day.year, day.month, day.day))
        self._mute_days_before(first)
        self.adjustSize()
        corner = self._opener.mapToGlobal(QPoint(self._opener.width(), self._opener.height()))
        room = self._opener.screen().availableGeometry()
        left = max(room.left(), min(corner.x(), room.right()) - self.width())
        above = corner.y() - self._opener.height() - self.height()
        is_low = corner.y() + self.height() > room.bottom() and above >= room.top()
        self.move(left, above if is_low else corner.y())
        self.show()
        self._calendar.setFocus()

    def _mute_days_before(self, first: date) -> None:
        """Mute the past days of the month; Qt only disables them."""
        muted = QTextCharFormat()
        muted.setForeground(self.palette().placeholderText())
        self._calendar.setDateTextFormat(QDate(), QTextCharFormat())
        for day in range(1, first.day):
            self._calendar.setDateTextFormat(QDate(first.year, first.month, day), muted)

    def _pick(self, day: QDate) -> None:
        # Enter on a day that was just clicked emits the signal twice.
        if self.isVisible():
            self.hide()
            self.picked.emit(date(day.year(), day.month(), day.day()))
