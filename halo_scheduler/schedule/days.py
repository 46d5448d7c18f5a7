"""The days of one of several schedules: within its first and last day, and allowed by its calendar."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import date, datetime, time, timedelta
from functools import lru_cache
from typing import NamedTuple
from zoneinfo import ZoneInfo

from halo_scheduler.grammar.interval import SECOND_MS
from halo_scheduler.grammar.zone import find_zone, to_instant, to_wall, wall_seconds, wall_time
from halo_scheduler.model import After, Cron, Entry, Schedule, Several, Shift
from halo_scheduler.schedule.single import next_point, previous_point

_DAY = timedelta(days=1)
_MOST_REMEMBERED = 4_096
_LONGEST_MOVE_DAYS = 60
_END = 1 << 62
"""Later than every instant."""


class Span(NamedTuple):
    """The first and the last millisecond of the days of a schedule."""

    since: int
    until: int


def span_of(entry: Entry) -> Span:
    """Return the span between the first and the last day of a schedule."""
    return _span(entry.from_date, entry.until_date, _zone_of(entry))


@lru_cache(maxsize=_MOST_REMEMBERED)
def _span(from_date: str | None, until_date: str | None, zone: ZoneInfo) -> Span:
    since = -_END if from_date is None else _midnight(date.fromisoformat(from_date), zone)
    until = _END if until_date is None else _midnight(date.fromisoformat(until_date) + _DAY, zone) - 1
    return Span(since, until)


def first_allowed(entry: Entry, at: int) -> int | None:
    """Return the first instant at or after another that is on a day of the schedule."""
    since, until = span_of(entry)
    at = max(at, since)
    if entry.calendar.has_days:
        zone = _zone_of(entry)
        day = _day_at(at, zone)
        found = entry.calendar.nearest(day, 1)
        if found is None:
            return None
        at = at if found == day else _midnight(found, zone)
    return at if at <= until else None


def last_allowed(entry: Entry, at: int) -> int | None:
    """Return the last instant at or before another that is on a day of the schedule."""
    since, until = span_of(entry)
    at = min(at, until)
    if entry.calendar.has_days:
        zone = _zone_of(entry)
        day = _day_at(at, zone)
        found = entry.calendar.nearest(day, -1)
        if found is None:
            return None
        at = at if found == day else _midnight(found + _DAY, zone) - 1
    return at if at >= since else None


def _zone_of(entry: Entry) -> ZoneInfo:
    schedule = entry.schedule
    return find_zone(schedule.timezone if isinstance(schedule, Cron) else None)


def _day_at(at: int, zone: ZoneInfo) -> date:
    return wall_time(to_wall(zone, at // SECOND_MS)).date()


def _midnight(day: date, zone: ZoneInfo) -> int:
    """Return the instant at which a day begins in a zone."""
    return to_instant(zone, wall_seconds(datetime.combine(day, time()))) * SECOND_MS


# --- Times that move to another day --------------------------------------------------------------------


def next_shifted(entry: Entry, now_ms: int) -> int | None:
    """Return the next time of a cron schedule whose times on excluded days move."""
    days, (since, until) = _Shifted(entry), span_of(entry)
    found: int | None = None
    at = next_point(entry.schedule, max(days.begin(now_ms), since - 1))
    while at is not None and at <= until and (found is None or days.can_precede(at, found)):
        moved_at = days.moved(at)
        if max(now_ms + 1, since) <= moved_at <= until and (found is None or moved_at < found):
            found = moved_at
        at = next_point(entry.schedule, at)
    return found


def previous_shifted(entry: Entry, now_ms: int) -> int | None:
    """Return the last time up to now of a cron schedule whose times on excluded days move."""
    days, (since, until) = _Shifted(entry), span_of(entry)
    found: int | None = None
    at = previous_point(entry.schedule, min(days.end(now_ms), until))
    while at is not None and at >= since and (found is None or days.can_follow(at, found)):
        moved_at = days.moved(at)
        if since <= moved_at <= min(now_ms, until) and (found is None or moved_at > found):
            found = moved_at
        at = previous_point(entry.schedule, at - 1)
    return found


class _Shifted:
    """Moves times from excluded days."""

    def __init__(self, entry: Entry) -> None:
        self._calendar = entry.calendar
        self._zone = _zone_of(entry)
        self._is_forward = entry.calendar.shift is Shift.NEXT

    def moved(self, at: int) -> int:
        """Return an instant at the same time on the nearest allowed day."""
        day = _day_at(at, self._zone)
        target = self._nearest(day, 1 if self._is_forward else -1)
        if target == day:
            return at
        wall_s = to_wall(self._zone, at // SECOND_MS) + (target - day) // timedelta(seconds=1)
        return to_instant(self._zone, wall_s) * SECOND_MS

    def begin(self, now_ms: int) -> int:
        """Return the instant after which times may move past now."""
        if not self._is_forward:
            return now_ms
        before = self._nearest(_day_at(now_ms, self._zone) - _DAY, -1)
        return _midnight(before + _DAY, self._zone) - 1

    def end(self, now_ms: int) -> int:
        """Return the last instant from which times may move to now or earlier."""
        if self._is_forward:
            return now_ms
        return _midnight(self._nearest(_day_at(now_ms, self._zone) + _DAY, 1), self._zone) - 1

    def can_precede(self, at: int, found: int) -> bool:
        """Return whether a time, or a later one, may move before a found time."""
        return at < found if self._is_forward else self._day_begin(self.moved(at)) <= found

    def can_follow(self, at: int, found: int) -> bool:
        """Return whether a time, or an earlier one, may move after a found time."""
        return self.moved(at) >= self._day_begin(found) if self._is_forward else at > found

    def _day_begin(self, at: int) -> int:
        return _midnight(_day_at(at, self._zone), self._zone)

    def _nearest(self, day: date, step: int) -> date:
        # A calendar that moves times allows days in every week.
        return self._calendar.nearest(day, step) or day


# --- Times on excluded days -----------------------------------------------------------------


class LeftOut(NamedTuple):
    """A time of a schedule on an excluded day, and the time it moves to, if any."""

    entry: Entry
    at: int
    day: date
    moved_to: int | None


def left_out_times(schedule: Schedule | Several, since: int, until: int, anchor_at: int) -> list[LeftOut]:
    """Return the first excluded time of each schedule from one instant up to another."""
    found = (_left_out(entry, since, until, anchor_at) for entry in _with_days(schedule))
    return [one for one in found if one is not None]


def _left_out(entry: Entry, since: int, until: int, anchor_at: int) -> LeftOut | None:
    at = next_point(entry.schedule, since - 1, entry.anchor(anchor_at))
    if at is None or at >= until or first_allowed(entry, at) == at:
        return None
    is_moved = entry.calendar.shift is not None and span_of(entry).since <= at <= span_of(entry).until
    day = _day_at(at, _zone_of(entry))
    return LeftOut(entry, at, day, _Shifted(entry).moved(at) if is_moved else None)


def moved_times(schedule: Schedule | Several, at: int) -> list[LeftOut]:
    """Return the times of schedules that move to an instant."""
    return [found for entry in _with_days(schedule) if entry.calendar.shift for found in _moved_to(entry, at)]


def _moved_to(entry: Entry, at: int) -> Iterator[LeftOut]:
    zone, days = _zone_of(entry), _Shifted(entry)
    step = -_DAY if entry.calendar.shift is Shift.NEXT else _DAY
    target = _day_at(at, zone)
    for number in range(1, _LONGEST_MOVE_DAYS):
        day = target + number * step
        if entry.calendar.allows(day):
            return
        wall_s = to_wall(zone, at // SECOND_MS) + (day - target) // timedelta(seconds=1)
        was_at = to_instant(zone, wall_s) * SECOND_MS
        if next_point(entry.schedule, was_at - 1) == was_at and days.moved(was_at) == at:
            yield LeftOut(entry, was_at, day, at)


def _with_days(schedule: Schedule | Several) -> list[Entry]:
    """Return the schedules with fixed times that are limited to some days."""
    entries = schedule.entries if isinstance(schedule, Several) else ()
    return [one for one in entries if one.is_limited and not isinstance(one.schedule, After)]
