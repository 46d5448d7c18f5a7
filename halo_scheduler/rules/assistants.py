"""What assistants may do with jobs, checked inside the transaction of each edit; people may do everything.

A person reviews what an assistant created or changed before it runs, and what a person stopped stays stopped.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from halo_scheduler.errors import ScheduleError, SchedulerError, ScheduleTriggerError
from halo_scheduler.grammar.text import hidden_words, texts_in
from halo_scheduler.model import (
    Action,
    Command,
    HintSource,
    HttpRequest,
    JobSpec,
    OnChat,
    Policy,
    Prompt,
    SkipReason,
    StatusReason,
)
from halo_scheduler.model.actions import GithubSource, WorkSource
from halo_scheduler.model.changes import Actor, ChangeKind
from halo_scheduler.model.settings import AssistantAccess
from halo_scheduler.rules.chains import with_followers
from halo_scheduler.rules.edit import Edit
from halo_scheduler.rules.statistics import usage
from halo_scheduler.store.events import EventKind
from halo_scheduler.store.job_records import JobRecord
from halo_scheduler.store.store import Store

_FOR_PEOPLE = ("anchor_at", "enabled", "metadata")
_NOBODY: frozenset[tuple[str, ...]] = frozenset([()])
"""The people of a chat event that leaves it to its bot who may write."""
_NOT_ALLOWED = {
    AssistantAccess.RUN: "assistants may only read jobs; a person can allow more in the settings",
    AssistantAccess.EDIT: "assistants may not create or change jobs; a person can allow it in the settings",
}
_UNREVIEWED = {
    StatusReason.ASSISTANT: "an assistant created or changed it",
    StatusReason.IMPORTED: "it was imported",
}


def require_access(store: Store, access: AssistantAccess) -> None:
    """Raise unless the settings allow assistants this access."""
    if not store.settings.read().assistants.includes(access):
        raise SchedulerError(_NOT_ALLOWED[access])


def refuse_assistants(actor: Actor, what: str) -> None:
    """Raise if an assistant tries what only people may do."""
    if actor.is_assistant:
        raise SchedulerError(f"assistants cannot {what}; ask a person to do it")


def check_new_job(edit: Edit, spec: JobSpec) -> None:
    """Refuse an assistant's new job if it has secrets, invisible characters or a setting that only people decide."""
    if not edit.actor.is_assistant:
        return
    require_access(edit.store, AssistantAccess.EDIT)
    if _secret_names(spec.action):
        raise ScheduleError(
            "an assistant cannot use secrets; leave them out, a person can add them", path="action"
        )
    _refuse_fields(["enabled"] * (not spec.enabled) + ["metadata"] * bool(spec.metadata))
    _refuse_hidden(spec.to_dict())
    _refuse_permitting(_NOBODY, spec)
    _refuse_deciding_consent(Policy(), spec.policy)


def check_change(edit: Edit, record: JobRecord, spec: JobSpec) -> None:
    """Refuse an assistant's change of a job with an active run, or one that adds what `check_new_job` refuses."""
    if not edit.actor.is_assistant:
        return
    require_access(edit.store, AssistantAccess.EDIT)
    _refuse_under_way(edit.store, record)
    before = record.spec
    _refuse_fields([name for name in _FOR_PEOPLE if getattr(spec, name) != getattr(before, name)])
    _refuse_new_secrets(before.action, spec.action)
    _refuse_hidden(spec.to_dict(), before.to_dict())
    _refuse_permitting(_permitted_in(before) or _NOBODY, spec)
    _refuse_deciding_consent(before.policy, spec.policy)


def may_pause(edit: Edit, record: JobRecord) -> bool:
    """Return whether the actor may pause the job: an assistant cannot replace a person's pause or a review."""
    if not edit.actor.is_assistant:
        return True
    require_access(edit.store, AssistantAccess.RUN)
    return record.status_reason not in _UNREVIEWED and not _is_stopped_by_person(edit.store, record)


def check_start(edit: Edit, record: JobRecord, reason: str = "") -> None:
    """Refuse an assistant anything that may start a job, unless a person allowed that for this job."""
    if not edit.actor.is_assistant:
        return
    require_access(edit.store, AssistantAccess.RUN)
    _refuse_hidden({"reason": reason})
    _refuse_unreviewed(record)
    if _is_stopped_by_person(edit.store, record):
        state = "disabled" if record.disabled_reason is StatusReason.USER else "paused"
        raise SchedulerError(f"a person {state} {record.spec.name}, and only a person can let it run again")
    _refuse_without_consent(edit.store, record)


def check_trigger(edit: Edit, record: JobRecord) -> None:
    """Refuse an assistant a run that it may not start or that a daily limit forbids."""
    if not edit.actor.is_assistant:
        return
    check_start(edit, record)
    used = usage(edit.store, record, edit.now_ms)
    if used.caps.runs_per_day is not None and used.runs >= used.caps.runs_per_day:
        raise ScheduleTriggerError(
            f"{record.spec.name} has used up its runs for today; a person can still run it", SkipReason.CAP
        )
    if used.caps.cost_per_day is not None and used.cost >= used.caps.cost_per_day:
        raise ScheduleTriggerError(
            f"{record.spec.name} has used up what it may cost today; a person can still run it",
            SkipReason.CAP,
        )


def check_given(edit: Edit, record: JobRecord, values: Mapping[str, str], content: bytes) -> None:
    """Refuse invisible characters in values and input from an assistant: an agent may obey text that nobody sees."""
    if not edit.actor.is_assistant:
        return
    text = content.decode(errors="replace").replace("\r\n", "\n")
    declared = {"parameters": dict(record.spec.parameters)}
    _refuse_hidden({"parameters": dict(values), "input": text}, declared)


def pausing_assistant(store: Store, record: JobRecord) -> str | None:
    """Return the name of the assistant that paused a job; None if a person did or it is not paused."""
    if not record.paused or record.awaits_review:
        return None
    paused = store.events.last(record.id, EventKind.JOB_PAUSED)
    return None if paused is None else paused.assistant


def decides_consent(before: JobSpec, after: JobSpec) -> bool:
    """Return whether a change affects what assistants may start: the job's consent or its next jobs."""
    old, new = before.policy.assistants_may_run, after.policy.assistants_may_run
    return (old, before.followers) != (new, after.followers)


def drop_refused_advice(edit: Edit) -> None:
    """Drop the hints of assistants for jobs that they may not start, or that start such a job."""
    dropped = [
        edit.without_hints(record, HintSource.ASSISTANT)
        for record in edit.store.jobs.all()
        if HintSource.ASSISTANT in (record.hints.source, record.hints.next_source)
        and not all(found.spec.policy.assistants_may_run for found in with_followers(edit.store, record))
    ]
    edit.store.jobs.save_states(dropped)
    for record in dropped:
        edit.changed(ChangeKind.JOB, record.id)


def _is_stopped_by_person(store: Store, record: JobRecord) -> bool:
    if record.disabled_reason is StatusReason.USER:
        return True
    return record.paused and pausing_assistant(store, record) is None


def _refuse_without_consent(store: Store, record: JobRecord) -> None:
    """Refuse to start a job unless a person allowed it for the job and for every job that runs after it."""
    for found in with_followers(store, record):
        if found.spec.policy.assistants_may_run:
            continue
        after = "" if found.id == record.id else f", which runs after {record.spec.name}"
        raise SchedulerError(
            f"assistants may not run {found.spec.name}{after}; a person can allow it in that job's settings"
        )


def _refuse_unreviewed(record: JobRecord) -> None:
    reason = record.status_reason
    if reason in _UNREVIEWED:
        raise SchedulerError(
            f"{record.spec.name} waits for a person: {_UNREVIEWED[reason]}, and only a person can enable it; "
            "ask them to review and resume it"
        )


def _refuse_under_way(store: Store, record: JobRecord) -> None:
    """Refuse to change a job that is running or about to: a person reviewed the version that runs."""
    is_running = record.run_id is not None
    if is_running or store.requests.has_trigger(record.id):
        state = "is running" if is_running else "is about to run"
        raise ScheduleTriggerError(
            f"{record.spec.name} {state}; change it when that run has ended", SkipReason.ALREADY_RUNNING
        )


def _refuse_fields(names: list[str]) -> None:
    if names:
        raise ScheduleError("an assistant cannot set this; a person can", path=min(names))


def _refuse_deciding_consent(before: Policy, after: Policy) -> None:
    if before.assistants_may_run != after.assistants_may_run:
        raise ScheduleError(
            "only a person decides whether assistants may run a job", path="policy.assistants_may_run"
        )


def _refuse_permitting(permitted: frozenset[tuple[str, ...]], spec: JobSpec) -> None:
    """Refuse a chat event with people whom no person listed in this job."""
    if _permitted_in(spec) - permitted:
        raise ScheduleError(
            "an assistant cannot decide who may write to a job; a person can", path="schedule"
        )


def _permitted_in(spec: JobSpec) -> frozenset[tuple[str, ...]]:
    """Return the people listed in each chat event of a job."""
    return frozenset(entry.schedule.from_ for entry in spec.events if isinstance(entry.schedule, OnChat))


def _refuse_new_secrets(before: Action, after: Action) -> None:
    if _secret_names(after) - _secret_names(before):
        raise ScheduleError("an assistant cannot add secrets; a person can", path="action")
    # A reviewer may preview the job's work items first, and that sends the token.
    if _goes_elsewhere(_work_source(before), _work_source(after)):
        raise ScheduleError(
            "the token would go to another address; only a person can change that",
            path="action.work_source.base_url",
        )


def _refuse_hidden(after: Mapping[str, Any], before: Mapping[str, Any] | None = None) -> None:
    """Refuse new texts with invisible characters, because a person reviews what is shown."""
    known = {text for _, text in texts_in(before or {})}
    for path, text in texts_in(after):
        if text not in known and (words := hidden_words(text)):
            raise ScheduleError(f"has invisible characters ({words}); write it without them", path=path)


def _goes_elsewhere(before: WorkSource | None, after: WorkSource | None) -> bool:
    """Return whether a change would send a token to a new host."""
    if not isinstance(after, GithubSource) or not after.token:
        return False
    return not isinstance(before, GithubSource) or before.base_url != after.base_url


def _secret_names(action: Action) -> frozenset[str]:
    if not isinstance(action, Command | HttpRequest | Prompt):
        return frozenset()
    source = _work_source(action)
    return action.secret_names | (frozenset() if source is None else source.secret_names)


def _work_source(action: Action) -> WorkSource | None:
    return action.work_source if isinstance(action, Command | Prompt) else None
