"""The rows of the job table, with precomputed keys for searching and sorting."""

from __future__ import annotations

import re
from collections.abc import Callable, Container, Iterable
from dataclasses import dataclass
from enum import IntEnum
from functools import lru_cache
from math import inf
from typing import Any
from unicodedata import combining, normalize

from halo_scheduler.grammar.cron_fields import CronFields
from halo_scheduler.grammar.interval import DAY_MS
from halo_scheduler.model import (
    After,
    Cron,
    Every,
    Follower,
    Job,
    Manual,
    Once,
    Run,
    Schedule,
    Several,
    Situation,
    SituationKind,
)
from halo_scheduler.rules.statistics import TrendPoint
from halo_scheduler.wording.schedules import describe
from halo_scheduler.wording.search import searched_text
from halo_scheduler.wording.short_schedules import describe_shortly

_NOBODY: tuple[str, tuple[Follower, ...]] = ("", ())
# Longer runs of digits are ids or hashes, not numbers.
_NUMBERS = re.compile(r"([0-9]{1,15})")


class Column(IntEnum):
    """The columns of the table, from left to right."""

    NAME = 0
    SCHEDULE = 1
    NEXT = 2
    LAST = 3
    TREND = 4


@dataclass(frozen=True, slots=True)
class JobRow:
    """A job with its situation, its search text and its sort key by name."""

    id: str
    job: Job
    situation: Situation
    text: str
    by_name: tuple[Any, ...]


@dataclass(frozen=True, slots=True)
class Section:
    """The heading above the jobs of a group; None for jobs without a group."""

    group: str | None
    count: int
    is_folded: bool

    @property
    def id(self) -> str:
        """The id, unique among headings and jobs."""
        return f"group {self.group}" if self.group is not None else "no group"


def in_sections(rows: Iterable[JobRow], folded: Container[str | None]) -> list[JobRow | Section]:
    """Return rows below the headings of their groups, without collapsed ones; jobs without a group come last."""
    groups: dict[str | None, list[JobRow]] = {}
    for row in rows:
        groups.setdefault(row.job.group, []).append(row)
    found: list[JobRow | Section] = []
    for group in sorted(groups, key=lambda one: (one is None, natural_key(one or ""), one or "")):
        is_folded = group in folded
        found.append(Section(group, len(groups[group]), is_folded))
        found += () if is_folded else groups[group]
    return found


@dataclass(frozen=True, slots=True)
class JobFacts:
    """Details loaded only for visible jobs."""

    last: Run | None = None
    trend: tuple[TrendPoint, ...] = ()


def make_row(job: Job, situation: Situation) -> JobRow:
    """Precompute what searching and sorting need; not called in the GUI thread."""
    text = searched_text(job.name, job.group, job.description, job.schedule, job.action)
    return JobRow(job.id, job, situation, text, (natural_key(job.name), job.id))


class Followers:
    """Tracks which jobs run after which others; few jobs do."""

    def __init__(self, rows: Iterable[JobRow] = ()) -> None:
        self._by_job = {row.id: (row.job.name, row.job.followers) for row in rows if row.job.followers}
        self._causes = self._all()

    def take(self, rows: Iterable[JobRow], gone: Iterable[str]) -> frozenset[str]:
        """Update changed and removed jobs; return the jobs whose triggering jobs changed."""
        is_other = False
        for job_id, name, followers in (
            *((row.id, row.job.name, row.job.followers) for row in rows),
            *((one, "", ()) for one in gone),
        ):
            told = (name, followers) if followers else _NOBODY
            if told != self._by_job.get(job_id, _NOBODY):
                is_other = True
                self._by_job[job_id] = told
        if not is_other:
            return frozenset()
        before, self._causes = self._causes, self._all()
        return frozenset(
            one for one in before.keys() | self._causes.keys() if before.get(one) != self._causes.get(one)
        )

    def _all(self) -> dict[str, tuple[str, ...]]:
        found: dict[str, list[str]] = {}
        for name, followers in self._by_job.values():
            for one in followers:
                found.setdefault(one.job_id, []).append(name)
        return {job_id: tuple(sorted(names)) for job_id, names in found.items()}


def natural_key(name: str) -> tuple[str | int, ...]:
    """Return a key that sorts "job 2" before "job 10", and "Überprüfung" next to "Updates"."""
    letters = (one for one in normalize("NFKD", name.casefold()) if not combining(one))
    parts = _NUMBERS.split("".join(letters))
    return tuple(int(part) if index % 2 else part for index, part in enumerate(parts))


def sort_key(column: Column) -> Callable[[JobRow], tuple[Any, ...]]:
    """Return the sort key of a column; ties are sorted by name, so that the order depends on visible values only."""
    return _KEYS[column]


def _by_name(row: JobRow) -> tuple[Any, ...]:
    return row.by_name


def _by_schedule(row: JobRow) -> tuple[Any, ...]:
    return (_pace(row.job.schedule), row.by_name)


def _by_next(row: JobRow) -> tuple[Any, ...]:
    job = row.situation
    if job.kind is SituationKind.RUNNING:
        return (0, 0, row.by_name)
    if job.waiting is not None:
        # The longest overdue starts first.
        return (1, job.next_run_at or 0, row.by_name)
    if job.next_run_at is not None:
        # The start of a blocked job is unknown.
        return (3, 0, row.by_name) if job.is_held else (2, job.next_run_at, row.by_name)
    return (3, inf if job.paused_until is None else job.paused_until, row.by_name)


def _by_last(row: JobRow) -> tuple[Any, ...]:
    # The newest first, as "just now" comes before "2 h ago".
    return (inf if row.job.last_run_at is None else -row.job.last_run_at, row.by_name)


_KEYS = {
    Column.NAME: _by_name,
    Column.SCHEDULE: _by_schedule,
    Column.NEXT: _by_next,
    Column.LAST: _by_last,
}
SORTABLE = tuple(_KEYS)


@lru_cache(maxsize=4096)
def _pace(schedule: Schedule | Several) -> tuple[int, float, tuple[int, ...]]:
    """Return the sort key of a schedule: regular ones by interval, then by time of day; the others last."""
    match schedule:
        case Every():
            return (0, schedule.every_ms, ())
        case After():
            return (0, schedule.after_ms, ())
        case Cron():
            return (0, *_cron_pace(schedule.expression.fields))
        case Once():
            return (1, schedule.due_at, ())
        case Manual():
            return (2, 0, ())
        case Several():
            # Several run at least as often as the most frequent.
            return min(_pace(item) for item in schedule.schedules)


def _cron_pace(fields: CronFields) -> tuple[float, tuple[int, ...]]:
    """Return the average time between the runs, and the first of them in a week and a day."""
    a_day = len(fields.hours) * len(fields.minutes) * len(fields.seconds)
    weekdays = len(fields.weekdays) / 7 + (len(fields.nth_weekdays) + len(fields.last_weekdays)) / 31
    days = min((len(fields.days) + fields.last_day) / 31, 1) * min(weekdays, 1) * len(fields.months) / 12
    first = min((weekday or 7 for weekday in fields.weekdays), default=0)
    return DAY_MS / (a_day * days), (first, fields.hours[0], fields.minutes[0], fields.seconds[0])


@lru_cache(maxsize=4096)
def schedule_words(schedule: Schedule | Several) -> str:
    """Return a schedule in words, capitalised."""
    words = describe(schedule)
    return words[:1].upper() + words[1:]


@lru_cache(maxsize=4096)
def short_schedule_words(schedule: Schedule | Several) -> str:
    """Return a schedule as the column shows it."""
    words = describe_shortly(schedule)
    return words[:1].upper() + words[1:]
