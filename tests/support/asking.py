"""Questions as runs leave them, without an agent that asks."""

from __future__ import annotations

import itertools

from halo_scheduler.model import Outcome, Question, Run, Source, Trigger
from halo_scheduler.model.changes import Change, ChangeKind
from halo_scheduler.service.scheduler import Scheduler

_GENERATION = 1
_numbers = itertools.count(1)


def ask(
    scheduler: Scheduler,
    job_id: str,
    text: str = "Which branch shall I take?",
    *,
    at: int | None = None,
    work_id: str = "",
    work_title: str = "",
    work_url: str = "",
) -> Question:
    """Record a run of a job that has ended and left a question, and tell of it."""
    now_ms = scheduler._clock.now_ms() if at is None else at
    number = next(_numbers)
    run = Run(
        id=f"asking-run-{number}",
        job_id=job_id,
        trigger=Trigger.MANUAL,
        source=Source.MANUAL,
        outcome=Outcome.SUCCESS,
        started_at=now_ms - 1_000,
        finished_at=now_ms,
        work_id=work_id,
        work_title=work_title,
        work_url=work_url,
    )
    question = Question(
        id=f"question-{number}", job_id=job_id, run_id=run.id, asked_at=now_ms, text=text, work_id=work_id
    )
    store = scheduler._store
    with store.transaction():
        store.runs.insert([run], _GENERATION)
        store.questions.insert([question])
    scheduler._session.changed(
        Change(ChangeKind.QUESTION, job_id=job_id), Change(ChangeKind.RUN_FINISHED, job_id, run.id)
    )
    return question


def question_of(scheduler: Scheduler, question: Question) -> Question:
    """Return a question as it is now."""
    found = scheduler.questions.get(question.id)
    assert found is not None
    return found
