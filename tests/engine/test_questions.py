"""Questions: what runs leave for a person, what that holds back, and the runs that answers start."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from machine import START, Bench

from halo_scheduler import (
    After,
    Every,
    JobNotFoundError,
    Manual,
    Once,
    Outcome,
    Policy,
    Retry,
    Run,
    ScheduleError,
    ScheduleTriggerError,
    Source,
    Trigger,
)
from halo_scheduler.actions.run_context import context_of
from halo_scheduler.actions.run_services import Late
from halo_scheduler.actions.spool import Output
from halo_scheduler.engine import handle
from halo_scheduler.model import Caps, JobStatus, Question, QuestionState, SkipReason, StatusReason
from halo_scheduler.model.changes import Change, ChangeKind
from halo_scheduler.model.messages import text_message

_MINUTE, _HOUR, _DAY = 60_000, 3_600_000, 86_400_000


def _ask(bench: Bench, text: str = "Which branch?", outcome: Outcome = Outcome.SUCCESS) -> Question:
    """Let the job's next run ask something."""
    (run,) = bench.tick(_HOUR)
    bench.end(run, outcome, question=text)
    question = bench.scheduler.questions.of_run(run.id)
    assert question is not None
    return question


def _held(bench: Bench, job_id: str) -> list[Run]:
    return [run for run in bench.scheduler.get_run_log(job_id, 500) if run.reason is SkipReason.NEEDS_INPUT]


@pytest.fixture
def job_id(bench: Bench) -> str:
    return bench.scheduler.add_job("job", Every("1h"))


# --- Asking -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("outcome", [Outcome.SUCCESS, Outcome.FAILURE, Outcome.TIMEOUT])
def test_a_run_leaves_a_question_and_keeps_its_outcome(bench: Bench, job_id: str, outcome: Outcome) -> None:
    question = _ask(bench, "Which branch?\nmain or next?", outcome)
    assert bench.recorded(question.run_id).outcome is outcome
    assert (question.job_id, question.text) == (job_id, "Which branch?\nmain or next?")
    assert (question.state, question.asked_at) == (QuestionState.OPEN, bench.clock.now_ms())
    assert bench.scheduler.questions.list() == [question]
    assert bench.scheduler.questions.get(question.id) == question


def test_a_run_that_asks_nothing_leaves_no_question(bench: Bench, job_id: str) -> None:
    (run,) = bench.tick(_HOUR)
    bench.end(run)
    assert bench.scheduler.questions.of_run(run.id) is None
    assert bench.scheduler.questions.list(include_settled=True) == []
    assert bench.job(job_id).last_outcome is Outcome.SUCCESS


def test_a_test_run_leaves_no_question(bench: Bench, job_id: str) -> None:
    bench.scheduler.runs.request_test(job_id, bench.job(job_id).spec)
    (test,) = bench.tick()
    bench.end(test, question="Which branch?")
    assert bench.scheduler.questions.list(include_settled=True) == []


def test_a_question_knows_the_item_it_is_about(bench: Bench, job_id: str) -> None:
    (run,) = bench.tick(_HOUR)
    bench.scheduler.engine.get_engine().handle.note_item(run.id, "7", "Broken door", "https://x.test/7")
    bench.end(run, question="Which door?")
    question = bench.scheduler.questions.of_run(run.id)
    assert question is not None
    assert question.work_id == "7"
    assert question.job_id == job_id


def test_a_question_is_published_and_recorded_in_the_journal(bench: Bench, job_id: str) -> None:
    heard: list[Change] = []
    bench.scheduler.subscribe(heard.append)
    question = _ask(bench)
    assert Change(ChangeKind.QUESTION, job_id=job_id, run_id=question.run_id) in heard
    (event,) = [
        event for event in bench.scheduler._store.events.of_job(job_id) if event.kind == "question-asked"
    ]
    assert event.detail == {"question": question.id, "run_id": question.run_id}


def test_a_question_that_is_read_late_is_still_asked(bench: Bench, job_id: str) -> None:
    (run,) = bench.tick(_HOUR)
    bench.end(run)
    late = Late(
        output=Output.of(b"printed", 7), cost=0.5, question="Which branch?", note=text_message("a note")
    )
    bench.scheduler.engine.get_engine()._post_run.deferred_outputs.arrived[run.id] = run, late
    bench.tick()
    question = bench.scheduler.questions.of_run(run.id)
    assert question is not None
    stored = bench.recorded(run.id)
    assert (stored.cost, stored.note) == (0.5, "a note")
    assert bench.scheduler.get_output(run.id) == b"printed"
    usage = bench.scheduler.jobs.usage(job_id)
    assert (usage.runs, usage.cost) == (1, 0.5)
    bench.tick()
    assert bench.scheduler.jobs.usage(job_id) == usage


# --- Holding back -------------------------------------------------------------------------------------


def test_while_a_question_is_open_every_slot_is_skipped(bench: Bench, job_id: str) -> None:
    _ask(bench)
    for _ in range(3):
        assert bench.tick(_HOUR) == []
        assert bench.tick() == []
    runs = _held(bench, job_id)
    assert [run.slot_at for run in runs] == [START + hour * _HOUR for hour in (4, 3, 2)]
    assert {(run.outcome, run.error) for run in runs} == {
        (Outcome.SKIPPED, "it waits for your answer to: Which branch?")
    }
    job = bench.job(job_id)
    assert (job.errors, job.next_run_at, job.last_run_at) == (0, START + 5 * _HOUR, START + _HOUR)


def test_the_next_run_is_explained_with_the_question_it_waits_for(bench: Bench, job_id: str) -> None:
    _ask(bench)
    assert bench.scheduler.jobs.explain(job_id).sentences[-1] == (
        "But it will be skipped then: it waits for your answer to: Which branch?"
    )
    bench.scheduler.pause_job(job_id)
    assert bench.scheduler.jobs.explain(job_id).sentences == ("It is paused until you resume it.",)


def test_a_long_question_is_shortened_in_the_sentence(bench: Bench, job_id: str) -> None:
    _ask(bench, "why?\n" * 400)
    bench.tick(_HOUR)
    (run,) = _held(bench, job_id)
    assert "\n" not in run.error
    assert len(run.error) < 250


def test_an_open_question_takes_precedence_over_a_daily_limit(bench: Bench) -> None:
    job_id = bench.scheduler.add_job("capped", Every("1h"), policy=Policy(caps=Caps(runs_per_day=1)))
    _ask(bench)
    bench.tick(_HOUR)
    assert len(_held(bench, job_id)) == 1


def test_other_jobs_are_not_affected_by_a_question(bench: Bench, job_id: str) -> None:
    question = _ask(bench)
    other = bench.scheduler.add_job("other", Every("1h"))
    (run,) = bench.tick(_HOUR)
    assert (run.job_id, question.job_id) == (other, job_id)


def test_a_retry_waits_for_the_answer_too_and_its_slot_is_over(bench: Bench) -> None:
    retry = Retry(attempts=2, delay_ms=_MINUTE)
    job_id = bench.scheduler.add_job("retried", Every("1h"), policy=Policy(retry=retry))
    _ask(bench, outcome=Outcome.FAILURE)
    assert bench.tick(_MINUTE) == []
    (run,) = _held(bench, job_id)
    assert (run.slot_at, run.attempt, run.source) == (START + _HOUR, 2, Source.RETRY)
    assert bench.job(job_id).next_run_at == START + 2 * _HOUR


def test_an_after_job_is_skipped_at_its_own_pace(bench: Bench) -> None:
    job_id = bench.scheduler.add_job("after", After("10m"))
    _ask(bench)
    for _ in range(3):
        bench.tick(10 * _MINUTE)
        bench.tick()
    assert len(_held(bench, job_id)) == 3


def test_a_once_whose_question_is_open_is_skipped_and_over(bench: Bench) -> None:
    job_id = bench.scheduler.add_job("once", Once(START + 2 * _HOUR))
    bench.tick(_MINUTE)
    bench.scheduler.trigger(job_id)
    (run,) = bench.tick()
    bench.end(run, question="Which branch?")
    bench.tick(2 * _HOUR)
    (held,) = _held(bench, job_id)
    assert held.error == (
        "it waits for your answer to: Which branch?; "
        "it had only this time, so run it manually or set a new one"
    )
    assert bench.job(job_id).status_reason is StatusReason.DONE
    (question,) = bench.scheduler.questions.list()
    bench.scheduler.questions.answer(question.id, "main")
    assert [run.trigger for run in bench.tick()] == [Trigger.ANSWER]


def test_manual_runs_start_while_a_question_is_open(bench: Bench, job_id: str) -> None:
    _ask(bench)
    bench.scheduler.trigger(job_id)
    (run,) = bench.tick()
    bench.end(run, question="And which folder?")
    assert [question.text for question in bench.scheduler.questions.list()] == [
        "Which branch?",
        "And which folder?",
    ]


def test_a_dismissed_question_blocks_no_others(bench: Bench, job_id: str) -> None:
    question = _ask(bench)
    heard: list[Change] = []
    bench.scheduler.subscribe(heard.append)
    bench.scheduler.questions.dismiss(question.id)
    assert heard == [Change(ChangeKind.QUESTION, job_id=job_id)]
    settled = replace(question, state=QuestionState.DISMISSED, settled_at=bench.clock.now_ms())
    assert bench.scheduler.questions.list() == []
    assert bench.scheduler.questions.list(include_settled=True) == [settled]
    assert [run.trigger for run in bench.tick(_HOUR)] == [Trigger.SCHEDULE]


def test_of_two_questions_both_have_to_be_settled(bench: Bench, job_id: str) -> None:
    first = _ask(bench)
    bench.scheduler.trigger(job_id)
    (run,) = bench.tick()
    bench.end(run, question="And which folder?")
    bench.scheduler.questions.dismiss(first.id)
    bench.tick(_HOUR)
    (held,) = _held(bench, job_id)
    assert held.error == "it waits for your answer to: And which folder?"


# --- Answering ----------------------------------------------------------------------------------------


def test_an_answer_starts_one_run_and_the_schedule_resumes(bench: Bench, job_id: str) -> None:
    question = _ask(bench)
    before = bench.job(job_id)
    heard: list[Change] = []
    bench.scheduler.subscribe(heard.append)
    run_id = bench.scheduler.questions.answer(question.id, "  main\n")
    assert heard == [Change(ChangeKind.QUESTION, job_id=job_id), Change(ChangeKind.JOB, job_id=job_id)]
    settled = bench.scheduler.questions.get(question.id)
    assert settled is not None
    assert (settled.state, settled.answer, settled.answer_run_id) == (QuestionState.ANSWERED, "main", run_id)
    assert bench.scheduler.runs.waiting_of(job_id) == run_id
    (run,) = bench.tick()
    assert (run.id, run.trigger, run.slot_at, run.source) == (run_id, Trigger.ANSWER, None, Source.MANUAL)
    occasion = context_of(bench.scheduler._store, job_id, bench.job(job_id).spec, run)
    assert (occasion.question, occasion.answer) == ("Which branch?", "main")
    bench.end(run)
    job = bench.job(job_id)
    assert (job.next_run_at, job.errors, job.last_completed_at) == (
        before.next_run_at,
        before.errors,
        before.last_completed_at,
    )
    assert bench.tick() == []
    assert [run.trigger for run in bench.tick(_HOUR)] == [Trigger.SCHEDULE]


def test_an_answer_counts_as_a_run_of_the_day(bench: Bench, job_id: str) -> None:
    question = _ask(bench)
    bench.scheduler.questions.answer(question.id, "main")
    (run,) = bench.tick()
    bench.end(run, cost=0.25)
    usage = bench.scheduler.jobs.usage(job_id)
    assert (usage.runs, usage.cost) == (2, 0.25)


def test_an_answer_waits_while_its_job_runs_and_is_never_skipped(bench: Bench, job_id: str) -> None:
    question = _ask(bench)
    bench.scheduler.trigger(job_id)
    (by_hand,) = bench.tick()
    run_id = bench.scheduler.questions.answer(question.id, "main")
    for _ in range(3):
        assert bench.tick(_MINUTE) == []
    assert bench.scheduler.get_run(run_id) is None
    bench.end(by_hand)
    assert bench.recorded(run_id).trigger is Trigger.ANSWER
    assert bench.recorded(run_id).late_ms == 3 * _MINUTE


def test_two_answers_get_a_run_each_one_after_the_other(bench: Bench, job_id: str) -> None:
    first = _ask(bench)
    bench.scheduler.trigger(job_id)
    (by_hand,) = bench.tick()
    bench.end(by_hand, question="And which folder?")
    second = bench.scheduler.questions.of_run(by_hand.id)
    assert second is not None
    wanted = [bench.scheduler.questions.answer(asked.id, "this one") for asked in (first, second)]
    started: list[str] = []
    runs = bench.tick()
    while runs:
        (run,) = runs
        started.append(run.id)
        before = len(bench.started)
        bench.end(run)
        runs = bench.started[before:]
    assert started == wanted


def test_an_answer_that_waits_keeps_no_other_job_from_its_manual_run(tmp_path: Path) -> None:
    bench = Bench(tmp_path / "two.db", max_concurrent=2)
    asking = bench.scheduler.add_job("asking", Manual())
    other = bench.scheduler.add_job("other", Manual())
    bench.tick()
    bench.scheduler.trigger(asking)
    (run,) = bench.tick()
    bench.end(run, question="Which branch?")
    (question,) = bench.scheduler.questions.list()
    bench.scheduler.trigger(asking)
    bench.tick()
    bench.scheduler.questions.answer(question.id, "main")
    bench.scheduler.trigger(other)
    assert [run.job_id for run in bench.tick()] == [other]
    bench.close()


def test_an_answer_waits_for_the_limit_and_survives_restarts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(handle, "is_alive", lambda _pid, _start: False)
    bench = Bench(tmp_path / "one.db", max_concurrent=1)
    asking = bench.scheduler.add_job("asking", Every("1h"))
    question = _ask(bench)
    blocker = bench.scheduler.add_job("blocker", Manual())
    bench.scheduler.trigger(blocker)
    (blocking,) = bench.tick()
    run_id = bench.scheduler.questions.answer(question.id, "main")
    assert bench.tick() == []
    bench.crash()
    bench.clock.advance(3 * _DAY)
    (run,) = bench.tick()
    assert (run.id, run.job_id, run.trigger) == (run_id, asking, Trigger.ANSWER)
    assert bench.recorded(blocking.id).outcome is Outcome.INTERRUPTED
    bench.crash()
    bench.tick()
    assert bench.recorded(run_id).outcome is Outcome.INTERRUPTED
    assert [run.id for run in bench.scheduler.get_run_log(asking, trigger=Trigger.ANSWER)] == [run_id]
    bench.close()


@pytest.mark.parametrize("state", ["paused", "disabled"])
def test_an_answer_runs_a_job_that_does_not_run_by_itself(bench: Bench, job_id: str, state: str) -> None:
    question = _ask(bench)
    if state == "paused":
        bench.scheduler.pause_job(job_id)
    else:
        bench.scheduler.update_job(job_id, enabled=False)
    bench.scheduler.questions.answer(question.id, "main")
    (run,) = bench.tick()
    bench.end(run)
    job = bench.job(job_id)
    assert job.status is (JobStatus.PAUSED if state == "paused" else JobStatus.DISABLED)
    assert job.next_run_at is None


def test_an_answer_can_be_taken_back_as_long_as_it_has_no_run(bench: Bench, job_id: str) -> None:
    question = _ask(bench)
    run_id = bench.scheduler.questions.answer(question.id, "main")
    heard: list[Change] = []
    bench.scheduler.subscribe(heard.append)
    bench.scheduler.cancel_run(run_id)
    assert heard == [Change(ChangeKind.QUESTION, job_id=job_id)]
    assert bench.scheduler.questions.list() == [question]
    assert bench.tick() == []
    with pytest.raises(JobNotFoundError):
        bench.scheduler.cancel_run(run_id)
    again = bench.scheduler.questions.answer(question.id, "next")
    assert [run.id for run in bench.tick()] == [again]


def test_cancelling_the_run_of_an_answer_opens_nothing_again(bench: Bench) -> None:
    bench.scheduler.add_job("job", Every("1h"))
    question = _ask(bench)
    run_id = bench.scheduler.questions.answer(question.id, "main")
    bench.tick()
    bench.scheduler.cancel_run(run_id)
    bench.tick()
    assert bench.recorded(run_id).outcome is Outcome.CANCELLED
    assert bench.scheduler.questions.list() == []


def test_while_an_answer_waits_its_job_counts_as_asked_for(bench: Bench, job_id: str) -> None:
    question = _ask(bench)
    bench.scheduler.questions.answer(question.id, "main")
    with pytest.raises(ScheduleTriggerError, match="already waiting to start"):
        bench.scheduler.trigger(job_id)


def test_the_answer_of_a_removed_job_is_dropped_and_its_question_open_again(
    bench: Bench, job_id: str
) -> None:
    question = _ask(bench)
    bench.scheduler.questions.answer(question.id, "main")
    bench.scheduler.remove_job(job_id)
    assert bench.tick() == []
    assert bench.scheduler._store.requests.triggers() == []
    assert bench.scheduler.questions.list() == []
    bench.scheduler.restore_job(job_id)
    assert bench.tick() == []
    assert bench.scheduler.questions.list() == [question]


def test_the_question_of_a_removed_job_cannot_be_answered(bench: Bench, job_id: str) -> None:
    question = _ask(bench)
    bench.scheduler.remove_job(job_id)
    with pytest.raises(JobNotFoundError):
        bench.scheduler.questions.answer(question.id, "main")
    found = bench.scheduler.questions.get(question.id)
    assert found is not None
    assert found.state is QuestionState.OPEN
    bench.scheduler.questions.dismiss(question.id)


@pytest.mark.parametrize("text", ["", " \n\t"])
def test_an_empty_answer_is_refused(bench: Bench, job_id: str, text: str) -> None:
    question = _ask(bench)
    with pytest.raises(ScheduleError, match="text: the answer is empty"):
        bench.scheduler.questions.answer(question.id, text)
    assert bench.scheduler.questions.list() == [question]
    assert question.job_id == job_id


@pytest.mark.parametrize("text", ["a\0b", "x" * 100_001, "\ud800", None])
def test_an_answer_that_cannot_be_kept_is_refused(bench: Bench, job_id: str, text: str) -> None:
    question = _ask(bench)
    with pytest.raises(ScheduleError, match=r"^text: "):
        bench.scheduler.questions.answer(question.id, text)
    assert bench.scheduler.questions.list() == [question]
    assert question.job_id == job_id


def test_a_question_is_settled_only_once(bench: Bench, job_id: str) -> None:
    question = _ask(bench)
    bench.scheduler.questions.answer(question.id, "main")
    for settle in (
        lambda: bench.scheduler.questions.answer(question.id, "next"),
        lambda: bench.scheduler.questions.dismiss(question.id),
    ):
        with pytest.raises(ScheduleError, match="question: this question was already answered"):
            settle()
    assert len(bench.scheduler._store.requests.triggers()) == 1
    assert len(bench.tick()) == 1
    assert question.job_id == job_id


def test_an_answer_to_an_unknown_question_is_refused(bench: Bench) -> None:
    for settle in (
        lambda: bench.scheduler.questions.answer("q", "x"),
        lambda: bench.scheduler.questions.dismiss("q"),
    ):
        with pytest.raises(JobNotFoundError, match="there is no question 'q'"):
            settle()


def test_questions_are_listed_oldest_first_and_with_settled_ones_newest_first(bench: Bench) -> None:
    for name in "abc":
        bench.scheduler.add_job(name, Manual(), job_id=name)
    bench.tick()
    for name in "abc":
        bench.scheduler.trigger(name)
        (run,) = bench.tick()
        bench.end(run, question=name)
    first, second, third = bench.scheduler.questions.list()
    assert [first.text, second.text, third.text] == ["a", "b", "c"]
    assert bench.scheduler.questions.list(limit=2) == [first, second]
    bench.scheduler.questions.dismiss(second.id)
    assert bench.scheduler.questions.list() == [first, third]
    assert [found.text for found in bench.scheduler.questions.list(include_settled=True)] == ["c", "b", "a"]
    assert [found.text for found in bench.scheduler.questions.list(include_settled=True, limit=1)] == ["c"]
