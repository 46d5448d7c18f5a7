"""Calendars with holidays, business days and files: their days, and what became of times on other days."""

from __future__ import annotations

from datetime import date, timedelta
from typing import Any

import pytest
from cases import utc_ms

from halo_scheduler import Cron, Entry, Every, ScheduleError, next_run, previous_run
from halo_scheduler.model import Calendar, Shift
from halo_scheduler.model.calendars import Days, is_source
from halo_scheduler.model.schedules import Several, day_sources, with_days
from halo_scheduler.rules.grid import is_finite
from halo_scheduler.schedule.days import left_out_times, moved_times
from halo_scheduler.wording.day_sources import source_words, why_left_out

_DAILY = Cron("0 9 * * *", "UTC")
_25TH = Cron("0 9 25 * *", "UTC")
_DAYS: Days = {
    "holidays DE": frozenset({date(2026, 12, 25), date(2026, 12, 26)}),
    # A Friday off, and a Saturday with work.
    "business days DE": frozenset({date(2026, 12, 25), date(2026, 12, 19)}),
    "ics /days.ics": frozenset({date(2026, 12, 22), date(2026, 12, 23)}),
}


def _schedule(cron: Cron, **calendar: Any) -> Several:
    schedule = Several((Entry(cron, calendar=Calendar(**calendar)),))
    filled = with_days(schedule, _DAYS)
    assert isinstance(filled, Several)
    return filled


def _times(schedule: Several, count: int, since: str = "2026-12-17T10:00Z") -> list[str]:
    found, at = [], utc_ms(since)
    for _ in range(count):
        following = next_run(schedule, at)
        if following is None:
            break
        at = following
        found.append(str(date.fromtimestamp(at // 1000)))  # noqa: DTZ012 - the machine of the tests goes by UTC
    return found


@pytest.mark.usefixtures("machine_in_utc")
@pytest.mark.parametrize(
    ("calendar", "days"),
    [
        ({"excluded": ("holidays DE",)}, "18 19 20 21 22 23 24 27"),
        ({"only": ("holidays DE",)}, "25 26"),
        ({"only": ("business days DE",)}, "18 19 21 22 23 24 28"),
        ({"excluded": ("business days DE",)}, "20 25 26 27"),
        ({"only": ("ics /days.ics", "2026-12-31")}, "22 23 31"),
        ({"only": ("business days DE",), "excluded": ("ics /days.ics", "2026-12-21")}, "18 19 24 28"),
        ({"only": ("weekdays",), "excluded": ("business days DE",)}, "25"),
        ({"only": ("holidays DE",), "excluded": ("weekends",)}, "25"),
    ],
)
def test_times_lie_on_the_days_of_the_sources(calendar: dict[str, Any], days: str) -> None:
    wanted = [f"2026-12-{day}" for day in days.split()]
    assert _times(_schedule(_DAILY, **calendar), len(wanted)) == wanted


@pytest.mark.usefixtures("machine_in_utc")
def test_times_move_over_holidays() -> None:
    onwards = _schedule(_25TH, excluded=("holidays DE",), shift=Shift.NEXT)
    back = _schedule(Cron("0 9 26 * *", "UTC"), only=("business days DE",), shift=Shift.PREVIOUS)
    assert _times(onwards, 2) == ["2026-12-27", "2027-01-25"]
    assert _times(back, 2) == ["2026-12-24", "2027-01-26"]
    assert previous_run(back, utc_ms("2026-12-31T00:00Z")) == utc_ms("2026-12-24T09:00Z")


def test_days_that_are_not_looked_up_are_refused() -> None:
    schedule = Several((Entry(_DAILY, calendar=Calendar(only=("holidays DE",))),))
    with pytest.raises(
        ScheduleError, match=r"the days of 'holidays DE' are not known; look them up with look_up_days"
    ):
        next_run(schedule, 0)


def test_days_of_sources_belong_to_no_value() -> None:
    schedule = Several((Entry(_DAILY, calendar=Calendar(only=("holidays DE",))), Entry(Every("1d"))))
    filled = with_days(schedule, _DAYS)
    assert filled == schedule
    assert hash(filled) == hash(schedule)
    assert filled.to_dict() == schedule.to_dict()
    assert day_sources(schedule) == ("holidays DE",)
    assert day_sources(_DAILY) == ()
    assert with_days(_DAILY, _DAYS) is _DAILY


def test_a_schedule_of_a_source_never_ends() -> None:
    # The source may get more days.
    assert not is_finite(_schedule(_DAILY, only=("holidays DE",)))
    assert is_finite(_schedule(_DAILY, only=("2026-12-24",)))


def _told(schedule: Several, at: str) -> list[str]:
    since = utc_ms(at)
    return [
        f"{date.fromtimestamp((one.moved_to or 0) // 1000) if one.moved_to else '-'} {why_left_out(one.entry, one.day)}"  # noqa: DTZ012
        for one in left_out_times(schedule, since, since + 60_000, 0)
    ]


@pytest.mark.usefixtures("machine_in_utc")
@pytest.mark.parametrize(
    ("calendar", "at", "why"),
    [
        ({"excluded": ("holidays DE",)}, "2026-12-25", "- it is a holiday in Germany"),
        ({"only": ("business days DE",)}, "2026-12-25", "- it is not a business day in Germany"),
        ({"excluded": ("business days DE",)}, "2026-12-24", "- it is a business day in Germany"),
        ({"excluded": ("ics /days.ics",)}, "2026-12-22", '- it is a day in "/days.ics"'),
        ({"excluded": ("weekends",)}, "2026-12-26", "- it is on a weekend"),
        (
            {"only": ("weekends", "2026-12-24")},
            "2026-12-25",
            "- it is not on a weekend or one of the dates of the schedule",
        ),
        ({"excluded": ("2026-12-24",)}, "2026-12-24", "- it is one of the excluded dates"),
        ({"only": ("weekdays",), "shift": Shift.NEXT}, "2026-12-26", "2026-12-28 it is not a weekday"),
    ],
)
def test_an_excluded_or_moved_time_has_a_reason(calendar: dict[str, Any], at: str, why: str) -> None:
    assert _told(_schedule(_DAILY, **calendar), f"{at}T09:00Z") == [why]


@pytest.mark.usefixtures("machine_in_utc")
def test_times_before_the_first_and_after_the_last_day_are_excluded() -> None:
    schedule = Several(
        (
            Entry(_DAILY, from_date="2026-12-24", until_date="2026-12-26"),
            Entry(Cron("0 10 * * *", "UTC")),
        )
    )
    assert _told(schedule, "2026-12-23T09:00Z") == ["- the first day is 24 Dec 2026"]
    assert _told(schedule, "2026-12-27T09:00Z") == ["- the last day was 26 Dec 2026"]
    assert _told(schedule, "2026-12-25T09:00Z") == []
    assert _told(schedule, "2026-12-25T09:30Z") == []
    assert left_out_times(_DAILY, 0, 1, 0) == []


@pytest.mark.usefixtures("machine_in_utc")
def test_a_moved_time_knows_where_it_was() -> None:
    onwards = _schedule(_25TH, excluded=("holidays DE",), shift=Shift.NEXT)
    moved = moved_times(onwards, utc_ms("2026-12-27T09:00Z"))
    assert [(one.at, str(one.day)) for one in moved] == [(utc_ms("2026-12-25T09:00Z"), "2026-12-25")]
    back = _schedule(Cron("0 9 26 * *", "UTC"), only=("business days DE",), shift=Shift.PREVIOUS)
    assert [str(one.day) for one in moved_times(back, utc_ms("2026-12-24T09:00Z"))] == ["2026-12-26"]
    assert moved_times(back, utc_ms("2027-01-26T09:00Z")) == []
    # Behind days that go on for months nothing is looked for.
    months = frozenset(date(2026, 10, 1) + timedelta(days=number) for number in range(90))
    entry = Entry(_25TH, calendar=Calendar(excluded=("ics /days.ics",), shift=Shift.NEXT))
    long = with_days(Several((entry,)), {"ics /days.ics": months})
    assert [str(one.day) for one in moved_times(long, utc_ms("2026-12-30T09:00Z"))] == [
        "2026-12-25",
        "2026-11-25",
    ]


@pytest.mark.parametrize(
    ("item", "said"),
    [
        ("holidays", 'say the country of the holidays, like "holidays DE" or "holidays DE-BY"'),
        (
            "business days",
            'say the country of the business days, like "business days DE" or "business days DE-BY"',
        ),
        ("holidays Atlantis", "unknown country or region 'Atlantis'; write a code like DE or DE-BY"),
        ("holidays in Germny", "unknown country or region 'Germny'; did you mean DE for Germany"),
        ("holidays DE-XX", "Germany has no region 'DE-XX'; its regions are DE-BB"),
        ("holidays BE-XX", "Belgium has no region 'BE-XX'; its regions are BE-Flemish"),
        ("holidays MC-1", "Monaco has no region 'MC-1'; write MC for the whole country"),
        ("ics days.ics", "'days.ics' must be the full path of a calendar file, like ~/days.ics"),
        ("ics", "'' must be the full path of a calendar file"),
        ('ics /a"b', "must be the full path"),
        ("ics /a\nb", "must be the full path"),
        ("holiday DE", "cannot read the day 'holiday DE'; write weekdays, weekends"),
    ],
)
def test_an_invalid_source_of_days_is_refused(item: str, said: str) -> None:
    with pytest.raises(ScheduleError) as error:
        Calendar(excluded=(item,))
    assert said in error.value.message
    assert error.value.path == "not[0]"


def test_sources_are_written_in_one_way() -> None:
    items = (
        "Holidays in Germany (Bavaria)",
        "holidays de-by",
        "BUSINESS DAYS in the UK",
        'ics "C:\\days.ics"',
    )
    assert Calendar(only=items).only == ("business days GB", "holidays DE-BY", "ics C:\\days.ics")


def test_a_calendar_has_a_few_sources() -> None:
    with pytest.raises(ScheduleError, match="has at most 20 countries, regions and files"):
        Calendar(only=tuple(f"ics /{number}.ics" for number in range(21)))


def test_other_days_are_no_sources() -> None:
    assert is_source("holidays DE")
    assert not is_source("weekdays")
    assert source_words("weekdays") == "weekdays"
