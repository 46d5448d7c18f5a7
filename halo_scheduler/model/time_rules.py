"""Time rules: single schedules that determine when a job is due."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Annotated, ClassVar

from halo_scheduler.errors import ScheduleError
from halo_scheduler.grammar.checks import parse_instant, require_instant, require_interval, require_text
from halo_scheduler.grammar.cron import CronExpression, parse_cron
from halo_scheduler.grammar.interval import INTERVAL_FORM, SECOND_MS, parse_interval
from halo_scheduler.grammar.zone import find_zone
from halo_scheduler.model.calendars import EVERY_DAY, Calendar
from halo_scheduler.model.codec import Value

SHORTEST_EVERY_MS = 10 * SECOND_MS


@dataclass(frozen=True, slots=True)
class Every(Value):
    """Run at a fixed interval, counted from the job's anchor."""

    kind: ClassVar = "every"
    every: Annotated[str, f"fixed interval, at least 10s: {INTERVAL_FORM}"]

    def __post_init__(self) -> None:
        require_interval("every", self.every)

    @property
    def every_ms(self) -> int:
        """The effective interval: never below 10 s."""
        return max(parse_interval(self.every), SHORTEST_EVERY_MS)

    @property
    def is_raised(self) -> bool:
        """Whether the given interval is shorter than the effective one."""
        return parse_interval(self.every) < SHORTEST_EVERY_MS


@dataclass(frozen=True, slots=True)
class After(Value):
    """Run this long after the previous run ended."""

    kind: ClassVar = "after"
    after: Annotated[str, f"time after the previous run ends: {INTERVAL_FORM}"]

    def __post_init__(self) -> None:
        require_interval("after", self.after)

    @property
    def after_ms(self) -> int:
        return parse_interval(self.after)


@dataclass(frozen=True, slots=True)
class Cron(Value):
    """Run at the times of a cron expression; a time zone of None is the computer's."""

    kind: ClassVar = "cron"
    cron: Annotated[str, "five fields, six with seconds first, or a name such as @daily: 0 9 * * 1-5"]
    timezone: Annotated[str | None, "such as Europe/Berlin; null for the computer's"] = None

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
    """Run once, at an instant: epoch milliseconds, or ISO 8601 text with an offset."""

    kind: ClassVar = "once"
    at: Annotated[
        int | str, "ISO 8601 with an offset, such as 2026-12-24T18:00:00+01:00, or epoch milliseconds"
    ]

    def __post_init__(self) -> None:
        require_instant("at", self.due_at)

    @property
    def due_at(self) -> int:
        return parse_instant("at", self.at) if isinstance(self.at, str) else self.at


@dataclass(frozen=True, slots=True)
class Manual(Value):
    """Run only manually, or after another job."""

    kind: ClassVar = "manual"


TimeRule = Every | After | Cron | Once | Manual
"""The kinds of time rules."""
Dated = Every | After | Cron
"""The time rules that can be limited to some days."""


def calendar_for(schedule: object, calendar: Calendar) -> Calendar:
    """Return the parts of a calendar that a schedule supports: only fixed times move to other days."""
    if not isinstance(schedule, Dated):
        return EVERY_DAY
    is_fixed = isinstance(schedule, Cron) and not schedule.expression.fields.is_wildcard
    return calendar if is_fixed or calendar.shift is None else replace(calendar, shift=None)
