"""Short schedules for a list column: "Sun 23:45", "Mon–Fri 06–18, every 2 h", "08, 14, 20 h".

`schedules` has the full sentences. An expression without a plain reading shows its cron fields.
"""

from __future__ import annotations

from halo_scheduler.grammar.cron_fields import CronFields, even_step
from halo_scheduler.grammar.english import (
    MONTHS,
    WEEKDAYS,
    clock_time,
    ordinal,
    short_date,
    spans,
    time_of_day,
)
from halo_scheduler.grammar.interval import HOUR_MS, MINUTE_MS, SECOND_MS, interval_in_words
from halo_scheduler.model import (
    After,
    Cron,
    Event,
    Every,
    Once,
    OnChat,
    OnFile,
    OnSession,
    OnWebhook,
    Schedule,
    Several,
)
from halo_scheduler.wording.schedules import day_words, describe, once_wall_time

_MOST_TIMES = 6
_LONGEST_LIST = 28
_FROM_MONDAY = (1, 2, 3, 4, 5, 6, 0)
_SHORT_UNITS = {"second": "s", "minute": "min", "hour": "h"}


def describe_shortly(schedule: Schedule | Several) -> str:
    """Return a schedule in as few words as stay clear."""
    match schedule:
        case Every():
            return _every(schedule.every_ms)
        case After():
            return f"{_interval(schedule.after_ms)} after it ends"
        case Cron():
            zone = "" if schedule.timezone is None else f" ({_city(schedule.timezone)})"
            return f"{_cron(schedule.expression.fields)}{zone}"
        case Once():
            moment = once_wall_time(schedule)
            return f"{short_date(moment)} {clock_time(moment)}"
        case Several():
            return _several(
                [f"{describe_shortly(entry.schedule)}{day_words(entry)}" for entry in schedule.entries]
            )
        case _:
            return _event(schedule) if isinstance(schedule, Event) else describe(schedule)


def _event(event: OnFile | OnSession | OnWebhook | OnChat) -> str:
    from halo_scheduler.wording.events import describe_event_shortly  # noqa: PLC0415 - few jobs have events

    return describe_event_shortly(event)


def _several(phrases: list[str]) -> str:
    """Return a few short phrases, with what they have in common said once: "daily 09:00, 14:30"; else their number."""
    days = {phrase.rpartition(" ")[0] for phrase in phrases}
    times = [phrase.rpartition(" ")[2] for phrase in phrases]
    if len(days) == 1 and all(":" in time for time in times):
        phrases = [f"{days.pop()} {times[0]}".lstrip(), *times[1:]]
    words = ", ".join(phrases)
    return words if len(words) <= _LONGEST_LIST or len(phrases) == 1 else f"{len(phrases)} schedules"


def _every(pace_ms: int) -> str:
    words = interval_in_words(pace_ms)
    return f"every {words.removeprefix('1 ') if words.startswith('1 ') else _interval(pace_ms)}"


def _interval(milliseconds: int) -> str:
    number, unit = interval_in_words(milliseconds).split(" ")
    return f"{number} {_SHORT_UNITS.get(unit.removesuffix('s'), unit)}"


def _city(zone: str) -> str:
    return zone.rpartition("/")[2].replace("_", " ")


def _cron(fields: CronFields) -> str:
    as_written = " ".join(fields.texts if fields.seconds != (0,) else fields.texts[1:])
    days = _days(fields)
    if days is None:
        return as_written
    # As in the full words: a pace for a wildcard rule, times for any other.
    if fields.is_wildcard and (times := _steady_pace(fields)):
        return f"{days} {times}".lstrip()
    times = (
        _minutes_between(fields) if fields.is_wildcard else _times_of_day(fields) or _hours_between(fields)
    )
    if not times:
        return as_written
    is_single = len(fields.hours) == len(fields.minutes) == len(fields.seconds) == 1
    return f"{days or ('daily' if is_single else '')} {times}".lstrip()


def _steady_pace(fields: CronFields) -> str:
    """Return an even interval, day and night; "" if there is none."""
    if len(fields.hours) < 24:  # noqa: PLR2004 - the hours of a day
        return _hour_steps(fields)
    if fields.seconds == (0,) and len(fields.minutes) == 1:
        minute = fields.minutes[0]
        return f"every hour at :{minute:02}" if minute else "every hour"
    minutes, seconds = even_step(fields.minutes, 60), even_step(fields.seconds, 60)
    if fields.seconds == (0,):
        return _every(minutes * MINUTE_MS) if minutes else ""
    return _every(seconds * SECOND_MS) if seconds and minutes == 1 else ""


def _hour_steps(fields: CronFields) -> str:
    pace = even_step(fields.hours, 24)
    if not pace or len(fields.minutes) > 1 or fields.seconds != (0,):
        return ""
    words = _every(pace * HOUR_MS)
    return f"{words} at :{fields.minutes[0]:02}" if fields.minutes[0] else words


def _times_of_day(fields: CronFields) -> str:
    """Return a few times a day: "09:00", "08, 14, 20 h", "09:00, 09:30"."""
    if len(fields.hours) * len(fields.minutes) * len(fields.seconds) > _MOST_TIMES:
        return ""
    if len(fields.hours) > 1 and fields.minutes == fields.seconds == (0,):
        return f"{', '.join(f'{hour:02}' for hour in fields.hours)} h"
    times = [
        time_of_day(hour, minute, second)
        for hour in fields.hours
        for minute in fields.minutes
        for second in fields.seconds
    ]
    return ", ".join(times)


def _hours_between(fields: CronFields) -> str:
    """Return evenly spaced hours of the day: "06–18, every 2 h", "06:30–18:30, every 2 h"."""
    first, last = fields.hours[0], fields.hours[-1]
    step = (last - first) // max(len(fields.hours) - 1, 1)
    if len(fields.minutes) > 1 or fields.seconds != (0,):
        return ""
    if fields.hours != tuple(range(first, last + 1, step or 1)):
        return ""
    minute = fields.minutes[0]
    ends = [time_of_day(hour, minute) if minute else f"{hour:02}" for hour in (first, last)]
    return f"{ends[0]}–{ends[1]}, {_every(step * HOUR_MS)}"


def _minutes_between(fields: CronFields) -> str:
    """Return an interval of minutes within some hours of the day: "09:00–17:45, every 15 min"."""
    first, last = fields.hours[0], fields.hours[-1]
    pace = even_step(fields.minutes, 60)
    if not pace or fields.seconds != (0,) or len(fields.hours) != last - first + 1:
        return ""
    span = f"{time_of_day(first, 0)}–{time_of_day(last, fields.minutes[-1])}"
    return f"{span}, {_every(pace * MINUTE_MS)}"


def _days(fields: CronFields) -> str | None:
    """Return the days, "" for all of them; None if there are no short words."""
    if fields.any_weekday and fields.any_day:
        return "" if fields.any_month else f"in {_months(fields)},"
    if not fields.any_weekday and not fields.any_day:
        return None
    if not fields.days_match_both:
        # If one day field always matches, the other has no effect.
        return "" if fields.any_month else f"in {_months(fields)},"
    return _dates(fields) if fields.any_weekday else _weekdays(fields)


def _dates(fields: CronFields) -> str:
    if len(fields.months) == 1 and not fields.last_day:
        dates = spans(fields.days, [str(day) for day in fields.days], "–")
        return f"{', '.join(dates)} {_months(fields)}"
    days = spans(fields.days, [ordinal(day) for day in fields.days], "–")
    days += ["last day"] if fields.last_day else []
    return f"{', '.join(days)} of {'month' if fields.any_month else _months(fields)}"


def _weekdays(fields: CronFields) -> str:
    positions = [position for position, weekday in enumerate(_FROM_MONDAY) if weekday in fields.weekdays]
    names = [_weekday(_FROM_MONDAY[position]) for position in positions]
    words = spans(positions, names, "–")
    words += [f"{ordinal(nth)} {_weekday(weekday)}" for weekday, nth in fields.nth_weekdays]
    words += [f"last {_weekday(weekday)}" for weekday in fields.last_weekdays]
    return ", ".join(words) + ("" if fields.any_month else f" in {_months(fields)},")


def _weekday(weekday: int) -> str:
    return WEEKDAYS[weekday][:3]


def _months(fields: CronFields) -> str:
    return ", ".join(spans(fields.months, [MONTHS[month - 1][:3] for month in fields.months], "–"))
