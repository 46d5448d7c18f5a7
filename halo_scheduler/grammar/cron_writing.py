"""Cron expressions written from tables of values."""

from __future__ import annotations

from itertools import pairwise
from typing import NamedTuple

from halo_scheduler.grammar.cron_fields import (
    DAY,
    HOUR,
    MINUTE,
    SECOND,
    WEEKDAY,
    FieldKind,
    step_from_0,
)
from halo_scheduler.grammar.english import spans

_LEAST_STEPS = 3


class TimeTables(NamedTuple):
    """The seconds, minutes and hours that match; a wildcard rule runs in both passes of a repeated hour."""

    seconds: tuple[int, ...]
    minutes: tuple[int, ...]
    hours: tuple[int, ...]
    is_wildcard: bool = False


class DayTables(NamedTuple):
    """The days that match; an empty table restricts nothing, unless the other entries of its field do."""

    dates: tuple[int, ...] = ()
    last_day: bool = False
    weekdays: tuple[int, ...] = ()
    nth_weekdays: tuple[tuple[int, int], ...] = ()
    last_weekdays: tuple[int, ...] = ()
    months: tuple[int, ...] = ()
    match_both: bool = False


def write_cron(times: TimeTables, days: DayTables) -> str | None:
    """Return the expression for these tables; None if none says exactly that."""
    clock = _write_times(times)
    day_fields = _write_days(days)
    if clock is None or day_fields is None:
        return None
    by_date, by_weekday = day_fields
    fields = (*clock, by_date, _plain(days.months) if days.months else "*", by_weekday)
    return " ".join(fields[1:] if fields[0] == "0" else fields)


def _write_times(times: TimeTables) -> list[str] | None:
    tables = ((SECOND, times.seconds), (MINUTE, times.minutes), (HOUR, times.hours))
    if not times.is_wildcard:
        return [_plain(values) for kind, values in tables]
    texts = [_starred(kind, values) for kind, values in tables]
    if any(text.startswith("*") for text in texts):
        return texts
    for index, (kind, values) in enumerate(tables):
        if forced := _forced_star(kind, values):
            texts[index] = forced
            return texts
    return None


def _write_days(days: DayTables) -> tuple[str, str] | None:
    dates = [_plain(days.dates)] if days.dates else []
    dates += ["L"] if days.last_day else []
    special = [f"{weekday}#{nth}" for weekday, nth in days.nth_weekdays]
    special += [f"{weekday}L" for weekday in days.last_weekdays]
    weekdays = ([_plain(days.weekdays)] if days.weekdays else []) + special
    if not (dates and weekdays) or not days.match_both:
        return ",".join(dates) or "*", ",".join(weekdays) or "*"
    # Both fields must match only if one of them begins with *.
    if forced := _forced_star(DAY, days.dates):
        return ",".join([forced, *(["L"] if days.last_day else [])]), ",".join(weekdays)
    if forced := _forced_star(WEEKDAY, days.weekdays):
        return ",".join(dates), ",".join([forced, *special])
    return None


def _starred(kind: FieldKind, values: tuple[int, ...]) -> str:
    if len(values) == kind.size:
        return "*"
    step = step_from_0(values, kind.size) if kind.low == 0 else 0
    return f"*/{step}" if step and len(values) >= 2 else _plain(values)  # noqa: PLR2004 - a step needs two


def _forced_star(kind: FieldKind, values: tuple[int, ...]) -> str:
    """Return a field that begins with * and matches only these values; "" if there is none."""
    if not values or values[0] != kind.low:
        return ""
    every_step = next(
        (
            step
            for step in range(1, kind.size)
            if values == tuple(range(kind.low, kind.low + kind.size, step))
        ),
        0,
    )
    if every_step:
        return "*" if every_step == 1 else f"*/{every_step}"
    return ",".join([f"*/{kind.size}", *([_plain(values[1:])] if values[1:] else [])])


def _plain(values: tuple[int, ...]) -> str:
    steps = {after - before for before, after in pairwise(values)}
    if len(values) >= _LEAST_STEPS and len(steps) == 1:
        (pace,) = steps
        return f"{values[0]}-{values[-1]}" + (f"/{pace}" if pace > 1 else "")
    return ",".join(spans(values, [str(value) for value in values], "-"))
