"""Schedules that begin and end on a day."""

from __future__ import annotations

import pytest
from cases import utc_ms

from halo_scheduler import After, Cron, Entry, Every, Plan, Several, Source, next_run, plan_next_run
from halo_scheduler.grammar.interval import DAY_MS, HOUR_MS, MINUTE_MS
from halo_scheduler.model import Backoff, Schedule
from halo_scheduler.schedule.entries import next_of, previous_of

_FROM, _UNTIL = "2026-05-01", "2026-05-03"
_BERLIN = Cron("0 9 * * *", timezone="Europe/Berlin")


def _dated(schedule: Schedule, from_date: str | None = _FROM, until_date: str | None = _UNTIL) -> Entry:
    return Entry(schedule, from_date=from_date, until_date=until_date)


def _walk(entry: Entry, at: int) -> list[int]:
    found = []
    following = next_of(entry, at, 0)
    while following is not None:
        found.append(following)
        following = next_of(entry, following, 0)
    return found


def test_a_schedule_has_no_times_before_its_first_and_after_its_last_day() -> None:
    # In the zone of the expression: 9:00 in Berlin is 7:00 UTC in summer.
    assert _walk(_dated(_BERLIN), utc_ms("2026-01-01T00:00Z")) == [
        utc_ms(f"2026-05-0{day}T07:00Z") for day in (1, 2, 3)
    ]


def test_the_last_day_counts_up_to_its_end() -> None:
    nightly = Cron("59 23 * * *", timezone="Asia/Tokyo")
    assert _walk(_dated(nightly), utc_ms("2026-05-02T00:00Z")) == [
        utc_ms("2026-05-02T14:59Z"),
        utc_ms("2026-05-03T14:59Z"),
    ]


def test_a_first_day_whose_midnight_the_clocks_skip_begins_after_the_gap() -> None:
    # In Beirut the clocks went from 0:00 to 1:00 on 29 March 2026.
    entry = _dated(Cron("0 * * * *", timezone="Asia/Beirut"), "2026-03-29", "2026-03-29")
    assert _walk(entry, utc_ms("2026-03-01T00:00Z"))[0] == utc_ms("2026-03-28T22:00Z")
    assert len(_walk(entry, utc_ms("2026-03-01T00:00Z"))) == 23


def test_an_interval_keeps_its_grid_between_its_days(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TZ", "UTC")
    entry = _dated(Every("7h"), until_date="2026-05-01")
    grid = [
        at for at in range(0, utc_ms("2026-06-01T00:00Z"), 7 * HOUR_MS) if at >= utc_ms("2026-05-01T00:00Z")
    ]
    assert _walk(entry, utc_ms("2026-04-01T00:00Z")) == [
        at for at in grid if at < utc_ms("2026-05-02T00:00Z")
    ]


def test_an_interval_after_runs_waits_for_its_first_day_and_ends_with_its_last() -> None:
    entry = _dated(After("1h"))
    first_at = next_of(entry, utc_ms("2026-04-01T00:00Z"), 0)
    assert first_at is not None
    assert utc_ms("2026-04-30T00:00Z") < first_at < utc_ms("2026-05-01T12:00Z")
    ended_at = utc_ms("2026-05-02T12:00Z")
    assert next_of(entry, ended_at, 0, ended_at) == ended_at + HOUR_MS
    assert next_of(entry, ended_at + 3 * DAY_MS, 0, ended_at) is None
    assert previous_of(entry, ended_at + 2 * HOUR_MS, 0, ended_at) == ended_at + HOUR_MS
    assert previous_of(entry, ended_at, 0, ended_at) is None
    early_at = first_at - 2 * DAY_MS
    assert previous_of(entry, first_at, 0, early_at) == first_at
    assert previous_of(entry, first_at - 1, 0, early_at) is None


@pytest.mark.parametrize("schedule", [_BERLIN, Every("1d")])
def test_the_previous_time_lies_between_the_days(schedule: Schedule) -> None:
    entry = _dated(schedule)
    points = _walk(entry, 0)
    assert len(points) == 3
    assert previous_of(entry, points[-1] + 300 * DAY_MS, 0) == points[-1]
    assert previous_of(entry, points[1], 0) == points[1]
    assert previous_of(entry, points[0] - 1, 0) is None


def test_an_open_end_is_one() -> None:
    assert next_of(_dated(_BERLIN, until_date=None), utc_ms("2090-01-01T00:00Z"), 0) is not None
    assert previous_of(_dated(_BERLIN, from_date=None), utc_ms("2020-01-01T09:00Z"), 0) is not None


def test_several_schedules_may_take_turns() -> None:
    several = Several(
        (_dated(_BERLIN, None, "2026-05-01"), _dated(Cron("0 10 * * *", timezone="UTC"), "2026-05-02", None))
    )
    noon = utc_ms("2026-05-01T00:00Z")
    assert next_run(several, noon) == utc_ms("2026-05-01T07:00Z")
    assert next_run(several, noon + 10 * HOUR_MS) == utc_ms("2026-05-02T10:00Z")


def _plan(entry: Entry, now_ms: int, errors: int) -> Plan:
    several = Several((entry,))
    return plan_next_run(several, now_ms, backoff=Backoff.double(), last_completed_at=now_ms, errors=errors)


def test_a_doubled_interval_ends_with_the_last_day_too() -> None:
    now_ms = utc_ms("2026-05-02T12:00Z")
    assert _plan(_dated(Every("6h")), now_ms, errors=1).source is Source.EVERY
    assert _plan(_dated(Every("1d")), now_ms, errors=5).at is None
    assert _plan(_dated(After("1d")), now_ms, errors=5).at is None
    assert _plan(_dated(After("1m")), now_ms, errors=2).at == now_ms + 4 * MINUTE_MS


def test_after_its_last_day_a_schedule_has_no_plan() -> None:
    plan = plan_next_run(Several((_dated(_BERLIN),)), utc_ms("2026-05-03T07:00Z"))
    assert (plan.at, plan.trail) == (None, ())
