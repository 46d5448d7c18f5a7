"""Quiet times in words."""

from __future__ import annotations

from typing import Any

import pytest

from halo_scheduler.model.settings import QuietTime, Weekday
from ui.forms.quiet_times import called, day_name, end_words, holds_words, now_words, quiet_line

pytestmark = pytest.mark.usefixtures("machine_in_berlin", "qapp")

_NOW = 1_800_000_000_000  # Fri 15 Jan 2027, 09:00 in Berlin
_MORNING: dict[str, Any] = {"start": "08:00", "end": "10:00"}


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({}, "Every day, 22:00 to 06:00 · all jobs"),
        ({"days": ("mon", "tue", "wed", "thu", "fri")}, "Monday to Friday, 22:00 to 06:00 · all jobs"),
        ({"days": ("sat", "sun"), "group": "web"}, "Weekends, 22:00 to 06:00 · group web"),
        ({"days": ("wed",), "start": "00:00", "end": "24:00"}, "Wednesday, all day · all jobs"),
        ({"days": ("mon", "tue", "wed", "sun")}, "Mon to Wed and Sun, 22:00 to 06:00 · all jobs"),
        (
            {"days": ("mon", "thu"), "timezone": "Asia/Tokyo"},
            "Mon and Thu, 22:00 to 06:00 · all jobs · Asia/Tokyo",
        ),
        ({"start": "08:00", "end": "08:00"}, "Every day, 08:00 for 24 hours · all jobs"),
        ({"group": "\u202e<b>"}, "Every day, 22:00 to 06:00 · group \\u202e<b>"),
    ],
)
def test_quiet_hours_in_words(fields: dict[str, Any], words: str) -> None:
    assert quiet_line(QuietTime(**fields)) == words


@pytest.mark.parametrize(
    ("start", "end", "words"),
    [
        ("22:00", "06:00", "Ends the next day."),
        ("09:00", "17:00", ""),
        ("09:00", "09:00", "Lasts 24 hours."),
        ("00:00", "24:00", "Lasts 24 hours."),
        ("18:00", "00:00", "Ends at midnight."),
        ("18:00", "24:00", "Ends at midnight."),
    ],
)
def test_the_end_day_is_named_where_it_is_not_obvious(start: str, end: str, words: str) -> None:
    assert end_words(start, end) == words


def test_quiet_hours_without_a_name_have_a_default_name() -> None:
    assert called(QuietTime()) == "Quiet hours"
    assert called(QuietTime(name="Nights")) == "Nights"


def test_the_days_have_their_names() -> None:
    assert [day_name(day)[:3].lower() for day in Weekday] == list(Weekday)


def test_quiet_hours_that_apply_now_are_shown_with_their_end() -> None:
    assert holds_words(QuietTime(), _NOW) == ""
    assert holds_words(QuietTime(group="web", **_MORNING), _NOW) == "Quiet now until 10:00"
    assert holds_words(QuietTime(start="08:00", end="07:00"), _NOW) == "Quiet now until tomorrow 07:00"


def test_current_quiet_hours_are_described_in_one_line() -> None:
    web, home = (QuietTime(group=name, **_MORNING) for name in ("web", "home"))
    longer = QuietTime(group="web", start="09:30", end="11:00")
    everybody = QuietTime(start="07:00", end="09:15")
    assert now_words([QuietTime()], _NOW) == "No quiet hours right now."
    # What follows without a gap is one quiet time.
    assert now_words([web, longer], _NOW) == "Quiet now: group web until 11:00"
    assert (
        now_words([web, home, QuietTime()], _NOW)
        == "Quiet now: group web until 10:00, group home until 10:00"
    )
    assert now_words([web, everybody], _NOW) == "Quiet until 09:15: no scheduled runs start."
    many = [QuietTime(group=f"g{number}", **_MORNING) for number in range(4)]
    assert now_words(many, _NOW).endswith("g2 until 10:00, …")
