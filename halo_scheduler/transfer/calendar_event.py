"""Converts systemd calendar events to cron, as far as cron can express them."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from fractions import Fraction

from halo_scheduler.errors import ScheduleError
from halo_scheduler.grammar.english import shortened, shown
from halo_scheduler.grammar.interval import DAY_MS, HOUR_MS, MINUTE_MS, SECOND_MS
from halo_scheduler.grammar.zone import find_zone, to_instant, wall_seconds
from halo_scheduler.model import Cron, Once

_SHORTHANDS = {
    "minutely": "* * * * *",
    "hourly": "0 * * * *",
    "daily": "0 0 * * *",
    "weekly": "0 0 * * 1",
    "monthly": "0 0 1 * *",
    "quarterly": "0 0 1 1,4,7,10 *",
    "semiannually": "0 0 1 1,7 *",
    "semi-annually": "0 0 1 1,7 *",
    "yearly": "0 0 1 1 *",
    "annually": "0 0 1 1 *",
}
_WEEKDAYS = ("sun", "mon", "tue", "wed", "thu", "fri", "sat")
_WEEKDAY = r"(?:sun|mon|tue(?:s)?|wed(?:nes)?|thu(?:rs)?|fri|sat(?:ur)?)(?:day)?"
_WEEKDAYS_WORD = re.compile(
    rf"{_WEEKDAY}(?:(?:\.\.|-){_WEEKDAY})?(?:,{_WEEKDAY}(?:(?:\.\.|-){_WEEKDAY})?)*",
    re.IGNORECASE,
)
_WEEK = 7
_DATE = re.compile(
    r"(?:(?P<year>[0-9*,./]+)-)?(?P<month>[0-9*,./]+)(?P<sign>[-~])(?P<day>[0-9*,./]+)", re.ASCII
)
_TIME = re.compile(r"(?P<hour>[0-9*,./]+):(?P<minute>[0-9*,./]+)(?::(?P<second>[0-9*,./]+))?", re.ASCII)
_ITEM = re.compile(r"(?P<low>\*|[0-9]{1,4})(?:\.\.(?P<high>[0-9]{1,4}))?(?:/(?P<step>[0-9]{1,4}))?", re.ASCII)
_NUMBER = re.compile(r"[0-9]+", re.ASCII)

_UNITS_MS = {
    **dict.fromkeys(("ms", "msec"), 1),
    **dict.fromkeys(("", "s", "sec", "second", "seconds"), SECOND_MS),
    **dict.fromkeys(("m", "min", "minute", "minutes"), MINUTE_MS),
    **dict.fromkeys(("h", "hr", "hour", "hours"), HOUR_MS),
    **dict.fromkeys(("d", "day", "days"), DAY_MS),
    **dict.fromkeys(("w", "week", "weeks"), 7 * DAY_MS),
}
_SPAN_PART = re.compile(r"\s*([0-9]{1,12}(?:\.[0-9]{1,9})?)\s*([a-zA-Z]*)", re.ASCII)
_LONGEST = 500


def read_span(text: str) -> int:
    """Return the milliseconds of a time span such as "1h 30min" or "90"."""
    text = text.strip()
    if len(text) > _LONGEST:
        raise ScheduleError(f"the time span {shown(text)} is too long")
    position, total_ms = 0, 0
    while position < len(text):
        match = _SPAN_PART.match(text, position)
        unit = match[2].lower() if match and match[2] != "M" else "month"
        if match is None or unit not in _UNITS_MS:
            raise ScheduleError(f"the time span {shown(text)} is not understood; write it like 15min or 1h")
        total_ms += int(Fraction(match[1]) * _UNITS_MS[unit])
        position = match.end()
    if total_ms == 0:
        raise ScheduleError(f"the time span {shown(text)} is empty")
    return total_ms


def read_calendar_event(text: str) -> Cron | Once:
    """Return an equivalent schedule. ScheduleError if cron cannot express it."""
    return _Event(text).schedule()


@dataclass(frozen=True, slots=True)
class _Field:
    """The name and range of a field."""

    name: str
    low: int
    high: int


_SECOND = _Field("second", 0, 59)
_MINUTE = _Field("minute", 0, 59)
_HOUR = _Field("hour", 0, 23)
_DAY = _Field("day", 1, 31)
_MONTH = _Field("month", 1, 12)
_MIDNIGHT = {"hour": "0", "minute": "0", "second": "0"}
_ANY_DATE = {"year": "*", "month": "*", "sign": "-", "day": "*"}


class _Event:
    """Parses one calendar event."""

    def __init__(self, text: str) -> None:
        self._text = text

    def schedule(self) -> Cron | Once:
        if len(self._text) > _LONGEST:
            raise self._refusal("it is too long")
        words = self._text.split()
        zone = self._take_zone(words)
        if len(words) == 1 and words[0].lower() in _SHORTHANDS:
            return Cron(_SHORTHANDS[words[0].lower()], zone)
        weekdays = self._take_weekdays(words)
        date = _take(words, _DATE)
        time = _take(words, _TIME)
        if words or not (weekdays or date or time):
            raise self._refusal("it is not understood; write it like Mon..Fri *-*-* 09:00")
        date, time = {**_ANY_DATE, **date}, {**_MIDNIGHT, **time}
        if date["year"] != "*":
            return self._once(date, time, weekdays, zone)
        expression = self._cron(date, time, weekdays)
        try:
            return Cron(expression, zone)
        except ScheduleError as error:
            raise self._refusal(error.message) from None

    def _take_zone(self, words: list[str]) -> str | None:
        """Remove a trailing time zone, if there is one."""
        if len(words) == 1 or not words or not words[-1][0].isalpha() or _WEEKDAYS_WORD.fullmatch(words[-1]):
            return None
        zone = words.pop()
        try:
            find_zone(zone)
        except ScheduleError as error:
            raise self._refusal(error.message) from None
        return zone

    def _take_weekdays(self, words: list[str]) -> tuple[int, ...]:
        if not words or not _WEEKDAYS_WORD.fullmatch(words[0]):
            return ()
        found: set[int] = set()
        for item in words.pop(0).lower().split(","):
            first, _, last = item.replace("-", "..").partition("..")
            low, high = _WEEKDAYS.index(first[:3]), _WEEKDAYS.index((last or first)[:3])
            found |= {(low + step) % _WEEK for step in range((high - low) % _WEEK + 1)}
        return tuple(sorted(found))

    def _once(
        self, date: Mapping[str, str], time: Mapping[str, str], weekdays: Sequence[int], zone: str | None
    ) -> Once:
        texts = [date["year"], date["month"], date["day"], time["hour"], time["minute"], time["second"]]
        if weekdays or date["sign"] == "~" or not all(map(_NUMBER.fullmatch, texts)):
            raise self._refusal("cron has no years, except for a single time")
        try:
            moment = datetime(*map(int, texts))  # type: ignore[arg-type]  # noqa: DTZ001 - a wall time
        except ValueError:
            raise self._refusal("there is no such date and time") from None
        return Once(to_instant(find_zone(zone), wall_seconds(moment)) * SECOND_MS)

    def _cron(self, date: Mapping[str, str], time: Mapping[str, str], weekdays: Sequence[int]) -> str:
        second = self._field(_SECOND, time["second"])
        minute, hour = self._field(_MINUTE, time["minute"]), self._field(_HOUR, time["hour"])
        month = self._field(_MONTH, date["month"])
        day, weekday = self._days(date, weekdays)
        return " ".join([*([] if second == "0" else [second]), minute, hour, day, month, weekday])

    def _days(self, date: Mapping[str, str], weekdays: Sequence[int]) -> tuple[str, str]:
        """Return cron's two day fields. In cron either one may match; in systemd both must."""
        if date["sign"] == "~":
            return self._last_days(date["day"], weekdays)
        day = self._field(_DAY, date["day"])
        if not weekdays:
            return day, "*"
        plain = ",".join(map(str, weekdays))
        if day.startswith("*"):
            return day, plain
        week = _week_of(day)
        if week is None:
            raise self._refusal("cron cannot combine a weekday with days of the month")
        return "*", ",".join(f"{weekday}#{week}" for weekday in weekdays)

    def _last_days(self, day: str, weekdays: Sequence[int]) -> tuple[str, str]:
        if not weekdays and day in {"1", "01"}:
            return "L", "*"
        if weekdays and day in {"7/1", "07/1"}:
            return "*", ",".join(f"{weekday}L" for weekday in weekdays)
        raise self._refusal("cron can only count the last day or the last weekday from the end of a month")

    def _field(self, field: _Field, text: str) -> str:
        return ",".join(self._item(field, item) for item in text.split(","))

    def _item(self, field: _Field, text: str) -> str:
        match = _ITEM.fullmatch(text)
        if match is None:
            raise self._refusal(f"the {field.name} {shown(text)} is not understood")
        low = field.low if match["low"] == "*" else int(match["low"])
        is_all = match["low"] == "*" or (low == field.low and match["step"] is not None)
        high = int(match["high"]) if match["high"] else field.high
        if match["step"] is None:
            return "*" if match["low"] == "*" else f"{low}-{high}" if match["high"] else str(low)
        step = int(match["step"])
        if step == 0 or low + step > high:
            return str(low)
        return f"*/{step}" if is_all and not match["high"] else f"{low}-{high}/{step}"

    def _refusal(self, fault: str) -> ScheduleError:
        return ScheduleError(f"OnCalendar={shortened(self._text.strip())}: {fault}")


def _take(words: list[str], pattern: re.Pattern[str]) -> dict[str, str]:
    """Consume the next word if it has the given kind."""
    match = pattern.fullmatch(words[0]) if words else None
    if match is None:
        return {}
    del words[0]
    return {name: text for name, text in match.groupdict().items() if text is not None}


def _week_of(day: str) -> int | None:
    """Return which week of the month a seven-day range is: 1-7 is the first."""
    low, _, high = day.partition("-")
    if not (low.isdigit() and high.isdigit()) or int(high) - int(low) != _WEEK - 1 or int(low) % _WEEK != 1:
        return None
    return int(low) // _WEEK + 1
