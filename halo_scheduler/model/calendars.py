"""Calendars: the days on which a schedule has times, and where times on other days go."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date, timedelta
from enum import StrEnum
from typing import Annotated, Any

from halo_scheduler.errors import ScheduleError
from halo_scheduler.grammar.checks import frozen_list, require_choice, require_date, require_text
from halo_scheduler.grammar.english import shown
from halo_scheduler.model.codec import Value, decode_under, put

DAY_GROUPS = {"weekdays": range(5), "weekends": range(5, 7)}
"""The names of days of the week; Monday is 0."""
MOST_DAYS = 300
_DAY = timedelta(days=1)


class Shift(StrEnum):
    """Where a time on a day that is left out goes."""

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
    """The days of a schedule: all, only some, or not on some; each is a date, "weekdays" or "weekends"."""

    only: Annotated[tuple[str, ...], 'the only days with times: dates, "weekdays" or "weekends"'] = ()
    excluded: Annotated[tuple[str, ...], 'days without times: dates, "weekdays" or "weekends"'] = ()
    shift: Annotated[
        Shift | None,
        "where the fixed times of `cron` on a day that is left out go, at the same time of day: to the next or the "
        "previous day that is not; null to leave them out",
    ] = None

    def __post_init__(self) -> None:
        put(self, only=_require_days("only", self.only), excluded=_require_days("not", self.excluded))
        if not self.recurs and not any(map(self.allows, self._dates)):
            raise ScheduleError("leaves no day at all", path="not" if self.excluded else "only")
        if self.shift is None:
            return
        put(self, shift=require_choice(Shift, self.shift, path="shift"))
        if not self.has_days:
            raise ScheduleError("needs days that are left out; give `only` or `not`", path="shift")
        if not self.recurs:
            raise ScheduleError("needs days of every week to move to, like weekdays", path="shift")

    @property
    def has_days(self) -> bool:
        """Whether some days are left out."""
        return bool(self.only or self.excluded)

    @property
    def recurs(self) -> bool:
        """Whether it has days in every week, but for single dates."""
        return any(self._allows_weekday(weekday) for weekday in range(7))

    @property
    def _dates(self) -> list[date]:
        return [date.fromisoformat(item) for item in self.only if item not in DAY_GROUPS]

    def allows(self, day: date) -> bool:
        """Return whether a day is not left out."""
        if day.isoformat() in self.excluded or _has_weekday(self.excluded, day.weekday()):
            return False
        return not self.only or day.isoformat() in self.only or _has_weekday(self.only, day.weekday())

    def _allows_weekday(self, weekday: int) -> bool:
        is_named = not self.only or _has_weekday(self.only, weekday)
        return is_named and not _has_weekday(self.excluded, weekday)

    def nearest(self, day: date, step: int) -> date | None:
        """Return the first of its days from a day on, forwards (1) or backwards (-1); None if there is none."""
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


def _require_days(path: str, items: object) -> tuple[str, ...]:
    """Return days in order and once each; refuse what is no day."""
    days = frozen_list(path, items)
    if len(days) > MOST_DAYS:
        raise ScheduleError(f"has at most {MOST_DAYS} days", path=path)
    for index, day in enumerate(days):
        require_text(f"{path}[{index}]", day)
        if day not in DAY_GROUPS:
            _require_day(f"{path}[{index}]", day)
    return tuple(sorted(set(days)))


def _require_day(path: str, text: str) -> None:
    if not text[:1].isdigit():
        message = f"cannot read the day {shown(text)}; write weekdays, weekends or a date like 2026-12-24"
        raise ScheduleError(message, path=path)
    require_date(path, text)


EVERY_DAY = Calendar()


def take_calendar(form: dict[str, Any]) -> Calendar:
    """Remove the keys of a calendar from the JSON form of a schedule, and return the calendar."""
    fields: dict[str, Any] = {}
    for key, (name, hint) in _KEYS.items():
        if key in form:
            fields[name] = decode_under(key, hint, form.pop(key))
    return Calendar(**fields) if fields else EVERY_DAY
