"""Fields of a cron expression in words: "minutes 5 and 20 of every hour", "every 15th minute of hours 0, 2 … 18"."""

from __future__ import annotations

from halo_scheduler.grammar.cron_writing import TimeTables
from halo_scheduler.grammar.phrases.tokens import ORDINALS, Cursor, TokenKind

_SIZES = {"second": 60, "minute": 60, "hour": 24}
_ALL = {unit: tuple(range(size)) for unit, size in _SIZES.items()}
_TO = ("–", "-", "to")


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
            numbers += range(token.number + 1, _last(cursor, unit) + 1)
        elif len(numbers) > 1 and cursor.accept("…"):
            numbers += _steps(cursor, unit, numbers)
        if not cursor.accept(",", "and"):
            break
    if not numbers or max(numbers) >= _SIZES[unit]:
        raise cursor.refusal(f"{unit}s go from 0 to {_SIZES[unit] - 1}", "at minutes 5 and 20 of every hour")
    return unit, tuple(sorted(set(numbers)))


def _steps(cursor: Cursor, unit: str, numbers: list[int]) -> list[int]:
    step = numbers[-1] - numbers[-2]
    last = _last(cursor, unit)
    if step <= 0 or (last - numbers[-1]) % step:
        raise cursor.refusal(
            "the numbers around … are not evenly spaced", "at minutes 0, 7 … 56 of every hour"
        )
    return list(range(numbers[-1] + step, last + 1, step))


def _last(cursor: Cursor, unit: str) -> int:
    token = cursor.take_kind(TokenKind.NUMBER)
    if token is None or token.number >= _SIZES[unit]:
        raise cursor.refusal(f"{unit}s go from 0 to {_SIZES[unit] - 1}", "at minutes 5 and 20 of every hour")
    return token.number
