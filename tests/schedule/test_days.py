"""Local days: their names and their ends, also where the clocks change at midnight."""

from __future__ import annotations

import time
from collections.abc import Iterator

import pytest
from cases import utc_ms

from halo_scheduler.grammar.zone import machine_zone
from halo_scheduler.schedule.days import day_ends_at, local_day


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
