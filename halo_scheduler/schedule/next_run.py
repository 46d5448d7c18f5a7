"""The grid points of a schedule: the next, the previous, and how many lie between two instants."""

from __future__ import annotations

from typing import Self, assert_never

from halo_scheduler.grammar.checks import MAX_INSTANT
from halo_scheduler.grammar.cron import next_cron_instant
from halo_scheduler.grammar.interval import SECOND_MS, YEAR_MS, parse_interval
from halo_scheduler.grammar.zone import find_zone
from halo_scheduler.model import After, Cron, Every, Manual, Once, Schedule, require_jitter
from halo_scheduler.schedule.jitter import jitter_ms

# No expression pauses for longer than 40 years.
_LOOK_BACK_MS = 41 * YEAR_MS
_FIRST_LOOK_BACK_MS = 60 * SECOND_MS
_MOST_COUNTED = 10_000


class DueCount(int):
    """A number of grid points; `capped` tells that counting stopped there and more lie beyond."""

    capped: bool

    def __new__(cls, count: int, *, capped: bool = False) -> Self:
        self = super().__new__(cls, count)
        self.capped = capped
        return self

    def __str__(self) -> str:
        return f"{int(self)}+" if self.capped else f"{int(self)}"


def next_run(
    schedule: Schedule, now_ms: int, *, anchor_at: int = 0, last_completed_at: int | None = None
) -> int | None:
    """Return the next grid point: strictly after now, but for `after`, which may be due at once."""
    match schedule:
        case Every():
            at = _next_on_grid(schedule.every_ms, anchor_at, now_ms)
            return at if at <= MAX_INSTANT else None
        case After():
            return now_ms if last_completed_at is None else max(now_ms, last_completed_at + schedule.after_ms)
        case Cron():
            return _next_of_cron(schedule, now_ms)
        case Once():
            return schedule.due_at if schedule.due_at > now_ms else None
        case Manual():
            return None
        case _:
            assert_never(schedule)


def previous_run(
    schedule: Schedule, now_ms: int, *, anchor_at: int = 0, last_completed_at: int | None = None
) -> int | None:
    """Return the last grid point at or before now."""
    match schedule:
        case Every():
            return None if now_ms < anchor_at else now_ms - (now_ms - anchor_at) % schedule.every_ms
        case Cron():
            return _previous_of_cron(schedule, now_ms)
        case After() | Once() | Manual():
            point = _single_point(schedule, last_completed_at)
            return point if point is not None and point <= now_ms else None
        case _:
            assert_never(schedule)


def count_due(
    schedule: Schedule,
    after_at: int,
    until_at: int,
    *,
    anchor_at: int = 0,
    last_completed_at: int | None = None,
    most: int = _MOST_COUNTED,
) -> DueCount:
    """Return how many grid points lie in (after_at, until_at]; for cron, counting stops at `most`."""
    if until_at <= after_at:
        return DueCount(0)
    match schedule:
        case Every():
            return DueCount(
                _points_up_to(schedule, anchor_at, until_at) - _points_up_to(schedule, anchor_at, after_at)
            )
        case Cron():
            return _count_cron(schedule, after_at, until_at, most)
        case After() | Once() | Manual():
            point = _single_point(schedule, last_completed_at)
            return DueCount(int(point is not None and after_at < point <= until_at))
        case _:
            assert_never(schedule)


def is_schedule_due(next_run_at: int | None, now_ms: int) -> bool:
    """Tell whether a stored next run has come; a job without one is never due."""
    return next_run_at is not None and next_run_at <= now_ms


def calculate_next_trigger(
    last_completed_at: int | None, interval: str, *, now_ms: int, jitter_percent: int = 0, key: str = ""
) -> int:
    """Return when a job is due that runs an interval after its last completion: now, if it never ran."""
    interval_ms = parse_interval(interval)
    require_jitter(jitter_percent)
    if last_completed_at is None or last_completed_at + interval_ms <= now_ms:
        return now_ms
    point = last_completed_at + interval_ms
    return point + jitter_ms(key, point, interval_ms, jitter_percent)


def _next_on_grid(every_ms: int, anchor_at: int, now_ms: int) -> int:
    if now_ms < anchor_at:
        return anchor_at
    return now_ms + every_ms - (now_ms - anchor_at) % every_ms


def _points_up_to(schedule: Every, anchor_at: int, at: int) -> int:
    return 0 if at < anchor_at else (at - anchor_at) // schedule.every_ms + 1


def _single_point(schedule: After | Once | Manual, last_completed_at: int | None) -> int | None:
    """Return the one instant of the kinds that have no grid."""
    match schedule:
        case After():
            return None if last_completed_at is None else last_completed_at + schedule.after_ms
        case Once():
            return schedule.due_at
        case Manual():
            return None
        case _:
            assert_never(schedule)


def _next_of_cron(schedule: Cron, now_ms: int) -> int | None:
    found_s = next_cron_instant(schedule.expression, find_zone(schedule.timezone), now_ms // SECOND_MS)
    return None if found_s is None else found_s * SECOND_MS


def _previous_of_cron(schedule: Cron, now_ms: int) -> int | None:
    """Find the latest instant whose next run is still at or before now: the run before it is that instant.

    Asking forwards only keeps one implementation of the rules; the search takes some forty questions.
    """

    def is_before_a_run(at: int) -> bool:
        following = _next_of_cron(schedule, at)
        return following is not None and following <= now_ms

    back_ms = _FIRST_LOOK_BACK_MS
    while not is_before_a_run(now_ms - back_ms):
        if back_ms > _LOOK_BACK_MS:
            return None
        back_ms *= 4
    low_s, high_s = (now_ms - back_ms) // SECOND_MS, now_ms // SECOND_MS
    while high_s - low_s > 1:
        middle_s = (low_s + high_s) // 2
        low_s, high_s = (middle_s, high_s) if is_before_a_run(middle_s * SECOND_MS) else (low_s, middle_s)
    return high_s * SECOND_MS


def _count_cron(schedule: Cron, after_at: int, until_at: int, most: int) -> DueCount:
    count = 0
    point = _next_of_cron(schedule, after_at)
    while point is not None and point <= until_at:
        if count >= most:
            return DueCount(count, capped=True)
        count += 1
        point = _next_of_cron(schedule, point)
    return DueCount(count)
