"""Calendars: the days on which a schedule has times, and where times on excluded days move."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import date, timedelta
from enum import StrEnum
from itertools import takewhile
from typing import Annotated, Any, NamedTuple

from halo_scheduler.errors import ScheduleError
from halo_scheduler.grammar.checks import frozen_list, require_choice, require_date, require_text
from halo_scheduler.grammar.english import shown
from halo_scheduler.model.codec import Value, decode_under, put

DAY_GROUPS = {"weekdays": range(5), "weekends": range(5, 7)}
"""The names of days of the week; Monday is 0."""
_FIRST_OF_WEEKEND = 5
MOST_DAYS = 300
MOST_SOURCES = 20
_LONGEST_PATH = 1_000
_DAY = timedelta(days=1)
_FORMS = 'weekdays, weekends, a date like 2026-12-24, "holidays DE", "business days DE" or "ics ~/days.ics"'
_DAYS_FORM = f"days: {_FORMS}"


class SourceKind(StrEnum):
    """The kind of a source of days: of a country or region, or a file."""

    HOLIDAYS = "holidays"
    BUSINESS_DAYS = "business days"
    ICS = "ics"


class DaySource(NamedTuple):
    """One source of days: the code of its place, or the path of its file."""

    kind: SourceKind
    where: str

    def __str__(self) -> str:
        return f"{self.kind} {self.where}"


Days = Mapping[str, frozenset[date]]
"""The days of each source that was looked up. For business days: the days that differ from Monday to Friday."""
_WITH_DRIVE = re.compile(r"[A-Za-z]:[\\/]|\\\\")
_SOURCE = re.compile(r"(holidays|business days|ics|days in)(?:\s+(?:in\s+)?(.*))?", re.IGNORECASE | re.DOTALL)


class Shift(StrEnum):
    """Where a time on an excluded day moves."""

    NEXT = "next"
    PREVIOUS = "previous"


_KEYS: dict[str, tuple[str, Any]] = {
    "only": ("only", tuple[str, ...]),
    "not": ("excluded", tuple[str, ...]),
    "shift": ("shift", Shift | None),
}
"""The JSON keys of a calendar: the field of each, and its type."""
CALENDAR_KEYS = {field: key for key, (field, _) in _KEYS.items()}


@dataclass(frozen=True, slots=True, kw_only=True)
class Calendar(Value):
    """The days of a schedule: all, only some, or all but some.

    Each is a date, "weekdays", "weekends", or a source of days, like "holidays DE-BY", "business days DE" and
    "ics ~/days.ics". The caller looks up the days of sources and stores them in `days`.
    """

    only: Annotated[tuple[str, ...], f"the only days with times; {_DAYS_FORM}"] = ()
    excluded: Annotated[tuple[str, ...], f"days without times; {_DAYS_FORM}"] = ()
    shift: Annotated[
        Shift | None,
        "where fixed `cron` times on an excluded day move, at the same time of day: to the next or "
        "previous allowed day; null to skip them",
    ] = None
    days: Days | None = field(default=None, compare=False, repr=False)

    def __post_init__(self) -> None:
        put(self, only=_require_days("only", self.only), excluded=_require_days("not", self.excluded))
        if self.is_finite and not any(map(self.allows, self._dates)):
            raise ScheduleError("excludes every day", path="not" if self.excluded else "only")
        if self.shift is None:
            return
        put(self, shift=require_choice(Shift, self.shift, path="shift"))
        if not self.has_days:
            raise ScheduleError("needs excluded days; give `only` or `not`", path="shift")
        if not self.recurs:
            raise ScheduleError("needs days of every week to move to, like weekdays", path="shift")

    @property
    def has_days(self) -> bool:
        """Whether some days are excluded."""
        return bool(self.only or self.excluded)

    @property
    def recurs(self) -> bool:
        """Whether it has days in every week, apart from single dates."""
        return any(self.recurs_on(weekday) for weekday in range(7))

    @property
    def is_finite(self) -> bool:
        """Whether it has only single dates; sources may get further dates."""
        return not self.recurs and not self.sources

    @property
    def sources(self) -> tuple[str, ...]:
        """The sources whose days must be looked up."""
        return tuple(dict.fromkeys((*_sources(self.only), *_sources(self.excluded))))

    @property
    def _dates(self) -> list[date]:
        """Its single days; some of them may be excluded."""
        dates = [date.fromisoformat(item) for item in self.only if item[0].isdigit()]
        return dates + [day for source in self.sources for day in self._looked_up(source)]

    def allows(self, day: date) -> bool:
        """Return whether a day is allowed; ScheduleError if its sources are not looked up."""
        return not self._has(self.excluded, day) and (not self.only or self._has(self.only, day))

    def leaves_out(self, day: date) -> str:
        """Return the excluded item that a day belongs to; "" if there is none."""
        return next((item for item in self.excluded if self._has((item,), day)), "")

    def _has(self, items: tuple[str, ...], day: date) -> bool:
        if day.isoformat() in items or _has_weekday(items, day.weekday()):
            return True
        return any(self._is_of(source, day) for source in _sources(items))

    def _is_of(self, source: str, day: date) -> bool:
        is_usual = _is_business(source) and day.weekday() < _FIRST_OF_WEEKEND
        return is_usual != (day in self._looked_up(source))

    def _looked_up(self, source: str) -> frozenset[date]:
        if self.days is None or source not in self.days:
            raise ScheduleError(f"the days of {shown(source)} are not known; look them up with look_up_days")
        return self.days[source]

    def recurs_on(self, weekday: int) -> bool:
        """Return whether it allows a weekday, apart from single dates and holidays; Monday is 0."""
        is_named = not self.only or _recurs_on(self.only, weekday)
        return is_named and not _recurs_on(self.excluded, weekday)

    def nearest(self, day: date, step: int) -> date | None:
        """Return its nearest day from a day on, forwards (1) or backwards (-1); None if there is none."""
        if not self.recurs:
            ahead = [one for one in self._dates if (one - day).days * step >= 0 and self.allows(one)]
            return min(ahead, key=lambda one: abs(one - day), default=None)
        while not self.allows(day):
            day += step * _DAY
        return day

    def to_dict(self) -> dict[str, Any]:
        found: dict[str, Any] = {
            key: list(days) for key, days in (("only", self.only), ("not", self.excluded)) if days
        }
        return found if self.shift is None else found | {"shift": str(self.shift)}


def _has_weekday(items: tuple[str, ...], weekday: int) -> bool:
    return any(weekday in days for name, days in DAY_GROUPS.items() if name in items)


def _recurs_on(items: tuple[str, ...], weekday: int) -> bool:
    """Return whether some days include a weekday, apart from days that are looked up."""
    is_usual = weekday < _FIRST_OF_WEEKEND and any(map(_is_business, items))
    return is_usual or _has_weekday(items, weekday)


def _is_business(item: str) -> bool:
    return item.startswith(SourceKind.BUSINESS_DAYS)


def _sources(items: tuple[str, ...]) -> Iterable[str]:
    # Sorting puts dates before words.
    words = takewhile(lambda item: not item[0].isdigit(), reversed(items))
    return (word for word in words if word not in DAY_GROUPS)


def _require_days(path: str, items: object) -> tuple[str, ...]:
    """Return days in order and once each; refuse anything else."""
    days = frozen_list(path, items)
    if len(days) > MOST_DAYS:
        raise ScheduleError(f"has at most {MOST_DAYS} days", path=path)
    found = tuple(sorted({_require_day(f"{path}[{index}]", day) for index, day in enumerate(days)}))
    if len(tuple(_sources(found))) > MOST_SOURCES:
        raise ScheduleError(f"has at most {MOST_SOURCES} countries, regions and files", path=path)
    return found


def _require_day(path: str, item: object) -> str:
    text = require_text(path, item)
    if text in DAY_GROUPS:
        return text
    if text[:1].isdigit():
        return require_date(path, text)
    try:
        source = read_source(text)
    except ScheduleError as error:
        raise error.under(path) from None
    if source is None:
        raise ScheduleError(f"cannot read the day {shown(text)}; write {_FORMS}", path=path)
    return str(source)


def is_source(text: str) -> bool:
    """Return whether a text begins like a source of days."""
    return _SOURCE.fullmatch(text.strip()) is not None


def read_source(text: str) -> DaySource | None:
    """Return the source that a text names, like "holidays DE-BY" or "holidays in Germany"; None if there is none."""
    match = _SOURCE.fullmatch(text.strip())
    if match is None:
        return None
    word, where = match[1].lower(), (match[2] or "").strip().strip('"')
    kind = SourceKind.ICS if word == "days in" else SourceKind(word)
    if kind is SourceKind.ICS:
        return DaySource(kind, _require_path(where))
    if not where:
        raise ScheduleError(f'say the country of the {kind}, like "{kind} DE" or "{kind} DE-BY"')
    from halo_scheduler.grammar.places import find_place  # noqa: PLC0415 - few jobs have such days

    return DaySource(kind, find_place(where))


def _require_path(path: str) -> str:
    """Return the path of a calendar file, which must not depend on the current folder."""
    is_lasting = path.startswith(("/", "~")) or _WITH_DRIVE.match(path) is not None
    if not is_lasting or not path.isprintable() or '"' in path or len(path) > _LONGEST_PATH:
        raise ScheduleError(f"{shown(path)} must be the full path of a calendar file, like ~/days.ics")
    return path


EVERY_DAY = Calendar()


def take_calendar(form: dict[str, Any]) -> Calendar:
    """Remove the keys of a calendar from the JSON form of a schedule, and return the calendar."""
    fields: dict[str, Any] = {}
    for key, (name, hint) in _KEYS.items():
        if key in form:
            fields[name] = decode_under(key, hint, form.pop(key))
    return Calendar(**fields) if fields else EVERY_DAY
