"""Tables of a cron expression from words: its fields, times of day, and paces on the clock."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable

from halo_scheduler.errors import PhraseParseError
from halo_scheduler.grammar.cron_fields import even_step
from halo_scheduler.grammar.cron_writing import TimeTables
from halo_scheduler.grammar.english import counted
from halo_scheduler.grammar.interval import DAY_MS, HOUR_MS, MINUTE_MS, SECOND_MS, interval_in_words
from halo_scheduler.grammar.phrases.times import TimeOfDay, time_at
from halo_scheduler.grammar.phrases.tokens import ORDINALS, Cursor, TokenKind

_SIZES = {"second": 60, "minute": 60, "hour": 24}
_ALL = {unit: tuple(range(size)) for unit, size in _SIZES.items()}
_TO = ("–", "-", "to")
_DAY_S = DAY_MS // SECOND_MS
_ALL_MINUTES = tuple(range(60))
_ALL_HOURS = tuple(range(24))


def read_fields(cursor: Cursor) -> TimeTables | None:
    """Return the tables of "minutes 17–40 of every 11th hour"; None, without moving, if there are none here."""
    start = cursor.position
    tables: dict[str, tuple[int, ...]] = {}
    is_pace = False
    while True:
        found = _pace(cursor)
        is_pace = is_pace or found is not None
        found = found or _values(cursor)
        if found is None:
            break
        unit, values = found
        if unit in tables:
            raise cursor.refusal(
                f"there are two schedules: {unit}s are given twice", "at minutes 5 and 20 of every hour"
            )
        tables[unit] = values
        if not cursor.accept("of"):
            break
    if not tables:
        cursor.position = start
        return None
    return _complete(cursor, tables, is_pace=is_pace)


def _complete(cursor: Cursor, tables: dict[str, tuple[int, ...]], *, is_pace: bool) -> TimeTables:
    minutes = tables.get("minute")
    hours = tables.get("hour", _ALL["hour"] if minutes == _ALL["minute"] else None)
    if minutes is None or hours is None:
        raise cursor.refusal("name the minutes and the hours", "at minutes 5 and 20 of every hour")
    return TimeTables(tables.get("second", (0,)), minutes, hours, is_wildcard=is_pace)


def _pace(cursor: Cursor) -> tuple[str, tuple[int, ...]] | None:
    """Read "every hour", "every 11th hour"."""
    start = cursor.position
    if cursor.accept("every", "each"):
        step = 1
        if cursor.peek().kind is TokenKind.ORDINAL:
            step = cursor.take().number
        elif cursor.peek(1).text in _SIZES:
            step = cursor.accept_from(ORDINALS) or 1
        unit = cursor.accept(*_SIZES)
        if unit and 0 < step < _SIZES[unit]:
            return unit, tuple(range(0, _SIZES[unit], step))
    cursor.position = start
    return None


def _values(cursor: Cursor) -> tuple[str, tuple[int, ...]] | None:
    """Read "minute 5", "hours 9–17 and 20", "minutes 0, 7 … 56"."""
    unit = cursor.accept(*_SIZES, *(f"{unit}s" for unit in _SIZES)).removesuffix("s")
    if not unit:
        return None
    numbers: list[int] = []
    while (token := cursor.take_kind(TokenKind.NUMBER)) is not None:
        numbers.append(token.number)
        if cursor.accept(*_TO):
            numbers += range(token.number + 1, _last(cursor, unit, token.number) + 1)
        elif len(numbers) > 1 and cursor.accept("…"):
            numbers += _steps(cursor, unit, numbers)
        if not cursor.accept(",", "and"):
            break
    if not numbers or max(numbers) >= _SIZES[unit]:
        raise cursor.refusal(f"{unit}s go from 0 to {_SIZES[unit] - 1}", "at minutes 5 and 20 of every hour")
    return unit, tuple(sorted(set(numbers)))


def _steps(cursor: Cursor, unit: str, numbers: list[int]) -> list[int]:
    step = numbers[-1] - numbers[-2]
    last = _last(cursor, unit, 0)
    if step <= 0 or last < numbers[-1] or (last - numbers[-1]) % step:
        raise cursor.refusal(
            "the numbers around … are not evenly spaced", "at minutes 0, 7 … 56 of every hour"
        )
    return list(range(numbers[-1] + step, last + 1, step))


def _last(cursor: Cursor, unit: str, first: int) -> int:
    token = cursor.take_kind(TokenKind.NUMBER)
    if token is not None and token.number < first:
        raise cursor.refusal(f"ranges of {unit}s go up", "at minutes 5–20 of every hour")
    if token is None or token.number >= _SIZES[unit]:
        raise cursor.refusal(f"{unit}s go from 0 to {_SIZES[unit] - 1}", "at minutes 5 and 20 of every hour")
    return token.number


def tables_of_times(times: Iterable[TimeOfDay]) -> list[TimeTables]:
    """Return the fewest tables that give exactly these times: one for each set of minutes that hours share."""
    minutes: dict[tuple[int, int], set[int]] = defaultdict(set)
    for time in times:
        minutes[time.hour, time.second].add(time.minute)
    hours: dict[tuple[tuple[int, ...], int], set[int]] = defaultdict(set)
    for (hour, second), found in minutes.items():
        hours[tuple(sorted(found)), second].add(hour)
    seconds: dict[tuple[tuple[int, ...], tuple[int, ...]], set[int]] = defaultdict(set)
    for (found_minutes, second), found in hours.items():
        seconds[found_minutes, tuple(sorted(found))].add(second)
    return [
        TimeTables(tuple(sorted(found)), of_minutes, of_hours)
        for (of_minutes, of_hours), found in seconds.items()
    ]


def pace_tables(cursor: Cursor, pace_ms: int, start: TimeOfDay | None) -> TimeTables:
    """Return the tables of an interval around the clock; refuse an uneven one."""
    number, unit, size = _in_units(pace_ms)
    if not number or size % number:
        raise _uneven(cursor, pace_ms)
    steps = tuple(range(0, size, number))
    start = start or TimeOfDay(0)
    if unit == "hour":
        if start.hour:
            raise cursor.refusal(
                "it is not clear when the last run of a day is",
                f"every {counted(number, 'hour')} from {start.text} to 23:00",
            )
        return TimeTables((start.second,), (start.minute,), steps, is_wildcard=True)
    if start.seconds:
        raise cursor.refusal(
            "the end of the time span is missing", f"every {counted(number, unit)} from {start.text} to 18:00"
        )
    if unit == "minute":
        return TimeTables((0,), steps, _ALL_HOURS, is_wildcard=True)
    return TimeTables(steps, _ALL_MINUTES, _ALL_HOURS, is_wildcard=True)


def _in_units(pace_ms: int) -> tuple[int, str, int]:
    units = ((HOUR_MS, "hour"), (MINUTE_MS, "minute"), (SECOND_MS, "second"))
    unit_ms, unit = next(unit for unit in units if pace_ms % unit[0] == 0)
    return pace_ms // unit_ms, unit, _SIZES[unit]


def _uneven(cursor: Cursor, pace_ms: int) -> PhraseParseError:
    number, unit, size = _in_units(pace_ms)
    even = [step for step in range(1, size) if size % step == 0]
    nearest = sorted(sorted(even, key=lambda step: abs(step - number))[:2])
    whole = "a day" if unit == "hour" else "an hour" if unit == "minute" else "a minute"
    return cursor.refusal(
        f"{interval_in_words(pace_ms)} do not divide {whole} evenly, so only the plain interval is supported",
        f"every {interval_in_words(pace_ms)}",
        *(f"every {counted(step, unit)} on weekdays" for step in nearest),
    )


def pace_within(
    cursor: Cursor, pace_ms: int, start: TimeOfDay, end: TimeOfDay, *, over_midnight: bool
) -> list[TimeTables]:
    """Return the tables of an interval from a first time to a last one, inclusive."""
    pace_s = pace_ms // SECOND_MS
    last_s = end.seconds
    if last_s <= start.seconds:
        if not over_midnight or last_s == start.seconds:
            raise cursor.refusal(
                "a time span over midnight is not clear on chosen days; name the times of each day",
                "every hour from 22:00 to 23:00 on weekdays; every hour from 0:00 to 6:00 on weekdays",
            )
        last_s += _DAY_S
    if pace_s < 60 or pace_s % 60:  # noqa: PLR2004 - seconds of a minute
        raise cursor.refusal(
            "an interval of seconds within a time span is not supported",
            "every minute between 8:00 and 18:00",
        )
    times = [time_at(at) for at in range(start.seconds, last_s + 1, pace_s)]
    return [_as_pace(table, pace_s // 60) for table in tables_of_times(times)]


def _as_pace(table: TimeTables, pace: int) -> TimeTables:
    """Mark a table of whole hours as a wildcard rule, like `*/15 9-17`."""
    is_pace = table.seconds == (0,) and even_step(table.minutes, 60) == pace
    return table._replace(is_wildcard=is_pace)
