"""The page with the schedule of a job."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial

from PySide6.QtCore import QCoreApplication, Signal
from PySide6.QtWidgets import QWidget

from halo_scheduler.model import (
    After,
    Cron,
    Entry,
    Every,
    JobSpec,
    Manual,
    Once,
    OnChat,
    OnFile,
    OnSession,
    OnWebhook,
    Schedule,
    Several,
)
from halo_scheduler.model.schedules import combine_like, entries_of, schedules_of
from ui.backend.backend import Backend
from ui.editor.draft import NEW_JOB_CRON
from ui.forms.fields import Field, Findings, Page
from ui.forms.inputs import ZonePicker
from ui.style.theme import Appearance
from ui.widgets.arrange import show_if
from ui.widgets.boxes import let_shrink
from ui.widgets.labels import label

from .day_times_form import DayTimesForm
from .event_forms import ChatForm, FileForm, SessionForm, WebhookForm
from .kinds import (
    AFTER,
    CHAT,
    CRON,
    EVERY,
    FILE,
    MANUAL,
    ON_CLOCK,
    ONCE,
    SESSION,
    TIMES,
    WEBHOOK,
    KindChooser,
)
from .run_options import RunOptions
from .schedule_forms import AfterForm, CronForm, EveryForm, OnceForm, ScheduleForm
from .schedule_list import ScheduleList
from .words_line import WordsLine


@dataclass(frozen=True, slots=True)
class When:
    """The values of the page."""

    schedule: Schedule | Several
    anchor_at: int


class WhenPage(Page):
    """The kinds of schedules, each with its own form, and the list of further ones."""

    webhooks_wanted = Signal()
    """Requests the webhooks page of the settings."""
    chat_wanted = Signal()
    """Requests the chat page of the settings."""

    def __init__(self, backend: Backend, appearance: Appearance, parent: QWidget) -> None:
        super().__init__(
            QCoreApplication.translate("WhenPage", "When should it run?"), name="whenPage", parent=parent
        )
        self._anchor_at = 0
        self._is_new = True
        self._before: Schedule | Several | None = None
        self._entry: Entry | None = None
        """The stored schedule in the form, with its key."""
        self._is_filling = False
        """Whether the program is filling the form, so that changes are not the user's."""
        self._backend = backend
        self._now_ms = backend.now_ms
        self._appearance = appearance

    def build(self) -> Iterator[None]:
        """Build the page; yields after each part so that the event loop can run."""
        self._words = WordsLine(self._now_ms, self)
        self.add(self._words)
        self._kind = KindChooser(self._appearance)
        self.add(self._kind)
        yield
        self._zone = ZonePicker(name="zone")
        let_shrink(self._zone)
        self._zone_field = Field(
            self.tr("Time zone"), self._zone, path="schedule.timezone", subject=self.tr("The time zone")
        )
        self._times = DayTimesForm(self._zone, self._appearance, self)
        yield
        self._every = EveryForm(self._now_ms, self._appearance, self)
        self._once = OnceForm(self._now_ms, self._appearance, self)
        yield
        self._after = AfterForm(self)
        self._cron = CronForm(self._zone, self)
        yield
        self._file = FileForm(self._appearance, self)
        self._session = SessionForm(self)
        self._webhook = WebhookForm(self)
        self._chat = ChatForm(self)
        self._manual = label(
            self.tr(
                "Runs only when you start it from the window, the tray or a terminal, or after another job."
            ),
            wrap=True,
        )
        self._forms: dict[str, ScheduleForm] = {
            TIMES: self._times,
            EVERY: self._every,
            ONCE: self._once,
            AFTER: self._after,
            CRON: self._cron,
            FILE: self._file,
            SESSION: self._session,
            WEBHOOK: self._webhook,
            CHAT: self._chat,
        }
        for form in self._forms.values():
            self.add(form)
            form.changed.connect(self._announce_edit)
        self.add(self._manual)
        yield
        self.add_field(self._zone_field)
        self._options = RunOptions(self._backend, self._appearance, self)
        self.add(self._options)
        self._others = ScheduleList(self._appearance, self)
        self.add(self._others)
        self.column.addStretch(1)
        self._connect()
        self._show_kind()

    def _connect(self) -> None:
        self._kind.chosen.connect(self._change_kind)
        self._zone.changed.connect(self._announce_edit)
        self._words.typed.connect(self._fill_from_words)
        self._times.cron_wanted.connect(self._edit_as_cron)
        self._webhook.settings_wanted.connect(self.webhooks_wanted)
        self._chat.settings_wanted.connect(self.chat_wanted)
        self._cron.builder_wanted.connect(self._show_as_times)
        self._options.changed.connect(self._announce_edit)
        self._others.changed.connect(self._announce_edit)
        self._others.add_wanted.connect(self._add_another)
        self._others.edit_wanted.connect(self._edit_other)

    def focus_first(self) -> None:
        """Focus the form of the chosen kind."""
        if self._kind.value == MANUAL:
            self._kind.focus_chosen()
        else:
            self._forms[self._kind.value].focus_first()

    def load(self, spec: JobSpec, *, is_new: bool) -> None:
        """Show the schedules of a job; the anchor is kept until another is chosen."""
        self._anchor_at, self._is_new, self._before = spec.anchor_at, is_new, spec.schedule
        self._fill(spec.schedules)
        self._write_words()

    def _fill(self, entries: Sequence[Entry]) -> None:
        """Show schedules in the form and the list, without announcing an edit."""
        self._is_filling = True
        others: Sequence[Entry] = ()
        if not entries:
            self._keep(None)
            self._choose(MANUAL)
        elif not self._load_times(entries):
            self._load_entry(entries[0])
            others = entries[1:]
        self._others.show_entries(others)
        self._is_filling = False

    def _keep(self, entry: Entry | None) -> None:
        """Keep the fields of a schedule that the form does not show; None for a new one."""
        self._entry = entry
        self._options.load(entry)

    def _fill_from_words(self, schedule: Schedule | Several | None) -> None:
        """Fill the form with the schedule of the typed words, if they are understood."""
        if schedule is not None:
            # Unchanged schedules keep their key and anchor.
            before = self._entries_now()
            entries = () if isinstance(schedule, Manual) else entries_of(schedule)
            if len(before) == len(entries) == 1:
                self._fill([_kept(before[0], entries[0], before[0].key)])
            else:
                known = {entry.schedule: entry for entry in before}
                self._fill([_kept(known.get(entry.schedule), entry) for entry in entries])
        self.edited.emit()

    def _entries_now(self) -> list[Entry]:
        """Return the schedules of the form and the list; those of an invalid form are missing."""
        others = () if self._kind.value == MANUAL else self._others.entries
        return [*self._read_form(Findings(), self._now_ms()), *others]

    def _write_words(self) -> None:
        """Show what the form says in the line of plain words."""
        is_manual = self._kind.value == MANUAL
        when = Manual() if is_manual else self._read_schedule(Findings(), self._now_ms())
        self._words.show_schedule(when.schedule if isinstance(when, When) else when)

    def _announce_edit(self) -> None:
        if not self._is_filling:
            self._write_words()
            self.edited.emit()

    def _load_times(self, entries: Sequence[Entry]) -> bool:
        """Show schedules as times of day, if they differ only in that; return whether they do."""
        crons = [entry.schedule for entry in entries if isinstance(entry.schedule, Cron)]
        only_times_differ = len({cron.timezone for cron in crons}) == 1 and all(
            replace(entry, schedule=entries[0].schedule, key=entries[0].key) == entries[0]
            for entry in entries
        )
        if (
            len(crons) < len(entries)
            or not only_times_differ
            or not self._times.load([cron.cron for cron in crons])
        ):
            return False
        self._keep(entries[0] if len(entries) == 1 else replace(entries[0], key=""))
        self._zone.set_zone(crons[0].timezone)
        self._cron.load(crons[0].cron)
        self._choose(TIMES)
        return True

    def _load_entry(self, entry: Entry) -> None:
        """Show one schedule in its form."""
        self._keep(entry)
        schedule = entry.schedule
        match schedule:
            case Every():
                self._every.load(schedule, entry.anchor(self._anchor_at))
                self._choose(EVERY)
            case After():
                self._after.load(schedule)
                self._choose(AFTER)
            case Once():
                is_stored = self._before is not None and schedule in schedules_of(self._before)
                self._once.load(schedule, is_stored=is_stored and not self._is_new)
                self._choose(ONCE)
            case OnFile():
                self._file.load(schedule)
                self._choose(FILE)
            case OnSession():
                self._session.load(schedule)
                self._choose(SESSION)
            case OnWebhook():
                self._choose(WEBHOOK)
            case OnChat():
                self._chat.load(schedule)
                self._choose(CHAT)
            case Manual():
                self._choose(MANUAL)
            case Cron():
                self._zone.set_zone(schedule.timezone)
                self._cron.load(schedule.cron)
                self._choose(TIMES if self._times.load([schedule.cron]) else CRON)

    def read(self, findings: Findings, now_ms: int) -> When | None:
        """Return the schedules and the anchor, or None after recording the problems."""
        if not self._words.check(findings):
            return None
        return self._read_schedule(findings, now_ms)

    def _read_schedule(self, findings: Findings, now_ms: int) -> When | None:
        if self._kind.value == MANUAL:
            return When(Manual(), self._anchor_at or now_ms)
        entries = self._read_form(findings, now_ms)
        if not entries:
            return None
        combined = self._others.with_form(entries)
        return findings.take("schedule", lambda: self._combined(combined, now_ms))

    def _combined(self, entries: list[Entry], now_ms: int) -> When:
        # What is there twice counts once; what differs only in its parameters or options is refused.
        distinct = list({replace(entry, key=""): entry for entry in entries}.values())
        only = distinct[0]
        if len(distinct) == 1 and only.is_plain:
            return When(only.schedule, only.anchor(self._anchor_at or now_ms))
        anchor_at = self._anchor_at or only.anchor(now_ms)
        # An anchor that is the job's own need not be repeated.
        plain = [replace(one, anchor_at=None) if one.anchor_at == anchor_at else one for one in distinct]
        return When(combine_like(plain, self._before), anchor_at)

    def _read_form(self, findings: Findings, now_ms: int) -> list[Entry]:
        """Return the schedules of the form; none after recording the problems, and for manual jobs."""
        if self._kind.value == MANUAL:
            return []
        found = self._forms[self._kind.value].read(findings, now_ms)
        kept = [self._with_kept(entry, is_only=len(found) == 1) for entry in found]
        applied = [findings.take("schedule", partial(self._options.apply, entry)) for entry in kept]
        return [entry for entry in applied if entry is not None]

    def _with_kept(self, entry: Entry, *, is_only: bool) -> Entry:
        """Return a schedule with the key that the form keeps."""
        kept = self._entry
        return replace(entry, key=kept.key) if kept is not None and is_only else entry

    def _add_another(self) -> None:
        """Move the schedule of the form into the list, and begin another."""
        if (entries := self._listed()) is not None:
            self._others.show_entries(entries, len(entries))
            self._keep(None)
            self._times.load([NEW_JOB_CRON])
            self._choose(TIMES)
            self.focus_first()
            self._announce_edit()

    def _edit_other(self, chosen: Entry) -> None:
        """Exchange a schedule of the list with that of the form."""
        if (entries := self._listed()) is not None:
            place = next(index for index, entry in enumerate(entries) if entry is chosen)
            self._others.show_entries(entries[:place] + entries[place + 1 :], place)
            self._load_entry(chosen)
            self.focus_first()
            self._announce_edit()

    def _listed(self) -> list[Entry] | None:
        """Return all schedules; None if that of the form is invalid, which is then shown."""
        found = self._read_form(Findings(), self._now_ms())
        if not found and self._kind.value != MANUAL:
            self.edited.emit()
            return None
        return self._others.with_form(found)

    def _choose(self, kind: str) -> None:
        self._kind.choose(kind)
        self._show_kind()

    def _edit_as_cron(self) -> None:
        self._cron.load("".join(self._times.texts[:1]))
        self._kind.choose(CRON)
        self.focus_first()

    def _show_as_times(self) -> None:
        if self._times.load([self._cron.text]):
            self._kind.choose(TIMES)
            self.focus_first()

    def _change_kind(self) -> None:
        self._show_kind()
        self._announce_edit()

    def _show_kind(self) -> None:
        kind = self._kind.value
        for name, form in self._forms.items():
            show_if(form, name == kind)
        show_if(self._manual, kind == MANUAL)
        show_if(self._zone_field, kind in ON_CLOCK)
        self._options.follow_kind(kind)
        show_if(self._others, kind != MANUAL)


def _kept(before: Entry | None, entry: Entry, key: str = "") -> Entry:
    """Return the schedule of some words, with unstated fields as before."""
    if before is None:
        return replace(entry, key="")
    anchor_at = before.anchor_at if isinstance(entry.schedule, Every) else None
    kept = replace(
        entry,
        key=key,
        anchor_at=anchor_at,
        parameters=before.parameters,
        on_overlap=None if isinstance(entry.schedule, After) else before.on_overlap,
    )
    return replace(kept, key=before.key) if kept.timing == before.timing else kept
