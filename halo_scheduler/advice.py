"""Advice on when a job runs next: who takes it, and what a run's own proposal makes of it."""

from __future__ import annotations

from dataclasses import replace

from halo_scheduler.errors import ScheduleError
from halo_scheduler.model import (
    SHORTEST_EVERY_MS,
    Hints,
    HintSource,
    JobSpec,
    Manual,
    Once,
    Proposal,
)
from halo_scheduler.schedule.interval import DAY_MS, format_interval

LONGEST_REASON = 200
LONGEST_TTL_MS = 366 * DAY_MS
_NO_HINTS = Hints()


def takes_hints(spec: JobSpec, now_ms: int) -> bool:
    """Tell whether advice can move a job: not one that is never due by itself, nor a `once` whose time is past."""
    schedule = spec.schedule
    if isinstance(schedule, Manual):
        return False
    return not (isinstance(schedule, Once) and schedule.due_at <= now_ms)


def require_ttl(ttl_ms: int) -> int:
    """Refuse advice that would count for longer than anybody remembers giving it."""
    if ttl_ms > LONGEST_TTL_MS:
        raise ScheduleError(
            f"advice counts for {format_interval(LONGEST_TTL_MS)} at most; change the schedule instead",
            path="ttl",
        )
    return ttl_ms


def still_counting(hints: Hints, now_ms: int) -> Hints:
    """Return the advice that is left: what has expired must not come back to life with what is added."""
    if not hints.count_at(now_ms):
        return _NO_HINTS
    if hints.next_at is not None and hints.next_at <= now_ms:
        return replace(hints, next_at=None)
    return hints


def hints_after(hints: Hints, proposal: Proposal, ended_at: int) -> Hints:
    """Return a job's advice once a run that proposed something has ended; all of it expires together."""
    left = still_counting(hints, ended_at)
    interval_ms, next_at = left.interval_ms, left.next_at
    if proposal.every_ms is not None:
        interval_ms = max(proposal.every_ms, SHORTEST_EVERY_MS)
    if proposal.next_ms is not None:
        next_at = ended_at + max(proposal.next_ms, SHORTEST_EVERY_MS)
    return Hints(
        interval_ms=interval_ms,
        next_at=next_at,
        expires_at=ended_at + proposal.ttl_ms,
        reason=proposal.reason,
        source=HintSource.JOB,
    )
