"""Looks up the days of the calendars of schedules, for a few years."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import date, timedelta
from typing import TYPE_CHECKING

from halo_scheduler.errors import ScheduleError
from halo_scheduler.grammar.places import place_name
from halo_scheduler.grammar.zone import local_time
from halo_scheduler.model import Schedule, Several
from halo_scheduler.model.calendars import Days, DaySource, SourceKind, read_source
from halo_scheduler.model.schedules import day_sources, with_days

if TYPE_CHECKING:
    from holidays import HolidayBase

YEARS_AHEAD = 5
_WEEKEND = 5
NOT_INSTALLED = (
    "holidays need the library holidays, which is not installed; install it with: "
    "pip install 'halo-scheduler[holidays]', or: pipx inject halo-scheduler holidays"
)


def look_up_source(item: str, now_ms: int) -> frozenset[date]:
    """Return the days of a source from last year on; ScheduleError if the lookup fails."""
    source = read_source(item)
    if source is None:
        raise ScheduleError(f"{item} has no days to look up")
    year = local_time(now_ms).year
    first, last = date(year - 1, 1, 1), date(year + YEARS_AHEAD, 12, 31)
    if source.kind is SourceKind.ICS:
        from halo_scheduler.day_sources.calendar_file import file_days  # noqa: PLC0415 - only for such files

        return file_days(source.where, first, last)
    return country_days(source, first, last)


def look_up(items: Iterable[str], now_ms: int) -> Days:
    """Return the days of several sources."""
    return {item: look_up_source(item, now_ms) for item in items}


def look_up_days(schedule: Schedule | Several, *, now_ms: int) -> Schedule | Several:
    """Return schedules whose holidays, business days and calendar files are looked up, up to five years ahead.

    `next_run` and similar functions need this; a `Scheduler` does it itself. Reads files; ScheduleError if a country is
    unknown or a file cannot be read.
    """
    return with_days(schedule, look_up(day_sources(schedule), now_ms))


# --- Countries ------------------------------------------------------------------------------------------


def country_days(source: DaySource, first: date, last: date) -> frozenset[date]:
    """Return the days of a country or region in a span; for business days, those unlike Monday to Friday."""
    found = _calendar_of(source.where, first, last)
    days = (first + timedelta(days=number) for number in range((last - first).days + 1))
    if source.kind is SourceKind.HOLIDAYS:
        return frozenset(day for day in days if day in found)
    return frozenset(day for day in days if found.is_working_day(day) != (day.weekday() < _WEEKEND))


def _calendar_of(place: str, first: date, last: date) -> HolidayBase:
    try:
        from holidays import country_holidays  # noqa: PLC0415 - only for jobs with holidays
    except ImportError:
        raise ScheduleError(NOT_INSTALLED) from None
    code, _, region = place.partition("-")
    try:
        return country_holidays(code, region or None, years=range(first.year, last.year + 1), expand=False)
    except NotImplementedError:
        raise ScheduleError(
            f"the installed library holidays does not know the holidays in {place_name(place)}; update it"
        ) from None
