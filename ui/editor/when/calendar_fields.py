"""The fields for the days that schedules are limited to or exclude."""

from __future__ import annotations

from collections.abc import Callable
from datetime import date
from functools import partial

from PySide6.QtCore import QObject, QSignalBlocker, Signal
from PySide6.QtWidgets import QComboBox, QFileDialog, QHBoxLayout, QLineEdit, QMenu, QWidget

from halo_scheduler.grammar.zone import local_time
from halo_scheduler.model import Schedule
from halo_scheduler.model.calendars import EVERY_DAY, Calendar, Shift, SourceKind
from halo_scheduler.model.time_rules import Dated, calendar_for
from ui.editor.summary import joined
from ui.forms.fields import Field, Page
from ui.style.theme import HALF, Appearance
from ui.widgets.arrange import dialog_start, show_if
from ui.widgets.boxes import let_shrink
from ui.widgets.days import DayPopup
from ui.widgets.labels import icon_button

from .day_sources import PlaceDialog, read_days, written_days


class CalendarFields(QObject):
    """Two lists of days, and what happens to fixed times on an excluded day."""

    changed = Signal()

    def __init__(self, now_ms: Callable[[], int], appearance: Appearance, page: Page) -> None:
        super().__init__(page)
        self._only = DaysLine(now_ms, appearance, name="onlyOn", title=self.tr("Only on"))
        self._excluded = DaysLine(now_ms, appearance, name="notOn", title=self.tr("Not on"))
        self._shift = QComboBox()
        self._shift.setObjectName("shift")
        self._shift.setAccessibleName(self.tr("If the day is excluded"))
        let_shrink(self._shift)
        for words, value in (
            (self.tr("Skip the run"), None),
            (self.tr("Move it to the next allowed day"), Shift.NEXT),
            (self.tr("Move it to the previous allowed day"), Shift.PREVIOUS),
        ):
            self._shift.addItem(words, value)
        self.days = [
            page.watch_field(
                Field(self.tr("Only on"), self._only, path="schedule.only", subject=self.tr("The day"))
            ),
            page.watch_field(
                Field(
                    self.tr("Not on"),
                    self._excluded,
                    path="schedule.not",
                    subject=self.tr("The day"),
                    hint=self.tr("weekdays, weekends, holidays, or dates like 2026-12-24"),
                )
            ),
        ]
        self.shift = page.watch_field(
            Field(
                self.tr("If the day is excluded"),
                self._shift,
                path="schedule.shift",
                subject=self.tr("The choice"),
            )
        )
        self._only.changed.connect(self.changed)
        self._excluded.changed.connect(self.changed)
        self._shift.currentIndexChanged.connect(self.changed)

    def load(self, calendar: Calendar) -> None:
        """Show the days of a schedule."""
        self._only.set_days(calendar.only)
        self._excluded.set_days(calendar.excluded)
        with QSignalBlocker(self._shift):
            self._shift.setCurrentIndex(self._shift.findData(calendar.shift))

    def value(self, schedule: Schedule) -> Calendar:
        """Return the parts of the calendar that the kind of schedule supports; ScheduleError for an invalid day."""
        if not isinstance(schedule, Dated):
            return EVERY_DAY
        only, excluded, shift = self._only.days, self._excluded.days, self._shift.currentData()
        has_shift = shift is not None and bool(only or excluded)
        given = Calendar(only=only, excluded=excluded, shift=Shift(shift) if has_shift else None)
        return calendar_for(schedule, given)

    def show(self, *, has_days: bool, has_shift: bool) -> None:
        """Show the fields that a kind of schedule has."""
        for field in self.days:
            show_if(field, has_days)
        show_if(self.shift, has_shift)

    @property
    def summary(self) -> str:
        only, excluded = written_days(self._only.days), written_days(self._excluded.days)
        return joined(
            self.tr("only on {days}").format(days=only) if only else "",
            self.tr("not on {days}").format(days=excluded) if excluded else "",
        )


class DaysLine(QWidget):
    """A line of days with a button that adds dates from a calendar."""

    changed = Signal()

    def __init__(self, now_ms: Callable[[], int], appearance: Appearance, *, name: str, title: str) -> None:
        super().__init__()
        self.setObjectName(name)
        self._now_ms = now_ms
        self._appearance = appearance
        self._popup: DayPopup | None = None
        self._line = QLineEdit()
        self._line.setObjectName(f"{name}Line")
        self._line.setAccessibleName(title)
        self._pick = icon_button(appearance, "calendar", self.tr("Add a day"), name=f"{name}Pick")
        self._more = icon_button(
            appearance, "globe", self.tr("Add holidays or a calendar file"), name=f"{name}More"
        )
        self._menu = QMenu(self._more)
        self._menu.setObjectName(f"{name}Menu")
        for words, ask in (
            (self.tr("Holidays…"), partial(self._ask_place, SourceKind.HOLIDAYS)),
            (self.tr("Business days…"), partial(self._ask_place, SourceKind.BUSINESS_DAYS)),
            (self.tr("Calendar file…"), self._ask_file),
        ):
            self._menu.addAction(words).triggered.connect(lambda _checked=False, ask=ask: ask())
        layout = QHBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.setSpacing(HALF)
        layout.addWidget(self._line, 1)
        layout.addWidget(self._pick)
        layout.addWidget(self._more)
        self.setFocusProxy(self._line)
        self._line.textChanged.connect(self.changed)
        self._pick.clicked.connect(self._open_calendar)
        self._more.clicked.connect(self._open_menu)

    @property
    def days(self) -> tuple[str, ...]:
        """The words and dates of the line."""
        return read_days(self._line.text())

    def set_days(self, days: tuple[str, ...]) -> None:
        """Show days without a signal."""
        with QSignalBlocker(self._line):
            self._line.setText(written_days(days))
            self._line.setCursorPosition(0)

    def _open_calendar(self) -> None:
        if self._popup is None:
            self._popup = DayPopup(self._appearance, self.tr("Add a day"), self._pick)
            self._popup.picked.connect(self._add)
        today = local_time(self._now_ms()).date()
        self._popup.open_at(today, first=today)

    def _add(self, day: date) -> None:
        self._add_item(day.isoformat())

    def _add_item(self, item: str) -> None:
        self._line.setText(written_days((*self.days, item)))
        self._line.setFocus()

    def _open_menu(self) -> None:
        self._menu.popup(self._more.mapToGlobal(self._more.rect().bottomLeft()))

    def _ask_place(self, kind: SourceKind) -> None:
        dialog = PlaceDialog(kind, self.window())
        dialog.picked.connect(self._add_item)
        dialog.finished.connect(dialog.deleteLater)
        dialog.open()

    def _ask_file(self) -> None:
        dialog = QFileDialog(self.window(), self.tr("Calendar file"), dialog_start())
        dialog.setNameFilters([self.tr("Calendars (*.ics)"), self.tr("All files (*)")])
        dialog.setFileMode(QFileDialog.FileMode.ExistingFile)
        dialog.fileSelected.connect(lambda path: self._add_item(f"{SourceKind.ICS} {path}"))
        dialog.finished.connect(dialog.deleteLater)
        dialog.open()
