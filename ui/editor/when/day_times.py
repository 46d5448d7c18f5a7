"""Days and times of day in the editor, converted to and from cron."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import product
from typing import assert_never

from halo_scheduler.errors import CronParseError
from halo_scheduler.grammar.cron_fields import CronFields, parse_fields

ALL_DAYS = frozenset(range(7))
WORK_DAYS = frozenset(range(1, 6))
WEEKEND = frozenset({0, 6})
FROM_MONDAY = (1, 2, 3, 4, 5, 6, 0)
LAST_PLACE = 6
"""The position of the last weekday of a kind in a month; the others are 1 to 5."""
LAST_DAY = 32
"""Stands for the last day of a month; other days are 1 to 31."""
MOST_TIMES = 24
MOST_GROUPS = 10
_SHORTEST_RANGE = 3


@dataclass(frozen=True, slots=True)
class WeekDays:
    """Days of every week, from 0 (Sunday) to 6."""

    weekdays: frozenset[int]


@dataclass(frozen=True, slots=True)
class MonthWeekdays:
    """Weekdays of every month by position, such as the first and the last Monday."""

    places: frozenset[int]
    weekdays: frozenset[int]


@dataclass(frozen=True, slots=True)
class MonthDays:
    """Days of every month by their numbers."""

    days: frozenset[int]


Days = WeekDays | MonthWeekdays | MonthDays


def is_empty(days: Days) -> bool:
    """Return whether no day is chosen."""
    match days:
        case WeekDays():
            return not days.weekdays
        case MonthWeekdays():
            return not (days.places and days.weekdays)
        case MonthDays():
            return not days.days
        case _:
            assert_never(days)


@dataclass(frozen=True, slots=True)
class DayTimes:
    """Days, and times of day as pairs of hour and minute."""

    days: Days
    times: tuple[tuple[int, int], ...]

    def ordered(self) -> DayTimes:
        """Return the times sorted and without duplicates."""
        return replace(self, times=tuple(sorted(set(self.times))))

    def parts(self) -> tuple[DayTimes, ...]:
        """Split the times into parts with the same minutes in each hour; one expression can express each part."""
        hours_of: dict[int, tuple[int, ...]] = {}
        for hour, minute in sorted(self.times):
            hours_of[minute] = (*hours_of.get(minute, ()), hour)
        minutes_of: dict[tuple[int, ...], list[int]] = {}
        for minute, hours in hours_of.items():
            minutes_of.setdefault(hours, []).append(minute)
        parts = [replace(self, times=tuple(product(hours, minutes))) for hours, minutes in minutes_of.items()]
        return tuple(sorted((part.ordered() for part in parts), key=lambda part: part.times))


def write_crons(groups: Iterable[DayTimes]) -> list[str]:
    """Return expressions for the times: one per group, or more if its hours have different minutes."""
    return [_write_cron(part) for group in merged(groups) for part in group.parts()]


def _write_cron(day_times: DayTimes) -> str:
    hours, minutes = (sorted(set(values)) for values in zip(*day_times.times, strict=True))
    date, weekday = _write_days(day_times.days)
    # Never "*" for the hours: a wildcard would run in both passes of a repeated hour.
    return f"{_listed(minutes)} {_listed(hours)} {date} * {weekday}"


def _write_days(days: Days) -> tuple[str, str]:
    """Return the fields for the day of the month and the weekday."""
    match days:
        case WeekDays():
            return "*", "*" if days.weekdays == ALL_DAYS else _listed(sorted(days.weekdays))
        case MonthWeekdays():
            places = product(sorted(days.places), sorted(days.weekdays))
            written = (f"{day}L" if place == LAST_PLACE else f"{day}#{place}" for place, day in places)
            return "*", ",".join(written)
        case MonthDays():
            numbers = _listed(sorted(days.days - {LAST_DAY}))
            return ",".join(filter(None, (numbers, "L" if LAST_DAY in days.days else ""))), "*"
        case _:
            assert_never(days)


def read_crons(expressions: Sequence[str]) -> tuple[DayTimes, ...] | None:
    """Return the days and times of expressions, or None if they cannot be shown that way."""
    found = [read_cron(expression) for expression in expressions]
    parts = [part for part in found if part is not None]
    groups = merged(parts)
    is_too_much = len(groups) > MOST_GROUPS or any(len(group.times) > MOST_TIMES for group in groups)
    return None if not parts or len(parts) < len(found) or is_too_much else groups


def merged(groups: Iterable[DayTimes]) -> tuple[DayTimes, ...]:
    """Merge groups with the same days, and sort their times."""
    times_of: dict[Days, tuple[tuple[int, int], ...]] = {}
    for group in groups:
        times_of[group.days] = (*times_of.get(group.days, ()), *group.times)
    return tuple(DayTimes(days, times).ordered() for days, times in times_of.items())


def read_cron(expression: str) -> DayTimes | None:
    """Return the days and times of an expression, or None if it has more than days and 24 times."""
    try:
        fields = parse_fields(expression)
    except CronParseError:
        return None
    if fields.is_wildcard or fields.seconds != (0,) or not fields.any_month:
        return None
    days = _read_days(fields)
    times = tuple(product(fields.hours, fields.minutes))
    return None if days is None or len(times) > MOST_TIMES else DayTimes(days, times)


def _read_days(fields: CronFields) -> Days | None:
    special = {(place, day) for day, place in fields.nth_weekdays}
    special |= {(LAST_PLACE, day) for day in fields.last_weekdays}
    if not fields.days_match_both:
        return None
    if fields.any_weekday and not special:
        dates = frozenset(fields.days) | ({LAST_DAY} if fields.last_day else frozenset())
        return WeekDays(ALL_DAYS) if fields.any_day else MonthDays(dates)
    if not fields.any_day or (special and fields.weekdays):
        return None
    if not special:
        return WeekDays(frozenset(fields.weekdays))
    places, weekdays = (frozenset(values) for values in zip(*special, strict=True))
    is_each = len(special) == len(places) * len(weekdays)
    return MonthWeekdays(places, weekdays) if is_each else None


def _listed(values: Sequence[int]) -> str:
    """Return sorted numbers as cron writes them: "9", "1-5", "0,6"."""
    runs: list[list[int]] = []
    for value in values:
        if runs and runs[-1][-1] == value - 1:
            runs[-1].append(value)
        else:
            runs.append([value])
    return ",".join(
        f"{run[0]}-{run[-1]}" if len(run) >= _SHORTEST_RANGE else ",".join(map(str, run)) for run in runs
    )
