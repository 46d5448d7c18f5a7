"""Former names that moved to the parts of `Scheduler`: deprecated, and removed in the next version."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from operator import attrgetter
from typing import TYPE_CHECKING, Any

from halo_scheduler.errors import JobNotFoundError
from halo_scheduler.model import JobSpec
from halo_scheduler.model.changes import Actor

if TYPE_CHECKING:
    from halo_scheduler.service.scheduler import Scheduler

MOVED = {
    "answer_question": "questions.answer",
    "apply_import": "imports.apply",
    "change_settings": "settings.change",
    "check_condition": "jobs.check_condition",
    "count_runs_by_day": "runs.count_by_day",
    "dismiss_question": "questions.dismiss",
    "end_runs": "engine.end_runs",
    "explain": "jobs.explain",
    "follow_output": "runs.follow_output",
    "get_assistant_acts": "jobs.assistant_acts",
    "get_chain": "jobs.chain",
    "get_holds": "jobs.holds",
    "get_jobs": "jobs.get_many",
    "get_last_runs": "runs.last",
    "get_pausing_assistant": "jobs.pausing_assistant",
    "get_question": "questions.get",
    "get_question_answered_by": "questions.answered_by",
    "get_question_of_run": "questions.of_run",
    "get_runs": "runs.get_many",
    "get_settings": "settings.read",
    "get_trash_times": "jobs.trash_times",
    "get_trends": "runs.trends",
    "get_usage": "jobs.usage",
    "get_waiting_run": "runs.waiting_of",
    "get_waits_until": "jobs.waits_until",
    "has_keyring": "secrets.has_keyring",
    "list_alarms": "runs.alarms",
    "list_backups": "backups.list",
    "list_broken_links": "runs.broken_links",
    "list_caused_runs": "runs.caused_by",
    "list_gaps": "runs.gaps",
    "list_group_limits": "jobs.group_limits",
    "list_job_names": "jobs.names",
    "list_jobs_in_pages": "jobs.in_pages",
    "list_names": "jobs.names_and_groups",
    "list_next_runs": "jobs.next_runs",
    "list_questions": "questions.list",
    "list_ready_items": "jobs.ready_items",
    "list_running": "runs.running",
    "list_secrets": "secrets.list",
    "list_upcoming": "jobs.upcoming",
    "list_waiting_chain_runs": "runs.waiting_in_chains",
    "list_waiting_runs": "runs.waiting",
    "lost_by": "engine.lost_by",
    "make_backup": "backups.make",
    "mark_failures_seen": "runs.mark_failures_seen",
    "plan_import": "imports.plan",
    "preview_prompt": "jobs.preview_prompt",
    "refresh_environment": "engine.refresh_environment",
    "remove_secret": "secrets.remove",
    "require_assistants_may": "settings.require_assistants_may",
    "reopen_question": "questions.reopen",
    "runs_jobs": "engine.is_running",
    "search_output": "runs.search_output",
    "set_secret": "secrets.set",
    "test_job": "runs.request_test",
    "try_job": "engine.try_job",
    "unseen_failures": "runs.unseen_failures",
    "unused_name": "jobs.unused_name",
    "why": "jobs.why",
}
"""Where each name is now, as an attribute of the scheduler."""


def find_moved(scheduler: Scheduler, name: str) -> object:
    """Return what a former name referred to, with a warning that names the replacement."""
    if name in MOVED:
        _warn(name, f"scheduler.{MOVED[name]}")
        return attrgetter(MOVED[name])(scheduler)
    if name in REPLACED:
        instead, function = REPLACED[name]
        _warn(name, instead)
        return lambda *given, **named: function(scheduler, *given, **named)
    raise AttributeError(
        f"{type(scheduler).__name__!r} object has no attribute {name!r}", name=name, obj=scheduler
    )


def _warn(name: str, instead: str) -> None:
    # Counted from here: find_moved as Scheduler.__getattr__, then the caller.
    warnings.warn(f"Scheduler.{name} has moved; write {instead} instead", DeprecationWarning, stacklevel=3)


def _as_assistant(name: str) -> tuple[str, Callable[..., Any]]:
    """Return an edit that an assistant makes under the method name that people use."""

    def call(scheduler: Scheduler, *given: Any, **named: Any) -> Any:
        with _assisting(scheduler):
            return getattr(scheduler, name)(*given, **named)

    return f"scheduler.{name} inside scheduler.acting_as(Actor.assistant(...))", call


def _assisting(scheduler: Scheduler) -> AbstractContextManager[None]:
    actor = scheduler.actor
    return scheduler.acting_as(actor if actor.is_assistant else Actor.assistant(""))


def _acting_for(scheduler: Scheduler, assistant: str) -> AbstractContextManager[None]:
    return scheduler.acting_as(Actor.assistant(assistant))


def _add_job(scheduler: Scheduler, spec: JobSpec) -> str:
    names = ("name", "schedule", "action", "description", "group", "policy", "followers")
    with _assisting(scheduler):
        return scheduler.add_job(**{name: getattr(spec, name) for name in names})


def _update_job(scheduler: Scheduler, job_id: str, change: Callable[[JobSpec], Mapping[str, Any]]) -> None:
    job = scheduler.get_job(job_id)
    if job is None:
        raise JobNotFoundError(f"there is no job {job_id!r}")
    with _assisting(scheduler):
        scheduler.update_job(job_id, seen=job.spec, **change(job.spec))


REPLACED: dict[str, tuple[str, Callable[..., Any]]] = {
    "acting_for": ("scheduler.acting_as(Actor.assistant(...))", _acting_for),
    "add_job_for_assistant": (_as_assistant("add_job")[0], _add_job),
    "update_job_for_assistant": (_as_assistant("update_job")[0], _update_job),
    **{
        f"{name}_for_assistant": _as_assistant(name)
        for name in (
            *("pause_job", "resume_job", "trigger"),
            *("propose_interval", "propose_next_run", "clear_hints"),
        )
    },
}
"""Names of what assistants did apart from people: what to write now, and what does the same."""
