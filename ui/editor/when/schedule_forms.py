"""The forms of the kinds of schedules; each keeps its values while another one is shown."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import QComboBox, QLineEdit, QVBoxLayout, QWidget

from halo_scheduler.grammar.interval import parse_interval
from halo_scheduler.model import After, Cron, Entry, Every, Once, Schedule
from halo_scheduler.wording.measures import full_moment
from ui.forms.fields import Field, Findings, Page
from ui.forms.inputs import IntervalEdit, ZonePicker
from ui.forms.rows import link
from ui.forms.times import TimeEdit, clock_words, iso_text, midnight
from ui.style.theme import MARGIN, Appearance, mono_font
from ui.widgets.arrange import show_if
from ui.widgets.boxes import let_shrink

from .day_times import read_cron

_KEPT = "kept"
_NOW = "now"
_CLOCK = "clock"
_TIME = "time"
_NEW_EVERY = "15m"
_NEW_AFTER = "5m"


class ScheduleForm(QWidget):
    """The form of one kind of schedule."""

    changed = Signal()

    def __init__(self, page: Page) -> None:
        super().__init__(page.ground)
        self.column = QVBoxLayout(self)
        self.column.setContentsMargins(0, 0, 0, 0)
        self.column.setSpacing(MARGIN)

    def focus_first(self) -> None:
        """Focus the first field, if there is one."""

    def read(self, findings: Findings, now_ms: int) -> list[Entry]:
        """Return the schedules of the form; none after recording the problems."""
        raise NotImplementedError

    def taken(self, findings: Findings, make: Callable[[], Schedule]) -> list[Entry]:
        """Return the schedule that a function creates, or none after recording its error."""
        made = findings.take("schedule", make)
        return [] if made is None else [Entry(made)]


class EveryForm(ScheduleForm):
    """An interval and its anchor."""

    def __init__(self, now_ms: Callable[[], int], appearance: Appearance, page: Page) -> None:
        super().__init__(page)
        self._now_ms = now_ms
        self._kept_anchor = 0
        self._interval = IntervalEdit(self.tr("Every"), name="every")
        self._from = QComboBox()
        self._from.setObjectName("countedFrom")
        self._from.setAccessibleName(self.tr("Start counting"))
        let_shrink(self._from)
        self._time = TimeEdit(
            now_ms,
            appearance,
            name="anchor",
            title=self.tr("First run at"),
            examples=("18:00", "tomorrow 9:00", "in 1h"),
        )
        self._time_field = Field(
            self.tr("First run at"), self._time, path="anchor_at", subject=self.tr("The time")
        )
        self.column.addWidget(
            page.watch_field(
                Field(
                    self.tr("Every"), self._interval, path="schedule.every", subject=self.tr("The interval")
                )
            )
        )
        self.column.addWidget(Field(self.tr("Start counting"), self._from))
        self.column.addWidget(page.watch_field(self._time_field))
        self._interval.set_text(_NEW_EVERY)
        self._fill_from()
        self._interval.changed.connect(self._show_clock)
        self._interval.changed.connect(self.changed)
        self._from.currentIndexChanged.connect(self._show_time)
        self._from.currentIndexChanged.connect(self.changed)
        self._time.changed.connect(self.changed)

    def focus_first(self) -> None:
        """Focus the first field."""
        self._interval.setFocus()

    def load(self, schedule: Every, anchor_at: int) -> None:
        """Show an interval and keep its anchor until another is chosen; 0 means none."""
        self._kept_anchor = anchor_at
        self._interval.set_text(schedule.every)
        self._fill_from()

    def read(self, findings: Findings, now_ms: int) -> list[Entry]:
        found = self.taken(findings, lambda: Every(self._interval.text))
        anchor_at = self._anchor_at(findings, now_ms)
        return [] if anchor_at is None else [replace(entry, anchor_at=anchor_at) for entry in found]

    def _anchor_at(self, findings: Findings, now_ms: int) -> int | None:
        match self._from.currentData():
            case "kept":
                return self._kept_anchor
            case "clock":
                return self._kept_anchor if self._is_kept_on_clock else midnight(now_ms)
            case "time":
                if self._time.is_empty:
                    findings.miss("anchor_at", self.tr("Enter a date and time."))
                    return None
                return findings.take("anchor_at", self._time.instant)
            case _:
                return now_ms

    @property
    def _is_kept_on_clock(self) -> bool:
        return bool(self._kept_anchor) and midnight(self._kept_anchor) == self._kept_anchor

    def _fill_from(self) -> None:
        self._from.clear()
        if self._kept_anchor and not self._is_kept_on_clock:
            since = full_moment(self._kept_anchor)
            self._from.addItem(self.tr("unchanged, from {moment}").format(moment=since), _KEPT)
        self._from.addItem(self.tr("when saved"), _NOW)
        self._from.addItem("", _CLOCK)
        self._from.addItem(self.tr("at a time of my choice"), _TIME)
        if self._is_kept_on_clock:
            self._from.setCurrentIndex(self._from.findData(_CLOCK))
        self._show_clock()
        self._show_time()

    def _show_clock(self) -> None:
        words = clock_words(max(1, parse_interval(self._interval.text)))
        self._from.setItemText(self._from.findData(_CLOCK), words)

    def _show_time(self) -> None:
        show_if(self._time_field, self._from.currentData() == _TIME)


class AfterForm(ScheduleForm):
    """A gap after each run."""

    def __init__(self, page: Page) -> None:
        super().__init__(page)
        self._interval = IntervalEdit(self.tr("Gap"), name="after")
        self._interval.set_text(_NEW_AFTER)
        self.column.addWidget(
            page.watch_field(
                Field(
                    self.tr("Time after the previous run ends"),
                    self._interval,
                    path="schedule.after",
                    subject=self.tr("The gap"),
                    hint=self.tr("The first run starts as soon as the job is saved."),
                )
            )
        )
        self._interval.changed.connect(self.changed)

    def focus_first(self) -> None:
        """Focus the first field."""
        self._interval.setFocus()

    def load(self, schedule: After) -> None:
        self._interval.set_text(schedule.after)

    def read(self, findings: Findings, now_ms: int) -> list[Entry]:  # noqa: ARG002 - not about times
        return self.taken(findings, lambda: After(self._interval.text))


class OnceForm(ScheduleForm):
    """One instant; an unchanged one is returned exactly as loaded."""

    def __init__(self, now_ms: Callable[[], int], appearance: Appearance, page: Page) -> None:
        super().__init__(page)
        self._given: Once | None = None
        self._is_stored = False
        self._time = TimeEdit(
            now_ms,
            appearance,
            name="once",
            title=self.tr("Time"),
            examples=("in 1h", "18:00", "tomorrow 9:00"),
        )
        self.column.addWidget(
            page.watch_field(
                Field(self.tr("Date and time"), self._time, path="schedule.at", subject=self.tr("The time"))
            )
        )
        self._time.changed.connect(self.changed)

    def focus_first(self) -> None:
        """Focus the first field."""
        self._time.setFocus()

    def load(self, schedule: Once, *, is_stored: bool) -> None:
        """Show an instant; only a stored job may keep one that is past."""
        self._given, self._is_stored = schedule, is_stored
        self._time.set_instant(schedule.due_at)

    def read(self, findings: Findings, now_ms: int) -> list[Entry]:
        if self._time.is_empty:
            findings.miss("schedule.at", self.tr("Enter a date and time."))
            return []
        at = findings.take("schedule.at", self._time.instant)
        if at is None:
            return []
        given = self._given if self._given is not None and at == self._given.due_at else None
        if at <= now_ms and not (given is not None and self._is_stored):
            findings.refuse("schedule.at", self.tr("this time is in the past; enter a later one"))
            return []
        return self.taken(findings, lambda: given or Once(iso_text(at)))


class CronForm(ScheduleForm):
    """A cron expression."""

    builder_wanted = Signal()

    def __init__(self, zone: ZonePicker, page: Page) -> None:
        super().__init__(page)
        self._zone = zone
        self._line = QLineEdit()
        self._line.setObjectName("cron")
        self._line.setAccessibleName(self.tr("Cron expression"))
        self._line.setPlaceholderText("0 9 * * 1-5")
        self._line.setFont(mono_font(self._line.font()))
        self._use_builder = link(self.tr("Show as days and times"), name="useBuilder")
        self._use_builder.hide()
        self._use_builder.clicked.connect(self.builder_wanted)
        self._field = Field(
            self.tr("Expression"),
            self._line,
            path="schedule.cron",
            subject=self.tr("The expression"),
            hint=self.tr(
                "minute · hour · day of month · month · weekday, or with seconds first; also @daily"
            ),
        )
        self.column.setSpacing(MARGIN // 2)
        self.column.addWidget(page.watch_field(self._field))
        self.column.addWidget(self._use_builder, alignment=Qt.AlignmentFlag.AlignLeft)
        self._line.textChanged.connect(self._offer_builder)
        self._line.textChanged.connect(self.changed)

    def focus_first(self) -> None:
        """Focus the first field."""
        self._line.setFocus()

    @property
    def text(self) -> str:
        return self._line.text()

    def load(self, expression: str) -> None:
        self._line.setText(expression)

    def read(self, findings: Findings, now_ms: int) -> list[Entry]:  # noqa: ARG002 - not about times
        if not self.text.strip():
            findings.miss("schedule.cron", self.tr("Enter a cron expression."))
            return []
        return self.taken(findings, lambda: Cron(self.text, self._zone.zone))

    def _offer_builder(self, text: str) -> None:
        show_if(self._use_builder, read_cron(text) is not None)
