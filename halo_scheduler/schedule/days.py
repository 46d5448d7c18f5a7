"""Local days: what caps are counted by."""

from __future__ import annotations

from datetime import timedelta

from halo_scheduler.grammar.interval import SECOND_MS
from halo_scheduler.grammar.zone import machine_zone, to_instant, to_wall, wall_seconds, wall_time

_DAY = timedelta(days=1)


def local_day(at: int) -> str:
    """Return the date, like 2026-12-24, that a calendar on the machine's wall shows at an instant."""
    return wall_time(to_wall(machine_zone(), at // SECOND_MS)).strftime("%Y-%m-%d")


def day_ends_at(at: int) -> int:
    """Return the instant of the next local midnight; where the clocks skip it, that of the change."""
    zone = machine_zone()
    day = wall_time(to_wall(zone, at // SECOND_MS)).replace(hour=0, minute=0, second=0)
    return to_instant(zone, wall_seconds(day + _DAY)) * SECOND_MS
