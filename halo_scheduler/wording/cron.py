"""Words for cron expressions: "at 09:00 on weekdays", "every 15 minutes from 09:00 to 17:45".

They come from the parsed fields, not from the text, so that `0 9 * * 1,2,3,4,5` and `0 9 * * MON-FRI` read alike, and
are exact: equal words mean equal runs. A wildcard rule, which runs in both passes of a repeated hour, reads as a pace
("every …"), any other as times ("at …"). An expression without a plain reading shows the meaning of its fields.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise, product

from halo_scheduler.grammar.cron_fields import CronFields, even_step, step_from_0
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
_LEAST_VALUES = 5
_SIZES = {"second": 60, "minute": 60, "hour": 24}
_NTH = ("first", "second", "third", "fourth", "fifth")
_FROM_MONDAY = (1, 2, 3, 4, 5, 6, 0)
_WORK_DAYS = (1, 2, 3, 4, 5)
_WEEKEND = (0, 6)


def describe_cron(fields: CronFields) -> str:
    """Return when an expression matches: "at 09:00 on weekdays"."""
    if not fields.is_wildcard:
        return _joined(_times_of_day(fields) or _field_meanings(fields), _days(fields) or "every day")
    days = _days(fields)
    if pace := _pace(fields):
        # Without days, these would be the words of an interval, which counts from its own beginning.
        return _joined(pace, days or ("on the hour" if pace == "every hour" else "on the clock"))
    if steady := _minutes_past(fields) or _hour_steps(fields):
        return _joined(steady, days)
    times = _pace_between(fields) or _field_meanings(fields)
    return _joined(times, days or ("" if _is_full(fields.hours, 24) else "every day")) + _class_words(times)


def _joined(*parts: str) -> str:
    return " ".join(filter(None, parts))


# --- Wildcard rules -----------------------------------------------------------------------------------


def _pace(fields: CronFields) -> str:
    """Return the words for an even interval around the clock; "" if there is none."""
    if not _is_full(fields.hours, 24):
        return ""
    if _is_full(fields.minutes, 60):
        if fields.seconds == (0,):
            return "every minute"
        return _every(even_step(fields.seconds, 60), "second")
    if fields.seconds != (0,):
        return ""
    return "every hour" if fields.minutes == (0,) else _every(even_step(fields.minutes, 60), "minute")


def _minutes_past(fields: CronFields) -> str:
    if not _is_full(fields.hours, 24) or len(fields.minutes) > 1 or fields.seconds != (0,):
        return ""
    return f"{counted(fields.minutes[0], 'minute')} past every hour"


def _hour_steps(fields: CronFields) -> str:
    pace = even_step(fields.hours, 24)
    if pace <= 1 or len(fields.minutes) > 1 or len(fields.seconds) > 1:
        return ""
    return f"every {pace} hours from {time_of_day(0, fields.minutes[0], fields.seconds[0])}"


def _pace_between(fields: CronFields) -> str:
    """Return the words for an interval of minutes within some hours, with its first and last time."""
    first, last = fields.hours[0], fields.hours[-1]
    pace = _every(even_step(fields.minutes, 60), "minute")
    if not pace or fields.seconds != (0,) or len(fields.hours) != last - first + 1:
        return ""
    return f"{pace} from {time_of_day(first, 0)} to {time_of_day(last, fields.minutes[-1])}"


def _class_words(times: str) -> str:
    """Return how a wildcard rule differs from the times that its words name; "" if they name an interval."""
    return "" if "every" in times else ", also in a repeated hour"


# --- Fixed rules --------------------------------------------------------------------------------------


def _times_of_day(fields: CronFields) -> str:
    """Return the words for a few or evenly spaced times: "at 09:00 and 17:30", "at 08:00, 10:00 … 18:00"."""
    if len(fields.hours) * len(fields.minutes) * len(fields.seconds) <= _MOST_TIMES:
        times = product(fields.hours, fields.minutes, fields.seconds)
        return f"at {listed([time_of_day(*time) for time in times])}"
    points = [3600 * hour + 60 * minute + second for hour, minute, second in _even_candidates(fields)]
    if not points or not _is_even(points):
        return ""
    first, second, last = (
        time_of_day(at // 3600, at // 60 % 60, at % 60) for at in (points[0], points[1], points[-1])
    )
    return f"at {first}, {second} … {last}"


def _even_candidates(fields: CronFields) -> list[tuple[int, int, int]]:
    """Return all times of the day, unless there are too many for three examples."""
    if len(fields.seconds) > 1:
        return []
    return list(product(fields.hours, fields.minutes, fields.seconds))


# --- The meaning of each field ------------------------------------------------------------------------


def _field_meanings(fields: CronFields) -> str:
    """Return the meaning of each field, for an expression without a plain reading."""
    tables = {"second": fields.seconds, "minute": fields.minutes, "hour": fields.hours}
    if fields.seconds == (0,):
        del tables["second"]
    if not fields.is_wildcard:
        return f"at {' of '.join(_values(unit, values) for unit, values in tables.items())}"
    if _is_full(fields.minutes, 60) and _is_full(fields.hours, 24):
        del tables["hour"]
    paces = [unit for unit, values in tables.items() if _is_full(values, _SIZES[unit])]
    # One "every" is enough to say that the rule is a pace.
    paces = paces or [unit for unit, values in tables.items() if step_from_0(values, _SIZES[unit]) > 1][:1]
    return f"at {' of '.join(_field(unit, values, unit in paces) for unit, values in tables.items())}"


def _field(unit: str, values: tuple[int, ...], is_pace: bool) -> str:  # noqa: FBT001 - private
    if not is_pace:
        return _values(unit, values)
    step = step_from_0(values, _SIZES[unit])
    return f"every {unit}" if step == 1 else f"every {ordinal(step)} {unit}"


def _values(unit: str, values: tuple[int, ...]) -> str:
    if len(values) >= _LEAST_VALUES and values[1] - values[0] > 1 and _is_even(values):
        return f"{unit}s {values[0]}, {values[1]} … {values[-1]}"
    numbers = listed(spans(values, [str(value) for value in values], "–"))
    return f"{unit} {numbers}" if len(values) == 1 else f"{unit}s {numbers}"


# --- Days ---------------------------------------------------------------------------------------------


def _days(fields: CronFields) -> str:
    """Return the days and months; "" for every day of the year."""
    by_date = "" if fields.any_day else _dates(fields)
    by_weekday = "" if fields.any_weekday else _weekdays(fields)
    if fields.days_match_both:
        if by_date and by_weekday:
            return f"{by_weekday}, if that is {_date_list(fields, 'or')}"
        return by_date or by_weekday or _every_day(fields)
    # Either may match; if one always matches, the other has no effect.
    return f"{by_date} and also {by_weekday}" if by_date and by_weekday else _every_day(fields)


def _every_day(fields: CronFields) -> str:
    return "" if fields.any_month else f"every day in {_month_list(fields)}"


def _dates(fields: CronFields) -> str:
    if len(fields.months) == 1 and not fields.last_day:
        days = spans(fields.days, [str(day) for day in fields.days], " to ")
        return f"on {listed(days)} {_month_list(fields)} every year"
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


# --- Tables -------------------------------------------------------------------------------------------


def _is_even(values: Sequence[int]) -> bool:
    return len({after - before for before, after in pairwise(values)}) == 1


def _is_full(values: tuple[int, ...], size: int) -> bool:
    return len(values) == size


def _every(pace: int, unit: str) -> str:
    if not pace:
        return ""
    return f"every {unit}" if pace == 1 else f"every {pace} {unit}s"
