"""Rows of the job table: how they are searched, filtered and sorted."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
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
    StatusReason,
    WaitingFor,
)
from ui.main_window.table.job_rows import (
    Column,
    Followers,
    JobFilter,
    StatusChoice,
    schedule_words,
    sort_key,
)


def _sorted(jobs: Sequence[Job], column: Column) -> list[str]:
    return [row.job.name for row in sorted(map(row_of, jobs), key=sort_key(column))]


def _found(jobs: Sequence[Job], chosen: JobFilter) -> list[str]:
    return [row.job.name for row in chosen.choose([row_of(job) for job in jobs])]


def test_numbers_in_names_sort_as_numbers() -> None:
    jobs = [make_job(name) for name in ("job 10", "Job 9", "job", "job 9 b", "9 lives")]
    assert _sorted(jobs, Column.NAME) == ["9 lives", "job", "Job 9", "job 9 b", "job 10"]


def test_endless_digits_are_no_trouble() -> None:
    assert _sorted([make_job("9" * 200), make_job("1" * 200)], Column.NAME)[0].startswith("1")


def test_what_runs_comes_before_what_is_next_and_what_never_runs_comes_last() -> None:
    jobs = [
        make_job("off", next_run_at=None, status=JobStatus.DISABLED),
        make_job("later", next_run_at=NOW + 2),
        make_job("paused", next_run_at=None, paused_until=NOW, status=JobStatus.PAUSED),
        make_job("soon", next_run_at=NOW + 1),
        make_job("running", next_run_at=None, status=JobStatus.RUNNING),
    ]
    assert _sorted(jobs, Column.NEXT) == ["running", "soon", "later", "paused", "off"]


def test_what_is_held_back_comes_after_what_runs_at_a_time() -> None:
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


def test_schedules_sort_by_pace() -> None:
    schedules: dict[str, Schedule] = {
        "manual": Manual(),
        "once": Once(NOW),
        "daily": Cron("0 9 * * *"),
        "after": After("1m"),
        "hourly": Every("1h"),
        "often": Every("1m"),
    }
    jobs = [make_job(name, schedule=schedule) for name, schedule in schedules.items()]
    assert _sorted(jobs, Column.SCHEDULE) == ["often", "hourly", "after", "daily", "once", "manual"]


@pytest.mark.parametrize("text", ["STRASSE", "straße", " clean ", "home", "two\nlines"])
def test_names_groups_and_descriptions_are_searched_whatever_their_case(text: str) -> None:
    wanted = make_job("Straße", group="Home", description="clean up\ntwo\nlines")
    assert _found([wanted, make_job("other")], JobFilter(text=text)) == ["Straße"]


@pytest.mark.parametrize(
    ("status", "expected"),
    [
        (StatusChoice.ALL, ["ready", "running", "waiting", "failing", "paused", "off", "gave up"]),
        (StatusChoice.RUNNING, ["running"]),
        (StatusChoice.WAITING, ["waiting"]),
        (StatusChoice.FAILING, ["failing", "gave up"]),
        (StatusChoice.PAUSED, ["paused"]),
        (StatusChoice.OFF, ["off", "gave up"]),
    ],
)
def test_a_status_is_chosen(status: StatusChoice, expected: list[str]) -> None:
    jobs = [
        make_job("ready"),
        make_job("running", status=JobStatus.RUNNING),
        make_job("waiting", waiting_for=WaitingFor.AT_CAPACITY),
        make_job("failing", errors=1),
        make_job("paused", status=JobStatus.PAUSED),
        make_job("off", status=JobStatus.DISABLED, status_reason=StatusReason.USER),
        make_job("gave up", status=JobStatus.DISABLED, status_reason=StatusReason.ERRORS),
    ]
    assert _found(jobs, JobFilter(status=status)) == expected


def test_what_waits_for_an_answer_is_chosen_whatever_its_status() -> None:
    rows = [
        row_of(make_job("ready")),
        row_of(make_job("asks"), asks=True),
        row_of(make_job("asks and is paused", status=JobStatus.PAUSED), asks=True),
    ]
    found = JobFilter(status=StatusChoice.ASKING).choose(rows)
    assert [row.job.name for row in found] == ["asks", "asks and is paused"]


def test_a_group_is_chosen_together_with_a_text() -> None:
    jobs = [make_job("a", group="web"), make_job("ab", group="web"), make_job("abc", group="home")]
    assert _found(jobs, JobFilter(text="ab", group="web")) == ["ab"]


def test_only_an_open_filter_leaves_nothing_out() -> None:
    assert JobFilter().is_open
    assert not JobFilter(text="a").is_open


def test_a_schedule_begins_a_sentence() -> None:
    assert schedule_words(Every("15m")) == "Every 15 minutes"


def test_what_waits_stands_between_what_runs_and_what_comes_the_longest_first() -> None:
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


def test_who_runs_after_another_is_known_from_what_the_other_says() -> None:
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
