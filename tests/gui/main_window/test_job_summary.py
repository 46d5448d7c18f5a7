"""What all jobs together are doing."""

from __future__ import annotations

import pytest
from job_values import MINUTE, NOW, make_job

from halo_scheduler.model import InQuietTime, JobStatus, Policy, StatusReason, WaitingFor
from halo_scheduler.model.quiet_times import QuietTime
from ui.backend.quiet_times import QuietHours
from ui.main_window.job_totals import sum_up
from ui.main_window.table.job_rows import make_row
from ui.widgets.waiting_text import WaitingJob, WaitingJobs, waiting_line


def test_without_jobs_nothing_comes() -> None:
    totals = sum_up(())
    assert totals.next_at is None
    assert totals.summary.next_name == ""
    assert totals.groups == frozenset()


def test_every_job_is_counted_by_what_it_does() -> None:
    summary = sum_up(
        make_row(job)
        for job in [
            make_job("a", status=JobStatus.RUNNING, next_run_at=None),
            make_job("b", status=JobStatus.PAUSED, next_run_at=None),
            make_job("c", errors=2),
            make_job("d", status=JobStatus.DISABLED, status_reason=StatusReason.ERRORS, next_run_at=None),
        ]
    ).summary
    assert (summary.running, summary.paused, summary.ready, summary.failing) == (1, 1, 1, 2)


def test_the_next_is_the_earliest_that_does_not_wait_for_a_place() -> None:
    totals = sum_up(
        make_row(job)
        for job in [
            make_job("late", next_run_at=NOW - MINUTE, waiting_for=WaitingFor.AT_CAPACITY, group="G"),
            make_job("later", next_run_at=NOW + 2 * MINUTE),
            make_job("n" * 100, next_run_at=NOW + MINUTE),
        ]
    )
    assert totals.next_at == NOW + MINUTE
    assert totals.summary.waiting == WaitingJobs((WaitingJob("late", "a place"),), 1, is_alike=True)
    assert totals.summary.next_name.startswith("nnn")
    assert len(totals.summary.next_name) <= 40
    assert totals.groups == {"G"}


def test_what_is_held_back_is_not_said_to_come_next() -> None:
    held = [
        make_row(make_job("asks", next_run_at=NOW), asks=True),
        make_row(make_job("capped", next_run_at=NOW), is_capped=True),
    ]
    assert sum_up(held).next_at is None
    totals = sum_up([*held, make_row(make_job("later", next_run_at=NOW + MINUTE))])
    assert (totals.summary.next_name, totals.next_at) == ("later", NOW + MINUTE)
    assert totals.summary.ready == 3


@pytest.mark.usefixtures("machine_in_berlin")
def test_what_is_due_in_a_quiet_time_comes_at_its_end_or_not_at_all() -> None:
    # It is 09:00 in Berlin.
    hours = QuietHours((QuietTime(group="web", start="08:00", end="09:30"),))
    skips = Policy(in_quiet_time=InQuietTime.SKIP)
    quiet = [
        make_row(make_job("skips", next_run_at=NOW + MINUTE, group="web", policy=skips)),
        make_row(make_job("waits", next_run_at=NOW + 2 * MINUTE, group="web")),
    ]
    totals = sum_up(quiet, hours)
    assert (totals.summary.next_name, totals.next_at) == ("waits", NOW + 30 * MINUTE)
    totals = sum_up([*quiet, make_row(make_job("loud", next_run_at=NOW + 9 * MINUTE))], hours)
    assert (totals.summary.next_name, totals.next_at) == ("loud", NOW + 9 * MINUTE)
    assert sum_up(quiet[:1], hours).next_at is None


def test_those_that_wait_for_quiet_times_to_end_wait_for_the_same() -> None:
    waits = {"waiting_for": WaitingFor.QUIET_TIME, "next_run_at": NOW}
    jobs = [
        make_job(name, waiting_reason=f"the end of the quiet time {name} at 06:00", **waits) for name in "ab"
    ]
    assert waiting_line(sum_up(map(make_row, jobs)).summary.waiting) == "2 jobs wait for a quiet time to end"
    only = sum_up([make_row(jobs[0])]).summary.waiting
    assert waiting_line(only) == "a waits for the end of the quiet time a at 06:00"


def test_what_an_assistant_made_is_not_among_what_can_be_resumed_together() -> None:
    made = make_job(status=JobStatus.PAUSED, status_reason=StatusReason.ASSISTANT, next_run_at=None)
    summary = sum_up([make_row(made)]).summary
    assert summary.paused == 0
    assert not summary.is_all_paused


def test_of_many_that_wait_only_the_first_are_told_by_name() -> None:
    waits = {"waiting_for": WaitingFor.CONDITION, "next_run_at": NOW}
    jobs = [
        make_job("n" * 100, waiting_reason="network", **waits),
        make_job("b", waiting_reason="mains power", **waits),
        make_job("c", waiting_reason="network", **waits),
    ]
    waiting = sum_up(map(make_row, jobs)).summary.waiting
    assert [one.reason for one in waiting.first] == ["network", "mains power"]
    assert len(waiting.first[0].name) <= 24
    assert (waiting.count, waiting.is_alike) == (3, False)
    assert sum_up([make_row(jobs[0]), make_row(jobs[2])]).summary.waiting.is_alike
