"""When quiet times hold, and when they are over."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from halo_scheduler.quiet_times import QuietTime, Weekday
from halo_scheduler.schedule.interval import SECOND_MS
from halo_scheduler.schedule.zone import DAY_S, find_zone, to_instant, to_wall

_WEEKDAYS = tuple(Weekday)
_EPOCH_WEEKDAY = 3  # 1 January 1970 was a Thursday.
# Quiet times that follow each other without a gap for longer than that are looked through once more then.
_MOST_DAYS = 8


@dataclass(frozen=True, slots=True)
class Quiet:
    """That an instant lies in a quiet time: the one that ends last, and when something may start again."""

    until: int
    by: QuietTime


def quiet_at(times: Iterable[QuietTime], group: str | None, at: int) -> Quiet | None:
    """Return what keeps the jobs of a group quiet at an instant; None when they may start.

    Quiet times that overlap, or follow each other at once, are one.
    """
    chosen = [time for time in times if time.is_for(group)]
    found: Quiet | None = None
    horizon = at + _MOST_DAYS * DAY_S * SECOND_MS
    while True:
        now = at if found is None else found.until
        ends = [(end_at, time) for time in chosen if (end_at := _end_at(time, now)) is not None]
        if not ends or now >= horizon:
            return found
        found = Quiet(*max(ends, key=lambda end: end[0]))


def _end_at(time: QuietTime, at: int) -> int | None:
    """Return when a quiet time ends that holds at an instant; None when it does not hold."""
    zone = find_zone(time.timezone)
    today = to_wall(zone, at // SECOND_MS) // DAY_S
    for day in (today, today - 1):
        if _WEEKDAYS[(day + _EPOCH_WEEKDAY) % len(_WEEKDAYS)] not in time.days:
            continue
        start_s = day * DAY_S + time.start_s
        start_at = to_instant(zone, start_s) * SECOND_MS
        end_at = to_instant(zone, start_s + time.length_s) * SECOND_MS
        if start_at <= at < end_at:
            return end_at
    return None
