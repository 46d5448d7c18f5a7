"""Days and spans of days: when they begin, and their runs summed up."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import date, datetime, time, timedelta

from halo_scheduler.grammar.interval import SECOND_MS
from halo_scheduler.grammar.zone import local_time, machine_zone, to_instant, wall_seconds
from halo_scheduler.model import Outcome
from halo_scheduler.rules.statistics import DayCount

_DAY = timedelta(days=1)
_MOST_DAYS = 92
_MOST_WEEKS = 104 * 7
_WEEK = 7
_DECEMBER = 12


@dataclass(frozen=True, slots=True)
class DaySpan:
    """Consecutive days, both ends included; without a first day, from the start of the history."""

    first: date | None = None
    last: date | None = None

    @property
    def since(self) -> int | None:
        """The instant at which the first day begins."""
        return None if self.first is None else day_start(self.first)

    @property
    def until(self) -> int | None:
        """The instant at which the last day ends."""
        return None if self.last is None else day_start(self.last + _DAY)

    def holds(self, day: date) -> bool:
        """Tell whether a day is in the span."""
        return (self.first is None or day >= self.first) and (self.last is None or day <= self.last)


@dataclass(frozen=True, slots=True)
class Bucket:
    """A day, week or month, and the number of its runs by outcome."""

    first: date
    last: date
    counts: Counter[Outcome]

    @property
    def total(self) -> int:
        return self.counts.total()


def last_days(count: int, now_ms: int) -> DaySpan:
    """Return the last days up to and including today."""
    return DaySpan(today(now_ms) - (count - 1) * _DAY)


def today(now_ms: int) -> date:
    """Return the local day of an instant."""
    return local_time(now_ms).date()


def day_start(day: date) -> int:
    """Return the instant at which a local day begins."""
    return to_instant(machine_zone(), wall_seconds(datetime.combine(day, time()))) * SECOND_MS


def buckets(first: date, last: date, days: Iterable[DayCount]) -> list[Bucket]:
    """Return a span divided into days, or into weeks or months if it is long."""
    found: list[Bucket] = []
    step = _step(first, last)
    counted = {date.fromisoformat(count.day): count.by_outcome for count in days}
    day = _begin(first, step)
    while day <= last:
        end = _end(day, step)
        found.append(Bucket(day, end, Counter()))
        day = end + _DAY
    position = 0
    for day, by_outcome in sorted(counted.items()):
        while position < len(found) and found[position].last < day:
            position += 1
        if position < len(found) and found[position].first <= day:
            found[position].counts.update(by_outcome)
    return found


def _step(first: date, last: date) -> str:
    length = (last - first).days + 1
    if length <= _MOST_DAYS:
        return "day"
    return "week" if length <= _MOST_WEEKS else "month"


def _begin(day: date, step: str) -> date:
    if step == "week":
        return day - day.weekday() * _DAY
    return day.replace(day=1) if step == "month" else day


def _end(day: date, step: str) -> date:
    if step == "week":
        return day + (_WEEK - 1) * _DAY
    if step == "month":
        following = date(day.year + 1, 1, 1) if day.month == _DECEMBER else date(day.year, day.month + 1, 1)
        return following - _DAY
    return day
