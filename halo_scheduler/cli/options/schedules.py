"""The options for a schedule, shared by `add`, `edit` and `preview`."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import click

from halo_scheduler.cli.options.option_values import AnyCommand, SectionOption, or_none, under, with_options
from halo_scheduler.cli.terminal.completions import complete_zones
from halo_scheduler.grammar.when import parse_when
from halo_scheduler.model import After, Cron, Every, Manual, Once, Schedule

_option = partial(click.option, cls=SectionOption, section="Schedule")

SCHEDULE_OPTIONS = (
    _option("--every", metavar="15m", help="Run at a fixed interval, counted from --anchor."),
    _option("--anchor", metavar="WHEN", help="Start of the first interval of --every.", default_words="now"),
    _option("--after", metavar="5m", help="Run again this long after the previous run ends."),
    _option(
        "--cron",
        metavar='"0 9 * * 1-5"',
        help="Cron expression: five fields, six with seconds first, or @daily etc.",
    ),
    _option(
        "--tz",
        metavar="ZONE",
        shell_complete=complete_zones,
        help='Time zone of --cron, like Europe/Berlin; "none" for the system\'s.',
        default_words="none",
    ),
    _option("--once", metavar="WHEN", help='Run once: "2026-12-24 18:00", "tomorrow 9:00", "in 2h".'),
    _option("--manual", is_flag=True, default=None, help="Run only manually, or after another job."),
)
SCHEDULE_FIELDS = {
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
    """The schedule options that were given."""

    every: str | None
    anchor: str | None
    after: str | None
    cron: str | None
    tz: str | None
    once: str | None
    manual: bool | None

    @under("schedule")
    def schedule(self, now_ms: int, before: Schedule | None = None) -> Schedule:
        """Return the schedule that the options describe; without one, that from before."""
        given = (
            Every(self.every) if self.every is not None else None,
            After(self.after) if self.after is not None else None,
            self._cron(self.cron, before) if self.cron is not None else None,
            self._once(self.once, now_ms) if self.once is not None else None,
            Manual() if self.manual else None,
        )
        schedules = [schedule for schedule in given if schedule is not None]
        if not schedules and before is not None:
            schedules = [self._in_zone(before)]
        if len(schedules) != 1:
            raise click.UsageError("give exactly one of --every, --after, --cron, --once and --manual")
        (schedule,) = schedules
        if self.tz is not None and not isinstance(schedule, Cron):
            raise click.UsageError("--tz needs --cron")
        if self.anchor is not None and not isinstance(schedule, Every):
            raise click.UsageError("--anchor needs --every")
        return schedule

    @under("anchor_at")
    def anchor_at(self, now_ms: int, before: int | None = None) -> int:
        """Return the anchor of `every`: the given one, that from before, or now."""
        if self.anchor is not None:
            return parse_when(self.anchor, now_ms)
        return now_ms if before is None else before

    @under("at")
    def _once(self, when: str, now_ms: int) -> Once:
        return Once(parse_when(when, now_ms))

    def _cron(self, expression: str, before: Schedule | None) -> Cron:
        if self.tz is None and isinstance(before, Cron):
            return Cron(expression, timezone=before.timezone)
        return Cron(expression, timezone=or_none(self.tz))

    def _in_zone(self, before: Schedule) -> Schedule:
        if self.tz is None or not isinstance(before, Cron):
            return before
        return replace(before, timezone=or_none(self.tz))


def schedule_options(command: AnyCommand) -> AnyCommand:
    """Add the schedule options to a command."""
    return with_options(command, SCHEDULE_OPTIONS)


def take_schedule_options(given: dict[str, Any]) -> ScheduleOptions:
    """Remove the schedule options from all that were given, and return them."""
    return ScheduleOptions(**{name: given.pop(name) for name in ScheduleOptions.__dataclass_fields__})
