"""What the job window says of a job."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Any

import pytest
from chain_waits import quiet, unmet, waits
from job_values import HOUR, MINUTE, NOW, SECOND, make_job, make_run, row_of, situation_of

from halo_scheduler.model import (
    InQuietTime,
    JobStatus,
    MainsPower,
    Manual,
    Outcome,
    PathExists,
    Policy,
    SkipReason,
    StatusReason,
    WaitingFor,
)
from halo_scheduler.model.settings import Quiet, QuietTime
from halo_scheduler.rules.statistics import TrendPoint
from ui.main_window.table.cells import (
    cell_text,
    cell_tip,
    last_outcome,
    last_text,
    live_status,
    next_text,
    short_duration,
    spoken_text,
    streak_sentence,
    trend_sentence,
)
from ui.main_window.table.job_rows import Column, JobFacts

_NO_FACTS = JobFacts()
pytestmark = pytest.mark.usefixtures("qapp")


@pytest.mark.parametrize(
    ("state", "expected"),
    [
        ({}, "in 4 min"),
        ({"status": JobStatus.RUNNING}, "running"),
        ({"status": JobStatus.PAUSED, "next_run_at": None}, "paused"),
        ({"status": JobStatus.DISABLED, "status_reason": StatusReason.USER}, "disabled"),
        ({"status": JobStatus.DISABLED, "status_reason": StatusReason.DONE}, "done"),
        ({"status": JobStatus.DISABLED, "status_reason": StatusReason.ERRORS}, "disabled: cannot be run"),
        ({"next_run_at": NOW - 1, "waiting_for": WaitingFor.AT_CAPACITY}, "waiting: limit reached"),
        ({"next_run_at": None}, "manual only"),
        ({"status": JobStatus.PAUSED, "status_reason": StatusReason.ASSISTANT}, "paused by an assistant"),
    ],
)
def test_when_a_job_runs_next(state: dict[str, Any], expected: str) -> None:
    assert next_text(row_of(make_job(**state)).situation, None, NOW) == expected


@pytest.mark.parametrize(
    ("state", "expected"),
    [
        ({}, "on hold until you answer"),
        ({"status": JobStatus.RUNNING}, "running"),
        # What was answered and waits is no longer held back by the other question.
        ({"waiting_for": WaitingFor.AT_CAPACITY}, "waiting: limit reached"),
        ({"status": JobStatus.PAUSED}, "needs you, paused"),
        ({"status": JobStatus.DISABLED, "status_reason": StatusReason.USER}, "needs you, disabled"),
    ],
)
def test_a_job_that_asks_runs_after_the_answer_unless_something_else_keeps_it(
    state: dict[str, Any], expected: str
) -> None:
    assert next_text(row_of(make_job(**state), asks=True).situation, None, NOW) == expected


def test_a_job_with_a_question_is_described_in_tooltip_and_for_screen_readers() -> None:
    row = row_of(make_job(), asks=True)
    assert "Needs you" in cell_tip(Column.NAME, row, _NO_FACTS, None, NOW)
    assert "On hold until its question is answered" in cell_tip(Column.NEXT, row, _NO_FACTS, None, NOW)
    assert spoken_text(Column.NAME, row, _NO_FACTS, None, NOW) == "backup, Needs you"


def test_a_job_at_its_daily_limit_shows_no_time() -> None:
    row = row_of(make_job(), is_capped=True)
    assert next_text(row.situation, None, NOW) == "daily limit reached"
    assert "this run will be skipped" in cell_tip(Column.NEXT, row, _NO_FACTS, None, NOW)
    assert "Daily limit reached" in cell_tip(Column.NAME, row, _NO_FACTS, None, NOW)
    skipped = replace(row, situation=row.situation._replace(blocker=SkipReason.USER))
    assert "skipped on request" in cell_tip(Column.NEXT, skipped, _NO_FACTS, None, NOW)
    running = row_of(make_job(status=JobStatus.RUNNING), is_capped=True)
    assert next_text(running.situation, None, NOW) == "running"


def test_other_blockers_of_a_job_with_a_question_are_shown_too() -> None:
    paused = make_job(status=JobStatus.PAUSED)
    assert live_status(situation_of(paused, asks=True), NOW) == "Needs you, paused"
    running = make_job(status=JobStatus.RUNNING)
    assert live_status(situation_of(running, asks=True), NOW) == "Running"


def test_the_tooltip_of_a_job_from_an_assistant_gives_advice() -> None:
    row = row_of(make_job(status=JobStatus.PAUSED, status_reason=StatusReason.ASSISTANT))
    tip = cell_tip(Column.NAME, row, _NO_FACTS, None, NOW)
    assert "Paused by an assistant" in tip
    assert "Review it, then resume it" in tip


def test_a_job_that_never_ran_shows_never() -> None:
    assert last_text(row_of(make_job()), _NO_FACTS, None, NOW) == "never"
    assert last_outcome(row_of(make_job()), _NO_FACTS) is None


def test_until_a_row_is_read_the_job_itself_reports_its_last_run() -> None:
    job = make_job(last_completed_at=NOW - 3 * MINUTE, last_outcome=Outcome.FAILURE)
    assert last_text(row_of(job), _NO_FACTS, None, NOW) == "3 min ago"
    assert last_outcome(row_of(job), _NO_FACTS) is Outcome.FAILURE


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
        ({"errors": 1}, "Failed once. Disabled after 4 more."),
        ({"errors": 4}, "Failed 4 times in a row. Disabled after 1 more."),
        (
            {"errors": 9, "policy": Policy(max_errors=0)},
            "Failed 9 times in a row. Keeps running on schedule.",
        ),
        (
            {"errors": 5, "status": JobStatus.DISABLED},
            "Failed 5 times in a row. Disabled; resume it when it's fixed.",
        ),
    ],
)
def test_the_failure_streak_and_what_happens_at_the_limit(fields: dict[str, Any], expected: str) -> None:
    assert streak_sentence(make_job(**fields)) == expected


@pytest.mark.parametrize(
    ("state", "expected"),
    [
        ({}, "Ready, next run in 4 min"),
        ({"next_run_at": None}, "Ready, manual only"),
        ({"errors": 2}, "Failing, next run in 4 min"),
        ({"status": JobStatus.RUNNING}, "Running"),
    ],
)
def test_the_status_of_a_job(state: dict[str, Any], expected: str) -> None:
    assert live_status(situation_of(make_job(**state)), NOW) == expected


def test_a_pause_shows_its_end() -> None:
    job = make_job(status=JobStatus.PAUSED, paused_until=NOW + HOUR, next_run_at=None)
    assert live_status(situation_of(job), NOW).startswith("Paused until ")
    assert "Paused until" in cell_tip(Column.NEXT, row_of(job), _NO_FACTS, None, NOW)


def test_a_trend_in_words() -> None:
    assert trend_sentence(()) == "No runs yet."
    points = [TrendPoint("a", Outcome.SUCCESS, 400, NOW), TrendPoint("b", Outcome.MISSED, None, NOW)]
    assert trend_sentence(points) == "Last 2 runs: 1 succeeded, 1 missed.\nDuration: 0.4 s to 0.4 s."


def test_the_last_run_on_hover_explains_why_it_failed_and_how_long_it_took() -> None:
    facts = JobFacts(last=make_run(Outcome.FAILURE, error="exited with <code> 1"))
    tip = cell_tip(Column.LAST, row_of(make_job()), facts, None, NOW)
    assert "Failed: exited with <\u2060code> 1" in tip
    assert "took 12 s" in tip


def test_an_active_run_shows_its_progress_on_hover() -> None:
    run = make_run(Outcome.RUNNING, progress=0.5, progress_text="half way", finished_at=None)
    job = make_job(status=JobStatus.RUNNING)
    assert "half way" in cell_tip(Column.NEXT, row_of(job), _NO_FACTS, run, NOW)
    assert "Running 50%" in cell_tip(Column.LAST, row_of(job), _NO_FACTS, run, NOW)


def test_waiting_for_the_limit_is_explained() -> None:
    job = make_job(next_run_at=NOW - SECOND, waiting_for=WaitingFor.AT_CAPACITY)
    assert "Limit reached. Starts when a run ends." in cell_tip(
        Column.NEXT, row_of(job), _NO_FACTS, None, NOW
    )


def test_a_job_that_waits_says_for_what() -> None:
    job = make_job(
        next_run_at=NOW - HOUR,
        **waits(unmet(MainsPower(), PathExists(path="/<i>nas</i>\u202e"))),
    )
    row = row_of(job)
    reason = "AC power and /<i>nas</i>\\u202e to exist"
    assert next_text(row.situation, None, NOW) == f"waiting for {reason}"
    assert live_status(situation_of(job), NOW) == f"Waiting for {reason}"
    tip = cell_tip(Column.NEXT, row, _NO_FACTS, None, NOW)
    assert "Due since" in tip
    assert "Waiting for AC power and /<\u2060i>nas" in tip
    assert spoken_text(Column.NAME, row, _NO_FACTS, None, NOW) == f"backup, Waiting for {reason}"


def test_quiet_hours_are_short_in_the_column_and_full_in_the_tooltip() -> None:
    row = row_of(make_job(next_run_at=NOW - 1, **waits(quiet("Nights", NOW + HOUR))))
    assert re.fullmatch(r"quiet until \d\d:\d\d", next_text(row.situation, None, NOW))
    assert "Starts when quiet hours “Nights” end." in cell_tip(Column.NEXT, row, _NO_FACTS, None, NOW)


@pytest.mark.usefixtures("machine_in_berlin")
def test_a_run_due_in_quiet_hours_is_marked() -> None:
    night = Quiet(NOW + 60 * MINUTE, QuietTime(name="<i>Night</i>"))
    facts, row = _NO_FACTS, row_of(make_job(), quiet=night)
    assert cell_text(Column.NEXT, row, facts, None, NOW) == "in 4 min · quiet"
    assert spoken_text(Column.NEXT, row, facts, None, NOW) == "next run: in 4 min · quiet"
    tip = cell_tip(Column.NEXT, row, facts, None, NOW)
    assert "Falls in the quiet hours <\u2060i>Night<\u2060/i> and starts when they end, at 10:00." in tip
    assert "Ready, next run in 4 min · quiet" in cell_tip(Column.NAME, row, facts, None, NOW)
    nameless = Quiet(NOW + 60 * MINUTE, QuietTime())
    skips = row_of(make_job(policy=Policy(in_quiet_time=InQuietTime.SKIP)), quiet=nameless)
    tip = cell_tip(Column.NEXT, skips, facts, None, NOW)
    assert "Falls in quiet hours and will be skipped." in tip
    told = "Ready, next run in 4 min · skipped"
    assert told in cell_tip(Column.NAME, skips, facts, None, NOW)


def test_a_blocker_before_quiet_hours_is_shown_instead() -> None:
    facts = _NO_FACTS
    capped = row_of(make_job(), is_capped=True, quiet=Quiet(NOW + 60 * MINUTE, QuietTime()))
    assert cell_text(Column.NEXT, capped, facts, None, NOW) == "daily limit reached"
    assert "quiet" not in cell_tip(Column.NEXT, capped, facts, None, NOW)


def test_a_job_without_a_time_of_its_own_shows_that_another_starts_it() -> None:
    by_hand = make_job(schedule=Manual(), next_run_at=None)
    row = row_of(by_hand, after=("<b>mirror</b>",))
    assert cell_text(Column.SCHEDULE, row, _NO_FACTS, None, NOW) == "After another job"
    assert next_text(row.situation, None, NOW) == "after <b>mirror</b>"
    tip = cell_tip(Column.NAME, row, _NO_FACTS, None, NOW)
    assert "Ready, after <\u2060b>mirror<\u2060/b>" in tip
    several = row_of(by_hand, after=("a", "b"))
    assert cell_text(Column.SCHEDULE, several, _NO_FACTS, None, NOW) == "After other jobs"
    assert next_text(several.situation, None, NOW) == "after a and b"
    # Its own time says more.
    timed = row_of(make_job(), after=("mirror",))
    assert cell_text(Column.SCHEDULE, timed, _NO_FACTS, None, NOW) == "Every 15 min"
    assert next_text(timed.situation, None, NOW) == "in 4 min"


def test_a_run_says_how_far_it_has_come() -> None:
    run = make_run(
        Outcome.RUNNING, started_at=NOW - 65_000, finished_at=None, progress=0.3, progress_text="3 <of> 9"
    )
    job = make_job(status=JobStatus.RUNNING)
    assert live_status(situation_of(job), NOW, run) == "Running for 1 min 5 s · 30% · 3 <of> 9"


@pytest.mark.parametrize(
    ("ahead_ms", "words"),
    [
        (MINUTE, r"paused until \d\d:\d\d"),
        (24 * HOUR, r"paused until [A-Z][a-z]{2} \d\d:\d\d"),
        (20 * 24 * HOUR, r"paused until \d+ [A-Z][a-z]{2} \d\d:\d\d"),
    ],
)
def test_a_pause_is_reported_as_short_as_a_column_needs_it(ahead_ms: int, words: str) -> None:
    job = make_job(status=JobStatus.PAUSED, next_run_at=None, paused_until=NOW + ahead_ms)
    assert re.fullmatch(words, next_text(row_of(job).situation, None, NOW))
