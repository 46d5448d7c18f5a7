"""Words for schedules and instants; `cron` has those for cron expressions."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime
from typing import assert_never

from halo_scheduler.grammar.english import clock_time, listed, short_date, time_of_day, weekday_name
from halo_scheduler.grammar.interval import DAY_MS, HOUR_MS, MINUTE_MS, SECOND_MS, interval_in_words
from halo_scheduler.grammar.zone import MINUTE_S, local_time, wall_seconds, wall_time
from halo_scheduler.model import (
    After,
    Cron,
    Entry,
    Event,
    Every,
    Manual,
    Once,
    OnChat,
    OnFile,
    OnSession,
    OnWebhook,
    Schedule,
    Several,
)
from halo_scheduler.model.calendars import DAY_GROUPS
from halo_scheduler.model.schedules import Overlap, schedules_of
from halo_scheduler.model.situation import is_late

_DAYS_BY_NAME = 7
_COUNTED_IN_DAYS_MS = 2 * DAY_MS
_ON_OVERLAP = {
    Overlap.SKIP: "skipped",
    Overlap.QUEUE: "queued",
    Overlap.LATEST: "run once afterwards",
    Overlap.RESTART: "restarts it",
}


def describe(schedule: Schedule | Several) -> str:
    """Return what a schedule means: "every 15 minutes", "at 09:00 on weekdays (Europe/Berlin)".

    The words are exact: `parse_schedule` reads them back as a schedule with the same runs.
    """
    match schedule:
        case Every():
            return f"every {interval_in_words(schedule.every_ms).removeprefix('1 ')}"
        case After():
            return f"{interval_in_words(schedule.after_ms)} after it finishes"
        case Cron():
            from halo_scheduler.wording.cron import describe_cron  # noqa: PLC0415 - `halo list` has shorter words

            return f"{describe_cron(schedule.expression.fields)}{_zone(schedule.timezone)}"
        case Once():
            return _once(schedule)
        case Manual() | Event():
            return _without_times(schedule)
        case Several():
            # The words of a single schedule contain no semicolon outside quotes.
            return _joined(schedule.entries)
        case _:
            assert_never(schedule)


def _without_times(schedule: Manual | OnFile | OnSession | OnWebhook | OnChat) -> str:
    if isinstance(schedule, Manual):
        return "manual only"
    from halo_scheduler.wording.events import describe_event  # noqa: PLC0415 - few jobs have events

    return describe_event(schedule)


def describe_entries(schedule: Schedule | Several, keys: Iterable[str]) -> str:
    """Return what those of several schedules mean that have the given keys; the whole if none is left."""
    found = schedule.find(keys) if isinstance(schedule, Several) else ()
    return _joined(found) or describe(schedule)


def _joined(entries: Iterable[Entry]) -> str:
    """Return the words of several schedules; those with the same runs, like 60m and 1h, once."""
    return "; ".join(
        words for words, _ in dict.fromkeys((describe_entry(one), one.anchor_at) for one in entries)
    )


def describe_entry(entry: Entry) -> str:
    """Describe one of several schedules: "at 09:00 on weekdays, until 31 Dec 2026 (Europe/Berlin)"."""
    words = describe(entry.schedule)
    if not entry.is_limited:
        return words
    zone = _zone(entry.schedule.timezone) if isinstance(entry.schedule, Cron) else ""
    return f"{words.removesuffix(zone)}{day_words(entry)}{zone}"


def day_words(entry: Entry) -> str:
    """Return the days of a schedule: ", not on weekends, from 1 May 2026 until 31 Dec 2026"."""
    calendar = entry.calendar
    only = f", only on {_days(calendar.only, 'and')}" if calendar.only else ""
    excluded = f", not on {_days(calendar.excluded, 'or')}" if calendar.excluded else ""
    shift = f", moved to the {calendar.shift} allowed day" if calendar.shift else ""
    return f"{only}{excluded}{shift}{_dates(entry)}"


def _days(items: tuple[str, ...], last: str) -> str:
    return listed([_day(item) if item[0].isdigit() else _named_days(item) for item in items], last=last)


def _named_days(item: str) -> str:
    if item in DAY_GROUPS:
        return item
    from halo_scheduler.wording.day_sources import source_words  # noqa: PLC0415 - few jobs have such days

    return source_words(item)


def _dates(entry: Entry) -> str:
    first = "" if entry.from_date is None else f" from {_day(entry.from_date)}"
    last = "" if entry.until_date is None else f" until {_day(entry.until_date)}"
    return f",{first}{last}" if first or last else ""


def _day(text: str) -> str:
    return short_date(datetime.fromisoformat(text))


def _zone(timezone: str | None) -> str:
    return "" if timezone is None else f" ({timezone})"


def overlap_words(on_overlap: Overlap) -> str:
    """Return what happens when a schedule is due while the job is still running."""
    return f"{_ON_OVERLAP[on_overlap]} if the job still runs"


def _once(schedule: Once) -> str:
    moment = once_wall_time(schedule)
    offset_s = wall_seconds(moment) - schedule.due_at // SECOND_MS
    if offset_s % MINUTE_S:  # Such offsets ended in 1972.
        moment, offset_s = wall_time(schedule.due_at // SECOND_MS), 0
    return f"once, on {short_date(moment)} at {clock_time(moment)} {_offset(offset_s)}"


def _offset(offset_s: int) -> str:
    if offset_s == 0:
        return "UTC"
    hours, minutes = divmod(abs(offset_s) // MINUTE_S, 60)
    return f"{'-' if offset_s < 0 else '+'}{hours:02}:{minutes:02}"


def following_words(schedule: Schedule | Several) -> str:
    """Return that later runs depend on how long each takes, if so; else ""."""
    gaps = [item.after_ms for item in schedules_of(schedule) if isinstance(item, After)]
    if not gaps:
        return ""
    also = "and" if isinstance(schedule, Several) else "then"
    return f"{also} {interval_in_words(min(gaps))} after each ends"


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


def distance_in_words(at: int, now_ms: int) -> str:
    """Return how far away a future instant is, in calendar days from 24 hours on: "in 5 h", "tomorrow", "in 3 days"."""
    ahead_ms = at - now_ms
    if ahead_ms < HOUR_MS - MINUTE_MS // 2:
        return describe_when(at, now_ms)
    days = (local_time(at).date() - local_time(now_ms).date()).days
    if ahead_ms < DAY_MS or days == 0:
        return f"in {max(1, ahead_ms // HOUR_MS)} h"
    return "tomorrow" if days == 1 else f"in {days} days"


def local_words(at: int, timezone: str | None) -> str:
    """Return the local time if another zone's clock shows a different one: "08:00", "Sun 23:00"; else ""."""
    there, here = local_time(at, timezone), local_time(at)
    if there == here:
        return ""
    day = "" if there.date() == here.date() else f"{weekday_name(here)[:3]} "
    return f"{day}{clock_time(here)}"


def once_wall_time(schedule: Once) -> datetime:
    """Return the wall time of a `once` as it was written; epoch milliseconds in the computer's zone."""
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
