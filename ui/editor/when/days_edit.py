"""Edits the days on which a job runs: of every week, or of every month by weekday or by date."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import partial

from PySide6.QtCore import Qt, Signal
from PySide6.QtGui import QFocusEvent, QKeyEvent
from PySide6.QtWidgets import (
    QAbstractButton,
    QButtonGroup,
    QComboBox,
    QGridLayout,
    QHBoxLayout,
    QPushButton,
    QVBoxLayout,
    QWidget,
)

from halo_scheduler.grammar.english import WEEKDAYS, ordinal
from ui.forms.rows import link
from ui.style.theme import GRID, HALF, MARGIN
from ui.widgets.arrange import put_after, show_if

from .day_times import (
    ALL_DAYS,
    FROM_MONDAY,
    LAST_DAY,
    LAST_PLACE,
    WEEKEND,
    WORK_DAYS,
    Days,
    MonthDays,
    MonthWeekdays,
    WeekDays,
)

_WEEKLY = "week"
_BY_WEEKDAY = "weekday"
_BY_DATE = "date"
_DATE_COLUMNS = 8
_MONDAY = frozenset({1})


class DaysEdit(QWidget):
    """Edits days, possibly none; each rule keeps its own weekdays."""

    changed = Signal()

    def __init__(self, *, name: str) -> None:
        super().__init__()
        self._rule = QComboBox()
        self._rule.setObjectName(f"{name}Rule")
        self._rule.setAccessibleName(self.tr("Repeat"))
        self._rule.addItem(self.tr("Every week"), _WEEKLY)
        self._rule.addItem(self.tr("Every month, by weekday"), _BY_WEEKDAY)
        self._rule.addItem(self.tr("Every month, by date"), _BY_DATE)
        self._shown_rule = _WEEKLY
        self._weekdays_of = {_WEEKLY: ALL_DAYS, _BY_WEEKDAY: _MONDAY, _BY_DATE: _MONDAY}
        places = {place: ordinal(place) for place in range(1, LAST_PLACE)} | {LAST_PLACE: self.tr("Last")}
        weekdays = {day: WEEKDAYS[day] for day in FROM_MONDAY}
        self._places = ToggleRow(places, name=f"{name}Place")
        self._weekdays = ToggleRow(weekdays, name=f"{name}Day", most_letters=3)
        self._places.choose({1})
        self._shortcuts = self._shortcut_row(name)
        self._dates: DateGrid | None = None
        self.top = QHBoxLayout()
        self.top.addWidget(self._rule)
        self.top.addStretch(1)
        self._column = QVBoxLayout(self)
        self._column.setContentsMargins(0, 0, 0, 0)
        self._column.setSpacing(GRID)
        self._column.addLayout(self.top)
        for part in (self._places, self._weekdays, self._shortcuts):
            self._column.addWidget(part)
        self._show_rule()
        self._rule.currentIndexChanged.connect(self._change_rule)
        self._places.changed.connect(self.changed)
        self._weekdays.changed.connect(self.changed)

    def _shortcut_row(self, name: str) -> QWidget:
        made = QWidget()
        row = QHBoxLayout(made)
        row.setContentsMargins(0, 0, 0, 0)
        row.setSpacing(MARGIN)
        for words, days, suffix in (
            (self.tr("Every day"), ALL_DAYS, "AllDays"),
            (self.tr("Weekdays"), WORK_DAYS, "WorkDays"),
            (self.tr("Weekends"), WEEKEND, "Weekend"),
        ):
            shortcut = link(words, name=f"{name}{suffix}")
            shortcut.clicked.connect(partial(self._weekdays.choose, days))
            row.addWidget(shortcut)
        row.addStretch(1)
        return made

    def value(self) -> Days:
        """Return the chosen days, possibly none."""
        match self._shown_rule:
            case "weekday":
                return MonthWeekdays(self._places.chosen, self._weekdays.chosen)
            case "date":
                return MonthDays(self._date_grid().chosen)
            case _:
                return WeekDays(self._weekdays.chosen)

    def set_value(self, days: Days) -> None:
        """Show days."""
        match days:
            case WeekDays():
                self._choose_rule(_WEEKLY)
                self._weekdays.choose(days.weekdays)
            case MonthWeekdays():
                self._choose_rule(_BY_WEEKDAY)
                self._places.choose(days.places)
                self._weekdays.choose(days.weekdays)
            case MonthDays():
                self._choose_rule(_BY_DATE)
                self._date_grid().choose(days.days)

    def focus_first(self) -> None:
        """Focus the rule."""
        self._rule.setFocus()

    def _choose_rule(self, rule: str) -> None:
        self._rule.setCurrentIndex(self._rule.findData(rule))

    def _change_rule(self) -> None:
        self._weekdays_of[self._shown_rule] = self._weekdays.chosen
        self._shown_rule = str(self._rule.currentData())
        self._weekdays.choose(self._weekdays_of[self._shown_rule])
        self._show_rule()
        self.changed.emit()

    def _show_rule(self) -> None:
        rule = self._shown_rule
        show_if(self._places, rule == _BY_WEEKDAY)
        show_if(self._weekdays, rule != _BY_DATE)
        show_if(self._shortcuts, rule == _WEEKLY)
        if rule == _BY_DATE or self._dates is not None:
            show_if(self._date_grid(), rule == _BY_DATE)

    def _date_grid(self) -> DateGrid:
        """Return the days of the month, created on first use."""
        if self._dates is None:
            self._dates = DateGrid(name=self._rule.objectName().removesuffix("Rule"))
            self._column.addWidget(self._dates)
            put_after(self._rule, self._dates)
            self._dates.choose({1})
            self._dates.changed.connect(self.changed)
        return self._dates


class ToggleRow(QWidget):
    """A row of toggle buttons."""

    changed = Signal()

    def __init__(self, words: Mapping[int, str], *, name: str, most_letters: int = 4) -> None:
        super().__init__()
        self._buttons: dict[int, QPushButton] = {}
        row = QHBoxLayout(self)
        row.setContentsMargins(0, 0, 0, 0)
        row.setSpacing(HALF)
        for value, text in words.items():
            made = self._buttons[value] = _toggle(text[:most_letters], name=f"{name}{value}")
            made.setAccessibleName(text)
            made.toggled.connect(self.changed)
            row.addWidget(made, 1)

    @property
    def chosen(self) -> frozenset[int]:
        return frozenset(value for value, made in self._buttons.items() if made.isChecked())

    def choose(self, values: Iterable[int]) -> None:
        """Choose these and no others."""
        wanted = frozenset(values)
        for value, made in self._buttons.items():
            made.setChecked(value in wanted)


class DateGrid(QWidget):
    """The days of a month and the last day; one Tab stop, with arrow keys between days."""

    changed = Signal()

    def __init__(self, *, name: str) -> None:
        super().__init__()
        self.setAccessibleName(self.tr("Days of the month"))
        self._group = QButtonGroup(self)
        self._group.setExclusive(False)
        grid = QGridLayout(self)
        grid.setContentsMargins(0, 0, 0, 0)
        grid.setSpacing(HALF)
        for day in range(1, LAST_DAY + 1):
            made = _DateCell(self.tr("Last") if day == LAST_DAY else str(day))
            made.setObjectName(f"{name}Date{day}")
            made.setAccessibleName(
                self.tr("Last day of the month") if day == LAST_DAY else self.tr("Day {day}").format(day=day)
            )
            made.entered.connect(self._move_tab_stop)
            self._group.addButton(made, day)
            row, column = divmod(day - 1, _DATE_COLUMNS)
            grid.addWidget(made, row, column)
        self._stop = self._group.button(1)
        self._move_tab_stop(self._stop)
        self._group.idToggled.connect(self.changed)

    @property
    def chosen(self) -> frozenset[int]:
        return frozenset(self._group.id(made) for made in self._group.buttons() if made.isChecked())

    def choose(self, days: Iterable[int]) -> None:
        """Choose these days and no others."""
        wanted = frozenset(days)
        for made in self._group.buttons():
            made.setChecked(self._group.id(made) in wanted)
        self._move_tab_stop(self._group.button(min(wanted, default=1)))

    def _move_tab_stop(self, cell: QAbstractButton) -> None:
        self._stop.setFocusPolicy(Qt.FocusPolicy.ClickFocus)
        cell.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self._stop = cell

    def keyPressEvent(self, event: QKeyEvent) -> None:  # noqa: N802 - Qt's name
        steps = {
            Qt.Key.Key_Left: -1,
            Qt.Key.Key_Right: 1,
            Qt.Key.Key_Up: -_DATE_COLUMNS,
            Qt.Key.Key_Down: _DATE_COLUMNS,
        }
        day = self._group.buttons().index(self._stop) + 1 + steps.get(Qt.Key(event.key()), 0)
        if 1 <= day <= LAST_DAY:
            self._group.button(day).setFocus()


class _DateCell(QPushButton):
    """One day of the month."""

    entered = Signal(object)
    """The cell took the focus."""

    def __init__(self, text: str) -> None:
        super().__init__(text)
        _make_toggle(self)
        self.setFocusPolicy(Qt.FocusPolicy.ClickFocus)

    def focusInEvent(self, event: QFocusEvent) -> None:  # noqa: N802 - Qt's name
        self.entered.emit(self)
        super().focusInEvent(event)


def _toggle(text: str, *, name: str) -> QPushButton:
    made = QPushButton(text)
    made.setObjectName(name)
    _make_toggle(made)
    return made


def _make_toggle(made: QPushButton) -> None:
    made.setProperty("role", "toggle")
    made.setCheckable(True)
    made.setAutoDefault(False)
    made.setMinimumWidth(0)
