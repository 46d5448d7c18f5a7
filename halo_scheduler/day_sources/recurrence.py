"""Repeating events of calendar files: the days of an RRULE.

Each day of a span is tested against the rule, instead of searching for the next match: a rule that never matches then
costs no more than others, while a search would go on to the year 9999.
"""

from __future__ import annotations

import calendar
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import date, timedelta
from itertools import groupby

from halo_scheduler.errors import ScheduleError
from halo_scheduler.grammar.english import shown

_DAY = timedelta(days=1)
_LONGEST_PERIOD = timedelta(days=366)
_WEEK = 7
_FREQUENCIES = ("DAILY", "WEEKLY", "MONTHLY", "YEARLY")
_WEEKDAYS = ("MO", "TU", "WE", "TH", "FR", "SA", "SU")
_WEEKDAY = re.compile(r"([+-]?[0-9]{1,2})?(MO|TU|WE|TH|FR|SA|SU)", re.ASCII)
_NUMBER = re.compile(r"[+-]?[0-9]{1,6}", re.ASCII)
# They add times to a day, but no days.
_OF_THE_DAY = ("BYHOUR", "BYMINUTE", "BYSECOND")
_KNOWN = (
    *("FREQ", "INTERVAL", "COUNT", "UNTIL", "BYDAY", "BYMONTHDAY", "BYMONTH", "BYSETPOS", "WKST"),
    *_OF_THE_DAY,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Rule:
    """A recurrence rule; `weekdays` are pairs of a position (0 for all) and a weekday.

    They are looked up, not searched: a file may list a million of them.
    """

    frequency: str
    start: date
    interval: int = 1
    count: int | None = None
    until: date = date.max
    weekdays: frozenset[tuple[int, int]] = frozenset()
    has_nth_weekdays: bool = False
    days: frozenset[int] = frozenset()
    months: frozenset[int] = frozenset()
    positions: frozenset[int] = frozenset()
    week_start: int = 0

    @property
    def needs_its_past(self) -> bool:
        """Whether its days depend on the occurrences since its start."""
        return self.count is not None or bool(self.positions)

    def occurrences(self, first: date, last: date, spend: Callable[[int], None]) -> Iterator[date]:
        """Yield its days in a span, maybe a few before it; `spend` gets the number of examined days."""
        begin, end = self.start if self.needs_its_past else max(self.start, first), min(last, self.until)
        length = max((end - begin).days + 1, 0)
        if self.positions and length:  # Occurrences are counted in whole periods.
            begin -= _LONGEST_PERIOD
            length = min(length + 2 * _LONGEST_PERIOD.days, (date.max - begin).days + 1)
        spend(length)
        found = (day for number in range(length) if self._has(day := begin + number * _DAY))
        chosen = self._at_positions(found) if self.positions else found
        for number, day in enumerate(day for day in chosen if self.start <= day <= end):
            if self.count is not None and number >= self.count:
                return
            yield day

    def _has(self, day: date) -> bool:
        if (self._period(day) - self._period(self.start)) % self.interval:
            return False
        if self.months and day.month not in self.months:
            return False
        if self.days and not {day.day, day.day - _length_of_month(day) - 1} & self.days:
            return False
        if self.weekdays:
            is_every = (0, day.weekday()) in self.weekdays
            return is_every or (
                self.has_nth_weekdays and not self.weekdays.isdisjoint(self._nth_weekdays(day))
            )
        return bool(self.days) or self._is_like_start(day)

    def _is_like_start(self, day: date) -> bool:
        """Return whether a day matches the start in the parts that the rule leaves open."""
        match self.frequency:
            case "WEEKLY":
                return day.weekday() == self.start.weekday()
            case "MONTHLY":
                return day.day == self.start.day
            case "YEARLY":
                return day.day == self.start.day and (bool(self.months) or day.month == self.start.month)
            case _:
                return True

    def _period(self, day: date) -> int:
        match self.frequency:
            case "WEEKLY":
                return (day.toordinal() - 1 - self.week_start) // _WEEK
            case "MONTHLY":
                return 12 * day.year + day.month
            case "YEARLY":
                return day.year
            case _:
                return day.toordinal()

    def _nth_weekdays(self, day: date) -> tuple[tuple[int, int], tuple[int, int]]:
        """Return a day as the n-th such weekday of its month or year, counted from both ends."""
        if self.frequency == "YEARLY" and not self.months:
            number, length = day.timetuple().tm_yday, 365 + calendar.isleap(day.year)
        else:
            number, length = day.day, _length_of_month(day)
        weekday = day.weekday()
        return ((number - 1) // _WEEK + 1, weekday), (-((length - number) // _WEEK + 1), weekday)

    def _at_positions(self, days: Iterator[date]) -> Iterator[date]:
        """Yield the n-th days of each period."""
        for _, group in groupby(days, self._period):
            together = list(group)
            for number, day in enumerate(together):
                if {number + 1, number - len(together)} & self.positions:
                    yield day


def _length_of_month(day: date) -> int:
    return calendar.monthrange(day.year, day.month)[1]


def read_rule(text: str, start: date, until_of: Callable[[str], date]) -> Rule:
    """Return the rule of an RRULE; `until_of` returns the last day that its UNTIL allows."""
    parts = {
        name.strip().upper(): value for name, _, value in (part.partition("=") for part in text.split(";"))
    }
    parts.pop("", None)
    unknown = [name for name in parts if name not in _KNOWN]
    if unknown or parts.get("FREQ") not in _FREQUENCIES:
        what = unknown[0] if unknown else f"FREQ={parts.get('FREQ', '')}"
        raise ScheduleError(f"repeats in a way that is not supported: {shown(what)}")
    weekdays = frozenset(map(_weekday, parts["BYDAY"].split(","))) if parts.get("BYDAY") else frozenset()
    return Rule(
        frequency=parts["FREQ"],
        start=start,
        interval=_number(parts.get("INTERVAL", "1"), 1),
        count=_number(parts["COUNT"], 1) if "COUNT" in parts else None,
        until=until_of(parts["UNTIL"]) if "UNTIL" in parts else date.max,
        weekdays=weekdays,
        has_nth_weekdays=any(nth for nth, _ in weekdays),
        days=_numbers(parts.get("BYMONTHDAY", "")),
        months=_numbers(parts.get("BYMONTH", "")),
        positions=_numbers(parts.get("BYSETPOS", "")),
        week_start=_weekday(parts.get("WKST", "MO"))[1],
    )


def _numbers(text: str) -> frozenset[int]:
    return frozenset(map(_number, text.split(","))) if text else frozenset()


def _number(text: str, least: int = -999_999) -> int:
    if not _NUMBER.fullmatch(text) or int(text) < least:
        raise ScheduleError(f"repeats in a way that cannot be read: {shown(text)}")
    return int(text)


def _weekday(text: str) -> tuple[int, int]:
    match = _WEEKDAY.fullmatch(text.strip().upper())
    if match is None:
        raise ScheduleError(f"repeats in a way that cannot be read: {shown(text)}")
    return int(match[1] or 0), _WEEKDAYS.index(match[2])
