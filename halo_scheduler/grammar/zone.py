"""Time zones: lookup, and conversion of wall times around clock changes.

Wall times are whole seconds counted as if the wall clock showed UTC, so that plain integers carry them:
`wall_s = instant_s + offset_s`.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from pathlib import Path
from typing import NamedTuple
from zoneinfo import ZoneInfo

from halo_scheduler.errors import ScheduleError
from halo_scheduler.grammar.english import shortened
from halo_scheduler.grammar.interval import SECOND_MS

_WALL_EPOCH = datetime(1970, 1, 1)  # noqa: DTZ001 - a wall time has no zone
_UTC_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_SECOND = timedelta(seconds=1)
_LOCALTIME = Path("/etc/localtime")

MINUTE_S = 60
DAY_S = 86_400
_WEEK_S = 7 * DAY_S
# The first second of the year 9999: datetime ends soon after, so every instant lies before.
CALENDAR_END_S = 253_370_764_800


def local_time(at: int, timezone: str | None = None) -> datetime:
    """Return what the wall clock of a zone shows at an instant."""
    return wall_time(to_wall(find_zone(timezone), at // SECOND_MS))


class ClockChange(NamedTuple):
    """The instant at which a zone's offset from UTC changes, and both offsets.

    Forward, the wall times from `wall_start_s` up to `wall_end_s` never happen; back, they happen twice.
    """

    at_s: int
    before_s: int
    after_s: int

    @property
    def is_forward(self) -> bool:
        return self.after_s > self.before_s

    @property
    def wall_start_s(self) -> int:
        return self.at_s + min(self.before_s, self.after_s)

    @property
    def wall_end_s(self) -> int:
        return self.at_s + max(self.before_s, self.after_s)


def find_zone(name: str | None) -> ZoneInfo:
    """Return the zone of that IANA name; None means the computer's own."""
    return machine_zone() if name is None else _named_zone(name)


@lru_cache(maxsize=512)
def _named_zone(name: str) -> ZoneInfo:
    try:
        return ZoneInfo(name)
    except (KeyError, ValueError, OSError) as error:
        raise ScheduleError(f"unknown time zone {shortened(name)!r}; try one like Europe/Berlin") from error


@lru_cache(maxsize=1)
def machine_zone() -> ZoneInfo:
    """Return the computer's zone, cached; `machine_zone.cache_clear()` makes the next call read it again."""
    try:
        return read_machine_zone()
    except (LookupError, ValueError, OSError) as error:
        return _zone_of_localtime_file(error)


def read_machine_zone() -> ZoneInfo:
    """Return the computer's zone; LookupError, ValueError or OSError if it cannot be determined."""
    if "TZ" not in os.environ and (linked := _linked_zone_name()):
        return ZoneInfo(linked)
    import tzlocal  # noqa: PLC0415 - 25 ms that most computers never pay

    return tzlocal.reload_localzone()


def _linked_zone_name() -> str:
    """Return the zone that /etc/localtime links to, as systemd and macOS set it; empty if it is no such link."""
    try:
        return _LOCALTIME.readlink().as_posix().partition("zoneinfo/")[2]
    except OSError:
        return ""


def _zone_of_localtime_file(fault: Exception) -> ZoneInfo:
    import logging  # noqa: PLC0415 - 7 ms, for a message that is hardly ever needed

    try:
        with _LOCALTIME.open("rb") as file:
            zone = ZoneInfo.from_file(file, key=_LOCALTIME.resolve().as_posix().partition("zoneinfo/")[2])
    except (OSError, ValueError):
        zone = ZoneInfo("UTC")
    logging.getLogger(__name__).warning(
        "The computer's time zone cannot be read (%s); using %s.", fault, zone
    )
    return zone


def offset_s(zone: ZoneInfo, instant_s: int) -> int:
    """Return the zone's offset from UTC at an instant."""
    steady = _steady_offset_s(zone, instant_s // DAY_S)
    return _exact_offset_s(zone, instant_s) if steady is None else steady


@lru_cache(maxsize=4096)
def _steady_offset_s(zone: ZoneInfo, day: int) -> int | None:
    """Return the offset of a whole day, counted from 1970; None if it may change on that day or the days around it.

    Wall times of that day have the same offset, because no zone is a day away from UTC.
    """
    if not 0 < day < CALENDAR_END_S // DAY_S:
        return None
    before_s = _exact_offset_s(zone, (day - 1) * DAY_S)
    is_steady = all(_exact_offset_s(zone, (day + after) * DAY_S) == before_s for after in range(3))
    return before_s if is_steady else None


def _exact_offset_s(zone: ZoneInfo, instant_s: int) -> int:
    return _seconds((_UTC_EPOCH + timedelta(seconds=instant_s)).astimezone(zone).utcoffset())


def wall_time(wall_s: int) -> datetime:
    """Return the wall time as a naive datetime, for display."""
    return _WALL_EPOCH + timedelta(seconds=wall_s)


def wall_seconds(naive: datetime) -> int:
    """Return a naive datetime as wall seconds; fractions are dropped."""
    return (naive - _WALL_EPOCH) // _SECOND


def to_wall(zone: ZoneInfo, instant_s: int) -> int:
    """Return what the wall clock shows at an instant."""
    return instant_s + offset_s(zone, instant_s)


def offset_or_change(zone: ZoneInfo, wall_s: int) -> int | ClockChange:
    """Return the offset at a wall time, or the clock change that skips or repeats it."""
    steady = _steady_offset_s(zone, wall_s // DAY_S)
    if steady is not None:
        return steady
    wall = _WALL_EPOCH + timedelta(seconds=wall_s)
    before_s = _seconds(zone.utcoffset(wall))
    after_s = _seconds(zone.utcoffset(wall.replace(fold=1)))
    if before_s == after_s:
        return before_s
    return _change_between(zone, wall_s - max(before_s, after_s), wall_s - min(before_s, after_s))


def to_instant(zone: ZoneInfo, wall_s: int) -> int:
    """Return when a wall time happens: its first pass if repeated, the end of the gap if skipped."""
    found = offset_or_change(zone, wall_s)
    if isinstance(found, int):
        return wall_s - found
    return found.at_s if found.is_forward else wall_s - found.before_s


def clock_changes(zone: ZoneInfo, after_s: int, until_s: int) -> Iterator[ClockChange]:
    """Yield the clock changes in (after_s, until_s]; two within a week count as one."""
    until_s = min(until_s, CALENDAR_END_S)
    step_s, step_offset_s = after_s, offset_s(zone, after_s)
    while step_s < until_s:
        next_s = min(step_s + _WEEK_S, until_s)
        next_offset_s = offset_s(zone, next_s)
        if next_offset_s != step_offset_s:
            yield _change_between(zone, step_s, next_s)
        step_s, step_offset_s = next_s, next_offset_s


@lru_cache(maxsize=1024)
def _change_between(zone: ZoneInfo, low_s: int, high_s: int) -> ClockChange:
    """Find by bisection where in (low_s, high_s] the offset stops being the one at low_s."""
    before_s = offset_s(zone, low_s)
    while high_s - low_s > 1:
        middle_s = (low_s + high_s) // 2
        if offset_s(zone, middle_s) == before_s:
            low_s = middle_s
        else:
            high_s = middle_s
    return ClockChange(at_s=high_s, before_s=before_s, after_s=offset_s(zone, high_s))


def _seconds(offset: timedelta | None) -> int:
    # ZoneInfo always knows its offset; None is for the abstract tzinfo.
    return 0 if offset is None else offset // _SECOND
