"""The meaning of a schedule: what its runs depend on, without how it is written."""

from __future__ import annotations

from typing import NamedTuple

from halo_scheduler.grammar.cron_fields import CronFields
from halo_scheduler.grammar.interval import SECOND_MS
from halo_scheduler.model import After, Cron, Entry, Every, Once, OnFile, OnSession, Schedule, Several


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

    `value` is the effective interval in milliseconds, the due second, the tables of a cron expression, the fields of
    an event, or the set of the meanings of several schedules.
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
    """Return the meaning of a schedule; it excludes anchors, parameters and the jitter of the job."""
    match schedule:
        case Every(every_ms=interval_ms) | After(after_ms=interval_ms):
            return Meaning(schedule.kind, interval_ms)
        case Cron():
            return Meaning(schedule.kind, _cron(schedule.expression.fields, schedule.timezone))
        case Once():
            return Meaning(schedule.kind, schedule.due_at // SECOND_MS)
        case OnFile() | OnSession():
            return Meaning(schedule.kind, _event(schedule))
        case Several():
            meanings = frozenset(_normal_entry(entry) for entry in schedule.entries)
            return next(iter(meanings)) if len(meanings) == 1 else Meaning(schedule.kind, meanings)
        case _:
            return Meaning(schedule.kind, schedule)


def _event(event: OnFile | OnSession) -> tuple[object, ...]:
    if isinstance(event, OnSession):
        return event.on, event.delay_ms
    return event.path, event.match, event.on, event.settle_ms


def _normal_entry(entry: Entry) -> Meaning:
    meaning = normal(entry.schedule)
    if not entry.is_limited:
        return meaning
    return meaning._replace(value=(meaning.value, entry.from_date, entry.until_date, entry.calendar))


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
