"""Schedules that are limited to some days, and times that move to other days."""

from __future__ import annotations

import pytest
from cases import utc_ms

from halo_scheduler import After, Cron, Entry, Every, Several, plan_next_run
from halo_scheduler.model import Calendar, Schedule, Shift
from halo_scheduler.schedule.entries import next_of, previous_of
from halo_scheduler.schedule.single import Jitter

_WORK = Calendar(only=("weekdays",))
_PAYDAY = Cron("0 9 1 * *", timezone="UTC")
_LAST_DAY = Cron("0 9 L * *", timezone="UTC")
_2026 = utc_ms("2026-01-01T00:00Z")


def _walk(entry: Entry, at: int, count: int) -> list[int]:
    found: list[int] = []
    following = next_of(entry, at, 0)
    while following is not None and len(found) < count:
        found.append(following)
        following = next_of(entry, following, 0)
    return found


def _days(
    schedule: Schedule,
    calendar: Calendar,
    count: int,
    from_date: str | None = None,
    until_date: str | None = None,
) -> list[str]:
    """Return the first times of 2026 as dates, after checking that they are the same backwards."""
    entry = Entry(schedule, calendar=calendar, from_date=from_date, until_date=until_date)
    points = _walk(entry, _2026, count)
    back = [previous_of(entry, at - 1, 0) for at in points[1:]]
    assert back == points[:-1]
    assert all(previous_of(entry, at, 0) == at for at in points)
    return [str(_date(at)) for at in points]


def _date(at: int) -> str:
    from datetime import UTC, datetime  # noqa: PLC0415

    return datetime.fromtimestamp(at / 1_000, UTC).strftime("%m-%d")


def test_times_on_other_days_are_excluded() -> None:
    assert _days(_PAYDAY, _WORK, 5) == ["01-01", "04-01", "05-01", "06-01", "07-01"]
    assert _days(_PAYDAY, Calendar(excluded=("weekdays",)), 3) == ["02-01", "03-01", "08-01"]
    assert _days(_PAYDAY, Calendar(excluded=("2026-02-01", "2026-04-01")), 3) == ["01-01", "03-01", "05-01"]


def test_times_on_other_days_may_move_to_the_next_day() -> None:
    # 1 February and 1 March 2026 are Sundays, 1 August is a Saturday.
    forward = Calendar(only=("weekdays",), shift=Shift.NEXT)
    assert _days(_PAYDAY, forward, 4) == ["01-01", "02-02", "03-02", "04-01"]
    holidays = Calendar(only=("weekdays",), excluded=("2026-02-02", "2026-02-03"), shift=Shift.NEXT)
    assert _days(_PAYDAY, holidays, 3) == ["01-01", "02-04", "03-02"]


def test_times_on_other_days_may_move_to_the_previous_day() -> None:
    back = Calendar(only=("weekdays",), shift=Shift.PREVIOUS)
    # 31 January is a Saturday, 28 February too, 31 May a Sunday.
    assert _days(_LAST_DAY, back, 5) == ["01-30", "02-27", "03-31", "04-30", "05-29"]


def test_times_that_move_onto_others_coincide_with_them() -> None:
    daily = Cron("0 9,18 * * *", timezone="UTC")
    forward = Calendar(excluded=("weekends",), shift=Shift.NEXT)
    # From Thursday on: Saturday's and Sunday's times are those of Monday.
    assert _days(daily, forward, 8) == [
        "01-01",
        "01-01",
        "01-02",
        "01-02",
        "01-05",
        "01-05",
        "01-06",
        "01-06",
    ]


def test_times_move_within_the_first_and_the_last_day_only() -> None:
    forward = Calendar(only=("weekdays",), shift=Shift.NEXT)
    assert _days(_PAYDAY, forward, 9, from_date="2026-02-02", until_date="2026-07-31") == [
        *("03-02", "04-01", "05-01", "06-01", "07-01")
    ]
    assert _days(_PAYDAY, forward, 9, until_date="2026-03-01") == ["01-01", "02-02"]


def test_a_moved_time_that_the_clocks_skip_comes_after_the_gap() -> None:
    # On Sunday 29 March 2026 the clocks in Berlin go from 2:00 to 3:00.
    entry = Entry(
        Cron("30 2 28 * *", timezone="Europe/Berlin"),
        calendar=Calendar(excluded=("2026-03-28",), shift=Shift.NEXT),
    )
    assert next_of(entry, utc_ms("2026-03-20T00:00Z"), 0) == utc_ms("2026-03-29T01:00Z")


def test_an_interval_after_runs_waits_for_the_next_of_its_days(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("halo_scheduler.schedule.days.find_zone", lambda _name: _berlin())
    entry = Entry(After("1h"), calendar=_WORK)
    friday = utc_ms("2026-01-02T22:30Z")
    assert next_of(entry, friday, 0, friday) == utc_ms("2026-01-04T23:00Z")
    assert previous_of(entry, friday + 3_600_000, 0, friday) is None
    assert previous_of(entry, utc_ms("2026-01-05T00:00Z"), 0, friday) == utc_ms("2026-01-04T23:00Z")


def _berlin() -> object:
    from zoneinfo import ZoneInfo  # noqa: PLC0415

    return ZoneInfo("Europe/Berlin")


def test_an_interval_keeps_its_grid_on_its_days() -> None:
    entry = Entry(Every("36h"), calendar=Calendar(only=("2026-01-04", "2026-01-09")))
    points = _walk(entry, _2026, 9)
    assert points
    assert all(at % (36 * 3_600_000) == 0 for at in points)
    assert previous_of(entry, utc_ms("2027-01-01T00:00Z"), 0) == points[-1]
    assert previous_of(entry, _2026, 0) is None
    assert next_of(entry, points[-1], 0) is None


def test_jitter_of_a_moved_time_never_reaches_the_following_one() -> None:
    several = Several(
        (
            Entry(
                Cron("0 9,10 1 * *", timezone="UTC"),
                calendar=Calendar(only=("weekdays",), shift=Shift.NEXT),
            ),
        )
    )
    eve = utc_ms("2026-02-01T12:00Z")
    plan = plan_next_run(several, eve, jitter_ms=20 * 3_600_000, key="job")
    nine = utc_ms("2026-02-02T09:00Z")
    assert nine < (plan.at or 0) < nine + 3_600_000
    assert Jitter(0, "job", 20 * 3_600_000).delay_ms(Cron("0 9 1 * *"), nine, nine + 3_600_000) < 3_600_000


def test_a_schedule_without_a_time_on_its_days_never_runs() -> None:
    entry = Entry(Cron("0 9 * * SAT", timezone="UTC"), calendar=_WORK)
    assert (next_of(entry, _2026, 0), previous_of(entry, _2026, 0)) == (None, None)
