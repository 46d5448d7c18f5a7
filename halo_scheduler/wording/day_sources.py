"""Words for the days of countries, regions and calendar files."""

from __future__ import annotations

from datetime import date

from halo_scheduler.grammar.english import listed, short_date
from halo_scheduler.grammar.places import place_name
from halo_scheduler.model import Entry
from halo_scheduler.model.calendars import SourceKind, read_source

_ONE_OF = {SourceKind.HOLIDAYS: "a holiday", SourceKind.BUSINESS_DAYS: "a business day"}


def source_words(item: str) -> str:
    """Return "holidays in Germany (Bavaria)", "business days in Germany", 'days in "~/days.ics"'."""
    source = read_source(item)
    if source is None:
        return item
    kind, where = source
    return f'days in "{where}"' if kind is SourceKind.ICS else f"{kind} in {place_name(where)}"


def membership_words(item: str) -> str:
    """Return the words for a day of a source or group: "a holiday in Germany (Bavaria)", "a weekday"."""
    source = read_source(item)
    if source is None:
        return "a weekday" if item == "weekdays" else "on a weekend"
    kind, where = source
    return f'a day in "{where}"' if kind is SourceKind.ICS else f"{_ONE_OF[kind]} in {place_name(where)}"


def why_left_out(entry: Entry, day: date) -> str:
    """Return why a schedule excludes a day: "it is a holiday in Germany (Bavaria)"."""
    if entry.from_date is not None and day.isoformat() < entry.from_date:
        return f"the first day is {short_date(date.fromisoformat(entry.from_date))}"
    if entry.until_date is not None and day.isoformat() > entry.until_date:
        return f"the last day was {short_date(date.fromisoformat(entry.until_date))}"
    item = entry.calendar.leaves_out(day)
    if item:
        return f"it is {'one of the excluded dates' if item[0].isdigit() else membership_words(item)}"
    words = [membership_words(item) for item in entry.calendar.only if not item[0].isdigit()]
    if len(words) < len(entry.calendar.only):
        words.append("one of the dates of the schedule")
    return f"it is not {listed(words, last='or')}"
