"""Rows of the job table: how they are searched, filtered and sorted."""

from __future__ import annotations

from collections.abc import Sequence

from chain_waits import MAINS, waits
from job_values import HOUR, MINUTE, NOW, make_job, row_of

from halo_scheduler.model import (
    After,
    Cron,
    Every,
    Follower,
    Job,
    JobStatus,
    Manual,
    Once,
    Schedule,
    WaitingFor,
)
from ui.main_window.table.job_rows import (
    Column,
    Followers,
    schedule_words,
    short_schedule_words,
    sort_key,
)


def _sorted(jobs: Sequence[Job], column: Column) -> list[str]:
    return [row.job.name for row in sorted(map(row_of, jobs), key=sort_key(column))]


def test_numbers_in_names_sort_as_numbers() -> None:
    jobs = [make_job(name) for name in ("job 10", "Job 9", "job", "job 9 b", "9 lives")]
    assert _sorted(jobs, Column.NAME) == ["9 lives", "job", "Job 9", "job 9 b", "job 10"]


def test_very_long_digits_sort_quickly() -> None:
    assert _sorted([make_job("9" * 200), make_job("1" * 200)], Column.NAME)[0].startswith("1")


def test_running_jobs_sort_first_then_upcoming_and_manual_ones_last() -> None:
    jobs = [
        make_job("off", next_run_at=None, status=JobStatus.DISABLED),
        make_job("later", next_run_at=NOW + 2),
        make_job("paused", next_run_at=None, paused_until=NOW, status=JobStatus.PAUSED),
        make_job("soon", next_run_at=NOW + 1),
        make_job("running", next_run_at=None, status=JobStatus.RUNNING),
    ]
    assert _sorted(jobs, Column.NEXT) == ["running", "soon", "later", "paused", "off"]


def test_blocked_jobs_sort_after_planned_ones() -> None:
    rows = [
        row_of(make_job("capped", next_run_at=NOW), is_capped=True),
        row_of(make_job("asks", next_run_at=NOW), asks=True),
        row_of(make_job("paused", next_run_at=None, status=JobStatus.PAUSED)),
        row_of(make_job("soon", next_run_at=NOW + 1)),
    ]
    found = sorted(rows, key=sort_key(Column.NEXT))
    assert [row.job.name for row in found] == ["soon", "asks", "capped", "paused"]


def test_the_newest_run_comes_first() -> None:
    jobs = [
        make_job("never"),
        make_job("old", last_run_at=NOW - MINUTE),
        make_job("new", last_run_at=NOW),
    ]
    assert _sorted(jobs, Column.LAST) == ["new", "old", "never"]


def test_schedules_sort_by_pace_and_then_by_time_of_day() -> None:
    schedules: tuple[Schedule, ...] = (
        Every("5m"),
        Cron("*/15 * * * *"),
        Every("30m"),
        After("1h"),
        Cron("0 9-17 * * 1-5"),
        Cron("0 8,20 * * *"),
        Cron("0 9 * * *"),
        Cron("30 14 * * *"),
        Cron("0 9 * * 1-5"),
        Every("7d"),
        Cron("0 9 * * 1"),
        Cron("0 9 * * 0"),
        Cron("0 9 * * 1#1"),
        Cron("0 9 1 * *"),
        Cron("0 9 1 1 *"),
        Once(NOW),
        Manual(),
    )
    names = [f"{len(schedules) - index} {short_schedule_words(one)}" for index, one in enumerate(schedules)]
    jobs = [make_job(name, schedule=one) for name, one in zip(names, schedules, strict=True)]
    assert _sorted(jobs[::-1], Column.SCHEDULE) == names


def test_letters_with_accents_sort_beside_those_without() -> None:
    jobs = [make_job(name) for name in ("Verify", "Überprüfung", "Updates", "École", "Echo")]
    assert _sorted(jobs, Column.NAME) == ["Echo", "École", "Überprüfung", "Updates", "Verify"]


def test_a_schedule_begins_a_sentence() -> None:
    assert schedule_words(Every("15m")) == "Every 15 minutes"
    assert short_schedule_words(Every("15m")) == "Every 15 min"


def test_waiting_jobs_sort_between_running_and_upcoming_ones_longest_first() -> None:
    mains = waits(MAINS)
    jobs = [
        make_job("soon", next_run_at=NOW + MINUTE),
        make_job("by hand", next_run_at=None),
        make_job("since a minute", next_run_at=NOW - MINUTE, **mains),
        make_job("since an hour", next_run_at=NOW - HOUR, **mains),
        # A run that another job started has no time of its own.
        make_job("after another", next_run_at=None, waiting_for=WaitingFor.AT_CAPACITY),
        make_job("running", status=JobStatus.RUNNING),
    ]
    assert _sorted(jobs, Column.NEXT) == [
        *("running", "after another", "since an hour", "since a minute", "soon", "by hand"),
    ]


def test_the_predecessors_of_a_job_come_from_the_next_jobs_of_others() -> None:
    first = row_of(make_job("first", followers=(Follower(job_id="then"),)))
    followers = Followers([first, row_of(make_job("then"))])
    assert followers.take([first], []) == frozenset()
    other = row_of(make_job("first", followers=(Follower(job_id="last"),)))
    assert followers.take([other], []) == {"then", "last"}
    assert followers._causes == {"last": ("first",)}
    second = row_of(make_job("a second", followers=(Follower(job_id="last"),)))
    assert followers.take([second], []) == {"last"}
    assert followers._causes == {"last": ("a second", "first")}
    assert followers.take([], ["a second"]) == {"last"}
    assert followers.take([], ["then"]) == frozenset()
    assert followers.take([], ["first"]) == {"last"}
    assert followers._causes == {}
