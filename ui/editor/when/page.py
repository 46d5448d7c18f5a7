"""The page with the schedule of a job."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

from PySide6.QtCore import QCoreApplication
from PySide6.QtWidgets import QWidget

from halo_scheduler.model import After, Cron, Entry, Every, JobSpec, Manual, Once, Schedule, Several
from halo_scheduler.model.schedules import combine_like
from ui.editor.draft import NEW_JOB_CRON
from ui.forms.choices import Choice, Choices
from ui.forms.fields import Field, Findings, Page
from ui.forms.inputs import ZonePicker
from ui.style.theme import Appearance
from ui.widgets.arrange import show_if
from ui.widgets.labels import label

from .day_times_form import DayTimesForm
from .schedule_forms import AfterForm, CronForm, EveryForm, OnceForm
from .schedule_list import ScheduleList

_TIMES = "times"
_EVERY = "every"
_ONCE = "once"
_AFTER = "after"
_MANUAL = "manual"
_CRON = "cron"


@dataclass(frozen=True, slots=True)
class When:
    """The values of the page."""

    schedule: Schedule | Several
    anchor_at: int


class WhenPage(Page):
    """Six kinds of schedules, each with its own form, and the list of further ones."""

    def __init__(self, now_ms: Callable[[], int], appearance: Appearance, parent: QWidget) -> None:
        super().__init__(
            QCoreApplication.translate("WhenPage", "When should it run?"), name="whenPage", parent=parent
        )
        self._anchor_at = 0
        self._is_new = True
        self._before: Schedule | Several | None = None
        self._key = ""
        """The key of the schedule in the form, if it has one."""
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
        self._others = ScheduleList(self._appearance, self)
        self.add(self._others)
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
        self._others.changed.connect(self.edited)
        self._others.add_wanted.connect(self._add_another)
        self._others.edit_wanted.connect(self._edit_other)
        self._cron.builder_wanted.connect(self._show_as_times)

    def focus_first(self) -> None:
        """Focus the form of the chosen kind."""
        form = self._forms[self._kind.value]
        if isinstance(form, DayTimesForm | EveryForm | OnceForm | AfterForm | CronForm):
            form.focus_first()
        else:
            self._kind.focus_chosen()

    def load(self, spec: JobSpec, *, is_new: bool) -> None:
        """Show the schedules of a job; the anchor is kept until another is chosen."""
        self._anchor_at, self._is_new, self._before = spec.anchor_at, is_new, spec.schedule
        entries = spec.schedules
        if not entries:
            self._choose(_MANUAL)
        elif not self._load_times([entry.schedule for entry in entries]):
            self._load_entry(entries[0])
            self._others.show_entries(entries[1:])

    def _load_times(self, schedules: list[Schedule]) -> bool:
        """Show schedules as times of day, if they are no more than that; return whether they are."""
        crons = [schedule for schedule in schedules if isinstance(schedule, Cron)]
        is_one_zone = len({cron.timezone for cron in crons}) == 1
        if (
            len(crons) < len(schedules)
            or not is_one_zone
            or not self._times.load([one.cron for one in crons])
        ):
            return False
        self._zone.set_zone(crons[0].timezone)
        self._cron.load(crons[0].cron)
        self._choose(_TIMES)
        return True

    def _load_entry(self, entry: Entry) -> None:
        """Show one schedule in its form."""
        self._key = entry.key
        schedule = entry.schedule
        match schedule:
            case Every():
                self._every.load(schedule, entry.anchor(self._anchor_at))
                self._choose(_EVERY)
            case After():
                self._after.load(schedule)
                self._choose(_AFTER)
            case Once():
                self._once.load(schedule, is_stored=not self._is_new)
                self._choose(_ONCE)
            case Manual():
                self._choose(_MANUAL)
            case Cron():
                self._zone.set_zone(schedule.timezone)
                self._cron.load(schedule.cron)
                self._choose(_TIMES if self._times.load([schedule.cron]) else _CRON)

    def read(self, findings: Findings, now_ms: int) -> When | None:
        """Return the schedules and the anchor, or None after recording the problems."""
        if self._kind.value == _MANUAL:
            return When(Manual(), self._anchor_at or now_ms)
        entries = self._read_form(findings, now_ms)
        if not entries:
            return None
        return self._combined([*entries, *self._others.entries], now_ms)

    def _combined(self, entries: list[Entry], now_ms: int) -> When | None:
        # What is there twice counts once.
        distinct = list({(entry.schedule, entry.anchor_at): entry for entry in entries}.values())
        only = distinct[0]
        if len(distinct) == 1:
            return When(only.schedule, only.anchor(self._anchor_at or now_ms))
        anchor_at = self._anchor_at or only.anchor(now_ms)
        # An anchor that is the job's own need not be repeated.
        plain = [replace(one, anchor_at=None) if one.anchor_at == anchor_at else one for one in distinct]
        return When(combine_like(plain, self._before), anchor_at)

    def _read_form(self, findings: Findings, now_ms: int) -> list[Entry]:
        """Return the schedules of the form; none after recording the problems."""
        match self._kind.value:
            case "every":
                every = self._every.read(findings, now_ms)
                return [] if every is None else [Entry(every[0], self._key, every[1])]
            case "once":
                return self._entries(self._once.read(findings, now_ms))
            case "after":
                return self._entries(self._after.read(findings))
            case "cron" if self._cron.is_empty:
                findings.miss("schedule.cron", self.tr("Enter a cron expression."))
                return []
            case "cron":
                return self._entries(self._read_cron(findings, self._cron.text))
            case _:
                found = [self._read_cron(findings, text) for text in self._times.read(findings)]
                return self._entries(*found) if all(found) else []

    def _entries(self, *schedules: Schedule | None) -> list[Entry]:
        found = [schedule for schedule in schedules if schedule is not None]
        return [Entry(schedule, self._key if len(found) == 1 else "") for schedule in found]

    def _read_cron(self, findings: Findings, expression: str) -> Cron | None:
        return findings.take("schedule", lambda: Cron(expression, self._zone.zone))

    def _add_another(self) -> None:
        """Move the schedule of the form into the list, and begin another."""
        if self._list_form(len(self._others.entries)):
            self._key = ""
            self._times.load([NEW_JOB_CRON])
            self._choose(_TIMES)
            self.focus_first()
            self.edited.emit()

    def _edit_other(self, index: int) -> None:
        """Exchange a schedule of the list with that of the form."""
        chosen = self._others.entries[index]
        if self._list_form(index):
            self._others.show_entries([entry for entry in self._others.entries if entry is not chosen])
            self._load_entry(chosen)
            self.focus_first()
            self.edited.emit()

    def _list_form(self, index: int) -> bool:
        """Put what the form holds into the list; return False if it holds nothing valid, which is then shown."""
        found = self._read_form(Findings(), self._now_ms())
        if not found and self._kind.value != _MANUAL:
            self.edited.emit()
            return False
        entries = list(self._others.entries)
        self._others.show_entries([*entries[:index], *found, *entries[index:]])
        return True

    def _choose(self, kind: str) -> None:
        self._kind.choose(kind)
        self._show_kind()

    def _edit_as_cron(self) -> None:
        self._cron.load("".join(self._times.texts[:1]))
        self._kind.choose(_CRON)
        self.focus_first()

    def _show_as_times(self) -> None:
        if self._times.load([self._cron.text]):
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
        show_if(self._others, kind != _MANUAL)
