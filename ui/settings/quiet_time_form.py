"""The form for quiet hours: name, days, hours, and the jobs they apply to."""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial

from PySide6.QtCore import Qt, QTime, Signal
from PySide6.QtGui import QKeyEvent
from PySide6.QtWidgets import (
    QComboBox,
    QGridLayout,
    QHBoxLayout,
    QLineEdit,
    QPushButton,
    QTimeEdit,
    QVBoxLayout,
    QWidget,
)

from halo_scheduler.grammar.zone import find_zone
from halo_scheduler.model.settings import QuietTime, Weekday
from ui.forms.fields import Field, Findings, is_under
from ui.forms.inputs import ZonePicker
from ui.forms.quiet_times import called, day_name, end_words
from ui.forms.rows import link
from ui.style.theme import GRID, HALF, MARGIN
from ui.style.wording import natural_key, one_line
from ui.widgets.boxes import give_room, time_box
from ui.widgets.labels import button, label

from .list_page import EntryForm

_ALL = tuple(Weekday)

_LONGEST_NAME = 60
_USUAL = QuietTime()


class WeekdayToggles(QWidget):
    """Selects any number of weekdays."""

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
        """Return the selected days, Monday first."""
        return tuple(day for day, made in self._days.items() if made.isChecked())

    def choose(self, days: Iterable[Weekday]) -> None:
        """Select these days and no others."""
        wanted = frozenset(days)
        for day, made in self._days.items():
            made.setChecked(day in wanted)


class QuietTimeForm(EntryForm):
    """Edits quiet hours; shows problems at the fields."""

    def __init__(self) -> None:
        super().__init__(stem="quiet")
        self._taken: frozenset[str] = frozenset()
        self._build_fields()
        self._save = button(
            self.tr("Save quiet hours"),
            name="saveQuietButton",
            kind="primary",
            tip=self.tr("Save quiet hours (Enter)"),
        )
        self._box.addLayout(self._grid())
        self._add_buttons(self._save)
        self._connect()

    def edit(self, time: QuietTime | None, taken: frozenset[str], groups: Iterable[str]) -> None:
        """Open the form for new or existing quiet hours; `taken` are the names of the others."""
        self._taken = taken
        shown = time or _USUAL
        self._heading.setText(
            self.tr("New quiet hours") if time is None else self.tr("Edit {name}").format(name=called(time))
        )
        self._name.setText(shown.name)
        self._days.choose(shown.days)
        for box, text in ((self._start, shown.start), (self._end, shown.end)):
            # The time box has no 24:00.
            box.setTime(QTime.fromString("00:00" if text == "24:00" else text, "HH:mm"))
        self._offer_groups(groups, shown.group)
        self._zone.set_zone(shown.timezone)
        self._follow()
        self._open()
        self._name.setFocus()

    # --- Reading -------------------------------------------------------------------------------------

    def _read(self, findings: Findings) -> QuietTime | None:
        name, days, zone = self._name.text().strip(), self._days.days(), self._zone.zone
        if name and name in self._taken:
            findings.refuse("name", self.tr("Other quiet hours have this name."))
        if not days:
            findings.refuse("days", self.tr("Choose at least one day."))
        if zone is not None:
            findings.take("timezone", lambda: find_zone(zone))
        if findings.problems:
            return None
        return findings.take(
            "",
            lambda: QuietTime(
                name=name,
                group=self._group.currentData(),
                days=days,
                start=_text(self._start),
                end=_text(self._end),
                timezone=zone,
            ),
        )

    def _follow(self) -> None:
        """Update problems and hints after each edit."""
        self.show_error("")
        findings = Findings()
        found = self._read(findings)
        for field in self._fields:
            problems = [
                one for one in findings.problems if any(is_under(one.path, path) for path in field.paths)
            ]
            field.show_error(field.sentence(problems[0]) if problems else "")
        self._save.setEnabled(found is not None)
        self._hours_field.set_hint(end_words(_text(self._start), _text(self._end)))

    def _offer_groups(self, groups: Iterable[str], chosen: str | None) -> None:
        # Keep a group that no job belongs to anymore until another is chosen.
        names = sorted({*groups, *([] if chosen is None else [chosen])}, key=natural_key)
        self._group.clear()
        self._group.addItem(self.tr("All jobs"), None)
        for name in names:
            self._group.addItem(self.tr("Group {name}").format(name=one_line(name, _LONGEST_NAME)), name)
        self._group.setCurrentIndex(0 if chosen is None else names.index(chosen) + 1)

    # --- Building ------------------------------------------------------------------------------------

    def _build_fields(self) -> None:
        self._name = QLineEdit()
        self._name.setObjectName("quietNameEdit")
        self._name.setAccessibleName(self.tr("Name"))
        self._name.setPlaceholderText(self.tr("Nights (optional)"))
        self._name.setMaxLength(_LONGEST_NAME)
        self._days = WeekdayToggles(name="quietDays")
        self._start = time_box(22, 0, name="quietStart", title=self.tr("From"))
        self._end = time_box(6, 0, name="quietEnd", title=self.tr("Until"))
        self._group = QComboBox()
        self._group.setObjectName("quietGroup")
        self._group.setAccessibleName(self.tr("Applies to"))
        self._group.setSizeAdjustPolicy(QComboBox.SizeAdjustPolicy.AdjustToMinimumContentsLengthWithIcon)
        self._group.setMinimumContentsLength(16)
        give_room(self._group.view())
        self._zone = ZonePicker(name="quietZone")
        # Long zone names must not widen the box.
        self._zone.setMinimumContentsLength(16)
        self._zone.setSizeAdjustPolicy(QComboBox.SizeAdjustPolicy.AdjustToMinimumContentsLengthWithIcon)
        self._name_field = Field(self.tr("&Name"), self._name, path="name", subject=self.tr("The name"))
        days = self.tr("Starting on these days")
        self._days_field = Field(days, self._days, path="days", subject=self.tr("The days"))
        self._hours_field = Field(
            self.tr("&From – until"),
            _beside_each_other(self._start, label("–", "muted"), self._end, name="quietHours"),
            path="start",
            also_path="end",
            subject=self.tr("The time"),
        )
        self._group_field = Field(
            self.tr("Applies t&o"), self._group, path="group", subject=self.tr("The group")
        )
        self._zone_field = Field(
            self.tr("&Time zone"), self._zone, path="timezone", subject=self.tr("The time zone")
        )

    @property
    def _fields(self) -> tuple[Field, ...]:
        upper = (self._name_field, self._group_field, self._days_field)
        return (*upper, self._hours_field, self._zone_field)

    def _grid(self) -> QGridLayout:
        grid = QGridLayout()
        grid.setHorizontalSpacing(MARGIN)
        grid.setVerticalSpacing(GRID + GRID // 2)
        top = Qt.AlignmentFlag.AlignTop
        grid.addWidget(self._name_field, 0, 0, top)
        grid.addWidget(self._group_field, 0, 1, top)
        grid.addWidget(self._days_field, 1, 0, 1, 2)
        grid.addWidget(self._hours_field, 2, 0, top)
        grid.addWidget(self._zone_field, 2, 1, top)
        # Zone names need more width than hours.
        grid.setColumnStretch(0, 4)
        grid.setColumnStretch(1, 5)
        return grid

    def _connect(self) -> None:
        self._name.textChanged.connect(self._follow)
        self._days.changed.connect(self._follow)
        for box in (self._start, self._end):
            box.timeChanged.connect(self._follow)
        self._group.currentIndexChanged.connect(self._follow)
        self._zone.changed.connect(self._follow)

    def keyPressEvent(self, event: QKeyEvent) -> None:  # noqa: N802
        if event.key() in {Qt.Key.Key_Return, Qt.Key.Key_Enter}:
            self._submit()
        else:
            super().keyPressEvent(event)


def _text(box: QTimeEdit) -> str:
    return box.time().toString("HH:mm")


def _beside_each_other(*widgets: QWidget, name: str) -> QWidget:
    holder = QWidget()
    holder.setObjectName(name)
    row = QHBoxLayout(holder)
    row.setContentsMargins(0, 0, 0, 0)
    row.setSpacing(GRID)
    for widget in widgets:
        row.addWidget(widget)
    row.addStretch(1)
    return holder
