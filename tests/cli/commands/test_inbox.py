"""`halo inbox` and `answer`: what runs ask, and which of them is meant."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from asking import ask, question_of
from click.testing import CliRunner, Result

from halo_scheduler import Command, Every, JobNotFoundError, Manual, ScheduleError, SchedulerError
from halo_scheduler.cli import halo
from halo_scheduler.clock import ManualClock
from halo_scheduler.model import QuestionState
from halo_scheduler.service.scheduler import Scheduler


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("HALO_HOME", str(tmp_path))
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path))
    return tmp_path


@pytest.fixture
def scheduler(home: Path) -> Iterator[Scheduler]:
    assert home.exists()
    with Scheduler.open(clock=ManualClock(1_800_000_000_000)) as opened:
        yield opened


def _halo(*arguments: str, stdin: str | bytes | None = None) -> Result:
    return CliRunner().invoke(halo, arguments, input=stdin)


def _job(scheduler: Scheduler, name: str = "review") -> str:
    return scheduler.add_job(name, Manual(), Command(argv=("true",)))


def test_an_empty_inbox_says_so() -> None:
    assert _halo("inbox").output == "no open questions\n"
    assert _halo("inbox", "--all").output == "no questions yet\n"
    assert json.loads(_halo("inbox", "--json").output) == []


def test_questions_are_shown_in_full_with_their_job_and_item(scheduler: Scheduler) -> None:
    first = ask(scheduler, _job(scheduler), "Which one?\nThe first\x1b[31m or the second?", work_id="7")
    second = ask(scheduler, _job(scheduler, "other"), "And now?")
    lines = _halo("inbox").output.splitlines()
    assert lines[0].startswith("◆ review · ")
    assert lines[0].endswith(f" · {first.run_id[:8]} · on 7")
    assert lines[1:3] == ["    Which one?", r"    The first\x1b[31m or the second?"]
    assert lines[-1] == "answer with: halo answer RUN TEXT"
    listed = json.loads(_halo("inbox", "--json").output)
    assert [(item["run_id"], item["job_name"]) for item in listed] == [
        (first.run_id, "review"),
        (second.run_id, "other"),
    ]


def test_settled_questions_are_shown_when_they_are_wanted(scheduler: Scheduler) -> None:
    question = ask(scheduler, _job(scheduler), "Which one?")
    assert _halo("answer", question.run_id, "the second").exit_code == 0
    assert _halo("inbox").output == "no open questions\n"
    text = _halo("inbox", "--all").output
    assert "· answered\n    Which one?\n    → the second\n" in text
    assert "halo answer RUN" not in text


@pytest.mark.parametrize("how", ["id", "beginning", "name", "job id", "question id"])
def test_a_question_is_found_by_run_id_or_job_name(scheduler: Scheduler, how: str) -> None:
    job_id = _job(scheduler)
    question = ask(scheduler, job_id)
    ask(scheduler, _job(scheduler, "other"))
    scheduler._store.database.rows(
        "UPDATE scheduler_questions SET run_id = 'abcdef0123' WHERE id = ?", [question.id]
    )
    wanted = {"id": "abcdef0123", "beginning": "abcd", "name": "review", "job id": job_id}
    wanted["question id"] = json.loads(_halo("inbox", "--json").output)[0]["id"]
    done = _halo("answer", wanted[how], "the second")
    assert done.exit_code == 0, done.exception
    assert done.output.startswith("answered; review runs as soon as Halo is running")
    found = question_of(scheduler, question)
    assert (found.state, found.answer) == (QuestionState.ANSWERED, "the second")
    assert scheduler.runs.waiting_of(job_id) == found.answer_run_id


def test_an_answer_may_come_from_a_pipe(scheduler: Scheduler) -> None:
    question = ask(scheduler, _job(scheduler))
    assert _halo("answer", "review", "-", stdin="a long\nanswer\n").exit_code == 0
    assert question_of(scheduler, question).answer == "a long\nanswer"


def test_a_question_may_be_dismissed(scheduler: Scheduler) -> None:
    job_id = scheduler.add_job("review", Every("15m"), Command(argv=("true",)))
    question = ask(scheduler, job_id)
    assert _halo("answer", "review", "--dismiss").output == "dismissed; review is back on schedule\n"
    assert question_of(scheduler, question).state is QuestionState.DISMISSED
    assert scheduler.runs.waiting_of(job_id) is None


def test_dismissing_promises_nothing_that_does_not_follow(scheduler: Scheduler) -> None:
    first, _ = ask(scheduler, _job(scheduler)), ask(scheduler, _job(scheduler, "other"))
    ask(scheduler, first.job_id, "And this?")
    assert _halo("answer", first.run_id, "--dismiss").output == "dismissed; review has more open questions\n"
    assert _halo("answer", "review", "--dismiss").output == "dismissed\n"


def test_all_that_waits_is_shown_however_much_it_is(scheduler: Scheduler) -> None:
    job_id = _job(scheduler)
    for _ in range(101):
        ask(scheduler, job_id)
    assert _halo("inbox").output.count("◆") == 101


def test_a_wrong_one_suggests_the_nearest(scheduler: Scheduler) -> None:
    ask(scheduler, _job(scheduler))
    _job(scheduler, "silent")
    error = _halo("answer", "reveiw", "x").exception
    assert isinstance(error, JobNotFoundError)
    assert str(error) == "no open question of 'reveiw'; did you mean 'review'?"
    assert "no open question of 'silent'" in str(_halo("answer", "silent", "x").exception)


def test_a_job_with_two_questions_needs_to_know_which(scheduler: Scheduler) -> None:
    job_id = _job(scheduler)
    questions = [ask(scheduler, job_id, "One?"), ask(scheduler, job_id, "Two?")]
    done = _halo("answer", "review", "x")
    assert done.exit_code == 2
    assert "review has 2 open questions; give the run: " in done.output
    assert _halo("answer", questions[1].run_id, "x").exit_code == 0
    assert _halo("answer", "review", "x").exit_code == 0


def test_an_answered_question_is_not_answered_again(scheduler: Scheduler) -> None:
    question = ask(scheduler, _job(scheduler))
    _halo("answer", question.run_id, "--dismiss")
    error = _halo("answer", question.run_id, "x").exception
    assert isinstance(error, SchedulerError)
    assert str(error) == "the question is already dismissed"


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["review"], "give either an answer or --dismiss"),
        (["review", "x", "--dismiss"], "give either an answer or --dismiss"),
        (["review", "--dismiss", "--wait"], "--wait needs an answer"),
        (["review", "-"], "the answer: standard input is not UTF-8 text"),
    ],
)
def test_wrong_use_is_refused_and_the_question_stays_open(
    scheduler: Scheduler, arguments: list[str], sentence: str
) -> None:
    question = ask(scheduler, _job(scheduler))
    done = _halo("answer", *arguments, stdin=b"\xff\xfe")
    assert done.exit_code == 2
    assert sentence in done.output
    assert question_of(scheduler, question).state is QuestionState.OPEN


def test_an_empty_answer_is_refused(scheduler: Scheduler) -> None:
    question = ask(scheduler, _job(scheduler))
    error = _halo("answer", "review", "  ").exception
    assert isinstance(error, ScheduleError)
    assert "write one, or dismiss the question" in str(error)
    assert question_of(scheduler, question).state is QuestionState.OPEN


def test_without_an_engine_answering_does_not_wait(scheduler: Scheduler) -> None:
    question = ask(scheduler, _job(scheduler))
    error = _halo("answer", "review", "x", "--wait").exception
    assert "Halo isn't running" in str(error)
    assert question_of(scheduler, question).state is QuestionState.OPEN
