"""Planning: a job's next slot after a run, a pause, an edit, a hint or downtime."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from typing import Any

from halo_scheduler.model import (
    NO_DETAILS,
    CatchUp,
    Once,
    Outcome,
    PassedReason,
    Plan,
    Rule,
    Run,
    SkipReason,
    Source,
    StatusReason,
    Step,
    Trigger,
    WaitingFor,
)
from halo_scheduler.model.messages import MessageKind, message
from halo_scheduler.model.words import ERRORS, FAILURES
from halo_scheduler.rules.grid import (
    grid_at,
    is_finite,
    is_only_after,
    last_end,
    next_point,
    write_keys,
)
from halo_scheduler.rules.hints import hints_after_run
from halo_scheduler.rules.pending import (
    pending_source,
    points_to_catch_up,
    read_pending,
    with_overlapped,
    write_pending,
)
from halo_scheduler.schedule.governor import plan_next_run, plan_passed_point
from halo_scheduler.schedule.passed_over import cut_spans, with_span
from halo_scheduler.store.job_records import JobRecord
from halo_scheduler.store.runs import RunEnd

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
    planned = _planned(record._replace(pending=""), now_ms, is_taken, reason=reason)
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
    ended = record._replace(run_id=None, passed_reason=passed, restarts_at=None)
    # The condition deadline of its next slot is kept.
    return ended.evolve(waiting_for=None, waiting_details=NO_DETAILS) if is_starting(record) else ended


def is_starting(record: JobRecord) -> bool:
    """Return whether the job's run is claimed, but the computer cannot start it yet."""
    return record.waiting_for is not None and record.waiting_for.is_for_start


def _after_run(record: JobRecord, run: Run, end: RunEnd, is_taken: IsTaken) -> JobRecord:
    now_ms = end.finished_at
    is_scheduled = run.trigger is Trigger.SCHEDULE
    is_counted = is_scheduled or run.trigger is Trigger.EVENT
    after = record._replace(
        hints=hints_after_run(record, end.proposal, now_ms),
        last_outcome=end.outcome,
        last_message=end.message,
        last_completed_at=now_ms if is_counted else record.last_completed_at,
        last_ended_at=now_ms,
        resumed_since_run=False,
    )
    after = with_overlapped(after, now_ms if run.started_at is None else run.started_at, now_ms)
    if run.trigger is Trigger.EVENT:
        return _after_event(after, run, end, is_taken)
    if not is_scheduled:
        # A manual run changes neither plan, error count, last completion nor a `once`; only its hints may.
        after = _counted_anew(after, now_ms, is_taken)
        return after if end.proposal is None else plan_sooner(after, now_ms, is_taken)
    if _is_tried_again(end) and after.is_active:
        again = _planned(after, now_ms, is_taken, failed_run=run)
        if again.attempt > 1:
            return again
    after = _counted(after, end.outcome)
    return _planned_or_done(after, now_ms, is_taken) if after.is_active else without_plan(after)


def _after_event(record: JobRecord, run: Run, end: RunEnd, is_taken: IsTaken) -> JobRecord:
    """Return the job after an event's run: the run counts like that of a slot, and a planned slot stays."""
    now_ms = end.finished_at
    if event_retry_at(record, run, end) is not None:
        return _counted_anew(record, now_ms, is_taken)
    after = _counted(record, end.outcome)
    if not after.is_active:
        return without_plan(after)
    is_due = after.next_run_at is not None and after.next_run_at <= now_ms
    if after.errors != record.errors and after.attempt == 1 and not is_due:
        return _planned(after, now_ms, is_taken)  # The back-off has begun or is over.
    after = _counted_anew(after, now_ms, is_taken)
    return after if end.proposal is None else plan_sooner(after, now_ms, is_taken)


def event_retry_at(record: JobRecord, run: Run, end: RunEnd) -> int | None:
    """Return when an event's failed run is retried; None if it is not, or if its job has no events any more."""
    retry = record.spec.policy.retry
    may_retry = run.event_id is not None and bool(record.spec.events) and record.is_active
    is_retried = may_retry and run.attempt <= retry.attempts and _is_tried_again(end)
    return end.finished_at + retry.delay_ms if is_retried else None


def _is_tried_again(end: RunEnd) -> bool:
    """Return whether a run with this result may be retried.

    An unavailable work queue is retried at the next slot; an immediate retry would only add load.
    """
    return end.outcome in FAILURES and end.reason is not SkipReason.SOURCE_UNAVAILABLE


def _planned_or_done(record: JobRecord, now_ms: int, is_taken: IsTaken) -> JobRecord:
    """Return the job with its next slot after a run; it is done if that was its last one."""
    if record.pending:
        return _run_pending(record, now_ms)
    is_last = isinstance(record.spec.schedule, Once)
    planned = record if is_last else _planned(record, now_ms, is_taken)
    if is_last or (planned.next_run_at is None and is_finite(planned.spec.schedule)):
        return without_plan(planned.evolve(disabled_reason=StatusReason.DONE))
    return planned


def _run_pending(record: JobRecord, now_ms: int) -> JobRecord:
    """Return the job with its oldest pending point as its next slot; back-off and limits delay it."""
    point, *rest = read_pending(record.pending)
    policy = record.spec.policy
    found = plan_passed_point(
        point.at,
        pending_source(record, point),
        now_ms,
        finished_at=record.last_completed_at or now_ms,
        errors=record.errors,
        limits=policy.limits,
        backoff=policy.backoff,
    )
    return record._replace(
        next_run_at=found.at,
        next_source=found.source,
        next_keys=write_keys(point.keys),
        slot_at=point.at,
        attempt=1,
        trail=_trail_text(found.trail),
        pending=write_pending(rest),
        passed_reason=with_span(record.passed_reason, _reason_of(found), found.at),
        **NOT_WAITING,
    )


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
    """Return the job with its oldest point to catch up due and the others pending; None if nothing is caught up."""
    if record.next_run_at is None or record.spec.policy.catch_up is CatchUp.SKIP:
        return None
    points = points_to_catch_up(record, now_ms, is_taken)
    if not points:
        return None
    first, *rest = points
    caught_up = record.evolve(
        next_source=Source.CATCH_UP,
        pending=write_pending(rest),
        passed_reason=with_span(record.passed_reason, reason, now_ms),
        **NOT_WAITING,
    )
    # A run planned by a hint, a back-off or a retry has a slot that is not a grid point.
    if first.at == (record.slot_at or record.next_run_at):
        return caught_up
    return caught_up.evolve(
        next_run_at=first.at, next_keys=write_keys(first.keys), slot_at=first.at, attempt=1
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
        jitter_ms=policy.jitter_ms,
        is_jitter_fixed=policy.is_jitter_fixed,
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
        trail=_trail_text(found.trail),
        passed_reason=with_span(passed, _reason_of(found) or reason, at),
        waiting_for=None,
        waiting_details=NO_DETAILS,
        waits_until=None,
    )


def _trail_text(steps: Iterable[Step]) -> str:
    return json.dumps([[step.rule, step.at, step.source, step.duration_ms] for step in steps])


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
        pending="",
        skips_next=False,
        **NOT_WAITING,
    )


def without_waiting(record: JobRecord) -> JobRecord:
    """Return the job without its wait; the next tick checks again what it waits for."""
    return record.evolve(**NOT_WAITING)


def _counted(record: JobRecord, outcome: Outcome) -> JobRecord:
    """Return the job with its errors counted; too many disable it."""
    if outcome is Outcome.SUCCESS:
        return record.evolve(errors=0) if record.errors else record
    if outcome not in ERRORS:
        return record
    counted, most = record.evolve(errors=record.errors + 1), record.spec.policy.max_errors
    is_too_many = most and counted.errors >= most and counted.is_active
    return counted.evolve(disabled_reason=StatusReason.ERRORS) if is_too_many else counted
