"""Days and spans of days."""

from __future__ import annotations

from datetime import date

import pytest

from halo_scheduler import Outcome
from halo_scheduler.rules.statistics import DayCount
from ui.history.choice import DaySpan, buckets, day_start, last_days, today

_NOW = 1_800_000_000_000  # Fri 15 Jan 2027, 09:00 in Berlin


@pytest.mark.usefixtures("machine_in_berlin")
def test_a_span_goes_from_midnight_to_midnight() -> None:
    span = DaySpan(date(2027, 1, 14), date(2027, 1, 15))
    assert span.since == 1_799_881_200_000
    assert span.until == 1_799_881_200_000 + 2 * 86_400_000


@pytest.mark.usefixtures("machine_in_berlin")
def test_a_day_on_which_the_clocks_change_is_shorter() -> None:
    assert day_start(date(2027, 3, 29)) - day_start(date(2027, 3, 28)) == 23 * 3_600_000


@pytest.mark.usefixtures("machine_in_berlin")
def test_the_last_days_end_with_today_which_is_not_over() -> None:
    assert today(_NOW) == date(2027, 1, 15)
    assert last_days(7, _NOW) == DaySpan(date(2027, 1, 9))
    assert last_days(7, _NOW).until is None


@pytest.mark.parametrize(("day", "is_held"), [(8, False), (9, True), (12, True), (13, False)])
def test_a_span_contains_its_days(day: int, is_held: bool) -> None:
    assert DaySpan(date(2027, 1, 9), date(2027, 1, 12)).holds(date(2027, 1, day)) is is_held


def test_a_span_without_ends_contains_every_day() -> None:
    assert DaySpan().holds(date(1999, 1, 1))
    assert DaySpan().since is None


def _count(day: str, number: int = 1) -> DayCount:
    return DayCount(day, {Outcome.SUCCESS: number})


def test_days_without_runs_are_there_too() -> None:
    found = buckets(date(2027, 1, 1), date(2027, 1, 4), [_count("2027-01-02", 3), _count("2027-01-04")])
    assert [bucket.total for bucket in found] == [0, 3, 0, 1]
    assert all(bucket.first == bucket.last for bucket in found)


def test_many_days_become_weeks_from_monday_to_sunday() -> None:
    found = buckets(
        date(2026, 9, 2), date(2027, 1, 4), [_count("2026-09-02"), _count("2026-09-06"), _count("2027-01-04")]
    )
    assert [found[0].first, found[0].last, found[0].total] == [date(2026, 8, 31), date(2026, 9, 6), 2]
    assert found[-1].total == 1


def test_many_weeks_become_months() -> None:
    found = buckets(
        date(2024, 1, 20),
        date(2027, 1, 4),
        [_count("2024-12-31"), _count("2024-12-01"), _count("2020-01-01")],
    )
    assert [found[0].first, found[0].last] == [date(2024, 1, 1), date(2024, 1, 31)]
    assert [bucket.total for bucket in found if bucket.first == date(2024, 12, 1)] == [2]
    assert sum(bucket.total for bucket in found) == 2
