"""Pause, resume, skip and hints."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

from halo_scheduler.errors import ScheduleError
from halo_scheduler.grammar.checks import (
    require_choice,
    require_instant,
    require_interval,
    require_line,
)
from halo_scheduler.grammar.text import printed_line
from halo_scheduler.model import (
    SHORTEST_EVERY_MS,
    Hints,
    HintSource,
    JobSpec,
    PassedReason,
    Source,
    StatusReason,
)
from halo_scheduler.model.changes import ChangeKind, changes_of
from halo_scheduler.model.plans import LONGEST_REASON, require_ttl
from halo_scheduler.rules.assistants import check_start, may_pause, pausing_assistant, refuse_assistants
from halo_scheduler.rules.edit import Edit
from halo_scheduler.rules.grid import is_used_up
from halo_scheduler.rules.hints import still_counting, takes_hints
from halo_scheduler.rules.pending import with_restart
from halo_scheduler.rules.planning import plan_sooner
from halo_scheduler.schedule.passed_over import with_span
from halo_scheduler.store.events import EventKind
from halo_scheduler.store.job_records import JobRecord

_NO_HINTS = Hints()
_BY_HINT = (Source.HINT_INTERVAL, Source.HINT_ONCE)


def pause(edit: Edit, job_ids: Iterable[str], until: int | None) -> bool:
    """Pause jobs, indefinitely or until an instant; return whether all are now paused by this actor.

    A job that awaits a review keeps waiting for it, whatever the instant.
    """
    return _pause(edit, [edit.store.jobs.require(job_id) for job_id in job_ids], until)


def _pause(edit: Edit, records: Sequence[JobRecord], until: int | None) -> bool:
    if until is not None and require_instant("until", until) <= edit.now_ms:
        raise ScheduleError("the pause would already be over; enter a future time", path="until")
    allowed = [record for record in records if may_pause(edit, record)]
    by = StatusReason.PAUSED_BY_ASSISTANT if edit.actor.is_assistant else None
    running_on = [record for record in allowed if not record.awaits_review]
    edit.save_each(
        [
            (record, edit.plan(record.evolve(paused=True, paused_until=until, paused_by=by)))
            for record in running_on
        ]
    )
    edit.note_each(EventKind.JOB_PAUSED, [record.id for record in running_on], until=until)
    edit.changes += changes_of([record.id for record in allowed if record.awaits_review])
    return len(allowed) == len(records)


def pause_all(edit: Edit, until: int | None) -> None:
    """Pause all jobs that are neither disabled nor already paused for longer.

    A person takes over the pauses of assistants, who can then no longer end them.
    """
    refuse_assistants(edit.actor, "pause all jobs")
    records = edit.store.jobs.all()
    _pause(edit, [record for record in records if _is_paused_longer_by(record, until)], until)
    for record in records:
        if pausing_assistant(edit.store, record) is not None:
            edit.note(EventKind.JOB_PAUSED, record.id, until=record.paused_until)
            current = edit.store.jobs.require(record.id)
            edit.save(current, current.evolve(paused_by=None))


def resume(edit: Edit, job_ids: Iterable[str], seen: JobSpec | None = None) -> None:
    """Resume paused or disabled jobs from now, with their error counts at 0; missed runs aren't caught up."""
    by = "assistant" if edit.actor.is_assistant else "user"
    for job_id in job_ids:
        record = edit.store.jobs.require(job_id)
        check_start(edit, record)
        _refuse_changed_since(record, seen)
        edit.save(record, _resumed(edit, record))
        edit.note(EventKind.JOB_RESUMED, record.id, by=by)


def resume_all(edit: Edit) -> None:
    """Resume every paused job, except those awaiting a review and a `once` whose time has passed."""
    refuse_assistants(edit.actor, "resume all jobs")
    paused = [record for record in edit.store.jobs.all() if record.paused and not record.awaits_review]
    resume(edit, [record.id for record in paused if not _is_over(edit, record)])


def _resumed(edit: Edit, record: JobRecord) -> JobRecord:
    if _is_over(edit, record):
        raise ScheduleError(
            "its only time is in the past; give the job a new time instead", path="schedule.at"
        )
    if not record.spec.enabled:
        edit.store.jobs.save_spec(record.id, replace(record.spec, enabled=True), edit.now_ms)
    awake = record.evolve(
        spec=replace(record.spec, enabled=True),
        paused=False,
        paused_until=None,
        paused_by=None,
        disabled_reason=None,
        errors=0,
        resumed_since_run=True,
    )
    edit.store.watch_states.forget(record.id)
    reason: PassedReason | None = PassedReason.PAUSED if record.paused else PassedReason.DISABLED
    if record.is_active:
        reason = PassedReason.BACKOFF if record.next_source is Source.BACKOFF else None
    if not edit.is_in_its_slot(record):
        return edit.plan(with_restart(awake, edit.now_ms), reason=reason)
    passed = with_span(awake.passed_reason, reason, edit.now_ms)
    return with_restart(awake, edit.now_ms)._replace(passed_reason=passed)


def _is_over(edit: Edit, record: JobRecord) -> bool:
    """Return whether the job is a `once` without a run left: neither active nor waiting."""
    is_past = is_used_up(record.spec.schedule, edit.now_ms, record.spec.anchor_at)
    return is_past and record.next_run_at is None and not edit.is_in_its_slot(record)


def _is_paused_longer_by(record: JobRecord, until: int | None) -> bool:
    if record.disabled_reason is not None:
        return False
    if not record.paused:
        return True
    return record.paused_until is not None and (until is None or until > record.paused_until)


def _refuse_changed_since(record: JobRecord, seen: JobSpec | None) -> None:
    if seen is not None and record.awaits_review and record.spec != seen:
        raise ScheduleError(f"an assistant has changed {record.spec.name} in the meantime; review it again")


# --- Skipping ------------------------------------------------------------------------------------------


def skip_next(edit: Edit, job_id: str) -> None:
    """Skip a job's next slot, once; pausing the job or changing its schedule cancels the skip."""
    record = edit.store.jobs.require(job_id)
    if not may_pause(edit, record):
        raise ScheduleError(f"a person stopped {record.spec.name}; only a person can change that")
    if not record.is_active or (record.next_run_at is None and not edit.is_in_its_slot(record)):
        raise ScheduleError(f"{record.spec.name} has no next run to skip")
    if not record.skips_next:
        edit.save(record, record.evolve(skips_next=True))
        edit.note(EventKind.NEXT_SKIPPED, job_id)


def keep_next(edit: Edit, job_id: str) -> None:
    """Cancel the skip of a job's next slot."""
    record = edit.store.jobs.require(job_id)
    check_start(edit, record)
    if not record.skips_next:
        raise ScheduleError(f"the next run of {record.spec.name} isn't skipped")
    asked = edit.store.events.last(job_id, EventKind.NEXT_SKIPPED)
    if edit.actor.is_assistant and (asked is None or asked.assistant is None):
        raise ScheduleError("a person asked to skip this run; only a person can cancel the skip")
    edit.save(record, record.evolve(skips_next=False))
    edit.note(EventKind.NEXT_KEPT, job_id)


# --- Hints ---------------------------------------------------------------------------------------------


def propose_interval(
    edit: Edit, job_id: str, interval: str, *, ttl: str, reason: str, source: HintSource
) -> None:
    """Propose a pace for a while: a faster one applies at once, a slower one after the next run."""
    interval_ms = max(require_interval("interval", interval), SHORTEST_EVERY_MS)
    _propose(edit, job_id, Hints(interval_ms=interval_ms), ttl=ttl, reason=reason, source=source)


def propose_next_run(edit: Edit, job_id: str, at: int, *, ttl: str, reason: str, source: HintSource) -> None:
    """Propose one run at an instant; it applies if it is earlier than the planned run."""
    advice = Hints(next_at=require_instant("at", at))
    _propose(edit, job_id, advice, ttl=ttl, reason=reason, source=source)


def clear_hints(edit: Edit, job_id: str, source: HintSource) -> None:
    """Remove all hints and plan by the schedule; the job may then be due sooner."""
    source = _source(edit, require_choice(HintSource, source, path="source"))
    record = edit.store.jobs.require(job_id)
    check_start(edit, record)
    if record.hints == _NO_HINTS and record.next_source not in _BY_HINT:
        return  # There were no hints: planning again could only move the slot for no reason.
    edit.store.jobs.save_states([edit.without_hints(record)])
    edit.note(EventKind.JOB_HINTED, job_id, source=source, cleared=True)
    edit.changed(ChangeKind.JOB, job_id)


def _propose(edit: Edit, job_id: str, advice: Hints, *, ttl: str, reason: str, source: HintSource) -> None:
    given = replace(
        advice,
        expires_at=edit.now_ms + require_ttl(require_interval("ttl", ttl)),
        reason=printed_line(require_line("reason", reason, longest=LONGEST_REASON), LONGEST_REASON),
        source=_source(edit, source),
    )
    record = edit.store.jobs.require(job_id)
    check_start(edit, record, reason)
    if not takes_hints(record.spec, edit.now_ms):
        raise ScheduleError("a job without scheduled times takes no hints", path="hints")
    hinted = record.evolve(hints=still_counting(record.hints, edit.now_ms).with_advice(given))
    if not edit.is_in_its_slot(record):
        hinted = plan_sooner(hinted, edit.now_ms, edit.store.runs.has_slot)
    edit.store.jobs.save_states([hinted])
    of_run = ("next_expires_at", "next_reason", "next_source")
    detail = {
        name: value for name, value in given.to_dict().items() if value is not None and name not in of_run
    }
    edit.note(EventKind.JOB_HINTED, job_id, **detail)
    edit.changed(ChangeKind.JOB, job_id)


def _source(edit: Edit, given: HintSource) -> HintSource:
    return HintSource.ASSISTANT if edit.actor.is_assistant else given
