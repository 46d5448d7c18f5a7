"""A question that was dismissed by mistake can be opened again."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from asking import ask, question_of
from machine import Bench

from halo_scheduler.errors import JobNotFoundError, ScheduleError
from halo_scheduler.model import Manual, QuestionState
from halo_scheduler.model.changes import Change, ChangeKind
from halo_scheduler.store.events import EventKind


@pytest.fixture
def bench(tmp_path: Path) -> Iterator[Bench]:
    made = Bench(tmp_path / "halo.db")
    yield made
    made.close()


def test_a_dismissed_question_waits_again_and_that_is_reported(bench: Bench) -> None:
    scheduler = bench.scheduler
    job_id = scheduler.add_job("fix", Manual())
    question = ask(scheduler, job_id)
    scheduler.questions.dismiss(question.id)
    told: list[Change] = []
    scheduler.subscribe(told.append)
    scheduler.questions.reopen(question.id)
    assert question_of(scheduler, question) == question
    assert scheduler.questions.list() == [question]
    assert Change(ChangeKind.QUESTION, job_id=job_id) in told
    kinds = [event.kind for event in scheduler._store.events.of_job(job_id)]
    assert EventKind.QUESTION_REOPENED in kinds


def test_an_answered_question_is_not_opened_again(bench: Bench) -> None:
    scheduler = bench.scheduler
    question = ask(scheduler, scheduler.add_job("fix", Manual()))
    scheduler.questions.answer(question.id, "main")
    with pytest.raises(ScheduleError, match="only a dismissed question can be opened again"):
        scheduler.questions.reopen(question.id)
    assert question_of(scheduler, question).state is QuestionState.ANSWERED


def test_a_question_that_never_was_is_not_found(bench: Bench) -> None:
    with pytest.raises(JobNotFoundError, match="there is no question 'x'"):
        bench.scheduler.questions.reopen("x")
