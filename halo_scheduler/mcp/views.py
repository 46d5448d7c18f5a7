"""The views of jobs, runs and questions for assistants; never with the value of a variable, header or secret."""

from __future__ import annotations

from collections import defaultdict
from datetime import timedelta, timezone
from typing import Any

from halo_scheduler.grammar.interval import SECOND_MS
from halo_scheduler.grammar.templates import filled_in
from halo_scheduler.grammar.text import plain_line
from halo_scheduler.grammar.zone import machine_zone, offset_s, wall_time
from halo_scheduler.model import Action, Hints, Job, Question, Run, Situation
from halo_scheduler.model.schedules import schedule_fields
from halo_scheduler.rules.chains import Chain, ChainLink
from halo_scheduler.rules.statistics import Usage
from halo_scheduler.wording.schedules import describe
from halo_scheduler.wording.status import awaited_words, next_words, status_words

View = dict[str, Any]

HIDDEN = "${secret:***}"
"""Shown instead of a reference to a secret; it has no name, so it cannot be written back by mistake."""
_NO_HINTS = Hints()
_LONGEST_TEXT = 20_000
_LONGEST_LINE = 300
_TEXTS = ("text", "line", "stdin", "body")
_PAIRS = ("environment", "headers")
_STATE_INSTANTS = ("next_run_at", "paused_until", "last_run_at", "last_completed_at", "last_ended_at")
_RUN_INSTANTS = ("slot_at", "started_at", "finished_at")


def instant(at: int | None) -> str | None:
    """Return an instant as local date and time with offset: "2026-12-24T18:00:00+01:00"."""
    if at is None:
        return None
    seconds = at // SECOND_MS
    offset = offset_s(machine_zone(), seconds)
    return wall_time(seconds + offset).replace(tzinfo=timezone(timedelta(seconds=offset))).isoformat()


def job_line(job: Job, situation: Situation, now_ms: int) -> View:
    """Return a job's entry in a list."""
    return {
        "id": job.id,
        "name": job.name,
        "description": plain_line(job.description, _LONGEST_LINE),
        "group": job.group,
        "kind": job.action.kind,
        "when": describe(job.schedule),
        "status": job.status,
        "status_reason": job.status_reason,
        "next_run_at": instant(job.next_run_at),
        "last_run_at": instant(job.last_run_at),
        "last_outcome": job.last_outcome,
        "errors": job.errors,
        "assistants_may_run": job.policy.assistants_may_run,
        **situation_view(situation, now_ms),
    }


def situation_view(situation: Situation, now_ms: int) -> View:
    """Return what a job is doing and when it runs next, in the words of the window."""
    waiting = situation.waiting
    return {
        "situation": status_words(situation, now_ms),
        "next": next_words(situation, now_ms),
        "waiting_for": None if waiting is None else waiting.kind,
        "waiting_reason": "" if waiting is None else awaited_words(waiting, now_ms),
    }


def job_view(job: Job, situation: Situation, now_ms: int) -> View:
    """Return a job's spec and state; parts of the spec can be sent back to change it."""
    return {
        "id": job.id,
        "name": job.name,
        "description": job.description,
        "group": job.group,
        "when": describe(job.schedule),
        **schedule_fields(job.schedule),
        "action": action_view(job.action),
        "policy": job.policy.to_dict(),
        "followers": [follower.to_dict() for follower in job.followers],
        "parameters": dict(job.parameters),
        **_with_instants(job.state.to_dict(), _STATE_INSTANTS),
        "hints": hints_view(job.hints),
        **situation_view(situation, now_ms),
    }


def hints_view(hints: Hints) -> View | None:
    """Return a job's hints, expired or not, or None."""
    if hints == _NO_HINTS:
        return None
    return _with_instants(hints.to_dict(), ("next_at", "expires_at", "next_expires_at"))


def chain_view(chain: Chain) -> View:
    """Return the jobs that start this one, and those it starts."""
    return {
        "before": [_link_view(link) for link in chain.before],
        "after": [_link_view(link) for link in chain.after],
    }


def _link_view(link: ChainLink) -> View:
    return {"job": link.name, "job_id": link.job_id, "on": link.on, "state": link.state}


def action_view(action: Action) -> View:
    """Return a job's action without confidential values; null stands for a value that is withheld."""
    view = action.to_dict()
    for name in _TEXTS:
        if name in view:
            view[name] = _readable(view[name])
    for name in _PAIRS:
        if name in view:
            view[name] = dict.fromkeys(view[name])
    source = view.get("work_source")
    if source is not None and source.get("token"):
        source["token"] = None
    return view


def usage_view(usage: Usage) -> View:
    """Return a job's usage today."""
    return {
        "day": usage.day,
        "runs": usage.runs,
        "cost": usage.cost,
        "runs_per_day": usage.caps.runs_per_day,
        "cost_per_day": usage.caps.cost_per_day,
        "resets_at": instant(usage.resets_at),
    }


def run_view(run: Run, job_name: str | None) -> View:
    """Return a run."""
    view = _with_instants(run.to_dict(), _RUN_INSTANTS)
    return {"id": run.id, "job": job_name} | view | {"duration_ms": run.duration_ms}


def question_view(question: Question, job_name: str | None) -> View:
    """Return a question without its answer, which only the job's agent gets."""
    return {
        "job": job_name,
        "job_id": question.job_id,
        "run_id": question.run_id,
        "asked_at": instant(question.asked_at),
        "text": question.text,
        "state": question.state,
        "settled_at": instant(question.settled_at),
        "work_id": question.work_id,
    }


def _with_instants(data: View, names: tuple[str, ...]) -> View:
    return data | {name: instant(data[name]) for name in names}


def _readable(text: str) -> str:
    """Return a spec's text without secret names, shortened if very long."""
    hidden = filled_in(text, defaultdict(lambda: HIDDEN))
    if len(hidden) <= _LONGEST_TEXT:
        return hidden
    left_out = len(hidden) - _LONGEST_TEXT
    return (
        f"{hidden[:_LONGEST_TEXT]}… [{left_out} more characters; leave this field out of a change to keep it]"
    )
