"""The form for weekdays and times of day, which writes a cron expression."""

from __future__ import annotations

from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import QGridLayout, QHBoxLayout, QPushButton, QTimeEdit, QVBoxLayout, QWidget

from halo_scheduler.grammar.english import WEEKDAYS
from ui.editor.draft import NEW_JOB_CRON
from ui.forms.fields import Field, Findings, Page
from ui.forms.rows import link, tab_before
from ui.style.theme import GRID, HALF, MARGIN, Appearance, mono_font, small_font
from ui.widgets.arrange import show_if
from ui.widgets.boxes import time_box
from ui.widgets.labels import icon_button, label, tint

from .times import ALL_DAYS, FROM_MONDAY, MOST_TIMES, WEEKEND, WORK_DAYS, DayTimes, read_crons, write_crons

_COLUMNS = 3
_HOURS = 24
PATH = "schedule.times"


class DayTimesEdit(QWidget):
    """Edits weekdays and times; does not check whether one cron expression can hold them."""

    changed = Signal()

    def __init__(self, appearance: Appearance, *, name: str) -> None:
        super().__init__()
        self.setObjectName(name)
        self._appearance = appearance
        self._days: dict[int, QPushButton] = {}
        self._times: list[_TimeCell] = []
        self._grid = QGridLayout()
        self._grid.setContentsMargins(0, 0, 0, 0)
        self._grid.setSpacing(GRID)
        self._grid.setColumnStretch(_COLUMNS, 1)
        self._add = link(self.tr("Add a time"), name=f"{name}Add")
        tint(self._add, appearance, "add")
        self._add.clicked.connect(self._add_next)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.setSpacing(GRID)
        layout.addWidget(label(self.tr("On these days")))
        layout.addLayout(self._day_row(name))
        layout.addLayout(self._shortcut_row(name))
        layout.addSpacing(GRID)
        layout.addWidget(label(self.tr("At these times")))
        layout.addLayout(self._grid)
        layout.addWidget(self._add, alignment=Qt.AlignmentFlag.AlignLeft)

    def _day_row(self, name: str) -> QHBoxLayout:
        row = QHBoxLayout()
        row.setSpacing(HALF)
        for day in FROM_MONDAY:
            made = QPushButton(WEEKDAYS[day][:3])
            made.setObjectName(f"{name}Day{day}")
            made.setAccessibleName(WEEKDAYS[day])
            made.setCheckable(True)
            made.setAutoDefault(False)
            made.setMinimumWidth(0)
            made.toggled.connect(self.changed)
            self._days[day] = made
            row.addWidget(made, 1)
        return row

    def _shortcut_row(self, name: str) -> QHBoxLayout:
        row = QHBoxLayout()
        row.setSpacing(MARGIN)
        for words, days, suffix in (
            (self.tr("Every day"), ALL_DAYS, "AllDays"),
            (self.tr("Weekdays"), WORK_DAYS, "WorkDays"),
            (self.tr("Weekends"), WEEKEND, "Weekend"),
        ):
            made = link(words, name=f"{name}{suffix}")
            made.clicked.connect(_Choose(self, days))
            row.addWidget(made)
        row.addStretch(1)
        return row

    def focus_first(self) -> None:
        """Focus the first time."""
        if self._times:
            self._times[0].focus()
        else:
            self._add.setFocus()

    def value(self) -> DayTimes:
        """Return the chosen days and times, which may be empty."""
        days = frozenset(day for day, made in self._days.items() if made.isChecked())
        return DayTimes(days, tuple(cell.time for cell in self._times)).ordered()

    def set_value(self, day_times: DayTimes) -> None:
        """Show weekdays and times."""
        self.choose_days(day_times.weekdays)
        for cell in list(self._times):
            self._drop(cell)
        for time in day_times.times:
            self._add_cell(time)
        self._arrange()

    def choose_days(self, days: frozenset[int]) -> None:
        """Select these days and no others."""
        for day, made in self._days.items():
            made.setChecked(day in days)

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
        cell.removal_wanted.connect(self._remove)
        self._times.append(cell)
        return cell

    def _remove(self, cell: _TimeCell) -> None:
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


class _Choose:
    """Selects a set of days when called."""

    def __init__(self, edit: DayTimesEdit, days: frozenset[int]) -> None:
        self._edit = edit
        self._days = days

    def __call__(self) -> None:
        self._edit.choose_days(self._days)


class DayTimesForm(QWidget):
    """Weekdays and times; times with different minutes become several cron expressions."""

    changed = Signal()
    cron_wanted = Signal()

    def __init__(self, appearance: Appearance, page: Page) -> None:
        super().__init__(page.ground)
        self._given: tuple[DayTimes, list[str]] | None = None
        self._edit = DayTimesEdit(appearance, name="dayTimes")
        self._cron = label("", "muted", name="writtenCron")
        self._cron.setFont(mono_font(small_font(self._cron.font())))
        self._as_cron = link(self.tr("Edit as cron"), name="editAsCron")
        self._as_cron.clicked.connect(self.cron_wanted)
        self._written = QWidget()
        written = QHBoxLayout(self._written)
        written.setContentsMargins(0, 0, 0, 0)
        written.setSpacing(GRID)
        written.addWidget(label(self.tr("As cron:"), "small"))
        written.addWidget(self._cron)
        written.addWidget(self._as_cron)
        written.addStretch(1)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.setSpacing(GRID)
        layout.addWidget(page.watch_field(Field("", self._edit, path=PATH, subject=self.tr("The list"))))
        layout.addWidget(self._written)
        self.load([NEW_JOB_CRON])
        self._edit.changed.connect(self._announce_change)

    def focus_first(self) -> None:
        """Focus the first time."""
        self._edit.focus_first()

    def load(self, expressions: list[str]) -> bool:
        """Show expressions if they fit this form; return whether they do."""
        found = read_crons(expressions)
        if found is None:
            return False
        self._given = (found, expressions)
        self._edit.set_value(found)
        self._show_state()
        return True

    @property
    def texts(self) -> list[str]:
        """The expressions, none for an invalid choice; unchanged ones are returned exactly as loaded."""
        chosen = self._edit.value()
        if not chosen.weekdays or not chosen.times:
            return []
        if self._given is not None and chosen == self._given[0]:
            return self._given[1]
        return write_crons(chosen)

    def read(self, findings: Findings) -> list[str]:
        """Return the expressions, or none after recording the problems."""
        chosen = self._edit.value()
        if not chosen.weekdays:
            findings.refuse(PATH, self.tr("choose at least one day"))
        elif not chosen.times:
            findings.refuse(PATH, self.tr("add at least one time"))
        return self.texts

    def _announce_change(self) -> None:
        self._show_state()
        self.changed.emit()

    def _show_state(self) -> None:
        texts = self.texts
        show_if(self._written, bool(texts))
        # The form for cron has one line.
        show_if(self._as_cron, len(texts) == 1)
        self._cron.setText("\n".join(texts))
