"""The options that limit schedules to days: first and last day, holidays, dates, and where times move."""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

import click

from halo_scheduler.cli.options.option_values import NONE, is_given, lasting_path
from halo_scheduler.grammar.english import shown
from halo_scheduler.grammar.zone import local_time
from halo_scheduler.model import Cron, Entry, Schedule, Several
from halo_scheduler.model.calendars import DAY_GROUPS, Calendar, Shift, SourceKind, is_source
from halo_scheduler.model.schedules import combine, entries_of, schedules_of
from halo_scheduler.model.time_rules import Dated, calendar_for


class DayOptions(NamedTuple):
    """The values of the options; None or an empty tuple if not given."""

    from_date: str | None
    until_date: str | None
    only_on: tuple[str, ...]
    not_on: tuple[str, ...]
    shift: str | None

    def limit(self, found: Schedule | Several, now_ms: int) -> Schedule | Several:
        """Return schedules limited to the given days; options that are not given change nothing."""
        if not any(map(is_given, self)):
            return found
        if not any(isinstance(item, Dated) for item in schedules_of(found)):
            raise click.UsageError("days need --every, --after, --cron or --when")
        entries = []
        for entry in entries_of(found):
            if not isinstance(entry.schedule, Dated):
                entries.append(entry)
                continue
            zone = entry.schedule.timezone if isinstance(entry.schedule, Cron) else None
            first, last = entry.from_date, entry.until_date
            if self.from_date is not None:
                first = _day("--from-date", self.from_date, now_ms, zone)
            if self.until_date is not None:
                last = _day("--until-date", self.until_date, now_ms, zone)
            calendar = calendar_for(entry.schedule, self._calendar(entry.calendar, now_ms, zone))
            entries.append(replace(entry, from_date=first, until_date=last, calendar=calendar))
        self._require_moves(entries)
        return combine(entries)

    def _calendar(self, before: Calendar, now_ms: int, timezone: str | None) -> Calendar:
        only, excluded, shift = before.only, before.excluded, before.shift
        if self.only_on:
            only = _days("--only-on", self.only_on, now_ms, timezone)
        if self.not_on:
            excluded = _days("--not-on", self.not_on, now_ms, timezone)
        if self.shift is not None:
            shift = None if self.shift == NONE else Shift(self.shift)
        return Calendar(only=only, excluded=excluded, shift=shift)

    def _require_moves(self, entries: list[Entry]) -> None:
        if self.shift in tuple(Shift) and not any(entry.calendar.shift for entry in entries):
            raise click.UsageError('--shift needs fixed times, like --cron "0 9 1 * *"')


def _day(option: str, text: str, now_ms: int, timezone: str | None) -> str | None:
    """Return a day as it is stored, from "2027-05-01", "1 May 2027" or "tomorrow"; None for "none"."""
    from halo_scheduler.grammar.phrases.tokens import Cursor  # noqa: PLC0415 - only for dates
    from halo_scheduler.schedule.spoken_dates import read_day  # noqa: PLC0415

    if text == NONE:
        return None
    cursor = Cursor(text)
    found = read_day(cursor, local_time(now_ms, timezone).date())
    if found is None or not cursor.is_over:
        raise click.UsageError(f"{option}: write a date like 2027-05-01, not {shown(text)}")
    return found.isoformat()


def _days(option: str, given: tuple[str, ...], now_ms: int, timezone: str | None) -> tuple[str, ...]:
    found = (_days_of(option, text, now_ms, timezone) for text in given)
    return tuple(day for day in found if day is not None)


def _days_of(option: str, text: str, now_ms: int, timezone: str | None) -> str | None:
    """Return one item of a calendar; the path of a calendar file is relative to the current folder."""
    if text in DAY_GROUPS:
        return text
    kind, _, path = text.strip().partition(" ")
    if kind.lower() == SourceKind.ICS:
        return f"{kind} {lasting_path(path.strip())}"
    return text if is_source(text) else _day(option, text, now_ms, timezone)
