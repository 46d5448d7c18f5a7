"""Local days, by which daily limits count, and quiet hours: when they begin and end."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from datetime import timedelta
from typing import NamedTuple

from halo_scheduler.grammar.interval import SECOND_MS
from halo_scheduler.grammar.zone import (
    DAY_S,
    find_zone,
    machine_zone,
    to_instant,
    to_wall,
    wall_seconds,
    wall_time,
)
from halo_scheduler.model.settings import Quiet, QuietTime, Weekday

_DAY = timedelta(days=1)
_WEEKDAYS = tuple(Weekday)
_EPOCH_WEEKDAY = 3  # 1 January 1970 was a Thursday.
# If quiet hours adjoin for longer than this, the search is repeated at that point.
_MOST_DAYS = 8


def local_day(at: int) -> str:
    """Return the local date, such as 2026-12-24, of an instant in the computer's zone."""
    return wall_time(to_wall(machine_zone(), at // SECOND_MS)).strftime("%Y-%m-%d")


def day_ends_at(at: int) -> int:
    """Return the instant of the next local midnight; if a clock change skips it, that of the change."""
    zone = machine_zone()
    day = wall_time(to_wall(zone, at // SECOND_MS)).replace(hour=0, minute=0, second=0)
    return to_instant(zone, wall_seconds(day + _DAY)) * SECOND_MS


class _Span(NamedTuple):
    """Quiet hours on one of their days; empty if a clock change skips them."""

    start_at: int
    end_at: int
    by: QuietTime

    def holds_at(self, at: int) -> bool:
        return self.start_at <= at < self.end_at


def quiet_at(times: Iterable[QuietTime], group: str | None, at: int) -> Quiet | None:
    """Return the quiet hours of a group at an instant; None if its jobs may start.

    Quiet hours that overlap or adjoin are merged.
    """
    chosen = [time for time in times if time.is_for(group)]
    if not any(span.holds_at(at) for time in chosen for span in _spans(time, at, 0)):
        return None
    found: Quiet | None = None
    until = at
    spans = [span for time in chosen for span in _spans(time, at, _MOST_DAYS)]
    for span in sorted(spans, key=lambda span: span.start_at):
        if span.holds_at(until):
            until = span.end_at
            found = Quiet(until, span.by)
    return found


class QuietHours:
    """Finds the quiet hours of many instants; fast if they are in order."""

    def __init__(self, times: tuple[QuietTime, ...] = ()) -> None:
        self._times = times
        self._last_found: dict[str | None, tuple[int, Quiet]] = {}

    def find(self, group: str | None, at: int) -> Quiet | None:
        """Return the quiet hours of a group at an instant."""
        if not self._times:
            return None
        if group in self._last_found:
            since, quiet = self._last_found[group]
            # Everything from there to its end is quiet.
            if since <= at < quiet.until:
                return quiet
        found = quiet_at(self._times, group, at)
        if found is not None:
            self._last_found[group] = (at, found)
        return found


def _spans(time: QuietTime, at: int, days_ahead: int) -> Iterator[_Span]:
    """Yield the occurrences of quiet hours from the day before an instant to some days after it."""
    zone = find_zone(time.timezone)
    today = to_wall(zone, at // SECOND_MS) // DAY_S
    for day in range(today - 1, today + days_ahead + 1):
        if _WEEKDAYS[(day + _EPOCH_WEEKDAY) % len(_WEEKDAYS)] not in time.days:
            continue
        start_s = day * DAY_S + time.start_s
        start_at = to_instant(zone, start_s) * SECOND_MS
        yield _Span(start_at, to_instant(zone, start_s + time.length_s) * SECOND_MS, time)
