"""Schedules and instants in plain words."""

from __future__ import annotations

import pytest
from cases import utc_ms

from halo_scheduler import After, Cron, Every, Manual, Once, describe, describe_when
from halo_scheduler.model import Schedule

_MINUTE, _HOUR, _DAY = 60_000, 3_600_000, 86_400_000
_NOW = utc_ms("2026-11-16T12:00Z")  # a Monday, 13:00 in Berlin


@pytest.mark.parametrize(
    ("schedule", "words"),
    [
        (Every("15m"), "every 15 minutes"),
        (Every("1h"), "every hour"),
        (Every("60m"), "every hour"),
        (Every("2d"), "every 2 days"),
        (Every("3s"), "every 10 seconds"),
        (After("5m"), "5 minutes after it finishes"),
        (After("1m"), "1 minute after it finishes"),
        (Cron("0 9 * * 1-5", timezone="Europe/Berlin"), "at 09:00 on weekdays (Europe/Berlin)"),
        (Cron("0 9 * * 1-5"), "at 09:00 on weekdays"),
        (Once("2026-12-24T18:00:00+01:00"), "once, on 24 Dec 2026 at 18:00"),
        (Once("2026-12-24 18:00:30Z"), "once, on 24 Dec 2026 at 18:00:30"),
        (Manual(), "manual only"),
    ],
)
def test_describes_a_schedule(schedule: Schedule, words: str) -> None:
    assert describe(schedule) == words


@pytest.mark.usefixtures("machine_in_berlin")
def test_a_once_in_epoch_milliseconds_is_shown_in_the_machines_zone() -> None:
    assert describe(Once(utc_ms("2026-12-24T17:00Z"))) == "once, on 24 Dec 2026 at 18:00"


@pytest.mark.parametrize(
    ("ahead_ms", "words"),
    [
        (0, "now"),
        (999, "now"),
        (1_000, "in 1 s"),
        (59_999, "in 59 s"),
        (_MINUTE, "in 1 min"),
        (4 * _MINUTE, "in 4 min"),
        (4 * _MINUTE - 1, "in 4 min"),
        (59 * _MINUTE + 29_999, "in 59 min"),
        (59 * _MINUTE + 30_000, "today at 13:59"),
        (10 * _HOUR, "today at 23:00"),
        (20 * _HOUR, "tomorrow at 09:00"),
        (2 * _DAY, "Wednesday at 13:00"),
        (6 * _DAY, "Sunday at 13:00"),
        (7 * _DAY, "23 Nov at 13:00"),
        (60 * _DAY, "15 Jan 2027 at 13:00"),
        (-1, "now"),
        (-1_000, "now"),
        (-_MINUTE, "now"),
        (-_MINUTE - 1, "overdue by 1 min"),
        (-3 * _HOUR, "overdue by 3 h"),
        (-47 * _HOUR, "overdue by 47 h"),
        (-2 * _DAY, "overdue by 2 days"),
    ],
)
def test_says_how_far_an_instant_is(ahead_ms: int, words: str) -> None:
    assert describe_when(_NOW + ahead_ms, _NOW, timezone="Europe/Berlin") == words


@pytest.mark.usefixtures("machine_in_berlin")
def test_the_day_is_the_machines_day() -> None:
    late_evening = utc_ms("2026-11-16T22:30Z")
    assert describe_when(late_evening + 2 * _HOUR, late_evening) == "tomorrow at 01:30"
