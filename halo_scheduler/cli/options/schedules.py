"""The options for schedules, shared by `add`, `edit` and `preview`; all but --manual may be repeated."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import click

from halo_scheduler.cli.options.days import DayOptions
from halo_scheduler.cli.options.option_values import (
    NONE,
    AnyCommand,
    SectionOption,
    choice_of,
    lasting_path,
    or_none,
    under,
    with_options,
)
from halo_scheduler.cli.terminal.completions import complete_folders, complete_zones
from halo_scheduler.errors import ScheduleError
from halo_scheduler.grammar.when import parse_when
from halo_scheduler.host.machine_state import home_country
from halo_scheduler.model import (
    After,
    Cron,
    Entry,
    Every,
    FileEvent,
    Manual,
    Once,
    OnChat,
    OnFile,
    OnSession,
    OnWebhook,
    Schedule,
    SessionEvent,
    Several,
)
from halo_scheduler.model.calendars import Shift
from halo_scheduler.model.chat import require_people
from halo_scheduler.model.schedules import (
    Overlap,
    combine,
    combine_like,
    entries_of,
    schedules_of,
    shared_zone,
)

_option = partial(click.option, cls=SectionOption, section="Schedule")

SCHEDULE_OPTIONS = (
    _option(
        "--when",
        multiple=True,
        metavar='"every weekday at 9"',
        help="Schedule in plain English; ambiguous phrases are refused. Schedule options may be repeated.",
    ),
    _option(
        "--every",
        multiple=True,
        metavar="15m",
        help="Run at a fixed interval, counted from --anchor.",
    ),
    _option("--anchor", metavar="WHEN", help="Start of the first interval of --every.", default_words="now"),
    _option("--after", multiple=True, metavar="5m", help="Run again this long after the previous run ends."),
    _option(
        "--cron",
        multiple=True,
        metavar='"0 9 * * 1-5"',
        help="Cron expression: five fields, six with seconds first, or @daily etc.",
    ),
    _option(
        "--tz",
        metavar="ZONE",
        shell_complete=complete_zones,
        help='Time zone of --cron and --when, like Europe/Berlin; "none" for the system\'s.',
        default_words="none",
    ),
    _option(
        "--once",
        multiple=True,
        metavar="WHEN",
        help='Run once: "2026-12-24 18:00", "tomorrow 9:00", "in 2h".',
    ),
    _option(
        "--on-file",
        multiple=True,
        metavar="FOLDER",
        shell_complete=complete_folders,
        help="Run when a file appears in this folder; the run's input is its path.",
    ),
    _option(
        "--match", metavar="PATTERN", help="Only files whose name matches, like *.pdf.", default_words="*"
    ),
    _option(
        "--file-event",
        type=choice_of(FileEvent),
        help="File event that starts the job.",
        default_words="appears",
    ),
    _option(
        "--settle",
        metavar="2s",
        help="How long a file must stay unchanged before the run.",
        default_words="2s",
    ),
    _option(
        "--on",
        multiple=True,
        type=choice_of(SessionEvent),
        help="Run at login or boot, or when the computer wakes up, the screen is unlocked, the network comes up, "
        "or the computer is plugged in.",
    ),
    _option("--delay", metavar="5m", help="Run this long after the event of --on.", default_words="none"),
    _option(
        "--webhook", is_flag=True, default=None, help="Run when its webhook is called; see: halo webhook."
    ),
    _option(
        "--chat",
        multiple=True,
        metavar="BOT/CONVERSATION",
        help="Run when somebody writes to a bot: family/direct, or family/-100123 for a group; see: halo chat.",
    ),
    _option(
        "--chat-from",
        multiple=True,
        metavar="WHO",
        help="Who may start it with --chat, by id or @name; may be repeated.",
        default_words="the people permitted for the bot",
    ),
    _option(
        "--from-date",
        metavar="DATE",
        help='First day of the schedules: 2027-05-01, "1 May 2027" or tomorrow; "none" for no limit.',
        default_words="none",
    ),
    _option("--until-date", metavar="DATE", help="Last day of the schedules.", default_words="none"),
    _option(
        "--only-on",
        multiple=True,
        metavar="DAYS",
        help='Run only on these days: weekdays, weekends, a date, "holidays DE", "business days DE" or '
        '"ics FILE"; may be repeated; "none" for all days.',
    ),
    _option(
        "--not-on", multiple=True, metavar="DAYS", help="Don't run on these days; takes the same values."
    ),
    _option(
        "--shift",
        type=click.Choice([*(word.value for word in Shift), NONE]),
        help="Move --cron times on excluded days to the next or previous allowed day.",
        default_words="none",
    ),
    _option(
        "--on-overlap",
        type=choice_of(Overlap),
        help="When the schedule is due while the job is still running: skip the run, queue each one, "
        "run only the latest afterwards, or stop the job and restart it.",
        default_words="skip; queue for events",
    ),
    _option("--manual", is_flag=True, default=None, help="Run only manually, or after another job."),
)
SCHEDULE_FIELDS = {
    "schedule.when": ("--when",),
    "schedule.every": ("--every",),
    "schedule.after": ("--after",),
    "schedule.cron": ("--cron",),
    "schedule.timezone": ("--tz",),
    "schedule.at": ("--once",),
    "schedule.path": ("--on-file",),
    "schedule.match": ("--match",),
    "schedule.settle": ("--settle",),
    "schedule.delay": ("--delay",),
    "schedule.channel": ("--chat",),
    "schedule.on_overlap": ("--on-overlap",),
    "schedule.from": ("--from-date",),
    "schedule.until": ("--until-date",),
    "schedules.from": ("--from-date",),
    "schedules.until": ("--until-date",),
    "schedule.only": ("--only-on",),
    "schedule.not": ("--not-on",),
    "schedule.shift": ("--shift",),
    "schedules.only": ("--only-on",),
    "schedules.not": ("--not-on",),
    "anchor_at": ("--anchor",),
}
"""For each field of a schedule, the option that sets it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ScheduleOptions:
    """The schedule options that were given; each may be given several times."""

    when: tuple[str, ...]
    every: tuple[str, ...]
    anchor: str | None
    after: tuple[str, ...]
    cron: tuple[str, ...]
    tz: str | None
    once: tuple[str, ...]
    on_file: tuple[str, ...]
    match: str | None
    file_event: str | None
    settle: str | None
    on: tuple[str, ...]
    delay: str | None
    webhook: bool | None
    chat: tuple[str, ...]
    chat_from: tuple[str, ...]
    from_date: str | None
    until_date: str | None
    only_on: tuple[str, ...]
    not_on: tuple[str, ...]
    shift: str | None
    on_overlap: str | None
    manual: bool | None

    @under("schedule")
    def schedule(self, now_ms: int, before: Schedule | Several | None = None) -> Schedule | Several:
        """Return the schedules that the options describe; without any, those from before."""
        given: list[Schedule | Entry] = [
            *self._spoken(now_ms, before),
            *map(Every, self.every),
            *map(After, self.after),
            *(self._cron(expression, before) for expression in self.cron),
            *(self._once(when, now_ms) for when in self.once),
            *map(self._on_file, self.on_file),
            *(OnSession(SessionEvent(on), or_none(self.delay)) for on in self.on),
            *([OnWebhook()] if self.webhook else []),
            *map(self._on_chat, self.chat),
        ]
        self._refuse_without_event()
        if self.manual and given:
            raise click.UsageError("--manual needs no other schedule")
        if self.manual:
            given = [Manual()]
        if not given and before is None:
            raise click.UsageError(
                "give a schedule: --when, --every, --after, --cron, --once, --on-file, --on, --webhook, --chat "
                "or --manual"
            )
        if len(set(given)) < len(given):
            raise click.UsageError("the same schedule is given twice")
        days = DayOptions(self.from_date, self.until_date, self.only_on, self.not_on, self.shift)
        found = days.limit(self._combined(given, before), now_ms)
        if self.tz is not None and not any(isinstance(item, Cron) for item in schedules_of(found)):
            raise click.UsageError("--tz needs --cron or times in --when")
        if self.anchor is not None and not any(isinstance(item, Every) for item in schedules_of(found)):
            raise click.UsageError("--anchor needs --every")
        return found if self.on_overlap is None else self._overlapping(found, Overlap(self.on_overlap))

    @staticmethod
    def _overlapping(schedule: Schedule | Several, on_overlap: Overlap) -> Schedule | Several:
        """Return the schedules with the overlap policy, for those that can overlap with a run."""
        can_overlap = [not isinstance(item, After | Manual) for item in schedules_of(schedule)]
        if not any(can_overlap):
            raise click.UsageError("--on-overlap needs --every, --cron, --once, an event or times in --when")
        entries = schedule.entries if isinstance(schedule, Several) else (Entry(schedule),)
        return combine(
            replace(entry, on_overlap=on_overlap) if can else entry
            for entry, can in zip(entries, can_overlap, strict=True)
        )

    def _combined(
        self, given: list[Schedule | Entry], before: Schedule | Several | None
    ) -> Schedule | Several:
        if given or before is None:
            return (
                given[0] if len(given) == 1 and isinstance(given[0], Manual) else combine_like(given, before)
            )
        return self._in_zone(before)

    @under("anchor_at")
    def anchor_at(self, now_ms: int, before: int | None = None) -> int:
        """Return the anchor of `every`: the given one, that from before, or now."""
        if self.anchor is not None:
            return parse_when(self.anchor, now_ms)
        return now_ms if before is None else before

    def _refuse_without_event(self) -> None:
        """Refuse options of an event that is not given."""
        of_file = {"--match": self.match, "--file-event": self.file_event, "--settle": self.settle}
        for option, value in of_file.items():
            if value is not None and not self.on_file:
                raise click.UsageError(f"{option} needs --on-file")
        if self.chat_from and not self.chat:
            raise click.UsageError("--chat-from needs --chat")
        if self.delay is not None and not self.on:
            raise click.UsageError("--delay needs --on")

    def _on_file(self, path: str) -> OnFile:
        chosen = {"match": self.match, "on": self.file_event, "settle": self.settle}
        given: dict[str, Any] = {name: value for name, value in chosen.items() if value is not None}
        return OnFile(lasting_path(path), **given)

    def _on_chat(self, channel: str) -> OnChat:
        try:
            people = require_people("from", self.chat_from)
        except ScheduleError as error:
            # `from` alone is the first day of a schedule.
            raise click.UsageError(f"--chat-from {error.message}") from None
        return OnChat(channel, people)

    @under("at")
    def _once(self, when: str, now_ms: int) -> Once:
        return Once(parse_when(when, now_ms))

    @under("when")
    def _spoken(self, now_ms: int, before: Schedule | Several | None) -> list[Schedule | Entry]:
        if not self.when:
            return []
        from halo_scheduler.schedule.spoken import parse_schedule  # noqa: PLC0415 - only for --when

        zone = self._zone(before)
        found = (
            parse_schedule(words, now_ms=now_ms, timezone=zone, country=home_country()) for words in self.when
        )
        return [
            replace(entry, key="") if isinstance(item, Several) else item
            for item in found
            for entry in entries_of(item)
        ]

    def _cron(self, expression: str, before: Schedule | Several | None) -> Cron:
        return Cron(expression, timezone=self._zone(before))

    def _zone(self, before: Schedule | Several | None) -> str | None:
        """Return the given zone; without one, that of all cron schedules from before."""
        return shared_zone(before or Manual()) if self.tz is None else or_none(self.tz)

    def _in_zone(self, before: Schedule | Several) -> Schedule | Several:
        if self.tz is None:
            return before
        if isinstance(before, Several):
            entries = [replace(entry, schedule=self._moved(entry.schedule)) for entry in before.entries]
            return Several(tuple(entries))
        return self._moved(before)

    def _moved(self, schedule: Schedule) -> Schedule:
        return replace(schedule, timezone=or_none(self.tz)) if isinstance(schedule, Cron) else schedule


def schedule_options(command: AnyCommand) -> AnyCommand:
    """Add the schedule options to a command."""
    return with_options(command, SCHEDULE_OPTIONS)


def take_schedule_options(given: dict[str, Any]) -> ScheduleOptions:
    """Remove the schedule options from all that were given, and return them."""
    return ScheduleOptions(**{name: given.pop(name) for name in ScheduleOptions.__dataclass_fields__})
