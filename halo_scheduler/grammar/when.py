"""Instants as a person types them."""

from __future__ import annotations

import re
from datetime import date, datetime, time, timedelta

from halo_scheduler.errors import ScheduleError
from halo_scheduler.grammar.checks import parse_instant, require_instant
from halo_scheduler.grammar.english import shown
from halo_scheduler.grammar.interval import SECOND_MS, parse_interval
from halo_scheduler.grammar.zone import find_zone, local_time, to_instant, wall_seconds

_TIME = r"(?P<hour>[0-9]{1,2}):(?P<minute>[0-9]{2})(:(?P<second>[0-9]{2}))?"
_ON_A_DAY = re.compile(rf"((?P<day>yesterday|today|tomorrow)(\s+at)?\s+)?{_TIME}", re.ASCII | re.IGNORECASE)
_ON_A_DATE = re.compile(
    rf"(?P<date>[0-9]{{4}}-[0-9]{{2}}-[0-9]{{2}})([T\s]\s*{_TIME})?", re.ASCII | re.IGNORECASE
)
_FROM_NOW = re.compile(r"in\s+(?P<interval>.+)", re.ASCII | re.IGNORECASE)
_AGO = re.compile(r"(?P<interval>.+)\s+ago", re.ASCII | re.IGNORECASE)
_DAYS = {"yesterday": -1, "tomorrow": 1}
_EXPECTED = "write it like 2026-12-24 18:00, tomorrow 9:00, 18:30 or in 2h"


def parse_when(text: str, now_ms: int, *, timezone: str | None = None) -> int:
    """Return the instant of "in 1h", "2h ago", "tomorrow 9:00", "18:30" (the next one) or an ISO date and time.

    Without an offset the time is read in `timezone` (None: the computer's), and a date alone is its midnight.
    """
    typed = text.strip()
    if match := _FROM_NOW.fullmatch(typed):
        return require_instant("", now_ms + parse_interval(match["interval"]))
    if match := _AGO.fullmatch(typed):
        return require_instant("", now_ms - parse_interval(match["interval"]))
    if match := _ON_A_DATE.fullmatch(typed):
        return _instant(_read_date(match["date"]), _read_time(match), timezone)
    if match := _ON_A_DAY.fullmatch(typed):
        return _on_a_day(match, now_ms, timezone)
    try:
        return parse_instant("", typed)
    except ScheduleError as error:
        raise ScheduleError(f"cannot read the time {shown(typed)}; {_EXPECTED}") from error


def _on_a_day(match: re.Match[str], now_ms: int, timezone: str | None) -> int:
    today = local_time(now_ms, timezone).date()
    clock = _read_time(match)
    day = (match["day"] or "").lower()
    instant = _instant(today + timedelta(days=_DAYS.get(day, 0)), clock, timezone)
    if not day and instant <= now_ms:
        return _instant(today + timedelta(days=1), clock, timezone)
    return instant


def _read_date(text: str) -> date:
    try:
        return date.fromisoformat(text)
    except ValueError:
        raise ScheduleError(f"there is no such date as {text}") from None


def _read_time(match: re.Match[str]) -> time:
    hour, minute, second = (int(match[name] or 0) for name in ("hour", "minute", "second"))
    try:
        return time(hour, minute, second)
    except ValueError:
        raise ScheduleError(
            f"there is no such time of day as {hour}:{minute:02}; hours go from 0 to 23"
        ) from None


def _instant(day: date, clock: time, timezone: str | None) -> int:
    wall_s = wall_seconds(datetime.combine(day, clock))
    return require_instant("", to_instant(find_zone(timezone), wall_s) * SECOND_MS)
