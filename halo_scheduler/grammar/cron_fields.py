"""The grammar of cron expressions: parses text into tables of values."""

from __future__ import annotations

import calendar
import re
from collections.abc import Mapping
from types import MappingProxyType
from typing import NamedTuple

from halo_scheduler.errors import CronParseError
from halo_scheduler.grammar.english import MONTHS, WEEKDAYS, shortened, shown

MAX_EXPRESSION = 1_000

NICKNAMES = {
    "@hourly": "0 * * * *",
    "@daily": "0 0 * * *",
    "@midnight": "0 0 * * *",
    "@weekly": "0 0 * * 0",
    "@monthly": "0 0 1 * *",
    "@yearly": "0 0 1 1 *",
    "@annually": "0 0 1 1 *",
}
_MONTH_NUMBERS = {name[:3].upper(): number for number, name in enumerate(MONTHS, 1)}
_WEEKDAY_NUMBERS = {name[:3].upper(): number for number, name in enumerate(WEEKDAYS)}

_MONTH_LENGTHS = {
    month: {calendar.monthrange(year, month)[1] for year in (2000, 2001)} for month in range(1, 13)
}
_MAX_NTH = 5

_BLANKS = re.compile(r"[ \t\r\n]+")
_VALUE = r"[0-9]+|[A-Z]+"
_ITEM = re.compile(rf"(?:(?P<star>\*)|(?P<low>{_VALUE})(?:-(?P<high>{_VALUE}))?)(?:/(?P<step>[0-9]+))?")
_NTH = re.compile(r"(?P<weekday>[0-9]+|[A-Z]{3})#(?P<nth>[0-9]+)")
_LAST = re.compile(r"(?P<weekday>[0-9]+|[A-Z]{3})L")


class FieldKind(NamedTuple):
    """The name and the range of one of the six fields."""

    name: str
    low: int
    high: int
    names: Mapping[str, int] = MappingProxyType({})

    @property
    def size(self) -> int:
        # Seven also means Sunday, like zero: it adds no value to the field.
        return self.high - self.low + (0 if self.name == "day of week" else 1)


SECOND = FieldKind("second", 0, 59)
MINUTE = FieldKind("minute", 0, 59)
HOUR = FieldKind("hour", 0, 23)
DAY = FieldKind("day of month", 1, 31)
MONTH = FieldKind("month", 1, 12, _MONTH_NUMBERS)
WEEKDAY = FieldKind("day of week", 0, 7, _WEEKDAY_NUMBERS)
_KINDS = (SECOND, MINUTE, HOUR, DAY, MONTH, WEEKDAY)


class CronFields(NamedTuple):
    """A parsed cron expression as sorted tables; weekdays run from 0 (Sunday) to 6.

    `seconds` is (0,) for five fields. `nth_weekdays` holds pairs (weekday, n), `last_weekdays` the weekdays
    of "5L". `days_match_both` tells how the two day fields combine: both must match, or either.
    `is_wildcard` marks expressions that run in both passes of a repeated hour.
    """

    texts: tuple[str, ...]
    seconds: tuple[int, ...]
    minutes: tuple[int, ...]
    hours: tuple[int, ...]
    days: tuple[int, ...]
    last_day: bool
    months: tuple[int, ...]
    weekdays: tuple[int, ...]
    nth_weekdays: tuple[tuple[int, int], ...]
    last_weekdays: tuple[int, ...]

    @property
    def is_wildcard(self) -> bool:
        return any(text.startswith("*") for text in self.texts[:3])

    @property
    def days_match_both(self) -> bool:
        return self.texts[3].startswith("*") or self.texts[5].startswith("*")

    @property
    def any_day(self) -> bool:
        """Whether the day of the month does not matter."""
        return len(self.days) == DAY.size

    @property
    def any_weekday(self) -> bool:
        """Whether the day of the week does not matter."""
        return len(self.weekdays) == WEEKDAY.size

    @property
    def any_month(self) -> bool:
        return len(self.months) == MONTH.size


def even_step(values: tuple[int, ...], size: int) -> int:
    """Return the step of values that divide their field evenly from 0 on; 0 if they do not."""
    step = step_from_0(values, size)
    return step if step and size % step == 0 and len(values) > 1 else 0


def step_from_0(values: tuple[int, ...], size: int) -> int:
    """Return n for the values of `*/n`; 0 if no step gives them."""
    step = values[1] if len(values) > 1 else 0
    return step if step and values == tuple(range(0, size, step)) else 0


def parse_fields(expression: str) -> CronFields:
    """Parse a cron expression strictly; anything ambiguous is refused with a sentence."""
    return _Parser(expression).parse()


class _Parser:
    """Parses one expression, which error messages quote."""

    def __init__(self, expression: str) -> None:
        self._expression = expression

    def parse(self) -> CronFields:
        texts = self._split()
        plain = [self._values(kind, text) for kind, text in zip(_KINDS, texts, strict=True)]
        weekday_items = texts[5].split(",")
        fields = CronFields(
            texts=texts,
            seconds=plain[0],
            minutes=plain[1],
            hours=plain[2],
            days=plain[3],
            last_day="L" in texts[3].split(","),
            months=plain[4],
            weekdays=tuple(sorted({weekday % 7 for weekday in plain[5]})),
            nth_weekdays=tuple(
                sorted({self._nth(match) for match in map(_NTH.fullmatch, weekday_items) if match})
            ),
            last_weekdays=tuple(
                sorted({self._last(match) for match in map(_LAST.fullmatch, weekday_items) if match})
            ),
        )
        if not _can_match(fields):
            raise self._refusal("no such date ever comes; check the day of month against the months")
        return fields

    def _split(self) -> tuple[str, ...]:
        if not isinstance(self._expression, str):
            raise self._refusal("it must be text")
        if len(self._expression) > MAX_EXPRESSION:
            raise self._refusal(f"it is longer than {MAX_EXPRESSION} characters")
        if not self._expression.isascii():
            raise self._refusal("use plain ASCII digits, letters and signs only")
        text = self._expression.strip(" \t\r\n").upper()
        if not text:
            raise self._refusal("it is empty; write five fields like 0 9 * * 1-5, or @daily")
        if text.startswith("@"):
            text = self._nickname(text)
        texts = tuple(_BLANKS.split(text))
        if len(texts) == len(_KINDS) - 1:
            return ("0", *texts)
        if len(texts) != len(_KINDS):
            raise self._refusal(f"it has {len(texts)} fields; write five, or six with the seconds first")
        return texts

    def _nickname(self, text: str) -> str:
        if text == "@REBOOT":
            raise self._refusal("@reboot is not a time; use the event boot instead")
        if text.startswith("@EVERY"):
            raise self._refusal("@every is not cron; use an interval like 15m instead")
        try:
            return NICKNAMES[text.lower()]
        except KeyError:
            raise self._refusal(f"unknown nickname; known are {', '.join(NICKNAMES)}") from None

    def _values(self, kind: FieldKind, text: str) -> tuple[int, ...]:
        """Return the plain values of a field; L, 5L and MON#2 are not among them."""
        values: set[int] = set()
        for item in text.split(","):
            if not _is_special(kind, item):
                values.update(self._range(kind, item))
        return tuple(sorted(values))

    def _range(self, kind: FieldKind, item: str) -> range:
        match = _ITEM.fullmatch(item)
        if match is None:
            raise self._refusal(_why_malformed(kind, item))
        step = self._step(kind, match["step"])
        if match["star"]:
            return range(kind.low, kind.low + kind.size, step)
        low = self._number(kind, match["low"])
        if match["high"] is None:
            if match["step"] is not None:
                advice = f"a step needs a range; write {low}-{kind.high}/{step} or */{step}"
                raise self._refusal(f"{kind.name} {shortened(item)}: {advice}")
            return range(low, low + 1)
        high = self._number(kind, match["high"])
        if high < low:
            raise self._refusal(
                f"{kind.name} {shortened(item)}: the range runs backwards{_sunday_advice(kind, low, high)}"
            )
        return range(low, high + 1, step)

    def _step(self, kind: FieldKind, text: str | None) -> int:
        if text is None:
            return 1
        step = int(text)
        if not 1 <= step <= kind.size:
            raise self._refusal(f"{kind.name} step {shortened(text)} must lie between 1 and {kind.size}")
        return step

    def _number(self, kind: FieldKind, text: str) -> int:
        if not text.isdigit():
            try:
                return kind.names[text]
            except KeyError:
                raise self._refusal(_why_malformed(kind, text)) from None
        number = int(text)
        if not kind.low <= number <= kind.high:
            raise self._refusal(f"{kind.name} {shortened(text)} is outside {kind.low}-{kind.high}")
        return number

    def _nth(self, match: re.Match[str]) -> tuple[int, int]:
        weekday, nth = self._number(WEEKDAY, match["weekday"]) % 7, int(match["nth"])
        if not 1 <= nth <= _MAX_NTH:
            raise self._refusal(
                f"day of week {shortened(match[0])}: the number after # must lie between 1 and {_MAX_NTH}"
            )
        return weekday, nth

    def _last(self, match: re.Match[str]) -> int:
        return self._number(WEEKDAY, match["weekday"]) % 7

    def _refusal(self, fault: str) -> CronParseError:
        given: object = self._expression
        text = given if isinstance(given, str) else shown(given)
        return CronParseError(f"cannot read the cron expression {shortened(text)!r}: {fault}", text)


def _is_special(kind: FieldKind, item: str) -> bool:
    if kind is DAY:
        return item == "L"
    return kind is WEEKDAY and bool(_NTH.fullmatch(item) or _LAST.fullmatch(item))


def _why_malformed(kind: FieldKind, item: str) -> str:
    shown = shortened(item)
    if not item:
        return f"an entry of the {kind.name} field is empty; check the commas"
    if "?" in item:
        return f"{kind.name} {shown}: write * instead of ?"
    if kind is DAY and (item.startswith("L") or item.endswith("W")):
        return f"day of month {shown} is not supported; of L and W only L, the last day, is"
    if kind is WEEKDAY and item == "L":
        return "day of week L needs a weekday before it, like 5L for the last Friday"
    example = "MON-FRI" if kind is WEEKDAY else f"{kind.low}-{kind.high}"
    return f"{kind.name} {shown!r} is not understood; write a number, a range like {example}, a list, or */2"


def _sunday_advice(kind: FieldKind, low: int, high: int) -> str:
    return f"; to end on Sunday write {low}-7" if kind is WEEKDAY and high == 0 else ""


def _can_match(fields: CronFields) -> bool:
    """Return whether any date matches: in 400 years every date falls on every weekday."""
    return any(
        _matches_in_month(fields, length) for month in fields.months for length in _MONTH_LENGTHS[month]
    )


def _matches_in_month(fields: CronFields, length: int) -> bool:
    by_day = {day for day in fields.days if day <= length}
    by_weekday = set(range(1, length + 1)) if fields.weekdays else set()
    for _, nth in fields.nth_weekdays:
        by_weekday.update(range(7 * nth - 6, min(7 * nth, length) + 1))
    if fields.last_day:
        by_day.add(length)
    if fields.last_weekdays:
        by_weekday.update(range(length - 6, length + 1))
    return bool(by_day & by_weekday if fields.days_match_both else by_day | by_weekday)
