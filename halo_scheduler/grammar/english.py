"""Small pieces of English: lists, ordinals, dates and times of day."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date, datetime
from reprlib import Repr

# English in any locale: calendar.day_name and strftime use the computer's.
WEEKDAYS = ("Sunday", "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday")
MONTHS = (
    *("January", "February", "March", "April", "May", "June"),
    *("July", "August", "September", "October", "November", "December"),
)
UNNAMED_ASSISTANT = "assistant"
"""Stands for the name of an assistant that gives none."""
_LONGEST_QUOTE = 60
_REPR = Repr()
_REPR.maxlevel = 2
_REPR.maxstring = _REPR.maxother = _LONGEST_QUOTE + 10
_TEENS = range(11, 14)
_ENDINGS = {1: "st", 2: "nd", 3: "rd"}
SHORTEST_SPAN = 3


def shortened(text: str) -> str:
    """Return a text shortened for a sentence."""
    return text if len(text) <= _LONGEST_QUOTE else f"{text[:_LONGEST_QUOTE]}…"


def shown(value: object) -> str:
    """Return any value as a short quote for a sentence; never fails."""
    try:
        return shortened(_REPR.repr(value))
    except (ValueError, RecursionError):  # a number of thousands of digits, a list nested without end
        return "a value that is too long"


def listed(words: Sequence[str], *, last: str = "and") -> str:
    """Join words as in a sentence: "a, b and c"."""
    if len(words) == 1:
        return words[0]
    return f"{', '.join(words[:-1])} {last} {words[-1]}"


def counted(number: int, noun: str) -> str:
    """Return "1 minute", "15 minutes"."""
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def assistant_words(name: str) -> str:
    """Return the words for an assistant: "the assistant “claude-code”"; its name may be any text."""
    return "an assistant" if name == UNNAMED_ASSISTANT else f"the assistant “{name}”"


def ordinal(number: int) -> str:
    """Return "1st", "2nd", "11th", "31st"."""
    ending = "th" if number % 100 in _TEENS else _ENDINGS.get(number % 10, "th")
    return f"{number}{ending}"


def spans(values: Sequence[int], words: Sequence[str], between: str) -> list[str]:
    """Return the words of sorted numbers, three or more in a row as one span: "0–5", "10"."""
    runs: list[list[int]] = []
    for index, value in enumerate(values):
        if runs and values[runs[-1][-1]] == value - 1:
            runs[-1].append(index)
        else:
            runs.append([index])
    texts: list[str] = []
    for run in runs:
        is_span = len(run) >= SHORTEST_SPAN
        texts += [f"{words[run[0]]}{between}{words[run[-1]]}"] if is_span else [words[index] for index in run]
    return texts


def time_of_day(hour: int, minute: int, second: int = 0) -> str:
    """Return "09:00"; seconds only if they are not 0."""
    return f"{hour:02}:{minute:02}:{second:02}" if second else f"{hour:02}:{minute:02}"


def clock_time(moment: datetime) -> str:
    """Return the time of day of a moment."""
    return time_of_day(moment.hour, moment.minute, moment.second)


def short_date(moment: date, *, year: bool = True) -> str:
    """Return "24 Dec 2026", or "24 Dec"."""
    text = f"{moment.day} {MONTHS[moment.month - 1][:3]}"
    return f"{text} {moment.year}" if year else text


def weekday_name(moment: datetime) -> str:
    """Return "Thursday"."""
    return WEEKDAYS[(moment.weekday() + 1) % len(WEEKDAYS)]
