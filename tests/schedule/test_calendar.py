"""Local days: their names and their ends, also where the clocks change at midnight."""

from __future__ import annotations

import time
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest
from cases import utc_ms
from hypothesis import given, settings
from hypothesis import strategies as st
from timing import at_most_ms

from halo_scheduler.grammar.zone import machine_zone
from halo_scheduler.model.settings import MOST_QUIET_TIMES, Quiet, QuietTime, Weekday
from halo_scheduler.schedule.calendar import QuietHours, day_ends_at, local_day, quiet_at

_MINUTE_MS = 60_000
_DAY_MS = 86_400_000
_WEEKEND = (Weekday.SATURDAY, Weekday.SUNDAY)
_NIGHTS = QuietTime(name="Nights", timezone="Europe/Berlin")


@pytest.fixture
def zone(request: pytest.FixtureRequest) -> Iterator[str]:
    """Let the machine stand somewhere."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TZ", request.param)
        time.tzset()
        machine_zone.cache_clear()
        yield request.param
    time.tzset()
    machine_zone.cache_clear()


@pytest.mark.parametrize(
    ("zone", "at", "day", "ends_at"),
    [
        ("Europe/Berlin", "2026-11-16T23:59:59+01:00", "2026-11-16", "2026-11-17T00:00+01:00"),
        ("Europe/Berlin", "2026-11-17T00:00+01:00", "2026-11-17", "2026-11-18T00:00+01:00"),
        # Days of 23 and of 25 hours.
        ("Europe/Berlin", "2026-03-29T00:30+01:00", "2026-03-29", "2026-03-30T00:00+02:00"),
        ("Europe/Berlin", "2026-10-25T02:30+02:00", "2026-10-25", "2026-10-26T00:00+01:00"),
        ("Europe/Berlin", "2026-10-25T02:30+01:00", "2026-10-25", "2026-10-26T00:00+01:00"),
        ("Asia/Tokyo", "2026-01-01T00:00+00:00", "2026-01-01", "2026-01-02T00:00+09:00"),
        ("America/New_York", "2026-01-01T00:00+00:00", "2025-12-31", "2026-01-01T00:00-05:00"),
        # Here the clocks once went forward at midnight, so that the day began at one.
        ("America/Sao_Paulo", "2018-11-03T20:00-03:00", "2018-11-03", "2018-11-04T01:00-02:00"),
        ("America/Sao_Paulo", "2018-11-04T01:00-02:00", "2018-11-04", "2018-11-05T00:00-02:00"),
        # And back at midnight, so that its last hour came twice.
        ("America/Sao_Paulo", "2018-02-17T23:30-02:00", "2018-02-17", "2018-02-18T00:00-03:00"),
        ("America/Sao_Paulo", "2018-02-17T23:30-03:00", "2018-02-17", "2018-02-18T00:00-03:00"),
    ],
    indirect=["zone"],
)
def test_a_day_has_a_name_and_an_end(zone: str, at: str, day: str, ends_at: str) -> None:
    assert machine_zone().key == zone
    assert local_day(utc_ms(at)) == day
    assert day_ends_at(utc_ms(at)) == utc_ms(ends_at)
    assert local_day(day_ends_at(utc_ms(at))) > day
    assert local_day(day_ends_at(utc_ms(at)) - 1) == day


def _until(at: str, *times: QuietTime, group: str | None = None) -> int | None:
    found = quiet_at(times, group, utc_ms(at))
    return None if found is None else found.until


@pytest.mark.parametrize(
    ("at", "until"),
    [
        ("2026-06-01T21:59:59.999+02:00", None),
        ("2026-06-01T22:00+02:00", "2026-06-02T06:00+02:00"),
        ("2026-06-02T05:59:59.999+02:00", "2026-06-02T06:00+02:00"),
        ("2026-06-02T06:00+02:00", None),
        ("2026-06-02T12:00+02:00", None),
    ],
)
def test_a_night_lasts_over_midnight(at: str, until: str | None) -> None:
    assert _until(at, _NIGHTS) == (None if until is None else utc_ms(until))


def test_the_day_is_that_of_the_start() -> None:
    friday = QuietTime(days=(Weekday.FRIDAY,), timezone="UTC")
    assert _until("2026-06-05T23:00Z", friday) == utc_ms("2026-06-06T06:00Z")
    assert _until("2026-06-06T05:00Z", friday) == utc_ms("2026-06-06T06:00Z")
    assert _until("2026-06-05T05:00Z", friday) is None
    assert _until("2026-06-06T23:00Z", friday) is None


@pytest.mark.parametrize(("start", "end"), [("00:00", "00:00"), ("00:00", "24:00")])
def test_the_same_start_and_end_are_a_whole_day(start: str, end: str) -> None:
    sunday = QuietTime(days=(Weekday.SUNDAY,), start=start, end=end, timezone="UTC")
    assert _until("2026-06-07T00:00Z", sunday) == utc_ms("2026-06-08T00:00Z")
    assert _until("2026-06-08T00:00Z", sunday) is None
    assert _until("2026-06-06T23:59Z", sunday) is None


def test_a_day_may_end_at_midnight() -> None:
    evening = QuietTime(start="20:00", end="24:00", timezone="UTC")
    assert _until("2026-06-01T23:59Z", evening) == utc_ms("2026-06-02T00:00Z")
    assert _until("2026-06-02T00:00Z", evening) is None


def test_overlapping_times_end_with_the_last() -> None:
    lunch = QuietTime(name="Lunch", start="12:00", end="13:30", timezone="UTC")
    meeting = QuietTime(name="Meeting", start="13:00", end="15:00", timezone="UTC")
    inner = QuietTime(name="Inner", start="12:15", end="12:30", timezone="UTC")
    found = quiet_at([inner, meeting, lunch], None, utc_ms("2026-06-01T12:20Z"))
    assert found == Quiet(utc_ms("2026-06-01T15:00Z"), meeting)


def test_times_that_follow_at_once_are_one() -> None:
    times = [
        QuietTime(start=start, end=end, timezone="UTC")
        for start, end in (("14:00", "15:00"), ("12:00", "13:00"), ("13:00", "14:00"), ("15:01", "16:00"))
    ]
    assert _until("2026-06-01T12:00Z", *times) == utc_ms("2026-06-01T15:00Z")
    assert _until("2026-06-01T15:00Z", *times) is None


def test_times_of_different_zones_are_one_where_they_meet() -> None:
    berlin = QuietTime(start="10:00", end="12:00", timezone="Europe/Berlin")
    utc = QuietTime(start="10:00", end="11:00", timezone="UTC")
    assert _until("2026-06-01T10:00+02:00", berlin, utc) == utc_ms("2026-06-01T11:00Z")


def test_a_weekend_is_one() -> None:
    weekend = QuietTime(days=_WEEKEND, start="00:00", end="24:00", timezone="Europe/Berlin")
    assert _until("2026-06-06T09:00+02:00", weekend) == utc_ms("2026-06-08T00:00+02:00")


def test_a_whole_quiet_week_is_searched_again_after_it() -> None:
    always = QuietTime(start="00:00", end="00:00", timezone="UTC")
    at = utc_ms("2026-06-03T12:00Z")
    until = _until("2026-06-03T12:00Z", always)
    assert until is not None
    assert 7 * _DAY_MS <= until - at <= 10 * _DAY_MS


@pytest.mark.parametrize(
    ("group", "is_quiet"), [(None, False), ("backup", True), ("Backup", False), ("other", False)]
)
def test_a_group_has_its_own(group: str | None, is_quiet: bool) -> None:
    backups = QuietTime(group="backup", start="00:00", end="00:00", timezone="UTC")
    assert (_until("2026-06-01T12:00Z", backups, group=group) is not None) is is_quiet


def test_a_time_without_a_group_is_for_all() -> None:
    assert _until("2026-06-01T23:00+02:00", _NIGHTS, group="backup") is not None


def test_without_quiet_hours_nothing_is_quiet() -> None:
    assert quiet_at([], None, 0) is None


@pytest.mark.usefixtures("machine_in_berlin")
def test_without_a_zone_it_follows_the_machines() -> None:
    assert _until("2026-06-01T22:00+02:00", QuietTime()) == utc_ms("2026-06-02T06:00+02:00")


def test_a_night_is_an_hour_shorter_when_the_clocks_go_forward() -> None:
    assert _until("2027-03-27T22:00+01:00", _NIGHTS) == utc_ms("2027-03-28T06:00+02:00")


def test_a_night_is_an_hour_longer_when_the_clocks_go_back() -> None:
    assert _until("2027-10-30T22:00+02:00", _NIGHTS) == utc_ms("2027-10-31T06:00+01:00")
    for pass_ in ("2027-10-31T02:30+02:00", "2027-10-31T02:30+01:00"):
        assert _until(pass_, _NIGHTS) == utc_ms("2027-10-31T06:00+01:00")


def test_quiet_hours_in_the_skipped_hour_do_not_occur() -> None:
    inside = QuietTime(start="02:15", end="02:45", timezone="Europe/Berlin")
    beyond = QuietTime(start="02:15", end="03:30", timezone="Europe/Berlin")
    for at in ("2027-03-28T01:59+01:00", "2027-03-28T03:00+02:00"):
        assert _until(at, inside) is None
    assert _until("2027-03-28T03:00+02:00", beyond) == utc_ms("2027-03-28T03:30+02:00")
    assert _until("2027-03-28T01:59+01:00", beyond) is None


def test_in_the_hour_that_comes_twice_the_first_counts() -> None:
    time = QuietTime(start="02:15", end="02:45", timezone="Europe/Berlin")
    assert _until("2027-10-31T02:30+02:00", time) == utc_ms("2027-10-31T02:45+02:00")
    assert _until("2027-10-31T02:30+01:00", time) is None


def test_a_day_that_a_zone_left_out_does_no_harm() -> None:
    # Samoa had no 30 December 2011.
    night = QuietTime(timezone="Pacific/Apia")
    assert _until("2011-12-29T23:00-10:00", night) == utc_ms("2011-12-31T06:00+14:00")
    assert _until("2011-12-31T12:00+14:00", night) is None


def test_before_1970_the_weekdays_are_right_too() -> None:
    wednesday = QuietTime(days=(Weekday.WEDNESDAY,), start="00:00", end="24:00", timezone="UTC")
    assert _until("1969-12-31T12:00Z", wednesday) == 0
    assert _until("1969-12-30T12:00Z", wednesday) is None


def test_the_maximum_number_of_quiet_hours_is_searched_quickly() -> None:
    def clock(minute: int) -> str:
        return f"{minute // 60 % 24:02}:{minute % 60:02}"

    quarters = [
        QuietTime(start=clock(15 * index), end=clock(15 * index + 15), timezone="Europe/Berlin")
        for index in range(MOST_QUIET_TIMES)
    ]
    with at_most_ms(100):
        assert _until("2026-06-01T12:00Z", *quarters) is not None


_TIMES = st.integers(0, 95).map(lambda quarter: f"{quarter // 4:02}:{quarter % 4 * 15:02}")

_QUIET_TIMES = st.builds(
    QuietTime,
    days=st.sets(st.sampled_from(Weekday), min_size=1, max_size=3).map(tuple),
    start=_TIMES,
    end=_TIMES,
    timezone=st.sampled_from(["Europe/Berlin", "America/Havana", "Australia/Lord_Howe", "UTC"]),
)

# Berlin, Havana and Lord Howe change their clocks near these.
_CHANGES = st.sampled_from(
    ["2027-03-28T01:00Z", "2027-10-31T01:00Z", "2027-03-14T05:00Z", "2027-10-02T15:30Z"]
)


def _is_quiet(times: list[QuietTime], at: int) -> bool:
    """Tell by plain dates whether an instant is quiet: a slow way that shares nothing with the quick one."""
    for quiet_time in times:
        zone = ZoneInfo(quiet_time.timezone or "UTC")
        moment = datetime.fromtimestamp(at // 1_000, UTC).astimezone(zone)
        for back in (0, 1):
            day = moment.date() - timedelta(days=back)
            if tuple(Weekday)[day.weekday()] not in quiet_time.days:
                continue
            hours, minutes = map(int, quiet_time.start.split(":"))
            start = datetime(day.year, day.month, day.day, hours, minutes)  # noqa: DTZ001 - a wall time
            ends = start + timedelta(seconds=quiet_time.length_s)
            if _first(zone, start) <= at < _first(zone, ends):
                return True
    return False


def _first(zone: ZoneInfo, wall: datetime) -> int:
    """Return the first instant at which a wall clock shows a time, or a later one, by trying each minute."""
    naive = int((wall - datetime(1970, 1, 1)).total_seconds())  # noqa: DTZ001 - a wall time
    for instant_s in range(naive - 15 * 3_600, naive + 15 * 3_600, 900):
        moment = datetime.fromtimestamp(instant_s, UTC).astimezone(zone).replace(tzinfo=None)
        if moment >= wall:
            return instant_s * 1_000
    raise AssertionError


@settings(max_examples=60, deadline=None)
@given(st.lists(_QUIET_TIMES, max_size=3), _CHANGES, st.integers(-200, 200))
def test_the_quick_way_agrees_with_the_slow_one(times: list[QuietTime], near: str, quarters: int) -> None:
    at = utc_ms(near) + quarters * 15 * _MINUTE_MS
    found = quiet_at(times, None, at)
    assert (found is not None) is _is_quiet(times, at)
    if found is not None and found.until - at < 7 * _DAY_MS:
        assert _is_quiet(times, found.until - 1)
        assert not _is_quiet(times, found.until)


def test_quiet_hours_agree_with_quiet_at() -> None:
    times = (QuietTime(start="22:00", end="06:00", timezone="UTC"), QuietTime(group="web", timezone="UTC"))
    hours = QuietHours(times)
    start = utc_ms("2026-11-16T20:00Z")
    for minutes in [*range(0, 900, 7), *range(900, 0, -11)]:
        at = start + minutes * 60_000
        for group in (None, "web", "home"):
            assert hours.find(group, at) == quiet_at(times, group, at)
    assert QuietHours().find(None, start) is None
