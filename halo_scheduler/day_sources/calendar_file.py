"""Calendar files (.ics): the days of their events."""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, time, timedelta, tzinfo
from pathlib import Path

from halo_scheduler.day_sources.recurrence import read_rule
from halo_scheduler.errors import ScheduleError
from halo_scheduler.grammar.english import shown
from halo_scheduler.grammar.zone import find_zone

MOST_BYTES = 10 << 20
MOST_EVENTS = 20_000
MOST_EXAMINED = 3_000_000
"""The most days to examine for the repeating events of one file, which takes a few seconds."""
# The cost of one occurrence with times, in examined days.
_COST_OF_TIMES = 5
_DAY = timedelta(days=1)
_NO_TIME = timedelta()
# Birthdays without a year have the year 1604; dates after the last year never matter.
_FIRST_YEAR, _LAST_YEAR = 1600, 9000
_USED = frozenset(
    ("DTSTART", "DTEND", "DURATION", "RRULE", "RDATE", "EXDATE", "RECURRENCE-ID", "UID", "STATUS")
)
_REPEATED = ("RDATE", "EXDATE")
_NAME = re.compile(r"[A-Za-z0-9-]{1,80}(?=[;:])", re.ASCII)
_BEGINNING = re.compile(r"BEGIN:\s*VCALENDAR\s*", re.ASCII | re.IGNORECASE)
_PARAMETER = re.compile(r';([A-Za-z0-9-]{1,80})=("[^"]*"|[^";:]*)', re.ASCII)
_MOMENT = re.compile(r"([0-9]{4})([0-9]{2})([0-9]{2})(?:T([0-9]{2})([0-9]{2})([0-9]{2})(Z)?)?", re.ASCII)
_DURATION = re.compile(
    r"[+-]?P(?:([0-9]{1,4})W|(?:([0-9]{1,5})D)?(?:T(?:([0-9]{1,5})H)?(?:([0-9]{1,6})M)?(?:([0-9]{1,7})S)?)?)",
    re.ASCII,
)


@dataclass(frozen=True, slots=True)
class _Moment:
    """A day, or a time on a day of a zone."""

    day: date
    time: time | None = None
    zone: tzinfo | None = None

    def at(self, day: date) -> datetime:
        """Return the instant of its time on another day, by the clock of the computer."""
        moment = datetime.combine(day, self.time or time(), self.zone or find_zone(None))
        return moment.astimezone(find_zone(None))

    def __sub__(self, other: _Moment) -> timedelta:
        if self.time is None or other.time is None:
            return self.day - other.day
        return self.at(self.day).astimezone(UTC) - other.at(other.day).astimezone(UTC)


@dataclass(slots=True)
class _Event:
    """The properties of an event that determine its days, each with its zone, if any."""

    line: int
    texts: dict[str, tuple[str, str | None]] = field(default_factory=dict)
    lists: dict[str, list[tuple[str, str | None]]] = field(default_factory=dict)

    def add(self, name: str, value: str, zone: str | None) -> None:
        self.texts[name] = (value, zone)
        if name in _REPEATED:
            self.lists.setdefault(name, []).append((value, zone))

    def moment(self, name: str) -> _Moment | None:
        return _moment(*self.texts[name]) if name in self.texts else None

    def days(self, name: str) -> set[date]:
        """Return the days of a list of dates; for a period only its first day."""
        given = self.lists.get(name, ())
        return {_moment(one.partition("/")[0], zone).day for text, zone in given for one in text.split(",")}


def file_days(path: str, first: date, last: date) -> frozenset[date]:
    """Return the days of a span that the events of a file touch; ScheduleError if the file cannot be read.

    Times are converted to the computer's time zone.
    """
    try:
        return _Reader(first, last).days(list(_events(_text_of(path))))
    except ScheduleError as error:
        raise ScheduleError(f"the calendar file {path} {error.message}") from None


def _text_of(path: str) -> str:
    try:
        with open(Path(path).expanduser(), "rb", opener=_open_file) as file:
            data = file.read(MOST_BYTES + 1)
    except OSError as error:
        raise ScheduleError(f"cannot be read: {error.strerror or error}") from None
    except RuntimeError as error:  # The home folder is unknown.
        raise ScheduleError(f"cannot be found: {error}") from None
    if len(data) > MOST_BYTES:
        raise ScheduleError(f"is larger than {MOST_BYTES >> 20} MB")
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise ScheduleError("is not a calendar: it isn't UTF-8 text") from None


def _open_file(path: str, flags: int) -> int:
    """Open a file without waiting for the writer of a pipe; what is open is checked, not what had the name before."""
    descriptor = os.open(path, flags | getattr(os, "O_NONBLOCK", 0))
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise ScheduleError("is not a file")
    return descriptor


def _events(text: str) -> Iterator[_Event]:
    """Yield the events of a file, without nested components like alarms."""
    nesting: list[str] = []
    event = _Event(0)
    count = 0
    for number, line in _unfolded(text):
        # Before anything is quoted: an assistant could read other files by naming them as calendars.
        if not nesting and _BEGINNING.fullmatch(line) is None:
            raise ScheduleError("is not a calendar: it does not begin with BEGIN:VCALENDAR")
        name, zone, value = _property(line, number)
        is_event = nesting[1:3] == ["VEVENT"]
        if name == "BEGIN":
            nesting.append(value.upper())
            event = _Event(number) if nesting[1:3] == ["VEVENT"] else event
        elif name == "END" and nesting.pop() != value.upper():
            raise ScheduleError(f"is damaged: line {number} has an END without a BEGIN")
        elif name == "END" and is_event:
            count += 1
            yield event
        elif is_event and name in _USED:
            event.add(name, value, zone)
        if count > MOST_EVENTS:
            raise ScheduleError(f"has more than {MOST_EVENTS} events")
    if nesting or not text.strip():
        raise ScheduleError("is incomplete: END:VCALENDAR is missing")


def _unfolded(text: str) -> Iterator[tuple[int, str]]:
    """Yield the lines of a file with their numbers; a line that begins with a blank continues the previous one."""
    parts: list[str] = []
    begin = 1
    for number, line in enumerate(re.split(r"\r\n|\n|\r", text), 1):
        if line[:1] in (" ", "\t") and parts:
            parts.append(line[1:])
            continue
        if parts and parts != [""]:
            yield begin, "".join(parts)
        parts, begin = [line], number
    if parts and parts != [""]:
        yield begin, "".join(parts)


def _property(line: str, number: int) -> tuple[str, str | None, str]:
    """Return the name of a property, the zone in its parameters, and its value."""
    match = _NAME.match(line)
    if match is None:
        raise ScheduleError(f"is damaged: line {number} cannot be read: {shown(line)}")
    name, at, zone = match[0].upper(), match.end(), None
    if name not in (*_USED, "BEGIN", "END"):
        return name, None, ""
    while (parameter := _PARAMETER.match(line, at)) is not None:
        if parameter[1].upper() == "TZID":
            zone = parameter[2].strip('"')
        at = parameter.end()
    if line[at : at + 1] != ":":
        raise ScheduleError(f"is damaged: line {number} cannot be read: {shown(line)}")
    return name, zone, line[at + 1 :].strip()


def _moment(text: str, zone: str | None) -> _Moment:
    match = _MOMENT.fullmatch(text.strip())
    if match is None:
        raise ScheduleError(f"cannot be read: {shown(text)} is not a date")
    year, month, day, hour, minute, second = (
        None if part is None else int(part) for part in match.groups()[:6]
    )
    try:
        found = date(min(year or 0, _LAST_YEAR), month or 0, day or 0)
        at = None if hour is None else time(hour, minute or 0, second or 0)
    except ValueError:
        raise ScheduleError(f"cannot be read: {shown(text)} is not a date") from None
    if found.year < _FIRST_YEAR:
        raise ScheduleError(f"cannot be read: {shown(text)} is too far in the past")
    return _Moment(found, at, UTC if match[7] else _zone(zone))


def _zone(name: str | None) -> tzinfo | None:
    """Return a time zone; unknown names, as in files of Outlook, count as the computer's."""
    with suppress(ScheduleError):
        return None if name is None else find_zone(name)
    return None


class _Reader:
    """Finds the days of events within a span."""

    def __init__(self, first: date, last: date) -> None:
        self._first = first
        self._last = last
        self._examined = 0

    def days(self, events: list[_Event]) -> frozenset[date]:
        moved: dict[str, set[date]] = {}
        for event in events:
            was = event.moment("RECURRENCE-ID")
            if was is not None and "UID" in event.texts:
                moved.setdefault(event.texts["UID"][0], set()).add(was.day)
        found: set[date] = set()
        for event in events:
            try:
                found |= self._days_of(event, moved)
            except ScheduleError as error:
                raise ScheduleError(f"{error.message} (in the event of line {event.line})") from None
        return frozenset(found)

    def _days_of(self, event: _Event, moved: dict[str, set[date]]) -> set[date]:
        start = event.moment("DTSTART")
        if start is None or event.texts.get("STATUS", ("",))[0].upper() == "CANCELLED":
            return set()
        length = _length(event, start)
        left_out = event.days("EXDATE")
        if "RECURRENCE-ID" not in event.texts:
            left_out |= moved.get(event.texts.get("UID", ("",))[0], set())
        days = {*self._repeated(event, start, length), *event.days("RDATE")}
        begun = days - left_out
        self._spend(len(begun) * (_COST_OF_TIMES if start.time else 1))
        return {touched for day in begun for touched in self._touched(start, day, length)}

    def _repeated(self, event: _Event, start: _Moment, length: timedelta) -> Iterator[date]:
        if "RRULE" not in event.texts or "RECURRENCE-ID" in event.texts:
            yield start.day
            return
        rule = read_rule(event.texts["RRULE"][0], start.day, lambda text: _last_day(text, start))
        since = self._first - min(length + 2 * _DAY, self._first - date(_FIRST_YEAR, 1, 1))
        yield from rule.occurrences(since, self._last + _DAY, self._spend)

    def _spend(self, days: int) -> None:
        self._examined += days
        if self._examined > MOST_EXAMINED:
            raise ScheduleError("has too many repeating events")

    def _touched(self, start: _Moment, day: date, length: timedelta) -> Iterator[date]:
        """Return the days of the span that an event touches if it begins on a given day."""
        if day > self._last + _DAY:
            return
        if start.time is None:
            first, last = day, day + max(length, _DAY) - _DAY
        else:
            begin = start.at(day)
            end = begin.astimezone(UTC) + max(length - timedelta(seconds=1), _NO_TIME)
            first, last = begin.date(), end.astimezone(find_zone(None)).date()
        first, last = max(first, self._first), min(last, self._last)
        self._spend(max((last - first).days, 0))
        for number in range((last - first).days + 1):
            yield first + number * _DAY


def _length(event: _Event, start: _Moment) -> timedelta:
    end = event.moment("DTEND")
    if end is not None:
        return max(end - start, _NO_TIME)
    if "DURATION" not in event.texts:
        return _NO_TIME
    text = event.texts["DURATION"][0]
    match = _DURATION.fullmatch(text)
    if match is None:
        raise ScheduleError(f"cannot be read: {shown(text)} is not a duration")
    weeks, days, hours, minutes, seconds = (int(part or 0) for part in match.groups())
    return timedelta(weeks=weeks, days=days, hours=hours, minutes=minutes, seconds=seconds)


def _last_day(text: str, start: _Moment) -> date:
    """Return the last start day that UNTIL allows for an event with this time."""
    until = _moment(text, None)
    if until.time is None or start.time is None:
        return until.day
    end = datetime.combine(until.day, until.time, until.zone or start.zone or find_zone(None))
    end = end.astimezone(start.zone or find_zone(None))
    return end.date() if end.time() >= start.time else end.date() - _DAY
