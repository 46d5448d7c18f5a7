"""Cron expressions and their instants in a time zone.

croniter computes which days of a month match. The time of day is a table, and clock changes are handled here, because
croniter alone makes errors around them.
"""

from __future__ import annotations

import calendar
from bisect import bisect_left
from collections.abc import Iterable, Iterator
from datetime import MAXYEAR, date, datetime, timedelta
from functools import lru_cache
from threading import Lock
from typing import TYPE_CHECKING, NamedTuple
from zoneinfo import ZoneInfo

from halo_scheduler.grammar.cron_fields import CronFields, parse_fields
from halo_scheduler.grammar.zone import (
    CALENDAR_END_S,
    DAY_S,
    MINUTE_S,
    ClockChange,
    offset_or_change,
    offset_s,
    to_instant,
)

if TYPE_CHECKING:
    from croniter import croniter

_EPOCH_ORDINAL = date(1970, 1, 1).toordinal()
_DECEMBER = 12

# A month's shape is its first weekday and its length: 28 shapes in all. croniter's answer for one month applies to
# every month of that shape, so it is cached by shape.
_MONTHS_BY_SHAPE = {
    calendar.monthrange(year, month): (year, month) for year in range(2000, 2028) for month in range(1, 13)
}
_LONGEST_MONTH = 31
_CRONITER_LOCK = Lock()


class DayList(NamedTuple):
    """Days that croniter evaluates correctly in one expression, and which properties of a month they depend on."""

    expression: str
    needs_weekday: bool = False
    needs_length: bool = False

    def first_from(self, day: int, shape: tuple[int, int]) -> int | None:
        weekday, length = shape
        sample = (weekday if self.needs_weekday else 0, length if self.needs_length else _LONGEST_MONTH)
        found = _first_day_in_sample(self.expression, sample, day)
        return found if found is not None and found <= length else None


class DayRule(NamedTuple):
    """The matching days of an expression, by date and by weekday; an empty side restricts nothing."""

    by_date: tuple[DayList, ...]
    by_weekday: tuple[DayList, ...]
    match_both: bool

    def first_from(self, day: int, shape: tuple[int, int]) -> int | None:
        """Return the first matching day at or after `day` in a month of that shape."""
        while True:
            by_date = _earliest(self.by_date, day, shape)
            by_weekday = _earliest(self.by_weekday, day, shape)
            if not self.match_both:
                return min((found for found in (by_date, by_weekday) if found is not None), default=None)
            if by_date is None or by_weekday is None:
                return None
            if by_date == by_weekday:
                return by_date
            day = max(by_date, by_weekday)


class CronExpression(NamedTuple):
    """A parsed expression that computes times."""

    fields: CronFields
    minutes_of_day: tuple[int, ...]
    day_rule: DayRule
    is_daily: bool
    is_wildcard: bool

    def first_wall_from(self, wall_s: int) -> int | None:
        """Return the first matching wall time at or after `wall_s`; None if the calendar ends first."""
        day, second = divmod(wall_s, DAY_S)
        first_day = self._first_day_from(day)
        if first_day == day:
            time_s = self._first_time_from(second)
            if time_s is not None:
                return day * DAY_S + time_s
            first_day = self._first_day_from(day + 1)
        if first_day is None:
            return None
        return first_day * DAY_S + self.minutes_of_day[0] * MINUTE_S + self.fields.seconds[0]

    def _first_time_from(self, second_of_day: int) -> int | None:
        minute, second = divmod(second_of_day, MINUTE_S)
        seconds = self.fields.seconds
        if second > seconds[-1]:
            minute, second = minute + 1, 0
        index = bisect_left(self.minutes_of_day, minute)
        if index == len(self.minutes_of_day):
            return None
        first_minute = self.minutes_of_day[index]
        if first_minute > minute:
            second = 0
        return first_minute * MINUTE_S + seconds[bisect_left(seconds, second)]

    def _first_day_from(self, day: int) -> int | None:
        """Return the first matching day, counted from 1970, at or after `day`."""
        if self.is_daily:
            return day
        start = date.fromordinal(day + _EPOCH_ORDINAL)
        from_day = start.day
        # Never long: impossible dates are refused when parsed, and the rarest date, 29 February on a given weekday,
        # comes within 40 years.
        for year, month in _months_from(start.year, start.month):
            if month in self.fields.months:
                found = self.day_rule.first_from(from_day, calendar.monthrange(year, month))
                if found is not None:
                    return date(year, month, found).toordinal() - _EPOCH_ORDINAL
            from_day = 1
        return None


@lru_cache(maxsize=2048)
def parse_cron(text: str) -> CronExpression:
    """Parse a cron expression; CronParseError says what to change."""
    fields = parse_fields(text)
    by_date, by_weekday = tuple(_date_lists(fields)), tuple(_weekday_lists(fields))
    return CronExpression(
        fields=fields,
        minutes_of_day=_minutes_of_day(fields.hours, fields.minutes),
        day_rule=DayRule(by_date, by_weekday, fields.days_match_both),
        is_daily=fields.any_month and not (by_date or by_weekday),
        is_wildcard=fields.is_wildcard,
    )


def next_cron_instant(expression: CronExpression, zone: ZoneInfo, now_s: int) -> int | None:
    """Return the first instant strictly after `now_s`; None if the calendar ends first."""
    if now_s >= CALENDAR_END_S:
        return None
    find = _next_of_wildcard if expression.is_wildcard else _next_of_fixed
    return find(expression, zone, now_s)


def _next_of_fixed(expression: CronExpression, zone: ZoneInfo, now_s: int) -> int | None:
    """Find the next run of a job that runs once per matching wall time."""
    offset = offset_s(zone, now_s)
    from_wall_s = now_s + offset + 1
    here = offset_or_change(zone, now_s + offset)
    if isinstance(here, ClockChange) and offset == here.after_s:
        # This is the second pass of a repeated hour: its runs were in the first pass.
        from_wall_s = here.wall_end_s
    target_s = expression.first_wall_from(from_wall_s)
    return None if target_s is None else to_instant(zone, target_s)


def _next_of_wildcard(expression: CronExpression, zone: ZoneInfo, now_s: int) -> int | None:
    """Find the next run of a job that runs at every real instant whose wall clock matches."""
    offset = offset_s(zone, now_s)
    from_wall_s = now_s + offset + 1
    here = offset_or_change(zone, now_s + offset)
    if isinstance(here, ClockChange):
        target_s = _next_in_repeated_hour(expression, here, from_wall_s, offset)
        if target_s is not None:
            return target_s
        from_wall_s = here.wall_end_s
    return _first_real_instant(expression, zone, from_wall_s)


def _next_in_repeated_hour(
    expression: CronExpression, change: ClockChange, from_wall_s: int, offset: int
) -> int | None:
    """Search the rest of this pass of the hour, then the second pass."""
    passes = [(from_wall_s, offset)]
    if offset == change.before_s:
        passes.append((change.wall_start_s, change.after_s))
    for start_s, pass_offset_s in passes:
        target_s = expression.first_wall_from(start_s)
        if target_s is not None and target_s < change.wall_end_s:
            return target_s - pass_offset_s
    return None


def _first_real_instant(expression: CronExpression, zone: ZoneInfo, from_wall_s: int) -> int | None:
    target_s = expression.first_wall_from(from_wall_s)
    while target_s is not None:
        found = offset_or_change(zone, target_s)
        if isinstance(found, int):
            return target_s - found
        if not found.is_forward:
            return target_s - found.before_s
        target_s = expression.first_wall_from(found.wall_end_s)
    return None


def _months_from(year: int, month: int) -> Iterator[tuple[int, int]]:
    while year <= MAXYEAR:
        yield year, month
        year, month = (year, month + 1) if month < _DECEMBER else (year + 1, 1)


@lru_cache(maxsize=256)
def _minutes_of_day(hours: tuple[int, ...], minutes: tuple[int, ...]) -> tuple[int, ...]:
    return tuple(hour * 60 + minute for hour in hours for minute in minutes)


def _date_lists(fields: CronFields) -> Iterator[DayList]:
    """Split the day of month into separate expressions: combined in one, croniter loses days."""
    if fields.any_day:
        return
    if fields.days:
        yield DayList(f"{_listed(fields.days)} * *")
    if fields.last_day:
        yield DayList("L * *", needs_length=True)


def _weekday_lists(fields: CronFields) -> Iterator[DayList]:
    """Split the day of week into separate expressions, for the same reason."""
    if fields.any_weekday:
        return
    if fields.weekdays:
        yield DayList(f"* * {_listed(fields.weekdays)}", needs_weekday=True)
    if fields.nth_weekdays:
        pairs = _listed(f"{weekday}#{nth}" for weekday, nth in fields.nth_weekdays)
        yield DayList(f"* * {pairs}", needs_weekday=True)
    if fields.last_weekdays:
        last = _listed(f"L{weekday}" for weekday in fields.last_weekdays)
        yield DayList(f"* * {last}", needs_weekday=True, needs_length=True)


def _listed(values: Iterable[object]) -> str:
    return ",".join(map(str, values))


def _earliest(lists: tuple[DayList, ...], day: int, shape: tuple[int, int]) -> int | None:
    if not lists:
        return day
    found = (days.first_from(day, shape) for days in lists)
    return min((day for day in found if day is not None), default=None)


@lru_cache(maxsize=32_768)
def _first_day_in_sample(day_expression: str, shape: tuple[int, int], day: int) -> int | None:
    """Let croniter find the first matching day at or after `day` in a month of that shape."""
    year, month = _MONTHS_BY_SHAPE[shape]
    just_before = datetime(year, month, day) - timedelta(seconds=1)  # noqa: DTZ001 - croniter is right in wall time only
    with _CRONITER_LOCK:
        found = _calendar(day_expression).get_next(datetime, start_time=just_before)
    return found.day if (found.year, found.month) == (year, month) else None


@lru_cache(maxsize=1024)
def _calendar(day_expression: str) -> croniter:
    from croniter import croniter  # noqa: PLC0415 - 90 ms that `halo list` never pays

    return croniter(f"0 0 {day_expression}", datetime(2000, 1, 1))  # noqa: DTZ001 - wall time
