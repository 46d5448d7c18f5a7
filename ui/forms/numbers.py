"""Parsing and formatting of numbers and lists typed into one line."""

from __future__ import annotations

import re

from halo_scheduler.errors import ScheduleError
from halo_scheduler.grammar.english import shown
from halo_scheduler.grammar.interval import SECOND_MS, format_interval, parse_interval

_SEPARATORS = re.compile(r"[,;\s]+")
_COMMAS = re.compile(r"[,;]")
# With three digits after a comma, it could be a thousands separator.
_AMOUNT = re.compile(r"([0-9]{0,7})(?:\.([0-9]{0,9})|,([0-9]{1,2}))?", re.ASCII)


def read_numbers(text: str) -> tuple[int, ...]:
    """Return the whole numbers of a line like "0, 1, 24"."""
    words = [word for word in _SEPARATORS.split(text.strip()) if word]
    for word in words:
        if not (word.isascii() and word.isdigit() and len(word) <= 9):  # noqa: PLR2004 - as C would take it
            raise ScheduleError(f"{shown(word)} is not a whole number; enter numbers like 0, 1, 24")
    return tuple(int(word) for word in words)


def write_numbers(numbers: tuple[int, ...]) -> str:
    """Return numbers as text."""
    return ", ".join(map(str, numbers))


def read_intervals(text: str) -> tuple[int, ...]:
    """Return the milliseconds of a line like "30s, 1m, 5m"; 0 is allowed."""
    words = [word.strip() for word in _COMMAS.split(text) if word.strip()]
    if not words:
        raise ScheduleError("enter at least one interval, like 30s, 1m, 5m")
    return tuple(0 if word == "0" else parse_interval(word) for word in words)


def write_intervals(delays_ms: tuple[int, ...]) -> str:
    """Return intervals as text, rounded up to seconds."""
    return ", ".join(format_interval(_whole(delay_ms)) if delay_ms else "0" for delay_ms in delays_ms)


def read_amount(text: str) -> float:
    """Return the amount of a line like "2.50"; a comma before one or two digits is a decimal point."""
    return _read_number(text, "an amount", "2.50")


def read_number(text: str) -> float:
    """Return the number of a line like "1.5"; a comma before one or two digits is a decimal point."""
    return _read_number(text, "a number", "1.5")


def _read_number(text: str, what: str, example: str) -> float:
    if not text.strip():
        raise ScheduleError(f"enter {what}, like {example}")
    match = _AMOUNT.fullmatch(text.strip())
    if match is None or not any(match.groups()):
        raise ScheduleError(f"{shown(text.strip())} is not {what}; enter it like {example}")
    return float(f"{match[1] or 0}.{match[2] or match[3] or 0}")


def write_amount(amount: float) -> str:
    """Return an amount with two decimals, or more if they are not zero."""
    whole, _, part = f"{amount:.9f}".partition(".")
    return f"{whole}.{part[:2]}{part[2:].rstrip('0')}"


def _whole(delay_ms: int) -> int:
    return -(-delay_ms // SECOND_MS) * SECOND_MS
