"""Looking ahead from a schedule."""

from __future__ import annotations

from datetime import date

import pytest

from halo_scheduler import After, Calendar, Cron, Entry, Every, Manual, Once, Policy, Several
from halo_scheduler.model import Caps, JobStatus, Schedule, Situation
from halo_scheduler.model.schedules import with_days
from halo_scheduler.wording.lint import LintCode
from ui.editor.preview import Day, preview_schedule

_NOW = 1_784_000_000_000


def test_the_next_five_runs_follow_the_anchor() -> None:
    found = preview_schedule(Every("1h"), _NOW, anchor_at=_NOW - 600_000)
    assert found.runs == tuple(_NOW + 3_000_000 + step * 3_600_000 for step in range(5))
    assert found.words == "every hour"


@pytest.mark.parametrize(
    ("schedule", "runs"),
    [(Manual(), ()), (Once(_NOW + 5), (_NOW + 5,)), (Once(_NOW), ()), (After("5m"), (_NOW,))],
)
def test_some_schedules_have_fewer(schedule: Schedule, runs: tuple[int, ...]) -> None:
    found = preview_schedule(schedule, _NOW, anchor_at=0)
    assert (found.runs, found.is_after) == (runs, isinstance(schedule, After))


def test_the_notes_name_the_next_clock_change_and_the_time_limit() -> None:
    schedule = Cron("30 2 * * *", "Europe/Berlin")
    found = preview_schedule(schedule, _NOW, anchor_at=0, policy=Policy(time_limit="200000s"))
    assert {note.code for note in found.notes} == {LintCode.CLOCK_CHANGE, LintCode.OVERLAPS_ITSELF}


@pytest.mark.parametrize(
    ("schedule", "most", "capped_at"),
    [
        (Every("1h"), 23, 23),
        (Every("1h"), 24, None),
        (Every("1h"), None, None),
        (Cron("* * * * * *"), 5, 5),
        (Cron("* * * * * *"), 1_000_000, None),
        (Cron("0 9 * * *"), 1, None),
        (Manual(), 1, None),
        (After("1h"), 23, 23),
        (After("1h"), 24, None),
    ],
)
def test_a_schedule_that_exceeds_the_daily_limit_is_reported(
    schedule: Schedule, most: int | None, capped_at: int | None
) -> None:
    policy = Policy(caps=Caps(runs_per_day=most))
    assert preview_schedule(schedule, _NOW, anchor_at=_NOW, policy=policy).capped_at == capped_at


def test_points_during_a_pause_are_not_previewed() -> None:
    paused = Situation("id", "job", status=JobStatus.PAUSED, paused_until=_NOW + 7_200_000)
    found = preview_schedule(Every("1h"), _NOW, anchor_at=_NOW, situation=paused)
    assert found.runs[0] == _NOW + 10_800_000
    assert found.pause.startswith("paused until ")
    assert not found.is_pause_open


def test_a_pause_without_an_end_is_reported() -> None:
    paused = Situation("id", "job", status=JobStatus.PAUSED)
    found = preview_schedule(Every("1h"), _NOW, anchor_at=_NOW, situation=paused)
    assert (found.pause, found.is_pause_open) == ("paused", True)
    ready = preview_schedule(Every("1h"), _NOW, anchor_at=_NOW, situation=Situation("id", "job"))
    assert (ready.pause, ready.is_pause_open) == ("", False)


# --- The calendar ---------------------------------------------------------------------------------------

_BERLIN = "Europe/Berlin"
_LATE_OCTOBER = 1_793_000_000_000  # 26 October 2026, the day after the clocks went back


def test_the_calendar_has_this_month_and_the_next() -> None:
    found = preview_schedule(Cron("0 9,17 * * 1-5", _BERLIN), _NOW, anchor_at=0).months
    assert [(month.year, month.month, month.today) for month in found] == [(2026, 7, 14), (2026, 8, 0)]
    july, august = (sorted(month.days) for month in found)
    assert july == [14, 15, 16, 17, 20, 21, 22, 23, 24, 27, 28, 29, 30, 31]
    assert august[:3] == [3, 4, 5]
    assert found[0].days[15] == Day(("09:00", "17:00"))


def test_the_second_month_is_that_of_a_first_run_far_ahead() -> None:
    found = preview_schedule(Cron("0 9 24 12 *", _BERLIN), _NOW, anchor_at=0).months
    assert [(month.month, list(month.days)) for month in found] == [(7, []), (12, [24])]


def test_a_dense_day_shows_only_its_first_times() -> None:
    found = preview_schedule(Cron("*/5 * * * *", _BERLIN), _NOW, anchor_at=0).months
    assert found[1].days[31] == Day(("00:00", "00:05", "00:10", "00:15"), has_more=True)


def test_the_calendar_shows_when_the_clocks_change() -> None:
    found = preview_schedule(Cron("30 2 * * 0", _BERLIN), _LATE_OCTOBER, anchor_at=0).months[0]
    assert (found.month, found.today) == (10, 26)
    assert found.days == {25: Day(clock_change="the clocks go back from 03:00 to 02:00")}


@pytest.mark.parametrize(
    ("schedule", "days"), [(Once(_NOW + 5), [14]), (After("5m"), [14]), (Manual(), None), (Once(_NOW), None)]
)
@pytest.mark.usefixtures("machine_in_berlin")
def test_the_calendar_of_a_schedule_with_one_known_run_or_none(
    schedule: Schedule, days: list[int] | None
) -> None:
    months = preview_schedule(schedule, _NOW, anchor_at=0).months
    assert ([*months[0].days] if months else None) == days


def test_the_last_instant_of_all_has_a_month() -> None:
    found = preview_schedule(Once("9999-01-01T00:00:00+00:00"), _NOW, anchor_at=0).months
    assert [(month.year, len(month.days)) for month in found] == [(2026, 0), (9999, 1)]


def test_clocks_that_go_back_over_midnight_do_not_stop_the_calendar() -> None:
    # On 7 November 2010 at 00:01 they went back to 23:01 of the day before.
    before = 1_289_000_000_000
    found = preview_schedule(Cron("*/10 * * * *", "America/St_Johns"), before, anchor_at=0).months
    assert set(range(6, 31)) <= set(found[0].days)
    assert found[0].days[6].clock_change == "the clocks go back from 00:01 to 23:01"


def test_holidays_are_explained_and_weekends_are_not() -> None:
    calendar = Calendar(only=("business days DE",), excluded=("2026-07-16",))
    entry = Entry(Cron("0 9 * * *", _BERLIN), calendar=calendar)
    # A Friday off, and a Saturday with work.
    days = {"business days DE": frozenset({date(2026, 7, 17), date(2026, 7, 18)})}
    july, _ = preview_schedule(with_days(Several((entry,)), days), _NOW, anchor_at=0).months
    assert {number: day.left_out for number, day in july.days.items() if day.left_out} == {
        16: "it is one of the excluded dates",
        17: "it is not a business day in Germany",
    }
    assert july.days[18] == Day(("09:00",))
    assert 19 not in july.days


def test_days_before_the_first_and_after_the_last_are_not_left_out() -> None:
    calendar = Calendar(excluded=("2026-07-16", "2026-07-22"))
    entry = Entry(
        Cron("0 9 * * *", _BERLIN), from_date="2026-07-20", until_date="2026-07-24", calendar=calendar
    )
    july, _ = preview_schedule(Several((entry,)), _NOW, anchor_at=0).months
    assert [number for number, day in july.days.items() if day.left_out] == [22]
