"""The anchor of an interval: an instant, or midnight so that runs fall on round times."""

from __future__ import annotations

from datetime import datetime

from halo_scheduler.grammar.english import time_of_day
from halo_scheduler.grammar.interval import DAY_MS, HOUR_MS, MINUTE_MS, SECOND_MS
from halo_scheduler.grammar.zone import find_zone, local_time, offset_s, to_instant, wall_seconds, wall_time

_NAMED = {
    5 * MINUTE_MS: "every five minutes on the clock",
    10 * MINUTE_MS: "every ten minutes on the clock",
    15 * MINUTE_MS: "on the quarter hour",
    30 * MINUTE_MS: "on the half hour",
    HOUR_MS: "on the hour",
    DAY_MS: "at midnight",
}
_SHOWN = 3
_MINUTE_S = 60


def clock_words(every_ms: int) -> str:
    """Describe an interval counted from midnight: "on the quarter hour (00:00, 00:15, 00:30 …)"."""
    name = _NAMED.get(every_ms, "from midnight")
    if every_ms >= DAY_MS or every_ms < MINUTE_MS:
        return name
    first = [_clock(every_ms * step // SECOND_MS) for step in range(_SHOWN) if every_ms * step < DAY_MS]
    return f"{name} ({', '.join(first)} …)"


def midnight(now_ms: int) -> int:
    """Return the last midnight in local time."""
    wall = local_time(now_ms).replace(hour=0, minute=0, second=0, microsecond=0)
    return to_instant(find_zone(None), wall_seconds(wall)) * SECOND_MS


def iso_text(at: int) -> str:
    """Return an instant as ISO 8601 text with the local UTC offset, as a `once` stores it."""
    at_s = at // SECOND_MS
    offset = offset_s(find_zone(None), at_s)
    sign, minutes = "-" if offset < 0 else "+", abs(offset) // _MINUTE_S
    return f"{local_time(at).isoformat(timespec='seconds')}{sign}{minutes // 60:02}:{minutes % 60:02}"


def typed_text(at: int) -> str:
    """Return an instant as the user would type it: "2026-12-24 18:00"."""
    local = local_time(at)
    return f"{local:%Y-%m-%d} {_time(local)}"


def _time(local: datetime) -> str:
    return time_of_day(local.hour, local.minute, local.second)


def _clock(seconds: int) -> str:
    return _time(wall_time(seconds))
