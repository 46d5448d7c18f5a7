"""The days of the week, each to be switched on or off."""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QHBoxLayout, QPushButton, QVBoxLayout, QWidget

from halo_scheduler.model.quiet_times import Weekday
from ui.forms.links import link
from ui.forms.quiet_times import day_name
from ui.style.theme import HALF, MARGIN

_ALL = tuple(Weekday)


class WeekdayToggles(QWidget):
    """Gives the days that are switched on, which may be none."""

    changed = Signal()

    def __init__(self, *, name: str) -> None:
        super().__init__()
        self.setObjectName(name)
        self._days: dict[Weekday, QPushButton] = {}
        row = QHBoxLayout()
        row.setSpacing(HALF)
        for day in _ALL:
            made = QPushButton(day_name(day)[:3])
            made.setObjectName(f"{name}-{day}")
            made.setAccessibleName(day_name(day))
            made.setCheckable(True)
            made.setAutoDefault(False)
            made.setMinimumWidth(0)
            made.toggled.connect(self.changed)
            self._days[day] = made
            row.addWidget(made, 1)
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(HALF)
        column.addLayout(row)
        column.addLayout(self._shortcuts(name))

    def _shortcuts(self, name: str) -> QHBoxLayout:
        row = QHBoxLayout()
        row.setSpacing(MARGIN)
        for words, days, ending in (
            (self.tr("Every day"), _ALL, "All"),
            (self.tr("Weekdays"), _ALL[:5], "WorkDays"),
            (self.tr("Weekends"), _ALL[5:], "Weekend"),
        ):
            made = link(words, name=f"{name}{ending}")
            made.clicked.connect(partial(self.choose, days))
            row.addWidget(made)
        row.addStretch(1)
        return row

    def days(self) -> tuple[Weekday, ...]:
        """Return the days that are on, in the order of the week."""
        return tuple(day for day, made in self._days.items() if made.isChecked())

    def choose(self, days: Iterable[Weekday]) -> None:
        """Switch on these days and no others."""
        wanted = frozenset(days)
        for day, made in self._days.items():
            made.setChecked(day in wanted)
