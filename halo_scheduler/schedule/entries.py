"""The grid points of one or all of several schedules, on their allowed days."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import tzinfo
from heapq import merge
from typing import NamedTuple, Self

from halo_scheduler.grammar.interval import SECOND_MS
from halo_scheduler.grammar.zone import find_zone
from halo_scheduler.model import After, Cron, Entry, Every, Manual, Schedule, Several
from halo_scheduler.schedule.days import first_allowed, last_allowed, next_shifted, previous_shifted
from halo_scheduler.schedule.single import Jitter, next_of_cron, next_point, previous_point

_MOST_REMEMBERED = 4_096
# A schedule whose calendar allows none of its days, such as Saturdays only on weekdays, has no times.
_MOST_TRIES = 500
NEVER = 1 << 62
"""Later than every instant: no next time."""


class _Upcoming(NamedTuple):
    """The next time of each of several schedules as of `since`; each is valid until it has passed."""

    schedule: Several
    """Referenced, so that no other object gets its id."""
    local_zone: tzinfo | None
    has_after: bool
    since: int
    times: list[int]

    @classmethod
    def unknown(cls, schedule: Several, now_ms: int) -> Self:
        schedules = schedule.schedules
        is_local = any(entry.is_local for entry in schedule.entries)
        has_after = any(isinstance(item, After) for item in schedules)
        return cls(schedule, find_zone(None) if is_local else None, has_after, now_ms, [0] * len(schedules))

    def is_true_at(self, now_ms: int) -> bool:
        return now_ms >= self.since and (self.local_zone is None or self.local_zone is find_zone(None))


# By the id of the schedules and the job's anchor: hashing the schedules would take longer than everything else.
_upcoming: dict[tuple[int, int], _Upcoming] = {}


def next_runs(schedule: Several, now_ms: int, anchor_at: int, last_completed_at: int | None) -> Sequence[int]:
    """Return the next time of each of several schedules, in their order; NEVER for none.

    They are cached: after a run, only schedules whose time has passed are computed again.
    """
    known = _upcoming.get((id(schedule), anchor_at))
    if known is None or not known.is_true_at(now_ms):
        known = _Upcoming.unknown(schedule, now_ms)
    times = [
        at if at > now_ms else _time_of(entry, now_ms, anchor_at, last_completed_at)
        for entry, at in zip(schedule.entries, known.times, strict=True)
    ]
    if times != known.times:
        _remember(known, now_ms, anchor_at, times)
    return times


def _time_of(entry: Entry, now_ms: int, anchor_at: int, last_completed_at: int | None) -> int:
    at = next_of(entry, now_ms, anchor_at, last_completed_at)
    return NEVER if at is None else at


def _remember(known: _Upcoming, now_ms: int, anchor_at: int, times: list[int]) -> None:
    schedule, local_zone, has_after, _, _ = known
    if has_after:  # Its time also depends on the last run.
        times = [
            0 if isinstance(entry.schedule, After) else at
            for entry, at in zip(schedule.entries, times, strict=True)
        ]
    if len(_upcoming) >= _MOST_REMEMBERED:
        _upcoming.clear()
    _upcoming[id(schedule), anchor_at] = _Upcoming(schedule, local_zone, has_after, now_ms, times)


def due_points(
    schedule: Several, after_at: int, anchor_at: int, last_completed_at: int | None, jitter: Jitter
) -> Iterator[int]:
    """Return the instants after another at which one of several schedules is due, in order."""
    return merge(
        *(_due_points(entry, after_at, anchor_at, last_completed_at, jitter) for entry in schedule.entries)
    )


def _due_points(
    entry: Entry, after_at: int, anchor_at: int, last_completed_at: int | None, jitter: Jitter
) -> Iterator[int]:
    point = pending_point(entry, after_at, anchor_at, last_completed_at, jitter)
    if point is None:
        point = _first_after(entry, after_at, anchor_at, last_completed_at)
    is_grid = isinstance(entry.schedule, Every | Cron)
    while point is not None:
        yield point + (delay_ms(entry, point, jitter) if jitter.is_on else 0)
        point = next_of(entry, point, anchor_at) if is_grid else None


def _first_after(entry: Entry, at: int, anchor_at: int, last_completed_at: int | None) -> int | None:
    """Return the first grid point after an instant; that of `after` is known only after a run."""
    if isinstance(entry.schedule, After) and last_completed_at is None:
        return None
    point = next_of(entry, at, anchor_at, last_completed_at)
    return point if point is None or point > at else None


def without_after(schedule: Schedule | Several) -> Schedule | Several:
    """Return the schedules with fixed times: all but `after`, whose times depend on the ends of runs."""
    if isinstance(schedule, Several):
        entries = [entry for entry in schedule.entries if not isinstance(entry.schedule, After)]
        if len(entries) == len(schedule.entries):
            return schedule
        # A single entry must keep its own anchor.
        return Several(tuple(entries)) if entries else Manual()
    return Manual() if isinstance(schedule, After) else schedule


# --- One of several schedules --------------------------------------------------------------------------


def next_of(entry: Entry, now_ms: int, anchor_at: int, last_completed_at: int | None = None) -> int | None:
    """Return the next grid point of one of several schedules; `anchor_at` is that of the job."""
    schedule, own_anchor_at = entry.schedule, entry.anchor(anchor_at)
    if entry.calendar.shift is not None:
        return next_shifted(entry, now_ms)
    at = next_point(schedule, now_ms, own_anchor_at, last_completed_at)
    if not entry.is_limited:
        return at
    for _ in range(_MOST_TRIES):
        allowed_at = None if at is None else first_allowed(entry, at)
        if allowed_at is None or allowed_at == at or isinstance(schedule, After):
            return allowed_at
        at = next_point(schedule, allowed_at - 1, own_anchor_at)
    return None


def previous_of(
    entry: Entry, now_ms: int, anchor_at: int, last_completed_at: int | None = None
) -> int | None:
    """Return the last grid point of one of several schedules at or before now."""
    schedule, own_anchor_at = entry.schedule, entry.anchor(anchor_at)
    if entry.calendar.shift is not None:
        return previous_shifted(entry, now_ms)
    at = previous_point(schedule, now_ms, own_anchor_at, last_completed_at)
    if at is None or not entry.is_limited:
        return at
    if isinstance(schedule, After):
        allowed_at = first_allowed(entry, at)
        return allowed_at if allowed_at is not None and allowed_at <= now_ms else None
    for _ in range(_MOST_TRIES):
        allowed_at = None if at is None else last_allowed(entry, at)
        if allowed_at is None or allowed_at == at:
            return allowed_at
        at = previous_point(schedule, allowed_at, own_anchor_at)
    return None


# --- Jitter --------------------------------------------------------------------------------------------


def delay_ms(entry: Entry, point_at: int, jitter: Jitter) -> int:
    """Return the delay of a grid point of one of several schedules."""
    following_at = None if entry.calendar.shift is None else next_of(entry, point_at, 0)
    return jitter.delay_ms(entry.schedule, point_at, following_at)


def pending_point(
    entry: Entry, now_ms: int, anchor_at: int, last_completed_at: int | None, jitter: Jitter
) -> int | None:
    """Return the grid point at or before now whose delayed run is still ahead; None if there is none."""
    if not jitter.is_on or not _may_be_pending(entry, now_ms, jitter):
        return None
    point = previous_of(entry, now_ms, anchor_at, last_completed_at)
    is_ahead = point is not None and point + delay_ms(entry, point, jitter) > now_ms
    return point if is_ahead else None


def _may_be_pending(entry: Entry, now_ms: int, jitter: Jitter) -> bool:
    """Return whether a point is so recent that its delayed run may still be ahead; a cheap check."""
    schedule = entry.schedule
    if not isinstance(schedule, Cron) or entry.calendar.shift is not None:
        return True
    following = next_of_cron(schedule, now_ms)
    if following is None:
        return False
    first = next_of_cron(schedule, now_ms - jitter.reach_ms(following - now_ms) - SECOND_MS)
    return first is not None and first <= now_ms


def previous_due(
    entry: Entry, now_ms: int, anchor_at: int, last_completed_at: int | None, jitter: Jitter
) -> int | None:
    """Return the last instant at or before now at which one of several schedules was due."""
    point = previous_of(entry, now_ms, anchor_at, last_completed_at)
    if point is None or not jitter.is_on:
        return point
    due_at = point + delay_ms(entry, point, jitter)
    if due_at <= now_ms:
        return due_at
    before = previous_of(entry, point - 1, anchor_at, last_completed_at)
    return None if before is None else before + delay_ms(entry, before, jitter)
