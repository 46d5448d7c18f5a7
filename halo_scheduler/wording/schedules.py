"""Schedules and instants in plain words."""

from __future__ import annotations

from datetime import datetime
from typing import assert_never

from halo_scheduler.grammar.english import clock_time, short_date, time_of_day, weekday_name
from halo_scheduler.grammar.interval import DAY_MS, HOUR_MS, MINUTE_MS, SECOND_MS, interval_in_words
from halo_scheduler.grammar.zone import local_time
from halo_scheduler.model import After, Cron, Every, Manual, Once, Schedule
from halo_scheduler.model.situation import is_late
from halo_scheduler.wording.cron import describe_cron

_DAYS_BY_NAME = 7
_COUNTED_IN_DAYS_MS = 2 * DAY_MS


def describe(schedule: Schedule) -> str:
    """Return what a schedule means: "every 15 minutes", "at 09:00 on weekdays (Europe/Berlin)"."""
    match schedule:
        case Every():
            return f"every {interval_in_words(schedule.every_ms).removeprefix('1 ')}"
        case After():
            return f"{interval_in_words(schedule.after_ms)} after it finishes"
        case Cron():
            zone = "" if schedule.timezone is None else f" ({schedule.timezone})"
            return f"{describe_cron(schedule.expression.fields)}{zone}"
        case Once():
            moment = once_wall_time(schedule)
            return f"once, on {short_date(moment)} at {clock_time(moment)}"
        case Manual():
            return "manual only"
        case _:
            assert_never(schedule)


def describe_when(at: int, now_ms: int, *, timezone: str | None = None) -> str:
    """Return how far an instant is from now: "in 4 min", "tomorrow at 09:00", "now", "overdue by 3 h"."""
    if is_late(now_ms - at):
        return f"overdue by {elapsed_in_words(now_ms - at)}"
    ahead_ms = at - now_ms
    if ahead_ms < SECOND_MS:
        return "now"
    if ahead_ms < MINUTE_MS:
        return f"in {ahead_ms // SECOND_MS} s"
    # Half a minute rounds up, and so may reach the hour.
    minutes = (ahead_ms + MINUTE_MS // 2) // MINUTE_MS
    if minutes < HOUR_MS // MINUTE_MS:
        return f"in {minutes} min"
    return _which_day(at, now_ms, timezone)


def once_wall_time(schedule: Once) -> datetime:
    """Return the wall time of a `once` as it was written; epoch milliseconds: in the machine's zone."""
    if isinstance(schedule.at, str):
        return datetime.fromisoformat(schedule.at.upper()).replace(tzinfo=None)
    return local_time(schedule.at)


def elapsed_in_words(elapsed_ms: int) -> str:
    """Return how long ago something was, in its largest unit: "18 min", "3 h", "2 days"."""
    if elapsed_ms < MINUTE_MS:
        return f"{elapsed_ms // SECOND_MS} s"
    if elapsed_ms < HOUR_MS:
        return f"{elapsed_ms // MINUTE_MS} min"
    if elapsed_ms < _COUNTED_IN_DAYS_MS:
        return f"{elapsed_ms // HOUR_MS} h"
    return f"{elapsed_ms // DAY_MS} days"


def _which_day(at: int, now_ms: int, timezone: str | None) -> str:
    moment, today = local_time(at, timezone), local_time(now_ms, timezone)
    days = (moment.date() - today.date()).days
    if days == 0:
        day = "today"
    elif days == 1:
        day = "tomorrow"
    elif days < _DAYS_BY_NAME:
        day = weekday_name(moment)
    else:
        day = short_date(moment, year=moment.year != today.year)
    return f"{day} at {time_of_day(moment.hour, moment.minute)}"
