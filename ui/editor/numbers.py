"""Lists of numbers and intervals, as they are typed into one line."""

from __future__ import annotations

import re

from halo_scheduler.errors import ScheduleError
from halo_scheduler.schedule.interval import SECOND_MS, format_interval, parse_interval
from halo_scheduler.schedule.words import shown

_SEPARATORS = re.compile(r"[,;\s]+")
_COMMAS = re.compile(r"[,;]")


def read_numbers(text: str) -> tuple[int, ...]:
    """Return the whole numbers of a line like "0, 1, 24"."""
    words = [word for word in _SEPARATORS.split(text.strip()) if word]
    for word in words:
        if not (word.isascii() and word.isdigit() and len(word) <= 9):  # noqa: PLR2004 - as C would take it
            raise ScheduleError(f"{shown(word)} is not a whole number; write them like 0, 1, 24")
    return tuple(int(word) for word in words)


def write_numbers(numbers: tuple[int, ...]) -> str:
    """Return numbers as they are typed."""
    return ", ".join(map(str, numbers))


def read_intervals(text: str) -> tuple[int, ...]:
    """Return the milliseconds of a line like "30s, 1m, 5m"; a 0 stands for no time at all."""
    words = [word.strip() for word in _COMMAS.split(text) if word.strip()]
    if not words:
        raise ScheduleError("write at least one interval, like 30s, 1m, 5m")
    return tuple(0 if word == "0" else parse_interval(word) for word in words)


def write_intervals(delays_ms: tuple[int, ...]) -> str:
    """Return milliseconds as they are typed; what is below a second is rounded up."""
    return ", ".join(format_interval(_whole(delay_ms)) if delay_ms else "0" for delay_ms in delays_ms)


def _whole(delay_ms: int) -> int:
    return -(-delay_ms // SECOND_MS) * SECOND_MS
