"""Pause, resume and hints."""

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
from halo_scheduler.rules.planning import plan_sooner, still_counting, takes_hints
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
    )
    if edit.is_in_its_slot(record):
        return awake
    return edit.plan(awake, reason=PassedReason.PAUSED if record.paused else PassedReason.DISABLED)


def _is_over(edit: Edit, record: JobRecord) -> bool:
    """Return whether the job is a `once` without a run left: neither active nor waiting."""
    is_past = is_used_up(record.spec.schedule, edit.now_ms)
    return is_past and record.next_run_at is None and not edit.is_in_its_slot(record)


def _is_paused_longer_by(record: JobRecord, until: int | None) -> bool:
    if record.disabled_reason is not None:
        return False
    if not record.paused:
        return True
    return record.paused_until is not None and (until is None or until > record.paused_until)


def _refuse_changed_since(record: JobRecord, seen: JobSpec | None) -> None:
    if seen is not None and record.awaits_review and record.spec != seen:
        raise ScheduleError(f"an assistant has changed {record.spec.name} since you looked; look at it again")


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
        raise ScheduleError("a job that is never due by itself takes no hints", path="hints")
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
