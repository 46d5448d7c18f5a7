"""Interval texts such as "15m"."""

from __future__ import annotations

import re
from functools import lru_cache

from halo_scheduler.errors import IntervalParseError
from halo_scheduler.grammar.english import counted, shown

SECOND_MS = 1_000
MINUTE_MS = 60 * SECOND_MS
HOUR_MS = 60 * MINUTE_MS
DAY_MS = 24 * HOUR_MS
YEAR_MS = 365 * DAY_MS

# Any instant plus any interval stays far below the year 9999, where datetime ends.
MAX_INTERVAL_MS = 100 * YEAR_MS

_UNIT_MS = {"s": SECOND_MS, "m": MINUTE_MS, "h": HOUR_MS, "d": DAY_MS}
_UNIT_NAMES = {"s": "second", "m": "minute", "h": "hour", "d": "day"}
_BLANKS = " \t\r\n"
_MAX_TEXT = 64

_INTERVAL = re.compile(r"([0-9]+)[ \t]*([smhd])", re.IGNORECASE | re.ASCII)
INTERVAL_FORM = "a whole number with s, m, h or d, such as 30s, 15m, 2h, 1d"
"""The form of an interval, for authors of JSON."""
_EXPECTED = "write a whole number and one of s, m, h, d, like 15m"

# Tried in this order on an invalid interval: the first match says what is wrong.
_REFUSALS = (
    (re.compile(r"-.*", re.DOTALL), "it is negative"),
    (re.compile(r"[0-9]*[.,][0-9]+[ \t]*[a-z]*", re.IGNORECASE | re.ASCII), "it has a decimal"),
    (re.compile(r"[0-9]+", re.ASCII), "the unit is missing"),
    (re.compile(r"[smhd]", re.IGNORECASE | re.ASCII), "the number is missing"),
    (re.compile(r"[0-9]+[ \t]*[a-z]+", re.IGNORECASE | re.ASCII), "the unit is unknown"),
)


def parse_interval(text: str) -> int:
    """Return the milliseconds of an interval like "5m", "2 H" or "10s"."""
    if not isinstance(text, str):
        raise IntervalParseError(f"an interval must be text; {_EXPECTED}", shown(text))
    return _parse(text)


@lru_cache(maxsize=1024)
def _parse(text: str) -> int:
    stripped = text.strip(_BLANKS)
    if not stripped:
        raise IntervalParseError(f"the interval is empty; {_EXPECTED}", text)
    if len(stripped) > _MAX_TEXT:
        raise IntervalParseError(f"the interval is longer than {_MAX_TEXT} characters; {_EXPECTED}", text)
    match = _INTERVAL.fullmatch(stripped)
    if match is None:
        raise IntervalParseError(f"cannot read the interval {stripped!r}: {_what_is_wrong(stripped)}", text)
    milliseconds = int(match[1]) * _UNIT_MS[match[2].lower()]
    if milliseconds == 0:
        raise IntervalParseError(f"the interval {stripped!r} is zero; the shortest is 1s", text)
    if milliseconds > MAX_INTERVAL_MS:
        raise IntervalParseError(f"the interval {stripped!r} is longer than 100 years (36500d)", text)
    return milliseconds


def format_interval(milliseconds: int) -> str:
    """Return the shortest exact text for whole seconds: the inverse of `parse_interval`."""
    number, unit = _largest_unit(milliseconds)
    return f"{number}{unit}"


def interval_in_words(milliseconds: int) -> str:
    """Return whole seconds as a person would say them: "15 minutes", "1 hour"."""
    number, unit = _largest_unit(milliseconds)
    return counted(number, _UNIT_NAMES[unit])


def _what_is_wrong(text: str) -> str:
    for pattern, fault in _REFUSALS:
        if pattern.fullmatch(text):
            return f"{fault}; {_EXPECTED}"
    return f"it is malformed; {_EXPECTED}"


def _largest_unit(milliseconds: int) -> tuple[int, str]:
    if milliseconds <= 0 or milliseconds % SECOND_MS:
        raise ValueError(f"{milliseconds} ms is not a whole, positive number of seconds")
    unit = next(unit for unit in "dhms" if milliseconds % _UNIT_MS[unit] == 0)
    return milliseconds // _UNIT_MS[unit], unit
