"""The table of holidays, business days and days of calendar files; fills them into the calendars of jobs."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from datetime import date
from functools import lru_cache
from typing import NamedTuple

from halo_scheduler.model import JobSpec, Schedule, Several
from halo_scheduler.model.calendars import Days
from halo_scheduler.model.schedules import day_sources, with_days
from halo_scheduler.store.connection import Database


class StoredDays(NamedTuple):
    """When the days of a source were last read, and why a later attempt failed; "" if none failed."""

    source: str
    read_at: int
    trouble: str


class DaySourceTable:
    """Reads and writes the days of sources."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def all(self) -> list[StoredDays]:
        """Return the state of every source."""
        rows = self._database.rows(
            "SELECT source, read_at, trouble FROM scheduler_day_sources ORDER BY source"
        )
        return [StoredDays(*row) for row in rows]

    def of(self, sources: Iterable[str]) -> Days:
        """Return the days of sources; a source that was never read has none."""
        return {source: _read(self._text(source)) for source in sources}

    def save(self, source: str, days: frozenset[date], now_ms: int) -> bool:
        """Store the days of a source; return whether they changed."""
        text, before = ",".join(sorted(day.isoformat() for day in days)), self._text(source)
        self._database.rows(
            "INSERT INTO scheduler_day_sources (source, days, read_at) VALUES (?1, ?2, ?3) "
            "ON CONFLICT (source) DO UPDATE SET days = ?2, read_at = ?3, trouble = ''",
            [source, text, now_ms],
        )
        return text != before

    def save_trouble(self, source: str, trouble: str) -> bool:
        """Store why a source could not be read; its days stay. Return whether the reason is new."""
        rows = self._database.rows(
            "UPDATE scheduler_day_sources SET trouble = ?2 WHERE source = ?1 AND trouble <> ?2 RETURNING source",
            [source, trouble],
        )
        return bool(rows)

    def forget_unused(self) -> None:
        """Delete the sources that no job uses, not even one in the trash."""
        self._database.rows(
            "DELETE FROM scheduler_day_sources WHERE NOT EXISTS "
            "(SELECT 1 FROM scheduler_jobs WHERE instr(schedule, json_quote(source)))"
        )

    def fill(self, spec: JobSpec) -> JobSpec:
        """Return a job with the stored days in its calendars."""
        sources = day_sources(spec.schedule)
        if not sources:
            return spec
        texts = tuple((source, self._text(source)) for source in sources)
        return replace(spec, schedule=_filled(spec.schedule, texts))

    def _text(self, source: str) -> str:
        row = self._database.row("SELECT days FROM scheduler_day_sources WHERE source = ?", [source])
        return "" if row is None else str(row[0])


@lru_cache(maxsize=1024)
def _read(text: str) -> frozenset[date]:
    return frozenset(map(date.fromisoformat, text.split(","))) if text else frozenset()


# One object for equal days: the cache of next times uses its identity.
@lru_cache(maxsize=4096)
def _filled(schedule: Schedule | Several, texts: tuple[tuple[str, str], ...]) -> Schedule | Several:
    return with_days(schedule, {source: _read(text) for source, text in texts})
