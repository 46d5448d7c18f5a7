"""Calendar events of systemd as cron; what is expected was compared with what systemd-analyze says."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from halo_scheduler.errors import ScheduleError
from halo_scheduler.model import Cron, Once
from halo_scheduler.transfer.calendar_event import read_calendar_event, read_span


@pytest.mark.parametrize(
    ("event", "cron", "zone"),
    [
        ("minutely", "* * * * *", None),
        ("hourly", "0 * * * *", None),
        ("daily", "0 0 * * *", None),
        ("Daily UTC", "0 0 * * *", "UTC"),
        ("weekly", "0 0 * * 1", None),
        ("monthly", "0 0 1 * *", None),
        ("quarterly", "0 0 1 1,4,7,10 *", None),
        ("semiannually", "0 0 1 1,7 *", None),
        ("annually", "0 0 1 1 *", None),
        ("Mon..Fri *-*-* 09:00", "0 9 * * 1,2,3,4,5", None),
        ("Sat,Thu,Mon..Wed", "0 0 * * 1,2,3,4,6", None),
        ("Wednesday 5:00", "0 5 * * 3", None),
        ("Fri..Sun,Tue 1:00", "0 1 * * 0,2,5,6", None),
        ("Sun 03:30 Europe/Berlin", "30 3 * * 0", "Europe/Berlin"),
        ("12:30", "30 12 * * *", None),
        ("*:0/15", "*/15 * * * *", None),
        ("*:5/15", "5-59/15 * * * *", None),
        ("*-*-* 6,12,18:00:00", "0 6,12,18 * * *", None),
        ("*-*-* *:*:00/10", "*/10 * * * * *", None),
        ("*-*-* 00:00:30", "30 0 0 * * *", None),
        ("*-*-* 8..18/2:30", "30 8-18/2 * * *", None),
        ("*-1/3-1", "0 0 1 */3 *", None),
        ("*-02,05-10..12", "0 0 10-12 2,5 *", None),
        ("05-10 18:00", "0 18 10 5 *", None),
        ("Tue *-*-1/2", "0 0 */2 * 2", None),
        ("Mon *-*-1..7 04:00", "0 4 * * 1#1", None),
        ("Tue,Thu *-*-15..21", "0 0 * * 2#3,4#3", None),
        ("*-*~01 23:59", "59 23 L * *", None),
        ("Mon *-*~07/1 10:00", "0 10 * * 1L", None),
        ("*-*-* 20/50:00", "0 20 * * *", None),
    ],
)
def test_an_event_becomes_the_same_times_in_cron(event: str, cron: str, zone: str | None) -> None:
    assert read_calendar_event(event) == Cron(cron, zone)


def test_one_single_time_is_a_time() -> None:
    assert read_calendar_event("2030-12-24 18:00 UTC") == Once(1_924_365_600_000)


@pytest.mark.parametrize(
    ("event", "reason"),
    [
        ("", "not understood"),
        ("tomorrow", "not understood"),
        ("Mon Tue", "unknown time zone|not understood"),
        ("Fri *-*-13", "a weekday with days of the month"),
        ("Fri *-*-2..8", "a weekday with days of the month"),
        ("2030-*-* 00:00", "cron has no years"),
        ("Mon 2030-12-24", "cron has no years"),
        ("2030-02-30", "no such date and time"),
        ("*-*~03", "only count the last day"),
        ("05:40 Mars/Olympus", "unknown time zone"),
        ("*-02-30", "no such date ever comes"),
        ("05:61", "minute 61 is outside"),
        ("00:30:15.5", "the second '15.5' is not understood"),
        ("10..5:00", "the range runs backwards"),
        ("1,:00", "the hour '' is not understood"),
    ],
)
def test_events_that_cron_cannot_express_are_refused_with_the_reason(event: str, reason: str) -> None:
    with pytest.raises(ScheduleError, match=reason):
        read_calendar_event(event)


@given(st.text(st.sampled_from("0123456789*-:/.,~ MonFriUTC"), max_size=20))
def test_any_text_is_read_or_refused(event: str) -> None:
    try:
        schedule = read_calendar_event(event)
    except ScheduleError:
        return
    assert isinstance(schedule, Cron | Once)


@pytest.mark.parametrize(
    ("span", "expected_ms"),
    [
        ("90", 90_000),
        ("15min", 900_000),
        ("1h 30min", 5_400_000),
        ("1h30m", 5_400_000),
        ("2 weeks", 1_209_600_000),
        ("1.5h", 5_400_000),
        ("0.25s", 250),
    ],
)
def test_a_time_span_is_read(span: str, expected_ms: int) -> None:
    assert read_span(span) == expected_ms


@pytest.mark.parametrize("span", ["", "0", "x", "1M", "1 fortnight", "1.h", "-1s"])
def test_a_time_span_that_is_none_is_refused(span: str) -> None:
    with pytest.raises(ScheduleError, match="time span"):
        read_span(span)
