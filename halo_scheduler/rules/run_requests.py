"""Requests to the engine: manual runs, test runs, cancellations, and runs with the answer to a question."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace

from halo_scheduler.errors import JobNotFoundError, ScheduleError, ScheduleTriggerError
from halo_scheduler.grammar.checks import require_instant, require_kind, require_text
from halo_scheduler.model import (
    JobSpec,
    Outcome,
    Question,
    QuestionState,
    SkipReason,
    StatusReason,
)
from halo_scheduler.model.changes import ChangeKind
from halo_scheduler.model.jobs import given_parameters, require_input
from halo_scheduler.model.messages import MessageKind, message
from halo_scheduler.model.runs import new_run_id
from halo_scheduler.rules.assistants import check_given, check_trigger, refuse_assistants
from halo_scheduler.rules.chains import ask_instead_of_event_retry
from halo_scheduler.rules.edit import Edit
from halo_scheduler.rules.event_requests import run_of
from halo_scheduler.store.events import EventKind
from halo_scheduler.store.job_records import JobRecord
from halo_scheduler.store.requests import Request, RequestKind

_LONGEST_ANSWER = 100_000
MOST_LATER = 100
"""The most planned manual runs of a job."""
_NO_PARAMETERS: Mapping[str, str] = {}


def trigger(
    edit: Edit,
    job_id: str,
    *,
    parameters: Mapping[str, str] | None = None,
    given: str | bytes | None = None,
    now: bool = False,
    at: int | None = None,
) -> str:
    """Request a manual run with values and an input, now or at an instant, and return its id.

    With `now` it ignores its group's limit; one that waits already does too, unless values or an input are given.
    """
    record = edit.store.jobs.require(job_id)
    check_trigger(edit, record)
    _refuse_unreviewed(record, "run it")
    values, content = given_parameters(record.spec.parameters, parameters), require_input(given)
    check_given(edit, record, values, content)
    is_plain = not values and not content and at is None
    waiting = edit.store.requests.let_pass(job_id) if now and is_plain and record.run_id is None else None
    if waiting is not None:
        edit.changed(ChangeKind.JOB, job_id)
        return waiting
    if at is None:
        _refuse_running(edit, record)
    else:
        _check_later(edit, record, at)
    run_id = _request(
        edit,
        RequestKind.TRIGGER if at is None else RequestKind.LATER,
        job_id,
        edit.actor.name,
        at=at,
        passes_group=now,
        parameters=values,
        content=content,
    )
    if edit.actor.is_assistant:
        edit.note(EventKind.RUN_REQUESTED, job_id, run_id=run_id)
    return run_id


def _check_later(edit: Edit, record: JobRecord, at: int) -> None:
    """Refuse a planned run in the past, too many of them, and those of assistants, who can give hints instead."""
    refuse_assistants(edit.actor, "plan runs")
    if require_instant("at", at) <= edit.now_ms:
        raise ScheduleError("this time is in the past; enter a future time", path="at")
    if edit.store.requests.count_later(record.id) >= MOST_LATER:
        raise ScheduleTriggerError(
            f"{record.spec.name} already has {MOST_LATER} planned manual runs; cancel some first",
            SkipReason.ALREADY_QUEUED,
        )


def request_test(edit: Edit, job_id: str, spec: JobSpec) -> str:
    """Request a test run of an edited job, and return its id; the stored job does not change."""
    refuse_assistants(edit.actor, "test jobs")
    require_kind("spec", spec, JobSpec, "a JobSpec")
    _refuse_running(edit, edit.store.jobs.require(job_id))
    return _request(edit, RequestKind.TEST, job_id, json.dumps(spec.to_dict()))


def cancel(edit: Edit, run_id: str) -> None:
    """Request a stop of a run, or withdraw it if it has not started; an ended run stays as it is."""
    refuse_assistants(edit.actor, "cancel runs")
    run = edit.store.runs.get(run_id)
    if run is None:
        _withdraw(edit, run_id)
        return
    edit.store.requests.append(
        Request(kind=RequestKind.CANCEL, job_id=run.job_id, run_id=run.id, at=edit.now_ms)
    )
    edit.changed(ChangeKind.JOB, run.job_id)


def _refuse_unreviewed(record: JobRecord, what: str) -> None:
    """Refuse to start an unreviewed job: the person may have the version before the change in mind."""
    if record.paused_by is StatusReason.ASSISTANT:
        raise ScheduleTriggerError(
            f"an assistant created or changed {record.spec.name}; review and resume it before you {what}",
            SkipReason.PAUSED,
        )


def _request(
    edit: Edit,
    kind: RequestKind,
    job_id: str,
    payload: str,
    *,
    at: int | None = None,
    passes_group: bool = False,
    parameters: Mapping[str, str] = _NO_PARAMETERS,
    content: bytes = b"",
) -> str:
    request = Request(
        kind=kind,
        job_id=job_id,
        run_id=new_run_id(),
        at=edit.now_ms if at is None else at,
        payload=payload,
        passes_group=passes_group,
        parameters=parameters,
    )
    edit.store.requests.append(request, content)
    edit.changed(ChangeKind.JOB, job_id)
    return request.run_id


def _refuse_running(edit: Edit, record: JobRecord) -> None:
    if record.run_id is not None:
        raise ScheduleTriggerError(f"{record.spec.name} is already running", SkipReason.ALREADY_RUNNING)
    if edit.store.requests.has_trigger(record.id):
        raise ScheduleTriggerError(
            f"a manual run of {record.spec.name} is already waiting to start", SkipReason.ALREADY_QUEUED
        )


def _withdraw(edit: Edit, run_id: str) -> None:
    """Withdraw a run that has not started; if it carries an answer, its question is open again."""
    queued = edit.store.requests.find_queued(run_id)
    if queued is not None:
        _record_cancelled(edit, queued)
        return
    if not edit.store.requests.withdraw_trigger(run_id):
        raise JobNotFoundError(f"there is no run {run_id!r}")
    question = edit.store.questions.reopen(run_id)
    if question is not None:
        _note_question(edit, question, EventKind.QUESTION_REOPENED)


def _record_cancelled(edit: Edit, request: Request) -> None:
    """Withdraw a queued run, and record it as cancelled, because it has no other record."""
    edit.changed(ChangeKind.JOB, request.job_id)
    record = edit.store.jobs.get(request.job_id)
    if record is None:
        edit.store.requests.close(request)
        return
    edit.store.requests.take_input(request)
    edit.store.requests.close(request)
    why = message(MessageKind.CANCELLED_BEFORE_START)
    run = replace(run_of(record, request), outcome=Outcome.CANCELLED, message=why, finished_at=edit.now_ms)
    edit.record_run(run)
    edit.changes += ask_instead_of_event_retry(edit.store, record, request)


# --- Questions -----------------------------------------------------------------------------------------


def answer_question(edit: Edit, question_id: str, text: str) -> str:
    """Answer a run's question, and return the id of the run that gets the answer; it starts once the job is free."""
    refuse_assistants(edit.actor, "answer questions")
    given = require_text("text", text, longest=_LONGEST_ANSWER).strip()
    if not given:
        raise ScheduleError("the answer is empty; write one, or dismiss the question", path="text")
    question = _open_question(edit, question_id)
    _refuse_unreviewed(edit.store.jobs.require(question.job_id), "answer")
    run_id = new_run_id()
    edit.store.questions.settle(
        question_id, QuestionState.ANSWERED, edit.now_ms, answer=given, answer_run_id=run_id
    )
    edit.store.requests.append(
        Request(kind=RequestKind.ANSWER, job_id=question.job_id, run_id=run_id, at=edit.now_ms)
    )
    _note_question(edit, question, EventKind.QUESTION_ANSWERED, run_id=run_id)
    edit.changed(ChangeKind.JOB, question.job_id)
    return run_id


def dismiss_question(edit: Edit, question_id: str) -> None:
    """Close a question without an answer; its job is no longer on hold."""
    refuse_assistants(edit.actor, "dismiss questions")
    question = _open_question(edit, question_id)
    edit.store.questions.settle(question_id, QuestionState.DISMISSED, edit.now_ms)
    _note_question(edit, question, EventKind.QUESTION_DISMISSED)


def reopen_question(edit: Edit, question_id: str) -> None:
    """Reopen a dismissed question."""
    refuse_assistants(edit.actor, "reopen questions")
    question = _existing_question(edit, question_id)
    if not edit.store.questions.take_back(question_id):
        raise ScheduleError(
            f"only a dismissed question can be opened again; this one is {question.state}", path="question"
        )
    _note_question(edit, question, EventKind.QUESTION_REOPENED)


def _open_question(edit: Edit, question_id: str) -> Question:
    question = _existing_question(edit, question_id)
    if question.state is not QuestionState.OPEN:
        raise ScheduleError(f"this question was already {question.state}", path="question")
    return question


def _existing_question(edit: Edit, question_id: str) -> Question:
    question = edit.store.questions.get(question_id)
    if question is None:
        raise JobNotFoundError(f"there is no question {question_id!r}")
    return question


def _note_question(edit: Edit, question: Question, kind: EventKind, **detail: object) -> None:
    edit.note(kind, question.job_id, question=question.id, **detail)
    edit.changed(ChangeKind.QUESTION, question.job_id)
