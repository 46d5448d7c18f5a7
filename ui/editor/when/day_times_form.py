"""The form for days and times of day, which writes cron expressions."""

from __future__ import annotations

from functools import partial

from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import QGridLayout, QHBoxLayout, QTimeEdit, QVBoxLayout, QWidget

from halo_scheduler.model import Cron, Entry
from ui.editor.draft import NEW_JOB_CRON
from ui.forms.fields import Field, Findings, Page
from ui.forms.inputs import ZonePicker
from ui.forms.rows import RowList, link, tab_before
from ui.style.theme import GRID, MARGIN, Appearance, mono_font, small_font
from ui.widgets.arrange import put_at, show_if
from ui.widgets.boxes import time_box
from ui.widgets.labels import icon_button, label, tint

from .day_times import (
    ALL_DAYS,
    MOST_GROUPS,
    MOST_TIMES,
    WEEKEND,
    DayTimes,
    WeekDays,
    is_empty,
    merged,
    read_crons,
    write_crons,
)
from .days_edit import DaysEdit
from .schedule_forms import ScheduleForm

_COLUMNS = 3
_HOURS = 24
_FIRST_TIME = (9, 0)
_SHOWN_CRONS = 4
PATH = "schedule.times"


class DayTimesEdit(QWidget):
    """Edits days and their times; does not check whether one cron expression can express them."""

    changed = Signal()
    removal_wanted = Signal(object)

    def __init__(self, appearance: Appearance, page: Page, *, name: str) -> None:
        super().__init__(page.ground)
        self.setObjectName(name)
        self._appearance = appearance
        self._times: list[_TimeCell] = []
        self._days = DaysEdit(name=name)
        self._remove = icon_button(
            appearance, "close", self.tr("Remove these days and times"), name=f"{name}Remove"
        )
        self._days.top.addWidget(self._remove)
        self._grid = QGridLayout()
        self._grid.setContentsMargins(0, 0, 0, 0)
        self._grid.setSpacing(GRID)
        self._grid.setColumnStretch(_COLUMNS, 1)
        self._add = link(self.tr("Add a time"), name=f"{name}Add")
        tint(self._add, appearance, "add")
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.setSpacing(GRID)
        layout.addWidget(self._days)
        layout.addSpacing(GRID)
        layout.addWidget(label(self.tr("At these times")))
        layout.addLayout(self._grid)
        layout.addWidget(self._add, alignment=Qt.AlignmentFlag.AlignLeft)
        self.field = Field("", self, path=PATH, subject=self.tr("The list"))
        self._add.clicked.connect(self._add_next)
        self._days.changed.connect(self.changed)
        self._remove.clicked.connect(self._request_removal)

    def focus_first(self) -> None:
        """Focus the first time."""
        if self._times:
            self._times[0].focus()
        else:
            self._add.setFocus()

    def focus_days(self) -> None:
        """Focus the first control."""
        self._days.focus_first()

    def value(self) -> DayTimes:
        """Return the chosen days and times, which may be empty."""
        return DayTimes(self._days.value(), tuple(cell.time for cell in self._times)).ordered()

    def set_value(self, day_times: DayTimes) -> None:
        """Show days and times."""
        self._days.set_value(day_times.days)
        for cell in list(self._times):
            self._drop(cell)
        for time in day_times.times:
            self._add_cell(time)
        self._arrange()

    def allow_removal(self, *, is_allowed: bool) -> None:
        """Show or hide the button that removes these days and times."""
        show_if(self._remove, is_allowed)

    def _request_removal(self) -> None:
        self.removal_wanted.emit(self)

    def _add_next(self) -> None:
        """Add the next free hour after the last time, with the same minute."""
        hour, minute = self._times[-1].time if self._times else (8, 0)
        taken = {cell.time for cell in self._times}
        free = ((hour + step) % _HOURS for step in range(1, _HOURS + 1))
        cell = self._add_cell((next((one for one in free if (one, minute) not in taken), hour), minute))
        self._arrange()
        cell.focus()
        self.changed.emit()

    def _add_cell(self, time: tuple[int, int]) -> _TimeCell:
        cell = _TimeCell(self._appearance, time)
        cell.changed.connect(self.changed)
        cell.removal_wanted.connect(self._remove_time)
        self._times.append(cell)
        return cell

    def _remove_time(self, cell: _TimeCell) -> None:
        self._drop(cell)
        self._arrange()
        self.focus_first()
        self.changed.emit()

    def _drop(self, cell: _TimeCell) -> None:
        self._times.remove(cell)
        self._grid.removeWidget(cell)
        cell.hide()
        cell.setParent(None)
        cell.deleteLater()

    def _arrange(self) -> None:
        for index, cell in enumerate(self._times):
            self._grid.addWidget(cell, index // _COLUMNS, index % _COLUMNS)
            cell.rename(f"{self.objectName()}Time{index}")
        show_if(self._add, len(self._times) < MOST_TIMES)
        tab_before(self._add, [stop for cell in self._times for stop in cell.stops])


class _TimeCell(QWidget):
    """One time of day and a button that removes it."""

    changed = Signal()
    removal_wanted = Signal(object)

    def __init__(self, appearance: Appearance, time: tuple[int, int]) -> None:
        super().__init__()
        self.edit = time_box(*time, name="", title=self.tr("Time of day"))
        self._remove = icon_button(appearance, "close", self.tr("Remove this time"), name="")
        layout = QHBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.setSpacing(0)
        layout.addWidget(self.edit)
        layout.addWidget(self._remove)
        self.edit.timeChanged.connect(self.changed)
        self._remove.clicked.connect(self._request_removal)

    @property
    def stops(self) -> list[QWidget]:
        """The widgets in Tab order."""
        return [self.edit, self._remove]

    @property
    def time(self) -> tuple[int, int]:
        return self.edit.time().hour(), self.edit.time().minute()

    def rename(self, name: str) -> None:
        """Rename the widgets after their position."""
        self.edit.setObjectName(name)
        self._remove.setObjectName(f"{name}Remove")

    def focus(self) -> None:
        """Focus the hour."""
        self.edit.setFocus(Qt.FocusReason.TabFocusReason)
        self.edit.setSelectedSection(QTimeEdit.Section.HourSection)

    def _request_removal(self) -> None:
        self.removal_wanted.emit(self)


class DayTimesForm(ScheduleForm):
    """Groups of days and times; written as several cron expressions if necessary."""

    cron_wanted = Signal()

    def __init__(self, zone: ZonePicker, appearance: Appearance, page: Page) -> None:
        super().__init__(page)
        self._zone = zone
        self._appearance = appearance
        self._page = page
        self._given: tuple[tuple[DayTimes, ...], list[str]] | None = None
        self._groups: RowList[DayTimesEdit] = RowList(page, stem="dayTimes", path=PATH, spacing=MARGIN)
        self._add = link(self.tr("Other times on other days"), name="addDayTimes")
        tint(self._add, appearance, "add")
        self._cron = label("", "muted", name="writtenCron")
        self._cron.setFont(mono_font(small_font(self._cron.font())))
        self._as_cron = link(self.tr("Edit as cron"), name="editAsCron")
        self._written = self._new_cron_line()
        self.column.setSpacing(GRID)
        self.column.addLayout(self._groups.layout)
        self.column.addWidget(self._add, alignment=Qt.AlignmentFlag.AlignLeft)
        self.column.addWidget(self._written)
        self.load([NEW_JOB_CRON])
        self._add.clicked.connect(self._add_other_days)
        self._as_cron.clicked.connect(self.cron_wanted)

    def _new_cron_line(self) -> QWidget:
        made = QWidget()
        row = QHBoxLayout(made)
        row.setContentsMargins(0, 0, 0, 0)
        row.setSpacing(GRID)
        row.addWidget(label(self.tr("As cron:"), "small"))
        row.addWidget(self._cron)
        row.addWidget(self._as_cron)
        row.addStretch(1)
        return made

    def focus_first(self) -> None:
        """Focus the first time."""
        next(iter(self._groups)).focus_first()

    def load(self, expressions: list[str]) -> bool:
        """Show expressions if they fit this form; return whether they do."""
        found = read_crons(expressions)
        if found is None:
            return False
        self._given = (found, expressions)
        for group in list(self._groups)[len(found) :]:
            self._groups.drop(group)
        for _ in found[len(self._groups) :]:
            self._append()
        for group, day_times in zip(self._groups, found, strict=True):
            group.set_value(day_times)
        self._show_state()
        return True

    def _append(self) -> DayTimesEdit:
        group = DayTimesEdit(self._appearance, self._page, name=self._groups.next_name)
        group.changed.connect(self._announce_change)
        group.removal_wanted.connect(self._remove)
        self._groups.append(group)
        put_at(self._add, group.field)
        return group

    def _add_other_days(self) -> None:
        """Add a group for the days of the week that have no time yet."""
        days = [group.value().days for group in self._groups]
        weekly = [one.weekdays for one in days if isinstance(one, WeekDays)]
        group = self._append()
        group.set_value(DayTimes(WeekDays(ALL_DAYS.difference(*weekly) or WEEKEND), (_FIRST_TIME,)))
        group.focus_days()
        self._announce_change()

    def _remove(self, group: DayTimesEdit) -> None:
        neighbour = self._groups.drop(group)
        if neighbour is not None:
            neighbour.focus_days()
        self._announce_change()

    @property
    def texts(self) -> list[str]:
        """The expressions, none for an invalid choice; unchanged ones are returned exactly as loaded."""
        chosen = tuple(group.value() for group in self._groups)
        if any(is_empty(one.days) or not one.times for one in chosen):
            return []
        if self._given is not None and merged(chosen) == self._given[0]:
            return self._given[1]
        return write_crons(chosen)

    def read(self, findings: Findings, now_ms: int) -> list[Entry]:  # noqa: ARG002 - not about an instant
        for index, group in enumerate(self._groups):
            chosen = group.value()
            if is_empty(chosen.days):
                findings.refuse(f"{PATH}[{index}]", self.tr("choose at least one day"))
            elif not chosen.times:
                findings.refuse(f"{PATH}[{index}]", self.tr("add at least one time"))
        found = [
            self.taken(findings, partial(Cron, expression, self._zone.zone)) for expression in self.texts
        ]
        return [entry for entries in found for entry in entries] if all(found) else []

    def _announce_change(self) -> None:
        self._show_state()
        self.changed.emit()

    def _show_state(self) -> None:
        texts = self.texts
        for group in self._groups:
            group.allow_removal(is_allowed=len(self._groups) > 1)
        show_if(self._add, len(self._groups) < MOST_GROUPS)
        show_if(self._written, bool(texts))
        # The form for cron has one line.
        show_if(self._as_cron, len(texts) == 1)
        more = ["…"] if len(texts) > _SHOWN_CRONS else []
        self._cron.setText("\n".join(texts[:_SHOWN_CRONS] + more))
