"""The grid of a single schedule."""

from __future__ import annotations

from halo_scheduler import Every
from halo_scheduler.grammar.checks import MAX_INSTANT
from halo_scheduler.schedule.single import points_after

_DAY_MS = 86_400_000


def test_points_follow_each_other_until_the_end_of_the_calendar() -> None:
    two_days_before = MAX_INSTANT - 2 * _DAY_MS
    assert list(points_after(Every("1d"), two_days_before, 0)) == [MAX_INSTANT - _DAY_MS, MAX_INSTANT]
