"""The grid points of a schedule or of several: the next, the previous, and those between two instants."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Self, assert_never

from halo_scheduler.grammar.interval import parse_interval
from halo_scheduler.model import (
    After,
    Cron,
    Event,
    Every,
    Manual,
    Once,
    Schedule,
    Several,
    require_jitter,
)
from halo_scheduler.schedule.entries import NEVER, due_points, next_runs, previous_due
from halo_scheduler.schedule.single import (
    NO_JITTER,
    Jitter,
    count_up_to,
    jitter_ms,
    next_point,
    only_point,
    points_after,
    previous_point,
)

_MOST_COUNTED = 10_000


class DueCount(int):
    """A number of grid points; `capped` means that counting stopped there and more exist."""

    capped: bool

    def __new__(cls, count: int, *, capped: bool = False) -> Self:
        self = super().__new__(cls, count)
        self.capped = capped
        return self

    def __str__(self) -> str:
        return f"{int(self)}+" if self.capped else f"{int(self)}"


def next_run(
    schedule: Schedule | Several, now_ms: int, *, anchor_at: int = 0, last_completed_at: int | None = None
) -> int | None:
    """Return the next time of a schedule, strictly after now; only `after` may be due at once."""
    if not isinstance(schedule, Several):
        return next_point(schedule, now_ms, anchor_at, last_completed_at)
    earliest_at = min(next_runs(schedule, now_ms, anchor_at, last_completed_at))
    return None if earliest_at == NEVER else earliest_at


def previous_run(
    schedule: Schedule | Several,
    now_ms: int,
    *,
    anchor_at: int = 0,
    last_completed_at: int | None = None,
    jitter: Jitter = NO_JITTER,
) -> int | None:
    """Return the last time of a schedule at or before now; `jitter` moves the points of several schedules only."""
    if not isinstance(schedule, Several):
        return previous_point(schedule, now_ms, anchor_at, last_completed_at)
    last = (previous_due(entry, now_ms, anchor_at, last_completed_at, jitter) for entry in schedule.entries)
    return max((at for at in last if at is not None), default=None)


def count_due(
    schedule: Schedule | Several,
    after_at: int,
    until_at: int,
    *,
    anchor_at: int = 0,
    last_completed_at: int | None = None,
    most: int = _MOST_COUNTED,
    jitter: Jitter = NO_JITTER,
) -> DueCount:
    """Return how many grid points lie in (after_at, until_at]; except for `every`, counting stops at `most`.

    Points of several schedules that coincide count once; `jitter` moves only these, as each has its own.
    """
    if until_at <= after_at:
        return DueCount(0)
    match schedule:
        case Every():
            every_ms = schedule.every_ms
            return DueCount(
                count_up_to(every_ms, anchor_at, until_at) - count_up_to(every_ms, anchor_at, after_at)
            )
        case Cron():
            return _count_cron(schedule, after_at, until_at, most)
        case After() | Once() | Manual() | Event():
            point = only_point(schedule, last_completed_at)
            return DueCount(int(point is not None and after_at < point <= until_at))
        case Several():
            points = due_points(schedule, after_at, anchor_at, last_completed_at, jitter)
            return _count_points(points, until_at, most)
        case _:
            assert_never(schedule)


def is_schedule_due(next_run_at: int | None, now_ms: int) -> bool:
    """Return whether a next run is due; None never is."""
    return next_run_at is not None and next_run_at <= now_ms


def calculate_next_trigger(
    last_completed_at: int | None, interval: str, *, now_ms: int, jitter_percent: int = 0, key: str = ""
) -> int:
    """Return when an `after` job is due: this long after its last completion, or now if it never ran."""
    interval_ms = parse_interval(interval)
    require_jitter(jitter_percent)
    if last_completed_at is None or last_completed_at + interval_ms <= now_ms:
        return now_ms
    point = last_completed_at + interval_ms
    return point + jitter_ms(key, point, interval_ms, jitter_percent)


def _count_cron(schedule: Cron, after_at: int, until_at: int, most: int) -> DueCount:
    return _count_points(points_after(schedule, after_at, 0), until_at, most)


def _count_points(points: Iterator[int], until_at: int, most: int) -> DueCount:
    """Count different instants up to `until_at`, which come in order."""
    count, last = 0, None
    for point in points:
        if point > until_at:
            break
        if point == last:
            continue
        if count >= most:
            return DueCount(count, capped=True)
        count, last = count + 1, point
    return DueCount(count)
