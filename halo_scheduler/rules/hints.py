"""Hints: the proposals of a job or an adviser for its next runs, until they expire."""

from __future__ import annotations

from halo_scheduler.grammar.interval import HOUR_MS, SECOND_MS, format_interval
from halo_scheduler.model import SHORTEST_EVERY_MS, Hints, HintSource, JobSpec, Proposal
from halo_scheduler.model.schedules import gives_times
from halo_scheduler.rules.grid import is_used_up
from halo_scheduler.store.job_records import JobRecord

_NO_HINTS = Hints()


def takes_hints(spec: JobSpec, now_ms: int) -> bool:
    """Return whether a job takes hints: it has scheduled times that have not all passed."""
    return gives_times(spec.schedule) and not is_used_up(spec.schedule, now_ms, spec.anchor_at)


def usual_ttl(ahead_ms: int) -> str:
    """Return the default lifetime of a hint: an hour, or until the instant it proposes, if that is later."""
    ahead_s = -(-ahead_ms // SECOND_MS)
    return format_interval(max(HOUR_MS, ahead_s * SECOND_MS))


def usual_ttl_of_pace(every_ms: int) -> str:
    """Return the default lifetime of a pace hint: long enough for two runs."""
    return usual_ttl(2 * every_ms)


def still_counting(hints: Hints, now_ms: int) -> Hints:
    """Return the unexpired hints; adding a hint must not reactivate expired ones."""
    if hints == _NO_HINTS:
        return hints
    left = hints.counting(now_ms)
    is_over = left.next_at is not None and left.next_at <= now_ms
    return left.parts(pace=True, run=False) if is_over else left


def hints_after(hints: Hints, proposal: Proposal, ended_at: int) -> Hints:
    """Return a job's hints after a run that proposed something."""
    every_ms, next_ms = proposal.every_ms, proposal.next_ms
    given = Hints(
        interval_ms=None if every_ms is None else max(every_ms, SHORTEST_EVERY_MS),
        next_at=None if next_ms is None else ended_at + max(next_ms, SHORTEST_EVERY_MS),
        expires_at=ended_at + proposal.ttl_ms,
        reason=proposal.reason,
        source=HintSource.JOB,
    )
    return still_counting(hints, ended_at).with_advice(given)


def hints_after_run(record: JobRecord, proposal: Proposal | None, now_ms: int) -> Hints:
    """Return the hints left after a run, with those the run proposed."""
    if proposal is None or not takes_hints(record.spec, now_ms):
        return still_counting(record.hints, now_ms)
    return hints_after(record.hints, proposal, now_ms)
