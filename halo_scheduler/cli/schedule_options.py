"""The options that say when, shared by all commands that take a schedule."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, TypeVar

import click

from halo_scheduler.model import After, Cron, Every, Manual, Once, Schedule
from halo_scheduler.schedule.when import parse_when

AnyCommand = TypeVar("AnyCommand", bound=Callable[..., Any])

_OPTIONS = (
    click.option("--every", metavar="15m", help="A fixed pace, counted from --anchor."),
    click.option("--anchor", metavar="WHEN", help="Where --every counts from; now, if not given."),
    click.option("--after", metavar="5m", help="So long after the last run ended."),
    click.option(
        "--cron", metavar='"0 9 * * 1-5"', help="Five fields, six with seconds first, or @daily and the like."
    ),
    click.option(
        "--tz",
        metavar="ZONE",
        help="The time zone of --cron, like Europe/Berlin; this machine's, if not given.",
    ),
    click.option("--once", metavar="WHEN", help='One time: "2026-12-24 18:00", "tomorrow 9:00", "in 2h".'),
    click.option("--manual", is_flag=True, help="Only by hand."),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class ScheduleOptions:
    """What was given of them."""

    every: str | None
    anchor: str | None
    after: str | None
    cron: str | None
    tz: str | None
    once: str | None
    manual: bool

    def schedule(self, now_ms: int) -> Schedule:
        """Return the one schedule that was asked for."""
        given = (
            Every(self.every) if self.every is not None else None,
            After(self.after) if self.after is not None else None,
            Cron(self.cron, timezone=self.tz) if self.cron is not None else None,
            Once(parse_when(self.once, now_ms)) if self.once is not None else None,
            Manual() if self.manual else None,
        )
        schedules = [schedule for schedule in given if schedule is not None]
        if len(schedules) != 1:
            raise click.UsageError("give exactly one of --every, --after, --cron, --once and --manual")
        (schedule,) = schedules
        if self.tz is not None and not isinstance(schedule, Cron):
            raise click.UsageError("--tz goes with --cron only")
        if self.anchor is not None and not isinstance(schedule, Every):
            raise click.UsageError("--anchor goes with --every only")
        return schedule

    def anchor_at(self, now_ms: int) -> int:
        """Return where an `every` counts from."""
        return now_ms if self.anchor is None else parse_when(self.anchor, now_ms)


def choice_of(words: type[StrEnum]) -> click.Choice[str]:
    """Return the words of an enum to choose from."""
    return click.Choice([word.value for word in words])


def schedule_options(command: AnyCommand) -> AnyCommand:
    """Give a command the options that say when."""
    return with_options(command, _OPTIONS)


def with_options(command: AnyCommand, options: Sequence[Callable[[AnyCommand], AnyCommand]]) -> AnyCommand:
    """Give a command some options, in the order in which they are listed."""
    for option in reversed(options):
        command = option(command)
    return command


def take_schedule_options(given: dict[str, Any]) -> ScheduleOptions:
    """Take the options that say when out of all that were given."""
    return ScheduleOptions(**{name: given.pop(name) for name in ScheduleOptions.__dataclass_fields__})
