"""Schedules: when a job is to run."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, cast

from halo_scheduler.errors import ScheduleError
from halo_scheduler.grammar.checks import parse_instant, require_instant, require_interval, require_text
from halo_scheduler.grammar.cron import CronExpression, parse_cron
from halo_scheduler.grammar.interval import SECOND_MS, parse_interval
from halo_scheduler.grammar.zone import find_zone
from halo_scheduler.model.codec import Value, decode

SHORTEST_EVERY_MS = 10 * SECOND_MS


@dataclass(frozen=True, slots=True)
class Every(Value):
    """The grid of instants an interval apart, counted from the job's anchor."""

    kind: ClassVar = "every"
    every: str

    def __post_init__(self) -> None:
        require_interval("every", self.every)

    @property
    def every_ms(self) -> int:
        """The interval in force: never below 10 s."""
        return max(parse_interval(self.every), SHORTEST_EVERY_MS)

    @property
    def is_raised(self) -> bool:
        """Whether a shorter interval was asked for than is in force."""
        return parse_interval(self.every) < SHORTEST_EVERY_MS


@dataclass(frozen=True, slots=True)
class After(Value):
    """A pause after the end of the previous run."""

    kind: ClassVar = "after"
    after: str

    def __post_init__(self) -> None:
        require_interval("after", self.after)

    @property
    def after_ms(self) -> int:
        return parse_interval(self.after)


@dataclass(frozen=True, slots=True)
class Cron(Value):
    """A cron expression in a time zone; None is the machine's."""

    kind: ClassVar = "cron"
    cron: str
    timezone: str | None = None

    def __post_init__(self) -> None:
        require_text("cron", self.cron)
        try:
            parse_cron(self.cron)
        except ScheduleError as error:
            raise error.under("cron") from None
        if self.timezone is not None:
            require_text("timezone", self.timezone)
            try:
                find_zone(self.timezone)
            except ScheduleError as error:
                raise error.under("timezone") from None

    @property
    def expression(self) -> CronExpression:
        return parse_cron(self.cron)


@dataclass(frozen=True, slots=True)
class Once(Value):
    """One instant: epoch milliseconds, or ISO 8601 text with an offset."""

    kind: ClassVar = "once"
    at: int | str

    def __post_init__(self) -> None:
        require_instant("at", self.due_at)

    @property
    def due_at(self) -> int:
        return parse_instant("at", self.at) if isinstance(self.at, str) else self.at


@dataclass(frozen=True, slots=True)
class Manual(Value):
    """Never due by itself: run by hand or by a chain."""

    kind: ClassVar = "manual"


Schedule = Every | After | Cron | Once | Manual


def schedule_from_dict(data: object) -> Schedule:
    """Read a schedule from its JSON form, or raise ScheduleError with the path of what is wrong."""
    return cast("Schedule", decode(Schedule, data))
