"""Quiet times as values: what is refused, and what they mean."""

from __future__ import annotations

from typing import Any

import pytest

from halo_scheduler import ScheduleError
from halo_scheduler.model.settings import QuietTime, Weekday


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"days": ()}, "days: choose at least one day"),
        ({"days": "mon"}, "days: must be a list"),
        ({"days": ("moonday",)}, "days: must be one of mon, tue"),
        ({"days": (1,)}, "days: must be one of mon, tue"),
        ({"start": "22"}, "start: must be a time of day like 22:00, not '22'"),
        ({"start": "9:00"}, "start: must be a time of day"),
        ({"start": "٢٢:00"}, "start: must be a time of day"),
        ({"start": "24:00"}, "start: must be before 24:00"),
        ({"end": "24:01"}, "end: must be a time of day"),
        ({"end": "06:60"}, "end: must be a time of day"),
        ({"end": "06:00\n"}, "end: must be a time of day"),
        ({"end": None}, "end: must be a time of day"),
        ({"name": "a\nb"}, "name: must be a single line"),
        ({"name": "x" * 61}, "name: is longer than 60"),
        ({"group": " "}, "group: is empty"),
        ({"timezone": "Mars/Phobos"}, "timezone: unknown time zone 'Mars/Phobos'"),
        ({"timezone": 5}, "timezone: must be text"),
    ],
)
def test_invalid_quiet_hours_are_refused_by_field(given: dict[str, Any], message: str) -> None:
    with pytest.raises(ScheduleError) as caught:
        QuietTime(**given)
    assert message in str(caught.value)


def test_days_are_kept_once_and_in_the_order_of_the_week() -> None:
    time = QuietTime(days=["sun", "mon", Weekday.MONDAY])  # type: ignore[arg-type] # words will do
    assert time.days == (Weekday.MONDAY, Weekday.SUNDAY)


@pytest.mark.parametrize(
    ("start", "end", "hours"),
    [
        ("22:00", "06:00", 8),
        ("09:00", "17:00", 8),
        ("08:00", "08:00", 24),
        ("00:00", "24:00", 24),
        ("20:00", "24:00", 4),
    ],
)
def test_an_end_that_is_not_later_is_on_the_next_day(start: str, end: str, hours: int) -> None:
    assert QuietTime(start=start, end=end).length_s == hours * 3_600


def test_the_start_is_a_second_of_the_day() -> None:
    assert QuietTime(start="22:30").start_s == (22 * 60 + 30) * 60
