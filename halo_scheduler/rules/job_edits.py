"""Editing jobs: add, update, move to the trash, restore. Each edit is checked and stored in one transaction."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import fields, replace
from typing import Any

from halo_scheduler.errors import JobNotFoundError, ScheduleError, SchedulerError
from halo_scheduler.grammar.checks import require_choice, require_label
from halo_scheduler.model import (
    Entry,
    HintSource,
    JobSpec,
    Manual,
    Once,
    PassedReason,
    Prompt,
    Schedule,
    Several,
    SkipReason,
    StatusReason,
)
from halo_scheduler.model.changes import Actor, ChangeKind, changes_of
from halo_scheduler.model.jobs import new_job_ids
from halo_scheduler.model.messages import MessageKind, message
from halo_scheduler.model.schedules import day_sources, entries_of, with_keys
from halo_scheduler.rules.assistants import (
    check_change,
    check_new_job,
    decides_consent,
    drop_refused_advice,
    refuse_assistants,
)
from halo_scheduler.rules.day_sources import keep_days
from halo_scheduler.rules.edit import Edit, refuse_chains
from halo_scheduler.rules.grid import is_used_up, kept_keys, write_keys
from halo_scheduler.rules.pending import slept_through, with_restart
from halo_scheduler.rules.planning import plan, without_plan, without_waiting
from halo_scheduler.schedule.entries import next_of
from halo_scheduler.schedule.passed_over import with_span
from halo_scheduler.store.events import EventKind
from halo_scheduler.store.job_records import JobRecord
from halo_scheduler.store.jobs import TRASH_MS
from halo_scheduler.store.store import Store

WithDays = Callable[[Schedule | Several], Schedule | Several]
_SPEC_NAMES = {field.name for field in fields(JobSpec)}
_PAST = "this time is in the past; enter a future time"
_OVER = "its only time is in the past; give the job a new time instead"

# --- Adding --------------------------------------------------------------------------------------------


def new_record(
    given: Mapping[str, Any],
    actor: Actor,
    now_ms: int,
    *,
    is_over: bool = False,
    with_days: WithDays = lambda schedule: schedule,
) -> JobRecord:
    """Return an unstored job from the arguments of `add_job`; an assistant's job starts paused.

    A `once` in the past is refused unless `is_over`: it ran elsewhere. `with_days` looks up missing days of
    calendars.
    """
    chosen = {key: value for key, value in given.items() if value is not None}
    job_id = chosen.pop("job_id")
    require_label("job_id", job_id)
    paused_by = _pause_reason(chosen.pop("paused_by", None), actor)
    given_spec = JobSpec(**{"anchor_at": now_ms, **chosen})
    schedule = with_days(given_spec.schedule)
    spec = given_spec if schedule is given_spec.schedule else replace(given_spec, schedule=schedule)
    if not is_over:
        _refuse_past(spec, now_ms)
    record = JobRecord(
        id=job_id,
        created_at=now_ms,
        updated_at=now_ms,
        spec=spec,
        counted_until=now_ms,
        disabled_reason=None if spec.enabled else StatusReason.USER,
        paused=paused_by is not None,
        paused_by=paused_by,
    )
    return plan(record, now_ms, lambda _job_id, _slot_at: False)


def new_records(
    jobs: Iterable[Mapping[str, Any]], actor: Actor, now_ms: int, with_days: WithDays
) -> list[JobRecord]:
    """Return several unstored jobs, each from the arguments of `add_job`."""
    given = list(jobs)
    # Sorted ids keep jobs that were added together adjacent in the database.
    ids = new_job_ids(len(given))
    return [
        new_record({**job, "job_id": job.get("job_id") or new_id}, actor, now_ms, with_days=with_days)
        for job, new_id in zip(given, ids, strict=True)
    ]


def add(edit: Edit, records: list[JobRecord]) -> None:
    """Store new jobs, all or none."""
    for record in records:
        check_new_job(edit, record.spec)
    _refuse_taken(edit.store, records)
    refuse_chains(edit.store, {record.id: record.spec for record in records})
    _refuse_unknown_agents(edit.store, [record.spec for record in records])
    insert(edit, records)
    edit.changes += changes_of([record.id for record in records])


def insert(edit: Edit, records: list[JobRecord]) -> None:
    """Store new jobs that were already checked, and record that in the journal."""
    keep_days(edit, [record.spec for record in records])
    edit.store.jobs.insert(records)
    edit.store.events.append_many(
        edit.now_ms,
        EventKind.JOB_ADDED,
        [(record.id, {"name": record.spec.name, "enabled": record.spec.enabled}) for record in records],
        edit.actor,
    )
    for record in records:
        _note_pause(edit, record)


def _refuse_taken(store: Store, records: list[JobRecord]) -> None:
    names = store.jobs.taken_names(record.spec.name for record in records)
    ids = set(store.jobs.get_many(record.id for record in records))
    for record in records:
        name = record.spec.name
        if name in names:
            raise _name_taken(name)
        if record.id in ids:
            raise ScheduleError(f"there is already a job with the id {record.id!r}", path="job_id")
        names.add(name)
        ids.add(record.id)


def _name_taken(name: str) -> ScheduleError:
    return ScheduleError(f"there is already a job named {name!r}; choose another name", path="name")


def _refuse_unknown_agents(store: Store, specs: Iterable[JobSpec]) -> None:
    """Refuse prompts for an agent that is not in the settings; removing an agent later is allowed."""
    prompts = [spec.action for spec in specs if isinstance(spec.action, Prompt)]
    if not prompts:
        return
    settings = store.settings.read()
    for prompt in prompts:
        try:
            settings.find_agent(prompt.agent)
        except ScheduleError as error:
            raise error.under("action") from None


def _pause_reason(given: StatusReason | None, actor: Actor) -> StatusReason | None:
    """Return why a job starts paused or is paused by a change: an assistant's work awaits a review."""
    if actor.is_assistant:
        return StatusReason.ASSISTANT
    return None if given is None else require_choice(StatusReason, given, path="paused_by")


def _note_pause(edit: Edit, record: JobRecord) -> None:
    if record.paused_by is not None:
        edit.note(EventKind.JOB_PAUSED, record.id, until=None, by=record.paused_by)


def _refuse_past(spec: JobSpec, now_ms: int, before: Schedule | Several | None = None) -> None:
    """Refuse a job whose times have all passed, and a `once` that an edit adds too late; a used one stays listed."""
    if is_used_up(spec.schedule, now_ms, spec.anchor_at):
        last = spec.schedules[-1]
        raise ScheduleError(_PAST, path=f"schedule.{_last_field(last)}")
    for index, entry in enumerate(spec.schedules):
        is_open = entry.calendar.has_days and not is_used_up(Several((entry,)), now_ms, spec.anchor_at)
        if is_open and next_of(entry, now_ms, spec.anchor_at) is None:
            raise ScheduleError("none of its times is on these days", path=f"schedules[{index}].only")
    if before is None:
        return
    known = {entry.timing for entry in entries_of(before)} if before != Manual() else set()
    for index, entry in enumerate(spec.schedules):
        if entry.timing not in known and is_used_up(Several((entry,)), now_ms, spec.anchor_at):
            raise ScheduleError(_PAST, path=f"schedules[{index}].{_last_field(entry)}")


def _last_field(entry: Entry) -> str:
    if isinstance(entry.schedule, Once):
        return "at"
    return "only" if entry.until_date is None else "until"


# --- Updating ------------------------------------------------------------------------------------------


def update(
    edit: Edit,
    job_id: str,
    changes: Mapping[str, Any],
    *,
    paused_by: StatusReason | None = None,
    seen: JobSpec | None = None,
) -> None:
    """Change the given fields of a job's spec; with `seen`, only if that is still the job's spec."""
    unknown = set(changes) - _SPEC_NAMES
    if unknown:
        raise ScheduleError("is not a known field of a job", path=min(unknown))
    paused_by = _pause_reason(paused_by, edit.actor)
    record = edit.store.jobs.require(job_id)
    if seen is not None and record.spec != seen:
        raise SchedulerError(f"{record.spec.name} was changed elsewhere in the meantime; review it again")
    spec = replace(record.spec, **with_kept_keys(record.spec, changes))
    check_change(edit, record, spec)
    if "action" in changes:
        # Only a new agent is refused: a job whose agent is gone can still be renamed.
        _refuse_unknown_agents(edit.store, [spec])
    _refuse_change(edit.store, record, spec)
    edited = change_spec(edit, record, spec)
    if changes.get("enabled") is True and record.disabled_reason is not None:
        edited = _enabled(edit, edited)
    if paused_by is not None:
        edited = edit.plan(edited.evolve(paused=True, paused_until=None, paused_by=paused_by))
        _note_pause(edit, edited)
    edit.store.jobs.save_states([edited])
    edit.changed(ChangeKind.JOB, job_id)
    # An unreviewed change starts nothing: the last failed attempt starts the next jobs from before the change.
    in_force = spec if paused_by is None else record.spec
    edit.end_lost_retry(record, edited.evolve(spec=in_force))
    if decides_consent(record.spec, spec):
        drop_refused_advice(edit)


def with_kept_keys(before: JobSpec, changes: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return changes whose list of schedules has the keys that the job's schedules have."""
    given = changes.get("schedule")
    if not isinstance(given, list | tuple) or not isinstance(before.schedule, Several):
        return changes
    known = {entry.timing: entry.key for entry in before.schedule.entries}
    return {**changes, "schedule": with_keys(given, known)}


def _enabled(edit: Edit, record: JobRecord) -> JobRecord:
    """Return a disabled job that was explicitly enabled: it resumes from now, with its error count at 0."""
    is_in_slot = edit.is_in_its_slot(record)
    spec = record.spec
    if (
        is_used_up(spec.schedule, edit.now_ms, spec.anchor_at)
        and record.next_run_at is None
        and not is_in_slot
    ):
        raise ScheduleError(_OVER, path="schedule.at")
    edit.note(EventKind.JOB_RESUMED, record.id, by="user")
    enabled = record.evolve(disabled_reason=None, errors=0, resumed_since_run=True)
    return enabled if is_in_slot else edit.plan(enabled, reason=PassedReason.DISABLED)


def _refuse_change(store: Store, record: JobRecord, spec: JobSpec) -> None:
    """Refuse a new name that another job has, and new next jobs that do not exist or close a cycle."""
    if spec.name != record.spec.name and store.jobs.id_of_name(spec.name) is not None:
        raise _name_taken(spec.name)
    if spec.followers != record.spec.followers:
        refuse_chains(store, {record.id: spec}, {record.id: record.spec})


def change_spec(edit: Edit, record: JobRecord, spec: JobSpec) -> JobRecord:
    """Store a changed spec, and return the changed job, whose state is not stored yet."""
    edit.store.jobs.save_spec(record.id, spec, edit.now_ms)
    if spec.schedule != record.spec.schedule:
        keep_days(edit, [spec], day_sources(record.spec.schedule))
    edit.store.watch_states.forget(record.id, _unchanged_events(record, spec))
    edit.note(EventKind.JOB_EDITED, record.id, before=record.spec.to_dict(), after=spec.to_dict())
    edited = _with_status(record, spec, edit.now_ms)
    old, new = record.spec.policy, spec.policy
    if not new.assistants_may_run:
        edited = edited.evolve(hints=edited.hints.without_source(HintSource.ASSISTANT))
    if (old.conditions, old.condition_deadline) != (new.conditions, new.condition_deadline):
        # The next tick checks again whether it waits, and until when.
        edited = without_waiting(edited)
        _forget_deadlines(edit.store, record.id)
    return _planned_after_edit(edit, record, edited)


def _unchanged_events(record: JobRecord, after: JobSpec) -> list[str]:
    """Return the keys of the events that an edit doesn't change: their watch states are kept."""
    known = {entry.key: entry.schedule for entry in record.spec.events} if record.is_active else {}
    return [entry.key for entry in after.events if known.get(entry.key) == entry.schedule]


def _with_status(record: JobRecord, spec: JobSpec, now_ms: int) -> JobRecord:
    """Return a job with a changed spec, enabled or disabled accordingly; a `once` with a new time is no longer done."""
    edited = record.evolve(spec=spec)
    if spec.enabled != record.spec.enabled:
        edited = edited.evolve(disabled_reason=None if spec.enabled else StatusReason.USER)
    if spec.schedule != record.spec.schedule:
        _refuse_past(spec, now_ms, record.spec.schedule)
        if edited.disabled_reason is StatusReason.DONE:
            edited = edited.evolve(disabled_reason=None)
    return edited


def _planned_after_edit(edit: Edit, before: JobRecord, edited: JobRecord) -> JobRecord:
    """Replan a job if the edit affects its times; a slot that runs, is due or is retried stays."""
    old, new = before.spec, edited.spec
    is_rescheduled = (old.schedule, old.anchor_at) != (new.schedule, new.anchor_at)
    has_old_times = (old.policy.timing, old.enabled, before.hints) == (
        *(new.policy.timing, new.enabled, edited.hints),
    )
    if has_old_times and not is_rescheduled:
        return edited
    edited = with_restart(edited._replace(pending=""), edit.now_ms)
    if edit.is_in_its_slot(before):
        # The overlap policy from before the edit applies to times that passed before it.
        return edited._replace(
            passed_reason=with_span(edited.passed_reason, PassedReason.EDITED, edit.now_ms)
        )
    keys = kept_keys(before, new)
    if keys is not None and edited.is_active and _has_begun(edited, edit.now_ms):
        return edited.evolve(next_keys=write_keys(keys))
    # A dropped retry leaves its slot failed.
    edited = edited._replace(errors=edited.errors + int(edited.attempt > 1))
    if is_rescheduled:
        edited = without_plan(edited.evolve(counted_until=edit.now_ms))
    return edit.plan(edited, reason=PassedReason.EDITED)


def _has_begun(record: JobRecord, now_ms: int) -> bool:
    """Return whether a job's slot is due, or failed and is retried."""
    is_due = record.next_run_at is not None and record.next_run_at <= now_ms
    return is_due or 1 < record.attempt <= record.spec.policy.retry.attempts + 1


def _forget_deadlines(store: Store, job_id: str) -> None:
    """Restart the condition deadlines of the job's waiting queued runs."""
    waiting = store.requests.queued_of_job(job_id)
    store.requests.save_waiting([replace(request, waits_until=None) for request in waiting])


# --- The trash -----------------------------------------------------------------------------------------


def remove(edit: Edit, job_id: str) -> None:
    """Move a job to the trash, and purge jobs that have been there too long."""
    refuse_assistants(edit.actor, "remove jobs")
    record = edit.store.jobs.require(job_id)
    edit.store.jobs.set_removed(job_id, edit.now_ms)
    edit.save(record, edit.plan(record.evolve(removed_at=edit.now_ms)))
    edit.note(EventKind.JOB_REMOVED, job_id)
    edit.store.jobs.purge(edit.now_ms - TRASH_MS)


def delete_removed(edit: Edit, job_ids: Iterable[str]) -> None:
    """Delete jobs in the trash for good; other jobs and those that still run stay."""
    refuse_assistants(edit.actor, "delete jobs")
    for job_id in job_ids:
        edit.store.jobs.delete_removed(job_id)
        edit.changed(ChangeKind.JOB, job_id)


def restore(edit: Edit, job_id: str) -> None:
    """Restore a job from the trash; missed runs aren't caught up."""
    refuse_assistants(edit.actor, "restore jobs")
    record = edit.store.jobs.get(job_id)
    if record is None or record.removed_at is None:
        raise JobNotFoundError(f"there is no removed job {job_id!r}")
    if edit.store.jobs.id_of_name(record.spec.name) is not None:
        raise ScheduleError(
            f"there is now another job named {record.spec.name!r}; rename it first", path="name"
        )
    refuse_chains(edit.store, {job_id: record.spec}, {job_id: record.spec})
    edit.store.jobs.set_removed(job_id, None)
    edit.store.watch_states.forget(job_id)
    edit.changed(ChangeKind.JOB, job_id)
    restored = record.evolve(removed_at=None, counted_until=edit.now_ms)
    if not edit.is_in_its_slot(record):
        restored = edit.plan(restored)
        _record_time_in_trash(edit, record)
    edit.store.jobs.save_states([restored])
    edit.note(EventKind.JOB_RESTORED, job_id)


def _record_time_in_trash(edit: Edit, record: JobRecord) -> None:
    """Record the last slot of a job if its time passed while the job was in the trash."""
    why = message(MessageKind.JOB_IN_TRASH)
    skipped = slept_through(record, SkipReason.DISABLED, why, edit.now_ms, edit.now_ms)
    if skipped is None:
        return
    if not edit.store.runs.has_slot(record.id, skipped.slot_at or 0):
        edit.record_run(skipped)
