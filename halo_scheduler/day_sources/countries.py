"""Holidays and business days of countries and regions, from the library `holidays`."""

from __future__ import annotations

from datetime import date, timedelta
from typing import TYPE_CHECKING

from halo_scheduler.errors import ScheduleError
from halo_scheduler.grammar.places import place_name
from halo_scheduler.model.calendars import DaySource, SourceKind

if TYPE_CHECKING:
    from holidays import HolidayBase

_WEEKEND = 5
NOT_INSTALLED = (
    "holidays need the library holidays, which is not installed; install it with: "
    "pip install 'halo-scheduler[holidays]', or: pipx inject halo-scheduler holidays"
)


def country_days(source: DaySource, first: date, last: date) -> frozenset[date]:
    """Return the days of a country or region in a span; of business days, those that differ from Monday to Friday."""
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
