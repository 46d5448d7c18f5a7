"""A field for a day, with a calendar in the look of everything else."""

from __future__ import annotations

from datetime import date

from PySide6.QtCore import QDate, QSize, Qt
from PySide6.QtGui import QTextCharFormat
from PySide6.QtWidgets import QCalendarWidget, QDateEdit, QToolButton, QWidget

from ui.style.theme import ICON, Look
from ui.widgets.labels import tint

_SIZE = QSize(288, 264)
# The cells of the calendar are small, and its bar is no selection.
_SHEET = """
QCalendarWidget { border: 1px solid palette(mid); }
QCalendarWidget QTableView { selection-background-color: palette(highlight); }
QCalendarWidget QTableView::item { padding: 0; }
QCalendarWidget QWidget#qt_calendar_navigationbar { background: palette(base); padding: 4px; }
QCalendarWidget QToolButton { padding: 4px 8px; }
QCalendarWidget QSpinBox { min-width: 64px; }
"""


class DayEdit(QDateEdit):
    """A day that can be typed or picked."""

    def __init__(self, look: Look, name: str, words: str, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName(name)
        self.setAccessibleName(words)
        self.setToolTip(words)
        self.setCalendarPopup(True)
        self.setDisplayFormat("d MMM yyyy")
        self.setStyleSheet("QDateEdit::drop-down { border: none; width: 24px; }")
        self.setCalendarWidget(_new_calendar(look))

    def day(self) -> date:
        """Return the day."""
        found = self.date()
        return date(found.year(), found.month(), found.day())

    def set_day(self, day: date) -> None:
        """Show a day without telling anyone."""
        was_blocked = self.blockSignals(True)
        self.setDate(QDate(day.year, day.month, day.day))
        self.blockSignals(was_blocked)


def _new_calendar(look: Look) -> QCalendarWidget:
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
            arrow.setIconSize(QSize(ICON, ICON))
            tint(arrow, look, icon)
    return calendar
