"""Cron expressions in plain words.

The words come from the tables, not from the text, so that `0,30` and `*/30` read alike, and whatever has no
everyday reading shows what its fields mean rather than something wrong.
"""

from __future__ import annotations

from halo_scheduler.grammar.cron_fields import CronFields
from halo_scheduler.grammar.english import (
    MONTHS,
    SHORTEST_SPAN,
    WEEKDAYS,
    counted,
    listed,
    ordinal,
    spans,
    time_of_day,
)

_MOST_TIMES = 6
_SHORTEST_STEPS = 4
_NTH = ("first", "second", "third", "fourth", "fifth")
_FROM_MONDAY = (1, 2, 3, 4, 5, 6, 0)
_WORK_DAYS = (1, 2, 3, 4, 5)
_WEEKEND = (0, 6)


def describe_cron(fields: CronFields) -> str:
    """Return when an expression matches: "at 09:00 on weekdays"."""
    return " ".join(filter(None, (_times(fields), _days(fields))))


def _times(fields: CronFields) -> str:
    return _steady_pace(fields) or _times_of_day(fields) or _pace_between(fields) or _field_meanings(fields)


def _steady_pace(fields: CronFields) -> str:
    """Return the words for a pace that never breaks, day and night."""
    if not _is_full(fields.hours, 24):
        return _hour_steps(fields)
    if not _is_full(fields.minutes, 60):
        return _minute_pace(fields) if fields.seconds == (0,) else ""
    pace = _step(fields.seconds, 60)
    if fields.seconds == (0,):
        return "every minute"
    return _every(pace, "second") if pace else ""


def _minute_pace(fields: CronFields) -> str:
    if fields.minutes == (0,):
        return "every hour"
    if len(fields.minutes) == 1:
        return f"{counted(fields.minutes[0], 'minute')} past every hour"
    pace = _step(fields.minutes, 60)
    return _every(pace, "minute") if pace else ""


def _hour_steps(fields: CronFields) -> str:
    pace = _step(fields.hours, 24)
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
    """Return the words for a pace within some hours of the day, with its first and last time."""
    first, last = fields.hours[0], fields.hours[-1]
    if fields.seconds != (0,) or len(fields.hours) != last - first + 1:
        return ""
    if len(fields.minutes) == 1:
        pace = "every hour"
    elif _is_full(fields.minutes, 60):
        pace = "every minute"
    elif _step(fields.minutes, 60):
        pace = _every(_step(fields.minutes, 60), "minute")
    else:
        return ""
    return f"{pace} from {time_of_day(first, fields.minutes[0])} to {time_of_day(last, fields.minutes[-1])}"


def _field_meanings(fields: CronFields) -> str:
    """Return what each field says, for what has no everyday reading."""
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
    # Either may match; a side that always does makes the other one pointless.
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


def _step(values: tuple[int, ...], size: int) -> int:
    """Return the step of values that divide their field evenly from 0 on; 0 when they do not."""
    step, rest = divmod(size, len(values))
    return step if not rest and len(values) > 1 and values == tuple(range(0, size, step)) else 0


def _every(pace: int, unit: str) -> str:
    return f"every {unit}" if pace == 1 else f"every {pace} {unit}s"
