"""Advice on when a job runs next: who takes it, and what a run's own proposal makes of it."""

from __future__ import annotations

from dataclasses import replace

from halo_scheduler.grammar.interval import HOUR_MS, SECOND_MS, format_interval
from halo_scheduler.model import (
    SHORTEST_EVERY_MS,
    Hints,
    HintSource,
    JobSpec,
    Manual,
    Once,
    Proposal,
)

_NO_HINTS = Hints()


def takes_hints(spec: JobSpec, now_ms: int) -> bool:
    """Tell whether advice can move a job: not one that is never due by itself, nor a `once` whose time is past."""
    schedule = spec.schedule
    if isinstance(schedule, Manual):
        return False
    return not (isinstance(schedule, Once) and schedule.due_at <= now_ms)


def usual_ttl(ahead_ms: int) -> str:
    """Return how long advice counts if nobody says so: an hour, or as long as what it asks for lies ahead."""
    ahead_s = -(-ahead_ms // SECOND_MS)
    return format_interval(max(HOUR_MS, ahead_s * SECOND_MS))


def usual_ttl_of_pace(every_ms: int) -> str:
    """Return how long a pace counts if nobody says so: long enough for two runs."""
    return usual_ttl(2 * every_ms)


def still_counting(hints: Hints, now_ms: int) -> Hints:
    """Return the advice that is left: what has expired must not come back to life with what is added."""
    if not hints.count_at(now_ms):
        return _NO_HINTS
    if hints.next_at is not None and hints.next_at <= now_ms:
        return replace(hints, next_at=None)
    return hints


def with_advice(left: Hints, given: Hints) -> Hints:
    """Return what counts once more was advised: what was not named stays, and all of it expires together."""
    return replace(
        given,
        interval_ms=left.interval_ms if given.interval_ms is None else given.interval_ms,
        next_at=left.next_at if given.next_at is None else given.next_at,
    )


def hints_after(hints: Hints, proposal: Proposal, ended_at: int) -> Hints:
    """Return a job's advice once a run that proposed something has ended."""
    left = still_counting(hints, ended_at)
    every_ms, next_ms = proposal.every_ms, proposal.next_ms
    expires_at = ended_at + proposal.ttl_ms
    if every_ms is None and left.interval_ms is not None and left.expires_at is not None:
        # A job may propose its next run at each end: the pace that was asked for lasts as long as it was meant to.
        expires_at = left.expires_at
    given = Hints(
        interval_ms=None if every_ms is None else max(every_ms, SHORTEST_EVERY_MS),
        next_at=None if next_ms is None else ended_at + max(next_ms, SHORTEST_EVERY_MS),
        expires_at=expires_at,
        reason=proposal.reason,
        source=HintSource.JOB,
    )
    return with_advice(left, given)
