"""The meaning of a schedule: what its runs depend on, without how it is written."""

from __future__ import annotations

from typing import NamedTuple, assert_never

from halo_scheduler.grammar.cron_fields import CronFields
from halo_scheduler.grammar.interval import SECOND_MS
from halo_scheduler.model import After, Cron, Every, Manual, Once, Schedule, Several


class Dates(NamedTuple):
    """Days of the month that match."""

    days: tuple[int, ...]
    last_day: bool


class Weekdays(NamedTuple):
    """Weekdays that match: every one, the n-th and the last of a month."""

    every: tuple[int, ...]
    nth: tuple[tuple[int, int], ...]
    last: tuple[int, ...]


class DayRule(NamedTuple):
    """The days that match, without what has no effect: None restricts nothing.

    `match_both` is False unless both sides restrict and both must match.
    """

    dates: Dates | None
    weekdays: Weekdays | None
    match_both: bool = False


class Meaning(NamedTuple):
    """The meaning of a schedule: two schedules that are equal here have the same runs.

    `value` is the interval in force in milliseconds, the due second, the tables of a cron expression, or the set of
    the meanings of several schedules.
    """

    kind: str
    value: object = None


class CronMeaning(NamedTuple):
    """The tables of a cron expression; wildcard rules run in both passes of a repeated hour."""

    seconds: tuple[int, ...]
    minutes: tuple[int, ...]
    hours: tuple[int, ...]
    days: DayRule
    months: tuple[int, ...]
    is_wildcard: bool
    timezone: str | None


def normal(schedule: Schedule | Several) -> Meaning:
    """Return the meaning of a schedule; the anchor and the jitter of the job are no part of it."""
    match schedule:
        case Every():
            return Meaning(schedule.kind, schedule.every_ms)
        case After():
            return Meaning(schedule.kind, schedule.after_ms)
        case Cron():
            return Meaning(schedule.kind, _cron(schedule.expression.fields, schedule.timezone))
        case Once():
            return Meaning(schedule.kind, schedule.due_at // SECOND_MS)
        case Manual():
            return Meaning(schedule.kind)
        case Several():
            return Meaning(schedule.kind, frozenset(normal(item) for item in schedule.schedules))
        case _:
            assert_never(schedule)


def _cron(fields: CronFields, timezone: str | None) -> CronMeaning:
    return CronMeaning(
        seconds=fields.seconds,
        minutes=fields.minutes,
        hours=fields.hours,
        days=day_rule(fields),
        months=fields.months,
        is_wildcard=fields.is_wildcard,
        timezone=timezone,
    )


def day_rule(fields: CronFields) -> DayRule:
    """Return the days of an expression without what has no effect."""
    dates = None if fields.any_day else Dates(fields.days, fields.last_day)
    weekdays = None if fields.any_weekday else _weekdays(fields)
    if dates is not None and weekdays is not None:
        return DayRule(dates, weekdays, fields.days_match_both)
    # Of two day fields either may match, unless one begins with *: if one always matches, the other has no effect.
    return DayRule(dates, weekdays) if fields.days_match_both else DayRule(None, None)


def _weekdays(fields: CronFields) -> Weekdays:
    every = fields.weekdays
    return Weekdays(
        every,
        tuple(pair for pair in fields.nth_weekdays if pair[0] not in every),
        tuple(weekday for weekday in fields.last_weekdays if weekday not in every),
    )
