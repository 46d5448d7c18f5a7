"""Planning: a job's next slot after a run, a pause, an edit, a hint or downtime."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

from halo_scheduler.grammar.interval import HOUR_MS, SECOND_MS, format_interval
from halo_scheduler.model import (
    NO_DETAILS,
    SHORTEST_EVERY_MS,
    CatchUp,
    Hints,
    HintSource,
    JobSpec,
    Manual,
    Once,
    Outcome,
    PassedReason,
    Plan,
    Proposal,
    Rule,
    Run,
    SkipReason,
    Source,
    StatusReason,
    Trigger,
    WaitingFor,
)
from halo_scheduler.model.ids import new_run_id
from halo_scheduler.model.messages import Message, MessageKind, message
from halo_scheduler.model.schedules import schedules_of
from halo_scheduler.model.words import ERRORS, FAILURES
from halo_scheduler.rules.grid import (
    grid_at,
    is_finite,
    is_only_after,
    is_used_up,
    last_end,
    newest_point,
    next_point,
    write_keys,
)
from halo_scheduler.schedule.governor import plan_next_run
from halo_scheduler.schedule.passed_over import cut_spans, with_span
from halo_scheduler.store.job_records import JobRecord
from halo_scheduler.store.runs import RunEnd

_NO_HINTS = Hints()
UNPLANNABLE = message(MessageKind.UNPLANNABLE)
IsTaken = Callable[[str, int], bool]
NOT_WAITING: dict[str, Any] = {"waiting_for": None, "waiting_details": NO_DETAILS, "waits_until": None}
WAITED = {
    WaitingFor.AT_CAPACITY: PassedReason.AT_CAPACITY,
    WaitingFor.CONDITION: PassedReason.CONDITION,
    WaitingFor.QUIET_TIME: PassedReason.QUIET_TIME,
    WaitingFor.RESOURCES: PassedReason.RESOURCES,
    WaitingFor.DISK_SPACE: PassedReason.DISK_FULL,
}
"""Why grid points pass while a job waits for something."""
_REASONS = {
    Source.BACKOFF: PassedReason.BACKOFF,
    Source.HINT_INTERVAL: PassedReason.HINT,
    Source.HINT_ONCE: PassedReason.HINT,
    Source.CLAMPED_MIN: PassedReason.LIMITS,
    Source.CLAMPED_MAX: PassedReason.LIMITS,
}


def takes_hints(spec: JobSpec, now_ms: int) -> bool:
    """Return whether hints can move a job: not a manual job, nor one whose times have all passed."""
    return not isinstance(spec.schedule, Manual) and not is_used_up(spec.schedule, now_ms)


def usual_ttl(ahead_ms: int) -> str:
    """Return the default lifetime of a hint: an hour, or until the instant it proposes, if that is later."""
    ahead_s = -(-ahead_ms // SECOND_MS)
    return format_interval(max(HOUR_MS, ahead_s * SECOND_MS))


def usual_ttl_of_pace(every_ms: int) -> str:
    """Return the default lifetime of a pace hint: long enough for two runs."""
    return usual_ttl(2 * every_ms)


def still_counting(hints: Hints, now_ms: int) -> Hints:
    """Return the unexpired hints; expired ones must not become active again when a hint is added."""
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


def plan(
    record: JobRecord, now_ms: int, is_taken: IsTaken, *, reason: PassedReason | None = None
) -> JobRecord:
    """Return the job with its next slot; `reason` is why the grid points up to now had no run.

    A due slot is kept: only a run, a pause or a new schedule ends it.
    """
    if not record.is_active:
        return without_plan(record)
    if record.next_run_at is not None and record.next_run_at <= now_ms:
        return record
    planned = _planned(record, now_ms, is_taken, reason=reason)
    if planned.next_run_at is None and is_finite(planned.spec.schedule):
        # Its times have passed.
        return planned.evolve(disabled_reason=StatusReason.DONE)
    return planned


def plan_after_run(record: JobRecord, run: Run, end: RunEnd, is_taken: IsTaken) -> JobRecord:
    """Return the job after the end of a run; a test run leaves it unchanged."""
    ended = _without_run(record, run, end)
    if run.trigger is Trigger.TEST:
        return ended
    return _after_run(ended, run, end, is_taken)


def _without_run(record: JobRecord, run: Run, end: RunEnd) -> JobRecord:
    """Return the job without its run, with the reason for the grid points that passed since the claim."""
    passed = record.passed_reason
    is_due = record.next_run_at is not None and record.next_run_at <= end.finished_at
    if run.started_at is not None and (run.trigger is Trigger.SCHEDULE or is_due):
        passed = with_span(passed, end.held_up_by, end.began_at or end.finished_at)
        passed = with_span(passed, PassedReason.RUNNING, end.finished_at)
    ended = record._replace(run_id=None, passed_reason=passed)
    # The condition deadline of its next slot is kept.
    return ended.evolve(waiting_for=None, waiting_details=NO_DETAILS) if is_starting(record) else ended


def is_starting(record: JobRecord) -> bool:
    """Return whether the job's run is claimed, but the computer cannot start it yet."""
    return record.waiting_for is not None and record.waiting_for.is_for_start


def _after_run(record: JobRecord, run: Run, end: RunEnd, is_taken: IsTaken) -> JobRecord:
    now_ms = end.finished_at
    is_scheduled = run.trigger is Trigger.SCHEDULE
    after = record._replace(
        hints=_hints_after_run(record, end.proposal, now_ms),
        last_outcome=end.outcome,
        last_message=end.message,
        last_completed_at=now_ms if is_scheduled else record.last_completed_at,
        last_ended_at=now_ms,
    )
    if not is_scheduled:
        # A manual run changes neither plan, error count, last completion nor a `once`; only its hints may.
        after = _counted_anew(after, now_ms, is_taken)
        return after if end.proposal is None else plan_sooner(after, now_ms, is_taken)
    # An unavailable work queue is tried again at the next slot; an immediate retry would only add load.
    is_tried_again = end.outcome in FAILURES and end.reason is not SkipReason.SOURCE_UNAVAILABLE
    if is_tried_again and after.is_active:
        again = _planned(after, now_ms, is_taken, failed_run=run)
        if again.attempt > 1:
            return again
    after = _counted(after, end.outcome)
    if not after.is_active:
        return without_plan(after)
    policy = after.spec.policy
    if policy.max_errors and after.errors >= policy.max_errors and end.outcome in ERRORS:
        return without_plan(after.evolve(disabled_reason=StatusReason.ERRORS))
    return _planned_or_done(after, now_ms, is_taken)


def _planned_or_done(record: JobRecord, now_ms: int, is_taken: IsTaken) -> JobRecord:
    """Return the job with its next slot after a run; it is done if that was its last one."""
    is_last = isinstance(record.spec.schedule, Once)
    planned = record if is_last else _planned(record, now_ms, is_taken)
    if is_last or (planned.next_run_at is None and is_finite(planned.spec.schedule)):
        return without_plan(planned.evolve(disabled_reason=StatusReason.DONE))
    return planned


def _counted_anew(record: JobRecord, now_ms: int, is_taken: IsTaken) -> JobRecord:
    """Return an `after` job whose interval restarts at the end of this run, even if its slot was already due.

    The retry of a failed slot keeps its time.
    """
    is_counted = record.next_run_at is not None and is_only_after(record)
    if not is_counted or record.attempt > 1 or not record.is_active:
        return record
    return _planned(record, now_ms, is_taken)


def plan_sooner(advised: JobRecord, now_ms: int, is_taken: IsTaken) -> JobRecord:
    """Return the job with a new hint applied: its next run only moves to an earlier time."""
    if not advised.is_active:
        return advised
    sooner = plan(advised, now_ms, is_taken)
    planned_at = advised.next_run_at
    is_sooner = sooner.next_run_at is not None and (planned_at is None or sooner.next_run_at < planned_at)
    if is_sooner and advised.attempt > 1:
        # The failed slot keeps its retry, only earlier.
        return advised.evolve(
            next_run_at=sooner.next_run_at, next_source=sooner.next_source, trail=sooner.trail
        )
    return sooner if is_sooner else advised


def plan_missed(record: JobRecord, now_ms: int, reason: PassedReason, is_taken: IsTaken) -> JobRecord | None:
    """Return the job with its newest missed grid point due; None if it is not caught up."""
    policy = record.spec.policy
    if record.next_run_at is None or policy.catch_up is CatchUp.SKIP:
        return None
    newest = newest_point(record, now_ms)
    # A run planned by a hint, a back-off or a retry is not a grid point, and may be the newest; and a newer point
    # may already have had its run before the clock went back.
    due_at, keys = record.next_run_at, record.next_keys
    if newest is not None and newest.at > due_at and not is_taken(record.id, newest.at):
        due_at, keys = newest.at, write_keys(newest.keys)
    max_age_ms = policy.catch_up_max_age_ms
    if max_age_ms is not None and now_ms - due_at > max_age_ms:
        return None
    slot_at = record.slot_at if due_at == record.next_run_at else due_at
    attempt = record.attempt if due_at == record.next_run_at else 1
    return record.evolve(
        next_run_at=due_at,
        next_source=Source.CATCH_UP,
        next_keys=keys,
        slot_at=slot_at,
        attempt=attempt,
        passed_reason=with_span(record.passed_reason, reason, now_ms),
        **NOT_WAITING,
    )


def slept_through(record: JobRecord, reason: SkipReason, why: Message, now_ms: int) -> Run | None:
    """Return the record of a `once` whose time passed while the job could not run; no later run will count it."""
    schedule = record.spec.schedule
    if record.disabled_reason is not None or not is_finite(schedule):
        return None
    last_at = max(item.due_at for item in schedules_of(schedule) if isinstance(item, Once))
    return Run(
        id=new_run_id(),
        job_id=record.id,
        trigger=Trigger.SCHEDULE,
        source=Source.ONCE,
        slot_at=last_at,
        outcome=Outcome.SKIPPED,
        reason=reason,
        message=why,
        finished_at=now_ms,
    )


def _planned(
    record: JobRecord,
    now_ms: int,
    is_taken: IsTaken,
    *,
    failed_run: Run | None = None,
    reason: PassedReason | None = None,
) -> JobRecord:
    policy = record.spec.policy
    grid = grid_at(record, now_ms)
    found = plan_next_run(
        grid.schedule,
        now_ms,
        anchor_at=grid.anchor_at,
        last_completed_at=last_end(record),
        finished_at=record.last_completed_at,
        errors=record.errors,
        failed=failed_run is not None,
        attempt=failed_run.attempt if failed_run else 1,
        hints=record.hints,
        limits=policy.limits,
        backoff=policy.backoff,
        retry=policy.retry,
        jitter_percent=policy.jitter_percent,
        key=record.id,
    )
    is_retry = found.attempt > 1 and failed_run is not None
    at, keys = _free_slot(record, found, is_taken)
    if is_retry and failed_run is not None:
        at, keys = found.at, failed_run.schedule_keys
    passed = with_span(cut_spans(record.passed_reason, now_ms), reason, now_ms)
    return record._replace(
        next_run_at=at,
        next_source=None if at is None else found.source,
        next_keys=write_keys(keys),
        slot_at=failed_run.slot_at if is_retry and failed_run else at,
        attempt=found.attempt if is_retry else 1,
        trail=json.dumps([[step.rule, step.at, step.source, step.duration_ms] for step in found.trail]),
        passed_reason=with_span(passed, _reason_of(found) or reason, at),
        waiting_for=None,
        waiting_details=NO_DETAILS,
        waits_until=None,
    )


def _free_slot(record: JobRecord, found: Plan, is_taken: IsTaken) -> tuple[int | None, tuple[str, ...]]:
    """Return the planned slot, or the next one without a run: slots repeat only after the clock went back."""
    at, keys = found.at, found.keys
    while (
        at is not None
        and record.last_slot_at is not None
        and at <= record.last_slot_at
        and is_taken(record.id, at)
    ):
        following = next_point(record, at)
        at, keys = (None, ()) if following is None else following
    return at, keys


def _reason_of(found: Plan) -> PassedReason | None:
    """Return why a plan passes over grid points; None if it passes over none."""
    if found.source in _REASONS:
        return _REASONS[found.source]
    is_stretched = any(step.rule is Rule.BACKOFF for step in found.trail)
    return PassedReason.BACKOFF if is_stretched else None


def without_plan(record: JobRecord) -> JobRecord:
    """Return the job without a next run."""
    return record.evolve(
        next_run_at=None,
        next_source=None,
        next_keys="",
        slot_at=None,
        attempt=1,
        trail="[]",
        **NOT_WAITING,
    )


def without_waiting(record: JobRecord) -> JobRecord:
    """Return the job without its wait; the next tick checks again what it waits for."""
    return record.evolve(**NOT_WAITING)


def _counted(record: JobRecord, outcome: Outcome) -> JobRecord:
    if outcome is Outcome.SUCCESS:
        return record.evolve(errors=0) if record.errors else record
    return record.evolve(errors=record.errors + 1) if outcome in ERRORS else record


def _hints_after_run(record: JobRecord, proposal: Proposal | None, now_ms: int) -> Hints:
    """Return the hints left after a run, with those the run proposed."""
    if proposal is None or not takes_hints(record.spec, now_ms):
        return still_counting(record.hints, now_ms)
    return hints_after(record.hints, proposal, now_ms)
