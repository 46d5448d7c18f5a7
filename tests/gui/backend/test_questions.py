"""Questions as the window shows them, and what becomes of an answer."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from asking import ask, question_of
from job_values import MINUTE, NOW
from machine import Bench

from halo_scheduler.errors import ScheduleError
from halo_scheduler.model import Every, Manual, Trigger
from ui.backend.questions import OpenQuestion, Sent, item_words, read_questions, send_answer, web_address


@pytest.fixture
def bench(tmp_path: Path) -> Iterator[Bench]:
    made = Bench(tmp_path / "halo.db", now_ms=NOW, max_concurrent=1)
    made.scheduler.settings.change(max_concurrent=1)
    yield made
    made.close()


def test_the_oldest_comes_first_with_its_job_and_its_item(bench: Bench) -> None:
    scheduler = bench.scheduler
    fix, other = scheduler.add_job("fix", Manual()), scheduler.add_job("other", Manual())
    first = ask(
        scheduler,
        fix,
        "One?\nTwo?",
        at=NOW - MINUTE,
        work_id="#7",
        work_title="Broken <b>login</b>",
        work_url="https://example.org/7",
    )
    second = ask(scheduler, other, "Three?")
    assert read_questions(scheduler) == (
        OpenQuestion(
            id=first.id,
            job_id=fix,
            run_id=first.run_id,
            job_name="fix",
            asked_at=NOW - MINUTE,
            text="One?\nTwo?",
            item="#7 · Broken <b>login</b>",
            item_url="https://example.org/7",
        ),
        OpenQuestion(
            id=second.id,
            job_id=other,
            run_id=second.run_id,
            job_name="other",
            asked_at=NOW,
            text="Three?",
        ),
    )


def test_active_content_is_removed_from_a_question(bench: Bench) -> None:
    job_id = bench.scheduler.add_job("fix", Manual())
    ask(bench.scheduler, job_id, "\x1b[31mred\x1b[0m\n\u202eleft\x00", work_id="a\nb\u2066")
    (question,) = read_questions(bench.scheduler)
    assert not set(question.text + question.item) & set("\x1b\x00\u202e\u2066")
    assert question.text.count("\n") == 1
    assert "\n" not in question.item


def test_questions_of_deleted_jobs_wait_with_them(bench: Bench) -> None:
    job_id = bench.scheduler.add_job("fix", Manual())
    ask(bench.scheduler, job_id)
    bench.scheduler.remove_job(job_id)
    assert read_questions(bench.scheduler) == ()
    bench.scheduler.restore_job(job_id)
    assert len(read_questions(bench.scheduler)) == 1


def _asked(bench: Bench, job_id: str) -> OpenQuestion:
    ask(bench.scheduler, job_id)
    (question,) = read_questions(bench.scheduler)
    return question


def test_an_answer_starts_a_run_when_there_is_a_place(bench: Bench) -> None:
    question = _asked(bench, bench.scheduler.add_job("fix", Manual()))
    bench.tick()
    assert send_answer(bench.scheduler, question, "main") is Sent.STARTS
    (run,) = bench.tick()
    assert run.trigger is Trigger.ANSWER


def test_an_answer_waits_for_the_active_run(bench: Bench) -> None:
    job_id = bench.scheduler.add_job("fix", Manual())
    question = _asked(bench, job_id)
    bench.scheduler.trigger(job_id)
    bench.tick()
    assert send_answer(bench.scheduler, question, "main") is Sent.WAITS_FOR_RUN


def test_an_answer_waits_for_a_place(bench: Bench) -> None:
    bench.scheduler.add_job("long", Every("1m"))
    question = _asked(bench, bench.scheduler.add_job("fix", Manual()))
    bench.tick(MINUTE)
    assert send_answer(bench.scheduler, question, "main") is Sent.WAITS_FOR_PLACE


def test_an_answer_waits_for_an_engine(bench: Bench) -> None:
    question = _asked(bench, bench.scheduler.add_job("fix", Manual()))
    assert send_answer(bench.scheduler, question, "main") is Sent.WAITS_FOR_ENGINE


def test_an_answer_to_a_settled_question_comes_too_late(bench: Bench) -> None:
    job_id = bench.scheduler.add_job("fix", Manual())
    asked = ask(bench.scheduler, job_id)
    (question,) = read_questions(bench.scheduler)
    bench.scheduler.questions.answer(asked.id, "before")
    with pytest.raises(ScheduleError):
        send_answer(bench.scheduler, question, "after")
    assert question_of(bench.scheduler, asked).answer == "before"


@pytest.mark.parametrize(
    ("work_id", "title", "words"),
    [("", "", ""), ("#7", "", "#7"), ("#7", "Fix it", "#7 · Fix it"), ("a.md", "a.md", "a.md")],
)
def test_an_item_is_named_once(work_id: str, title: str, words: str) -> None:
    assert item_words(work_id, title) == words


@pytest.mark.parametrize(
    ("url", "is_for_browsers"),
    [
        ("https://example.org/7?a=b#c", True),
        ("http://localhost:8080/x", True),
        ("", False),
        ("file:///etc/passwd", False),
        ("javascript:alert(1)", False),
        ("https://", False),
        ("https://user:word@example.org/", False),
        ("example.org", False),
        ("smb://host/share", False),
        ("https://exa mple.org/", False),
    ],
)
def test_only_addresses_for_browsers_are_opened(url: str, is_for_browsers: bool) -> None:
    assert web_address(url) == (url if is_for_browsers else "")
