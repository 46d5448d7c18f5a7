"""What the job window says of a job."""

from __future__ import annotations

import re
from typing import Any

import pytest
from job_values import HOUR, MINUTE, NOW, SECOND, make_job, make_run

from halo_scheduler.model import (
    InQuietTime,
    JobStatus,
    Manual,
    Outcome,
    Policy,
    Source,
    StatusReason,
    WaitingFor,
)
from halo_scheduler.model.quiet_times import QuietTime
from halo_scheduler.rules.statistics import TrendPoint
from halo_scheduler.schedule.quiet_times import Quiet
from ui.main_window.table.cells import (
    cell_text,
    cell_tip,
    last_outcome,
    last_text,
    next_text,
    short_duration,
    source_words,
    spoken_text,
    status_sentence,
    streak_sentence,
    trend_sentence,
)
from ui.main_window.table.job_rows import Column, JobFacts, make_row

_NO_FACTS = JobFacts()
pytestmark = pytest.mark.usefixtures("qapp")
_STARTING: dict[str, Any] = {
    "status": JobStatus.RUNNING,
    "next_run_at": None,
    "waiting_for": WaitingFor.RESOURCES,
    "waiting_reason": "free memory to start",
}


def test_a_start_that_is_tried_again_says_so_everywhere() -> None:
    row, run = make_row(make_job(**_STARTING)), make_run(started_at=NOW - SECOND)
    assert status_sentence(row.job, NOW, run) == "Waiting for free memory to start"
    tip = cell_tip(Column.NEXT, row, _NO_FACTS, run, NOW)
    assert "It waits for free memory to start; that is tried again for a while." in tip
    assert "Waiting for free memory to start" in spoken_text(Column.NAME, row, _NO_FACTS, run, NOW)


@pytest.mark.parametrize(
    ("state", "expected"),
    [
        ({}, "in 4 min"),
        ({"status": JobStatus.RUNNING}, "running"),
        ({"status": JobStatus.PAUSED, "next_run_at": None}, "paused"),
        ({"status": JobStatus.DISABLED, "status_reason": StatusReason.USER}, "off"),
        ({"status": JobStatus.DISABLED, "status_reason": StatusReason.DONE}, "done"),
        ({"status": JobStatus.DISABLED, "status_reason": StatusReason.ERRORS}, "off after errors"),
        ({"next_run_at": NOW - 1, "waiting_for": WaitingFor.AT_CAPACITY}, "waiting for a place"),
        (_STARTING, "waiting for free memory to start"),
        ({"next_run_at": None}, "only by hand"),
        ({"status": JobStatus.PAUSED, "status_reason": StatusReason.ASSISTANT}, "paused by assistant"),
    ],
)
def test_when_a_job_runs_next(state: dict[str, Any], expected: str) -> None:
    assert next_text(make_row(make_job(**state)), None, NOW) == expected


@pytest.mark.parametrize(
    ("state", "expected"),
    [
        ({}, "after your answer"),
        ({"status": JobStatus.RUNNING}, "running"),
        # What was answered and waits is no longer held back by the other question.
        ({"waiting_for": WaitingFor.AT_CAPACITY}, "waiting for a place"),
        ({"status": JobStatus.PAUSED}, "paused"),
        ({"status": JobStatus.DISABLED, "status_reason": StatusReason.USER}, "off"),
    ],
)
def test_a_job_that_asks_runs_after_the_answer_unless_something_else_keeps_it(
    state: dict[str, Any], expected: str
) -> None:
    assert next_text(make_row(make_job(**state), asks=True), None, NOW) == expected


def test_a_job_that_asks_says_so_on_hover_and_aloud() -> None:
    row = make_row(make_job(), asks=True)
    assert "Needs you: it waits for your answer" in cell_tip(Column.NAME, row, _NO_FACTS, None, NOW)
    assert "before its question is answered" in cell_tip(Column.NEXT, row, _NO_FACTS, None, NOW)
    assert spoken_text(Column.NAME, row, _NO_FACTS, None, NOW) == "backup, Needs you"


def test_a_job_that_has_reached_its_cap_promises_no_time() -> None:
    row = make_row(make_job(), is_capped=True)
    assert next_text(row, None, NOW) == "cap reached"
    assert "this run will be skipped" in cell_tip(Column.NEXT, row, _NO_FACTS, None, NOW)
    assert "Ready, held back by its cap" in cell_tip(Column.NAME, row, _NO_FACTS, None, NOW)
    running = make_row(make_job(status=JobStatus.RUNNING), is_capped=True)
    assert next_text(running, None, NOW) == "running"


def test_what_else_keeps_a_job_that_asks_from_running_is_told_too() -> None:
    paused = make_job(status=JobStatus.PAUSED)
    assert status_sentence(paused, NOW, asks=True) == "Needs you: it waits for your answer · Paused"
    running = make_job(status=JobStatus.RUNNING)
    assert status_sentence(running, NOW, asks=True) == "Running"


def test_what_an_assistant_made_says_what_to_do_on_hover() -> None:
    row = make_row(make_job(status=JobStatus.PAUSED, status_reason=StatusReason.ASSISTANT))
    tip = cell_tip(Column.NAME, row, _NO_FACTS, None, NOW)
    assert "Paused by an assistant" in tip
    assert "look at it, then resume it" in tip


def test_a_job_that_never_ran_says_so() -> None:
    assert last_text(make_job(), _NO_FACTS, None, NOW) == "never"
    assert last_outcome(make_job(), _NO_FACTS, None) is None


def test_until_a_row_is_read_the_job_itself_tells_of_its_last_run() -> None:
    job = make_job(last_completed_at=NOW - 3 * MINUTE, last_outcome=Outcome.FAILURE)
    assert last_text(job, _NO_FACTS, None, NOW) == "3 min ago"
    assert last_outcome(job, _NO_FACTS, None) is Outcome.FAILURE


@pytest.mark.parametrize(
    ("took_ms", "expected"),
    [
        (None, ""),
        (400, "0.4 s"),
        (12_000, "12 s"),
        (MINUTE + 55_000, "2 min"),
        (59 * MINUTE + 40_000, "1 h"),
        (3 * HOUR, "3 h"),
    ],
)
def test_a_column_shows_the_largest_unit_of_a_duration(took_ms: int | None, expected: str) -> None:
    assert short_duration(took_ms) == expected
    assert short_duration(49 * HOUR) == "2 d"


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        ({}, ""),
        ({"errors": 1}, "Failed once. After 4 more it is switched off."),
        ({"errors": 4}, "Failed 4 times in a row. At the next failure it is switched off."),
        (
            {"errors": 9, "policy": Policy(max_errors=0)},
            "Failed 9 times in a row. It keeps trying, however often it fails.",
        ),
        (
            {"errors": 5, "status": JobStatus.DISABLED},
            "Failed 5 times in a row. It was switched off; resume it when it is fixed.",
        ),
    ],
)
def test_the_error_streak_and_what_happens_at_the_limit(fields: dict[str, Any], expected: str) -> None:
    assert streak_sentence(make_job(**fields)) == expected


@pytest.mark.parametrize(
    ("state", "expected"),
    [
        ({}, "Ready, runs in 4 min"),
        ({"next_run_at": None}, "Ready, runs only by hand"),
        ({"errors": 2}, "Failing, runs in 4 min"),
        ({"status": JobStatus.RUNNING}, "Running"),
    ],
)
def test_what_a_job_is_doing(state: dict[str, Any], expected: str) -> None:
    assert status_sentence(make_job(**state), NOW) == expected


def test_a_pause_tells_its_end() -> None:
    job = make_job(status=JobStatus.PAUSED, paused_until=NOW + HOUR, next_run_at=None)
    assert status_sentence(job, NOW).startswith("Paused until ")
    assert "Paused until" in cell_tip(Column.NEXT, make_row(job), _NO_FACTS, None, NOW)


def test_a_trend_in_words() -> None:
    assert trend_sentence(()) == "It has not run yet."
    points = [TrendPoint("a", Outcome.SUCCESS, 400, NOW), TrendPoint("b", Outcome.MISSED, None, NOW)]
    assert trend_sentence(points) == "Last 2 runs: 1 succeeded, 1 missed.\nTook 0.4 s to 0.4 s."


def test_the_last_run_on_hover_tells_why_it_failed_and_how_long_it_took() -> None:
    facts = JobFacts(last=make_run(Outcome.FAILURE, error="exited with <code> 1"))
    tip = cell_tip(Column.LAST, make_row(make_job()), facts, None, NOW)
    assert "Failed: exited with &lt;code&gt; 1" in tip
    assert "took 12 s" in tip


def test_a_run_under_way_tells_its_progress_on_hover() -> None:
    run = make_run(Outcome.RUNNING, progress=0.5, progress_text="half way", finished_at=None)
    job = make_job(status=JobStatus.RUNNING)
    assert "half way" in cell_tip(Column.NEXT, make_row(job), _NO_FACTS, run, NOW)
    assert "Running 50%" in cell_tip(Column.LAST, make_row(job), _NO_FACTS, run, NOW)


def test_waiting_for_a_place_is_explained() -> None:
    job = make_job(next_run_at=NOW - SECOND, waiting_for=WaitingFor.AT_CAPACITY)
    assert "it starts when one ends" in cell_tip(Column.NEXT, make_row(job), _NO_FACTS, None, NOW)


def test_a_job_that_waits_says_for_what() -> None:
    job = make_job(
        next_run_at=NOW - HOUR,
        waiting_for=WaitingFor.CONDITION,
        waiting_reason="mains power and <i>nas</i>\u202e:22 to answer",
    )
    row = make_row(job)
    reason = "mains power and <i>nas</i>\\u202e:22 to answer"
    assert next_text(row, None, NOW) == f"waiting for {reason}"
    assert status_sentence(job, NOW) == f"Waiting for {reason}"
    tip = cell_tip(Column.NEXT, row, _NO_FACTS, None, NOW)
    assert "Due since" in tip
    assert "It waits for mains power and &lt;i&gt;nas" in tip
    assert spoken_text(Column.NAME, row, _NO_FACTS, None, NOW) == f"backup, Waiting for {reason}"


def test_a_quiet_time_is_told_shortly_in_the_column_and_whole_on_hover() -> None:
    words = "the end of the quiet time Nights at 06:00"
    row = make_row(make_job(next_run_at=NOW - 1, waiting_for=WaitingFor.QUIET_TIME, waiting_reason=words))
    assert next_text(row, None, NOW) == "in a quiet time"
    assert words in cell_tip(Column.NEXT, row, _NO_FACTS, None, NOW)


@pytest.mark.usefixtures("machine_in_berlin")
def test_a_run_that_is_due_in_a_quiet_time_is_told_as_such() -> None:
    quiet = Quiet(NOW + 60 * MINUTE, QuietTime(name="<i>Night</i>"))
    facts, row = JobFacts(quiet=quiet), make_row(make_job())
    assert cell_text(Column.NEXT, row, facts, None, NOW) == "in 4 min · quiet"
    assert spoken_text(Column.NEXT, row, facts, None, NOW) == "next run: in 4 min · quiet"
    tip = cell_tip(Column.NEXT, row, facts, None, NOW)
    assert "That is in the quiet time &lt;i&gt;Night&lt;/i&gt;: it starts when that ends, at 10:00." in tip
    assert "Ready, runs today at 10:00" in cell_tip(Column.NAME, row, facts, None, NOW)
    skips = make_row(make_job(policy=Policy(in_quiet_time=InQuietTime.SKIP)))
    nameless = JobFacts(quiet=Quiet(NOW + 60 * MINUTE, QuietTime()))
    tip = cell_tip(Column.NEXT, skips, nameless, None, NOW)
    assert "That is in a quiet time: it will be skipped." in tip
    told = "Ready, due in 4 min, but that will be skipped"
    assert told in cell_tip(Column.NAME, skips, nameless, None, NOW)


def test_what_keeps_a_run_from_starting_before_a_quiet_time_does_is_told_instead() -> None:
    facts = JobFacts(quiet=Quiet(NOW + 60 * MINUTE, QuietTime()))
    capped = make_row(make_job(), is_capped=True)
    assert cell_text(Column.NEXT, capped, facts, None, NOW) == "cap reached"
    assert "quiet" not in cell_tip(Column.NEXT, capped, facts, None, NOW)


def test_a_job_without_a_time_of_its_own_tells_that_another_starts_it() -> None:
    by_hand = make_job(schedule=Manual(), next_run_at=None)
    row = make_row(by_hand, after=("<b>mirror</b>",))
    assert cell_text(Column.SCHEDULE, row, _NO_FACTS, None, NOW) == "After another job"
    assert next_text(row, None, NOW) == "after <b>mirror</b>"
    tip = cell_tip(Column.NAME, row, _NO_FACTS, None, NOW)
    assert "Ready, runs after &lt;b&gt;mirror&lt;/b&gt;" in tip
    several = make_row(by_hand, after=("a", "b"))
    assert cell_text(Column.SCHEDULE, several, _NO_FACTS, None, NOW) == "After other jobs"
    assert next_text(several, None, NOW) == "after other jobs"
    # Its own time says more.
    timed = make_row(make_job(), after=("mirror",))
    assert cell_text(Column.SCHEDULE, timed, _NO_FACTS, None, NOW) == "Every 15 minutes"
    assert next_text(timed, None, NOW) == "in 4 min"


@pytest.mark.parametrize("source", list(Source))
def test_every_reason_has_words(source: Source) -> None:
    assert source_words(source)


def test_a_run_says_how_far_it_has_come() -> None:
    run = make_run(
        Outcome.RUNNING, started_at=NOW - 65_000, finished_at=None, progress=0.3, progress_text="3 <of> 9"
    )
    job = make_job(status=JobStatus.RUNNING)
    assert status_sentence(job, NOW, run) == "Running for 1 min 5 s · 30% · 3 <of> 9"


@pytest.mark.parametrize(
    ("ahead_ms", "words"),
    [
        (MINUTE, r"paused until \d\d:\d\d"),
        (24 * HOUR, r"paused until [A-Z][a-z]{2}"),
        (20 * 24 * HOUR, r"paused until \d+ [A-Z][a-z]{2}"),
    ],
)
def test_a_pause_is_told_as_short_as_a_column_needs_it(ahead_ms: int, words: str) -> None:
    job = make_job(status=JobStatus.PAUSED, next_run_at=None, paused_until=NOW + ahead_ms)
    assert re.fullmatch(words, next_text(make_row(job), None, NOW))
