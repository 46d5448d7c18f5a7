"""Words for schedules, cron expressions and instants.

Cron words come from the parsed fields, not from the text, so that `0,30` and `*/30` read alike. An expression without
a plain reading shows the meaning of its fields.
"""

from __future__ import annotations

from datetime import datetime
from typing import assert_never

from halo_scheduler.grammar.cron_fields import CronFields
from halo_scheduler.grammar.english import (
    MONTHS,
    SHORTEST_SPAN,
    WEEKDAYS,
    clock_time,
    counted,
    listed,
    ordinal,
    short_date,
    spans,
    time_of_day,
    weekday_name,
)
from halo_scheduler.grammar.interval import DAY_MS, HOUR_MS, MINUTE_MS, SECOND_MS, interval_in_words
from halo_scheduler.grammar.zone import local_time
from halo_scheduler.model import After, Cron, Every, Manual, Once, Schedule
from halo_scheduler.model.situation import is_late

_MOST_TIMES = 6
_SHORTEST_STEPS = 4
_NTH = ("first", "second", "third", "fourth", "fifth")
_FROM_MONDAY = (1, 2, 3, 4, 5, 6, 0)
_WORK_DAYS = (1, 2, 3, 4, 5)
_WEEKEND = (0, 6)
_DAYS_BY_NAME = 7
_COUNTED_IN_DAYS_MS = 2 * DAY_MS


def describe_cron(fields: CronFields) -> str:
    """Return when an expression matches: "at 09:00 on weekdays"."""
    return " ".join(filter(None, (_times(fields), _days(fields))))


def _times(fields: CronFields) -> str:
    return _steady_pace(fields) or _times_of_day(fields) or _pace_between(fields) or _field_meanings(fields)


def _steady_pace(fields: CronFields) -> str:
    """Return the words for an even interval, day and night; "" if there is none."""
    if not _is_full(fields.hours, 24):
        return _hour_steps(fields)
    if not _is_full(fields.minutes, 60):
        return _minute_pace(fields) if fields.seconds == (0,) else ""
    pace = even_step(fields.seconds, 60)
    if fields.seconds == (0,):
        return "every minute"
    return _every(pace, "second") if pace else ""


def _minute_pace(fields: CronFields) -> str:
    if fields.minutes == (0,):
        return "every hour"
    if len(fields.minutes) == 1:
        return f"{counted(fields.minutes[0], 'minute')} past every hour"
    pace = even_step(fields.minutes, 60)
    return _every(pace, "minute") if pace else ""


def _hour_steps(fields: CronFields) -> str:
    pace = even_step(fields.hours, 24)
    if not pace or len(fields.hours) < _SHORTEST_STEPS or len(fields.minutes) > 1 or len(fields.seconds) > 1:
        return ""
    return f"every {pace} hours from {time_of_day(0, fields.minutes[0], fields.seconds[0])}"


def _times_of_day(fields: CronFields) -> str:
    """Return the words for a few times a day."""
    if len(fields.hours) * len(fields.minutes) * len(fields.seconds) > _MOST_TIMES:
        return ""
    times = [
        time_of_day(hour, minute, second)
        for hour in fields.hours
        for minute in fields.minutes
        for second in fields.seconds
    ]
    return f"at {listed(times)}"


def _pace_between(fields: CronFields) -> str:
    """Return the words for an interval within some hours of the day, with its first and last time."""
    first, last = fields.hours[0], fields.hours[-1]
    step = (last - first) // max(len(fields.hours) - 1, 1)
    if fields.seconds != (0,) or fields.hours != tuple(range(first, last + 1, step or 1)):
        return ""
    if len(fields.minutes) == 1:
        pace = _every(step, "hour")
    elif step > 1:
        return ""
    elif _is_full(fields.minutes, 60):
        pace = "every minute"
    elif even_step(fields.minutes, 60):
        pace = _every(even_step(fields.minutes, 60), "minute")
    else:
        return ""
    return f"{pace} from {time_of_day(first, fields.minutes[0])} to {time_of_day(last, fields.minutes[-1])}"


def _field_meanings(fields: CronFields) -> str:
    """Return the meaning of each field, for an expression without a plain reading."""
    parts = [] if fields.seconds == (0,) else [_field_meaning("second", fields.seconds, 60)]
    parts.append(_field_meaning("minute", fields.minutes, 60))
    if not (_is_full(fields.minutes, 60) and _is_full(fields.hours, 24)):
        parts.append(_field_meaning("hour", fields.hours, 24))
    return f"at {' of '.join(parts)}"


def _field_meaning(name: str, values: tuple[int, ...], size: int) -> str:
    if _is_full(values, size):
        return f"every {name}"
    numbers = listed(spans(values, [str(value) for value in values], "–"))
    return f"{name} {numbers}" if len(values) == 1 else f"{name}s {numbers}"


def _days(fields: CronFields) -> str:
    by_date = "" if fields.any_day else _dates(fields)
    by_weekday = "" if fields.any_weekday else _weekdays(fields)
    if fields.days_match_both:
        if by_date and by_weekday:
            return f"{by_weekday}, if that is {_date_list(fields, 'or')}"
        return by_date or by_weekday or _every_day(fields)
    # Either may match; if one always matches, the other has no effect.
    return f"{by_date} and also {by_weekday}" if by_date and by_weekday else _every_day(fields)


def _every_day(fields: CronFields) -> str:
    if fields.any_month:
        return "" if _is_full(fields.hours, 24) or _hour_steps(fields) else "every day"
    return f"every day in {_month_list(fields)}"


def _dates(fields: CronFields) -> str:
    if len(fields.months) == 1 and not fields.last_day:
        days = spans(fields.days, [str(day) for day in fields.days], " to ")
        return f"on {listed(days)} {_month_list(fields)}"
    return f"on {_date_list(fields, 'and')} of {_of_months(fields)}"


def _date_list(fields: CronFields, last: str) -> str:
    days = [f"the {text}" for text in spans(fields.days, [ordinal(day) for day in fields.days], " to the ")]
    if fields.last_day:
        days.append("the last day")
    return listed(days, last=last)


def _weekdays(fields: CronFields) -> str:
    parts = []
    if fields.weekdays:
        parts.append(
            _plain_weekdays(fields.weekdays) + ("" if fields.any_month else f" in {_month_list(fields)}")
        )
    special = [f"the {_NTH[nth - 1]} {WEEKDAYS[weekday]}" for weekday, nth in fields.nth_weekdays]
    special += [f"the last {WEEKDAYS[weekday]}" for weekday in fields.last_weekdays]
    if special:
        parts.append(f"on {listed(special)} of {_of_months(fields)}")
    return listed(parts)


def _plain_weekdays(weekdays: tuple[int, ...]) -> str:
    if weekdays == _WORK_DAYS:
        return "on weekdays"
    if weekdays == _WEEKEND:
        return "on weekends"
    positions = [position for position, weekday in enumerate(_FROM_MONDAY) if weekday in weekdays]
    names = [WEEKDAYS[_FROM_MONDAY[position]] for position in positions]
    if len(positions) >= SHORTEST_SPAN and positions[-1] - positions[0] == len(positions) - 1:
        return f"from {names[0]} to {names[-1]}"
    return f"on {listed([f'{name}s' for name in names])}"


def _of_months(fields: CronFields) -> str:
    return "every month" if fields.any_month else _month_list(fields)


def _month_list(fields: CronFields) -> str:
    return listed([MONTHS[month - 1] for month in fields.months])


def _is_full(values: tuple[int, ...], size: int) -> bool:
    return len(values) == size


def even_step(values: tuple[int, ...], size: int) -> int:
    """Return the step of values that divide their field evenly from 0 on; 0 if they do not."""
    step, rest = divmod(size, len(values))
    return step if not rest and len(values) > 1 and values == tuple(range(0, size, step)) else 0


def _every(pace: int, unit: str) -> str:
    return f"every {unit}" if pace == 1 else f"every {pace} {unit}s"


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


def following_words(schedule: Schedule) -> str:
    """Return that later runs depend on how long each takes, if so; else ""."""
    return (
        f"then {interval_in_words(schedule.after_ms)} after each ends" if isinstance(schedule, After) else ""
    )


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
