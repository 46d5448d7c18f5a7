"""The options for schedules, shared by `add`, `edit` and `preview`; all but --manual may be repeated."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import click

from halo_scheduler.cli.options.option_values import AnyCommand, SectionOption, or_none, under, with_options
from halo_scheduler.cli.terminal.completions import complete_zones
from halo_scheduler.grammar.when import parse_when
from halo_scheduler.model import After, Cron, Every, Manual, Once, Schedule, Several
from halo_scheduler.model.schedules import combine_like, schedules_of, shared_zone

_option = partial(click.option, cls=SectionOption, section="Schedule")

SCHEDULE_OPTIONS = (
    _option(
        "--when",
        multiple=True,
        metavar='"every weekday at 9"',
        help="Schedule in plain words; what is not clear is refused. Schedules may be repeated.",
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
    _option("--manual", is_flag=True, default=None, help="Run only manually, or after another job."),
)
SCHEDULE_FIELDS = {
    "schedule.when": ("--when",),
    "schedule.every": ("--every",),
    "schedule.after": ("--after",),
    "schedule.cron": ("--cron",),
    "schedule.timezone": ("--tz",),
    "schedule.at": ("--once",),
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
    manual: bool | None

    @under("schedule")
    def schedule(self, now_ms: int, before: Schedule | Several | None = None) -> Schedule | Several:
        """Return the schedules that the options describe; without any, those from before."""
        given: list[Schedule] = [
            *self._spoken(now_ms, before),
            *map(Every, self.every),
            *map(After, self.after),
            *(self._cron(expression, before) for expression in self.cron),
            *(self._once(when, now_ms) for when in self.once),
        ]
        if self.manual and given:
            raise click.UsageError("--manual needs no other schedule")
        if self.manual:
            given = [Manual()]
        if not given and before is None:
            raise click.UsageError("give a schedule: --when, --every, --after, --cron, --once or --manual")
        if len(set(given)) < len(given):
            raise click.UsageError("the same schedule is given twice")
        found = self._combined(given, before)
        if self.tz is not None and not any(isinstance(item, Cron) for item in schedules_of(found)):
            raise click.UsageError("--tz needs --cron or times in --when")
        if self.anchor is not None and not any(isinstance(item, Every) for item in schedules_of(found)):
            raise click.UsageError("--anchor needs --every")
        return found

    def _combined(self, given: list[Schedule], before: Schedule | Several | None) -> Schedule | Several:
        if len(given) > 1:
            return combine_like(given, before)
        return given[0] if given or before is None else self._in_zone(before)

    @under("anchor_at")
    def anchor_at(self, now_ms: int, before: int | None = None) -> int:
        """Return the anchor of `every`: the given one, that from before, or now."""
        if self.anchor is not None:
            return parse_when(self.anchor, now_ms)
        return now_ms if before is None else before

    @under("at")
    def _once(self, when: str, now_ms: int) -> Once:
        return Once(parse_when(when, now_ms))

    @under("when")
    def _spoken(self, now_ms: int, before: Schedule | Several | None) -> list[Schedule]:
        if not self.when:
            return []
        from halo_scheduler.schedule.spoken import parse_schedule  # noqa: PLC0415 - only for --when

        zone = self._zone(before)
        found = (parse_schedule(words, now_ms=now_ms, timezone=zone) for words in self.when)
        return [schedule for item in found for schedule in schedules_of(item)]

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
