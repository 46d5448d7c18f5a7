"""Schedules made in the editor with keys alone, on a real X display."""

from __future__ import annotations

from datetime import timedelta

import pytest
from real_desktop import Desktop, running

from halo_scheduler import Cron, Once
from halo_scheduler.clock import SystemClock
from halo_scheduler.grammar.when import parse_when
from halo_scheduler.grammar.zone import local_time
from halo_scheduler.model import Schedule, Several
from halo_scheduler.service.scheduler import Scheduler

_MAIN = "^Halo Scheduler$"
_WEEKDAYS_AND_SHORTCUTS = 10


@pytest.mark.usefixtures("machine_in_berlin")
def test_days_of_the_month_and_a_day_from_the_calendar(desktop: Desktop) -> None:
    with running(desktop), Scheduler.open() as scheduler:
        desktop.wait_for_window("^Welcome")
        desktop.key("Return")
        desktop.wait_until_gone("^Welcome")
        _begin(desktop, "monthly")
        # From the first time back over the days of the week to the rule.
        desktop.key(*["shift+Tab"] * (_WEEKDAYS_AND_SHORTCUTS + 1))
        desktop.key("Down", "Down")
        desktop.key("Tab", "Right", "space")
        desktop.picture("days of the month")
        assert _save(desktop, scheduler, "monthly") == Cron("0 9 1,2 * *")

        _begin(desktop, "once")
        desktop.key(*["shift+Tab"] * (_WEEKDAYS_AND_SHORTCUTS + 2))
        # From "Times of day" to the card below it.
        desktop.key("Down", "Tab")
        desktop.type("18:30")
        before = local_time(parse_when("18:30", SystemClock().now_ms()))
        desktop.key("Tab", "space")
        desktop.picture("calendar")
        desktop.key("Down", "Return")
        desktop.picture("picked")
        schedule = _save(desktop, scheduler, "once")
        assert isinstance(schedule, Once)
        assert local_time(schedule.due_at) == before + timedelta(weeks=1)


def _begin(desktop: Desktop, name: str) -> None:
    desktop.wait_for_window(_MAIN)
    desktop.key("ctrl+n")
    desktop.wait_for_window("^New job")
    desktop.picture(f"new {name}")
    desktop.type(name)
    desktop.key("Tab", "Tab", "Tab")
    desktop.type("true")
    desktop.key("ctrl+2")


def _save(desktop: Desktop, scheduler: Scheduler, name: str) -> Schedule | Several:
    desktop.key("ctrl+s")
    desktop.wait_until_gone("^New job")
    found = desktop.wait_for(lambda: [job for job in scheduler.list_jobs() if job.name == name])
    assert found[0].schedule is not None
    return found[0].schedule
