"""When quiet times hold, and when they are over."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import NamedTuple

from halo_scheduler.grammar.interval import SECOND_MS
from halo_scheduler.grammar.zone import DAY_S, find_zone, to_instant, to_wall
from halo_scheduler.model.quiet_times import Quiet, QuietTime, Weekday

_WEEKDAYS = tuple(Weekday)
_EPOCH_WEEKDAY = 3  # 1 January 1970 was a Thursday.
# Where quiet times follow each other without a gap for longer than that, they are looked through once more then.
_MOST_DAYS = 8


class _Span(NamedTuple):
    """A quiet time on one of its days; empty when the clocks go forward over it."""

    start_at: int
    end_at: int
    by: QuietTime

    def holds_at(self, at: int) -> bool:
        return self.start_at <= at < self.end_at


def quiet_at(times: Iterable[QuietTime], group: str | None, at: int) -> Quiet | None:
    """Return what keeps the jobs of a group quiet at an instant; None when they may start.

    Quiet times that overlap, or follow each other at once, are one.
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
    """Finds the quiet times of many instants; quick when they follow each other."""

    def __init__(self, times: tuple[QuietTime, ...] = ()) -> None:
        self._times = times
        self._last_found: dict[str | None, tuple[int, Quiet]] = {}

    def find(self, group: str | None, at: int) -> Quiet | None:
        """Return what keeps the jobs of a group quiet at an instant."""
        if not self._times:
            return None
        if group in self._last_found:
            since, quiet = self._last_found[group]
            # From there on until its end it is quiet without a break.
            if since <= at < quiet.until:
                return quiet
        found = quiet_at(self._times, group, at)
        if found is not None:
            self._last_found[group] = (at, found)
        return found


def _spans(time: QuietTime, at: int, days_ahead: int) -> Iterator[_Span]:
    """Yield a quiet time as it falls from the day before an instant to so many days after it."""
    zone = find_zone(time.timezone)
    today = to_wall(zone, at // SECOND_MS) // DAY_S
    for day in range(today - 1, today + days_ahead + 1):
        if _WEEKDAYS[(day + _EPOCH_WEEKDAY) % len(_WEEKDAYS)] not in time.days:
            continue
        start_s = day * DAY_S + time.start_s
        start_at = to_instant(zone, start_s) * SECOND_MS
        yield _Span(start_at, to_instant(zone, start_s + time.length_s) * SECOND_MS, time)
