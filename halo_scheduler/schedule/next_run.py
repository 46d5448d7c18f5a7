"""The grid points of a schedule or of several: the next, the previous, and those between two instants."""

from __future__ import annotations

from halo_scheduler.grammar.interval import parse_interval
from halo_scheduler.model import Schedule, Several, require_jitter
from halo_scheduler.schedule.entries import NEVER, due_points, next_runs, previous_due
from halo_scheduler.schedule.single import (
    NO_JITTER,
    DueCount,
    Jitter,
    count_of_one,
    count_points,
    jitter_ms,
    next_point,
    previous_point,
)

_MOST_COUNTED = 10_000


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
    if not isinstance(schedule, Several):
        return count_of_one(
            schedule, after_at, until_at, anchor_at=anchor_at, last_completed_at=last_completed_at, most=most
        )
    points = due_points(schedule, after_at, anchor_at, last_completed_at, jitter)
    return count_points(points, until_at, most)


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
