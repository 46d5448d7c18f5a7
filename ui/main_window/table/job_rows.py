"""A job as the table keeps it: with all that searching and sorting need worked out beforehand."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from enum import IntEnum, StrEnum
from functools import lru_cache
from math import inf
from typing import Any

from halo_scheduler.model import (
    After,
    Cron,
    Every,
    Follower,
    Job,
    JobStatus,
    Manual,
    Once,
    Run,
    Schedule,
    Situation,
    SituationKind,
)
from halo_scheduler.rules.statistics import TrendPoint
from halo_scheduler.wording.schedules import describe

_NOBODY: tuple[str, tuple[Follower, ...]] = ("", ())
# More digits than that are no number that anybody counts by.
_NUMBERS = re.compile(r"([0-9]{1,15})")


class Column(IntEnum):
    """The columns of the table, from left to right."""

    NAME = 0
    SCHEDULE = 1
    NEXT = 2
    LAST = 3
    TREND = 4


class StatusChoice(StrEnum):
    """Which jobs are shown."""

    ALL = "all"
    RUNNING = "running"
    ASKING = "asking"
    WAITING = "waiting"
    FAILING = "failing"
    PAUSED = "paused"
    OFF = "off"


@dataclass(frozen=True, slots=True)
class JobRow:
    """A job with its situation, its search text and its place by name."""

    id: str
    job: Job
    situation: Situation
    text: str
    by_name: tuple[Any, ...]


@dataclass(frozen=True, slots=True)
class JobFacts:
    """What is read for a job only while it is in sight."""

    last: Run | None = None
    trend: tuple[TrendPoint, ...] = ()


@dataclass(frozen=True, slots=True)
class JobFilter:
    """What is looked for; a group of None is all of them."""

    text: str = ""
    status: StatusChoice = StatusChoice.ALL
    group: str | None = None

    @property
    def is_open(self) -> bool:
        """Whether nothing is left out."""
        return self == JobFilter()

    def choose(self, rows: Sequence[JobRow]) -> Sequence[JobRow]:
        """Return the rows that are looked for, in their order; thousands of them at every keystroke."""
        text = self.text.casefold().strip()
        if text:
            rows = [row for row in rows if text in row.text]
        if self.group is not None:
            rows = [row for row in rows if row.job.group == self.group]
        if self.status is not StatusChoice.ALL:
            rows = [row for row in rows if has_status(row, self.status)]
        return rows


def has_status(row: JobRow, status: StatusChoice) -> bool:
    """Tell whether a job is one of those that a choice is about; a running one may also be failing."""
    return _CHOICES[status](row)


_CHOICES: dict[StatusChoice, Callable[[JobRow], bool]] = {
    StatusChoice.ALL: lambda _row: True,
    StatusChoice.RUNNING: lambda row: row.situation.kind is SituationKind.RUNNING,
    StatusChoice.ASKING: lambda row: row.situation.question is not None,
    StatusChoice.WAITING: lambda row: row.situation.waiting is not None,
    StatusChoice.FAILING: lambda row: row.situation.is_failing,
    StatusChoice.PAUSED: lambda row: row.situation.status is JobStatus.PAUSED,
    StatusChoice.OFF: lambda row: row.situation.status is JobStatus.DISABLED,
}


def make_row(job: Job, situation: Situation) -> JobRow:
    """Work out what searching and sorting need; done away from the window's thread."""
    text = f"{job.name}\n{job.group or ''}\n{job.description}".casefold()
    return JobRow(job.id, job, situation, text, (_natural(job.name), job.id))


class Followers:
    """Knows which jobs run after which others, from what the others say; few do."""

    def __init__(self, rows: Iterable[JobRow] = ()) -> None:
        self._by_job = {row.id: (row.job.name, row.job.followers) for row in rows if row.job.followers}
        self._causes = self._all()

    def take(self, rows: Iterable[JobRow], gone: Iterable[str]) -> frozenset[str]:
        """Take in jobs that have changed or are gone; return those that run after others than before."""
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


def _natural(name: str) -> tuple[str | int, ...]:
    """Return what sorts "job 2" before "job 10"."""
    parts = _NUMBERS.split(name.casefold())
    return tuple(int(part) if index % 2 else part for index, part in enumerate(parts))


def sort_key(column: Column) -> Callable[[JobRow], tuple[Any, ...]]:
    """Return what a column sorts by; ties go by name, so that the order never depends on anything unseen."""
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
        # What was to start long ago starts first.
        return (1, job.next_run_at or 0, row.by_name)
    if job.next_run_at is not None:
        # What is held back starts at no time that can be told.
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


def _pace(schedule: Schedule) -> tuple[int, int, str]:
    """Return where a schedule stands among others: the regular ones by pace, then the clock's, the rest last."""
    match schedule:
        case Every():
            return (0, schedule.every_ms, "")
        case After():
            return (1, schedule.after_ms, "")
        case Cron():
            return (2, 0, schedule.cron)
        case Once():
            return (3, schedule.due_at, "")
        case Manual():
            return (4, 0, "")


@lru_cache(maxsize=4096)
def schedule_words(schedule: Schedule) -> str:
    """Return a schedule in plain words that begin a sentence."""
    words = describe(schedule)
    return words[:1].upper() + words[1:]
