"""The builder of times and weekdays: what it writes as cron it reads back."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from halo_scheduler import Cron, next_run
from ui.editor.when.times import ALL_DAYS, WEEKEND, WORK_DAYS, DayTimes, read_cron, write_cron

_WEEKDAYS = st.frozensets(st.integers(0, 6), min_size=1)
_HOURS = st.frozensets(st.integers(0, 23), min_size=1)
_TIMES = st.lists(st.tuples(st.integers(0, 23), st.integers(0, 59)), min_size=1, max_size=24)


def _day_times(weekdays: frozenset[int], hours: frozenset[int], minute: int) -> DayTimes:
    return DayTimes(weekdays, tuple((hour, minute) for hour in sorted(hours)))


@given(_WEEKDAYS, _HOURS, st.integers(0, 59))
def test_what_is_written_is_read_back(weekdays: frozenset[int], hours: frozenset[int], minute: int) -> None:
    chosen = _day_times(weekdays, hours, minute)
    assert read_cron(write_cron(chosen)) == chosen


@given(_WEEKDAYS, _HOURS, st.integers(0, 59))
def test_what_is_written_runs_once_per_time_of_the_clock(
    weekdays: frozenset[int], hours: frozenset[int], minute: int
) -> None:
    fields = Cron(write_cron(_day_times(weekdays, hours, minute))).expression.fields
    assert not fields.is_wildcard
    assert (fields.minutes, fields.hours, fields.weekdays) == (
        (minute,),
        tuple(sorted(hours)),
        tuple(sorted(weekdays)),
    )


@pytest.mark.parametrize(
    ("weekdays", "times", "expected"),
    [
        (ALL_DAYS, ((9, 0),), "0 9 * * *"),
        (WORK_DAYS, ((9, 30), (14, 30)), "30 9,14 * * 1-5"),
        (WEEKEND, ((7, 0), (8, 0), (9, 0)), "0 7-9 * * 0,6"),
        (frozenset({1, 3, 5}), ((0, 0),), "0 0 * * 1,3,5"),
        (ALL_DAYS, tuple((hour, 5) for hour in range(24)), "5 0-23 * * *"),
        (ALL_DAYS, ((8, 0), (8, 30), (18, 0), (18, 30)), "0,30 8,18 * * *"),
    ],
)
def test_it_writes_what_a_person_would(
    weekdays: frozenset[int], times: tuple[tuple[int, int], ...], expected: str
) -> None:
    assert write_cron(DayTimes(weekdays, times)) == expected


@pytest.mark.parametrize(
    ("expression", "weekdays", "times"),
    [
        ("0 9 * * MON-FRI", WORK_DAYS, ((9, 0),)),
        ("@daily", ALL_DAYS, ((0, 0),)),
        ("@weekly", frozenset({0}), ((0, 0),)),
        ("0 15 6 * * 7", frozenset({0}), ((6, 15),)),
        ("0 8-10 * 1-12 0-6", ALL_DAYS, ((8, 0), (9, 0), (10, 0))),
        ("0,30 9,17 * * *", ALL_DAYS, ((9, 0), (9, 30), (17, 0), (17, 30))),
    ],
)
def test_it_reads_what_others_wrote(
    expression: str, weekdays: frozenset[int], times: tuple[tuple[int, int], ...]
) -> None:
    assert read_cron(expression) == DayTimes(weekdays, times)


@pytest.mark.parametrize(
    "expression",
    [
        "*/15 * * * *",
        "0 * * * *",
        "0 */6 * * *",
        "0-24 9 * * *",
        "0,30 0-12 * * *",
        "30 0 9 * * *",
        "0 9 1 * *",
        "0 9 L * *",
        "0 9 1-31 * 1",
        "0 9 * 12 *",
        "0 9 * * MON#2",
        "0 9 * * 5L",
        "@hourly",
        "@monthly",
        "nonsense",
        "",
    ],
)
def test_what_says_more_than_times_and_weekdays_is_left_to_the_expression(expression: str) -> None:
    assert read_cron(expression) is None


@given(_WEEKDAYS, _TIMES)
def test_parting_loses_no_time_and_ends(weekdays: frozenset[int], times: list[tuple[int, int]]) -> None:
    left = DayTimes(weekdays, tuple(times)).ordered()
    jobs: list[DayTimes] = []
    while left.needs_two_jobs:
        left, parted = left.split()
        assert not parted.needs_two_jobs
        jobs.append(parted)
    jobs.append(left)
    assert sorted(time for job in jobs for time in job.times) == sorted(set(times))
    assert len(jobs) <= len({minute for _, minute in times})


@pytest.mark.parametrize(
    ("times", "needs_two"),
    [
        (((8, 0), (8, 30)), False),
        (((8, 0), (8, 30), (9, 0), (9, 30)), False),
        (((8, 0), (9, 30)), True),
        (((8, 0), (8, 30), (9, 0)), True),
    ],
)
def test_one_job_can_have_the_same_minutes_in_each_hour(
    times: tuple[tuple[int, int], ...], needs_two: bool
) -> None:
    assert DayTimes(ALL_DAYS, times).needs_two_jobs is needs_two


def test_the_commonest_minute_stays() -> None:
    kept, parted = DayTimes(ALL_DAYS, ((9, 0), (12, 30), (15, 0))).split()
    assert (kept.times, parted.times) == (((9, 0), (15, 0)), ((12, 30),))


def test_of_equals_the_first_stays() -> None:
    kept, parted = DayTimes(ALL_DAYS, ((9, 45), (12, 30))).split()
    assert (kept.times, parted.times) == (((9, 45),), ((12, 30),))


def test_a_time_given_twice_counts_once() -> None:
    assert DayTimes(ALL_DAYS, ((9, 0), (8, 0), (9, 0))).ordered().times == ((8, 0), (9, 0))


def test_the_written_expression_runs_at_its_times() -> None:
    schedule = Cron(write_cron(DayTimes(frozenset({2}), ((14, 30),))), "UTC")
    # 1 January 1970 was a Thursday: the first Tuesday is the 6th.
    assert next_run(schedule, 0) == ((5 * 24 + 14) * 60 + 30) * 60_000
