"""Times of day and durations in plain words: "9", "9:30", "half past nine", "8 pm", "2 hours and 30 minutes"."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import NamedTuple

from halo_scheduler.grammar.english import time_of_day
from halo_scheduler.grammar.interval import DAY_MS, HOUR_MS, MAX_INTERVAL_MS, MINUTE_MS, SECOND_MS
from halo_scheduler.grammar.phrases.tokens import Cursor, TokenKind

_HOURS = 24
_MINUTES = 60
_NOON = 12
_AFTERNOON = range(1, 7)
_EVENING = range(5, 12)
_LATE = range(8, 12)
_EARLY = range(6)

UNITS = {
    **dict.fromkeys(("s", "sec", "secs", "second", "seconds"), SECOND_MS),
    **dict.fromkeys(("m", "min", "mins", "minute", "minutes"), MINUTE_MS),
    **dict.fromkeys(("h", "hr", "hrs", "hour", "hours"), HOUR_MS),
    **dict.fromkeys(("d", "day", "days"), DAY_MS),
    **dict.fromkeys(("week", "weeks"), 7 * DAY_MS),
}


class TimeOfDay(NamedTuple):
    """A time of day; `is_bare` marks an hour of 1 to 12 alone, which may mean the morning or the evening."""

    hour: int
    minute: int = 0
    second: int = 0
    is_bare: bool = False
    has_half: bool = False

    @property
    def seconds(self) -> int:
        return 3600 * self.hour + 60 * self.minute + self.second

    @property
    def text(self) -> str:
        return time_of_day(self.hour, self.minute, self.second)


def time_at(seconds: int) -> TimeOfDay:
    """Return the time of day so many seconds after midnight; the day after begins at 0 again."""
    minutes, second = divmod(seconds, 60)
    return TimeOfDay(minutes // 60 % _HOURS, minutes % 60, second)


# --- Durations ----------------------------------------------------------------------------------------


def read_duration(cursor: Cursor) -> int | None:
    """Return the milliseconds of "15 minutes", "1 h 30 min" or "half an hour"; None if there is no duration here."""
    start = cursor.position
    total_ms = 0
    while (part_ms := _duration_part(cursor)) is not None:
        total_ms += part_ms
        before_and = cursor.position
        if not (cursor.accept("and") and cursor.peek().kind is TokenKind.NUMBER):
            cursor.position = before_and
    if total_ms == 0:
        if cursor.position != start:
            raise cursor.refusal("the interval is zero", "every 15 minutes")
        return None
    if total_ms % SECOND_MS or total_ms > MAX_INTERVAL_MS:
        raise cursor.refusal("an interval has whole seconds and at most 100 years", "every 15 minutes")
    return total_ms


def _duration_part(cursor: Cursor) -> int | None:
    start = cursor.position
    halves = cursor.accept_all("half an") or cursor.accept_all("half a") or bool(cursor.accept("half"))
    token = None if halves else cursor.take_kind(TokenKind.DECIMAL)
    number = None if halves or token else cursor.number()
    if number is None and not halves and token is None and cursor.accept("a", "an"):
        number = 1
    unit_ms = UNITS.get(cursor.peek().text)
    if unit_ms is None or not (halves or token or number is not None):
        cursor.position = start
        return None
    cursor.take()
    if halves:
        return unit_ms // 2
    return (number or 0) * unit_ms if token is None else _decimal_ms(token.text, unit_ms)


def _decimal_ms(text: str, unit_ms: int) -> int:
    whole, _, part = text.partition(".")
    scale = 10 ** len(part)
    scaled = (int(whole) * scale + int(part)) * unit_ms
    return (
        scaled // scale if scaled % scale == 0 else 1
    )  # 1 ms is refused like every other fraction of a second


# --- Times of day -------------------------------------------------------------------------------------


def read_times(cursor: Cursor) -> list[TimeOfDay]:
    """Return the times of "9 and 17", "9:00, 12:00 and 18:30" or "8:00, 10:00 … 18:00"; [] if there is none here."""
    first = read_time(cursor)
    if first is None:
        return []
    times = [first]
    while (following := _further_time(cursor)) is not None:
        times.append(following)
    if len(times) > 1 and cursor.accept("…"):
        times = _continued(cursor, times)
    require_clear(cursor, times)
    return times


def _further_time(cursor: Cursor) -> TimeOfDay | None:
    before = cursor.position
    if not cursor.accept(",", "and", "&"):
        return None
    cursor.accept("and")
    cursor.accept("at")
    time = read_time(cursor)
    if time is None:
        cursor.position = before
    return time


def _continued(cursor: Cursor, times: list[TimeOfDay]) -> list[TimeOfDay]:
    last = read_time(cursor)
    if last is None:
        raise cursor.refusal("the last time after … is missing", "at 8:00, 10:00 … 18:00 every day")
    step = times[-1].seconds - times[-2].seconds
    if step <= 0 or (last.seconds - times[-1].seconds) % step or last.seconds < times[-1].seconds:
        raise cursor.refusal(
            "the times around … are not evenly spaced in the order of the day",
            "at 8:00, 10:00 … 18:00 every day",
        )
    return times + [time_at(at) for at in range(times[-1].seconds + step, last.seconds + 1, step)]


def require_clear(cursor: Cursor, times: Sequence[TimeOfDay]) -> None:
    """Ask whether a bare hour is in the morning or in the evening, if the others leave that open."""
    bare = [time for time in times if time.is_bare]
    if not bare or len(times) == 1:
        return
    is_backwards = any(
        time.is_bare and time.seconds < before.seconds for before, time in pairwise(times) if before.is_bare
    )
    if is_backwards or any(time.has_half for time in times):
        hour = bare[-1].hour
        raise cursor.refusal(
            f"it is not clear whether {hour} is {hour % _NOON:02}:00 or {hour % _NOON + _NOON}:00",
            f"every day at {hour % _NOON}:00",
            f"every day at {hour % _NOON + _NOON}:00",
        )


def read_time(cursor: Cursor) -> TimeOfDay | None:
    """Return the time of day at the cursor; None, without moving, if there is none."""
    if cursor.accept("noon", "midday"):
        return TimeOfDay(_NOON)
    if cursor.accept("midnight"):
        return TimeOfDay(0)
    time = _time_past(cursor) or _clock(cursor) or _hour(cursor)
    return None if time is None else _with_part_of_day(cursor, time)


def _clock(cursor: Cursor) -> TimeOfDay | None:
    token = cursor.take_kind(TokenKind.CLOCK)
    if token is None:
        return None
    hour, minute, second = (int(part) for part in f"{token.text}:00".split(":")[:3])
    if hour >= _HOURS or minute >= _MINUTES or second >= _MINUTES:
        raise cursor.refusal(
            f"there is no such time of day as {token.text}; hours go from 0 to 23, minutes to 59",
            "every day at 18:30",
        )
    return _with_half(cursor, TimeOfDay(hour, minute, second))


def _hour(cursor: Cursor) -> TimeOfDay | None:
    start = cursor.position
    hour = cursor.number()
    following = cursor.peek()
    if hour is None or following.text in UNITS or following.text == "past":
        cursor.position = start
        return None
    if hour >= _HOURS:
        raise cursor.refusal(f"there is no hour {hour}; hours go from 0 to 23", "every day at 18:30")
    time = _with_half(cursor, TimeOfDay(hour, is_bare=0 < hour <= _NOON))
    cursor.accept("o'clock")
    return time


def _with_half(cursor: Cursor, time: TimeOfDay) -> TimeOfDay:
    """Apply "am" or "pm"."""
    half = cursor.accept("am", "pm")
    if not half:
        return time
    if not 0 < time.hour <= _NOON:
        raise cursor.refusal(
            f"there is no such time as {time.hour} {half}", "every day at 18:00", "every day at 6 pm"
        )
    return time._replace(
        hour=time.hour % _NOON + (_NOON if half == "pm" else 0), is_bare=False, has_half=True
    )


def _time_past(cursor: Cursor) -> TimeOfDay | None:
    """Return the time of "half past nine", "quarter to 9" or "10 minutes past 9"."""
    start = cursor.position
    named = take_named_minutes(cursor)
    minutes = cursor.number() if named is None else named
    is_count = named is not None or bool(cursor.accept("minutes", "minute", "min"))
    side = cursor.accept("past", "to") if minutes is not None else ""
    hour = cursor.number() if side else None
    # "9 to 17" is a range.
    if (
        minutes is None
        or hour is None
        or minutes >= _MINUTES
        or hour >= _HOURS
        or (side == "to" and not is_count)
    ):
        cursor.position = start
        return None
    is_bare = 0 < hour <= _NOON
    hour, minute = (hour, minutes) if side == "past" else ((hour - 1) % _HOURS, _MINUTES - minutes)
    return _with_half(cursor, TimeOfDay(hour, minute, is_bare=is_bare))


_NAMED_MINUTES = {"half": 30, "quarter": 15}


def take_named_minutes(cursor: Cursor) -> int | None:
    """Take "half" or "a quarter" and return its minutes."""
    if cursor.peek(1).text == "quarter":
        cursor.accept("a")
    return cursor.accept_from(_NAMED_MINUTES)


# --- Parts of the day ---------------------------------------------------------------------------------

PARTS_OF_DAY = ("morning", "afternoon", "evening", "night")


def _with_part_of_day(cursor: Cursor, time: TimeOfDay) -> TimeOfDay:
    start = cursor.position
    part = ""
    if cursor.accept_all("in the"):
        part = cursor.accept("morning", "afternoon", "evening")
    elif cursor.accept_all("at night"):
        part = "night"
    if not part:
        cursor.position = start
        return time
    return in_part_of_day(cursor, time, part)


def in_part_of_day(cursor: Cursor, time: TimeOfDay, part: str) -> TimeOfDay:
    """Return the time in "the evening"; a time outside it is refused."""
    hour = time.hour
    if time.is_bare or (hour <= _NOON and not time.has_half and part != "morning"):
        hour = _hour_in(part, hour)
    if not _is_in(part, hour):
        raise cursor.refusal(f"{time.text} is not in the {part}", f"every day at {time.text}")
    return time._replace(hour=hour, is_bare=False, has_half=True)


def _hour_in(part: str, hour: int) -> int:
    later = {"afternoon": _AFTERNOON, "evening": _EVENING, "night": _LATE}.get(part, ())
    if part == "night" and hour == _NOON:
        return 0
    return hour + _NOON if hour in later else hour


def _is_in(part: str, hour: int) -> bool:
    if part == "morning":
        return hour < _NOON
    if part == "afternoon":
        return _NOON <= hour <= _NOON + max(_AFTERNOON)
    return hour >= _NOON + min(_EVENING) or (part == "night" and hour in _EARLY)
