"""The page with the schedule of a job."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from PySide6.QtCore import QCoreApplication, Signal
from PySide6.QtWidgets import QWidget

from halo_scheduler.model import After, Cron, Every, JobSpec, Manual, Once, Schedule
from ui.forms.choices import Choice, Choices
from ui.forms.fields import Field, Findings, Page
from ui.forms.inputs import ZonePicker
from ui.style.theme import Appearance
from ui.widgets.arrange import show_if
from ui.widgets.labels import label

from .day_times_form import DayTimesForm
from .schedule_forms import AfterForm, CronForm, EveryForm, OnceForm

_TIMES = "times"
_EVERY = "every"
_ONCE = "once"
_AFTER = "after"
_MANUAL = "manual"
_CRON = "cron"


@dataclass(frozen=True, slots=True)
class When:
    """The values of the page."""

    schedule: Schedule
    anchor_at: int


class WhenPage(Page):
    """Six kinds of schedules, each with its own form."""

    second_wanted = Signal()

    def __init__(self, now_ms: Callable[[], int], appearance: Appearance, parent: QWidget) -> None:
        super().__init__(
            QCoreApplication.translate("WhenPage", "When should it run?"), name="whenPage", parent=parent
        )
        self._anchor_at = 0
        self._now_ms = now_ms
        self._appearance = appearance

    def build(self) -> Iterator[None]:
        """Build the page; yields after each part so that the event loop can run."""
        self._kind = Choices(
            self._appearance, self._choices(), name="scheduleKind", title=self.tr("When"), columns=3
        )
        self.add(self._kind)
        yield
        self._times = DayTimesForm(self._appearance, self)
        yield
        self._every = EveryForm(self._now_ms, self)
        self._once = OnceForm(self._now_ms, self)
        yield
        self._after = AfterForm(self)
        self._cron = CronForm(self)
        yield
        self._manual = label(
            self.tr(
                "Runs only when you start it from the window, the tray or a terminal, or after another job."
            ),
            wrap=True,
        )
        self._zone = ZonePicker(name="zone")
        self._zone_field = Field(
            self.tr("Time zone"), self._zone, path="schedule.timezone", subject=self.tr("The time zone")
        )
        self._forms: dict[str, QWidget] = {
            _TIMES: self._times,
            _EVERY: self._every,
            _ONCE: self._once,
            _AFTER: self._after,
            _MANUAL: self._manual,
            _CRON: self._cron,
        }
        for form in self._forms.values():
            self.add(form)
        yield
        self.add_field(self._zone_field)
        self.column.addStretch(1)
        self._connect()
        self._show_kind()

    def _choices(self) -> tuple[Choice, ...]:
        return (
            Choice(_TIMES, self.tr("Times of day"), "calendar", self.tr("on chosen days")),
            Choice(_EVERY, self.tr("Every"), "repeat", self.tr("15 min, 2 hours …")),
            Choice(_ONCE, self.tr("Once"), "clock", self.tr("on one date")),
            Choice(_AFTER, self.tr("After previous run"), "refresh", self.tr("fixed gap")),
            Choice(_MANUAL, self.tr("Manual only"), "hand", self.tr("or after another job")),
            Choice(_CRON, self.tr("Cron"), "terminal", self.tr("an expression")),
        )

    def _connect(self) -> None:
        self._kind.chosen.connect(self._change_kind)
        for signal in (
            self._times.changed,
            self._every.changed,
            self._once.changed,
            self._after.changed,
            self._cron.changed,
            self._zone.changed,
        ):
            signal.connect(self.edited)
        self._times.cron_wanted.connect(self._edit_as_cron)
        self._times.second_wanted.connect(self.second_wanted)
        self._cron.builder_wanted.connect(self._show_as_times)

    def focus_first(self) -> None:
        """Focus the form of the chosen kind."""
        form = self._forms[self._kind.value]
        if isinstance(form, DayTimesForm | EveryForm | OnceForm | AfterForm | CronForm):
            form.focus_first()
        else:
            self._kind.focus_chosen()

    def load(self, spec: JobSpec, *, is_new: bool) -> None:
        """Show a schedule; its anchor is kept until another is chosen."""
        self._anchor_at = spec.anchor_at
        schedule = spec.schedule
        match schedule:
            case Every():
                self._every.load(schedule, spec.anchor_at)
                kind = _EVERY
            case After():
                self._after.load(schedule)
                kind = _AFTER
            case Once():
                self._once.load(schedule, is_stored=not is_new)
                kind = _ONCE
            case Manual():
                kind = _MANUAL
            case Cron():
                self._zone.set_zone(schedule.timezone)
                self._cron.load(schedule.cron)
                kind = _TIMES if self._times.load(schedule.cron) else _CRON
        self._kind.choose(kind)
        self._show_kind()

    def read(self, findings: Findings, now_ms: int) -> When | None:
        """Return the schedule and its anchor, or None after recording the problems."""
        if self._kind.value == _EVERY:
            every = self._every.read(findings, now_ms)
            return None if every is None else When(*every)
        schedule = self._read_schedule(findings, now_ms)
        return None if schedule is None else When(schedule, self._anchor_at or now_ms)

    def _read_schedule(self, findings: Findings, now_ms: int) -> Schedule | None:
        match self._kind.value:
            case "once":
                return self._once.read(findings, now_ms)
            case "after":
                return self._after.read(findings)
            case "manual":
                return Manual()
            case "cron":
                if self._cron.is_empty:
                    findings.miss("schedule.cron", self.tr("Enter a cron expression."))
                    return None
                return self._read_cron(findings, self._cron.text)
            case _:
                return self._read_cron(findings, self._times.read(findings))

    def _read_cron(self, findings: Findings, expression: str | None) -> Cron | None:
        if expression is None:
            return None
        return findings.take("schedule", lambda: Cron(expression, self._zone.zone))

    def can_split(self, is_possible: bool) -> None:  # noqa: FBT001 - like setEnabled
        """Enable the button for a second job."""
        self._times.can_split(is_possible)

    def split_off_schedule(self) -> Cron | None:
        """Remove the times that need a second job and return that job's schedule."""
        expression = self._times.split_off()
        return None if expression is None else Cron(expression, self._zone.zone)

    def _edit_as_cron(self) -> None:
        self._cron.load(self._times.text or "")
        self._kind.choose(_CRON)
        self.focus_first()

    def _show_as_times(self) -> None:
        if self._times.load(self._cron.text):
            self._kind.choose(_TIMES)
            self.focus_first()

    def _change_kind(self) -> None:
        self._show_kind()
        self.edited.emit()

    def _show_kind(self) -> None:
        kind = self._kind.value
        for name, form in self._forms.items():
            show_if(form, name == kind)
        show_if(self._zone_field, kind in (_TIMES, _CRON))
