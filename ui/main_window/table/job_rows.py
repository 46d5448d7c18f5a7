"""The rows of the job table, with precomputed keys for searching and sorting; and the filter that chooses them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Container, Iterable, Sequence
from dataclasses import dataclass
from enum import IntEnum, StrEnum
from functools import lru_cache
from math import inf
from typing import Any

from PySide6.QtCore import QCoreApplication

from halo_scheduler.grammar.cron_fields import CronFields
from halo_scheduler.grammar.interval import DAY_MS
from halo_scheduler.model import (
    After,
    Callback,
    Command,
    Cron,
    Every,
    Follower,
    HttpRequest,
    Job,
    JobStatus,
    Once,
    Prompt,
    Reminder,
    Run,
    Schedule,
    Several,
    Situation,
    SituationKind,
)
from halo_scheduler.rules.statistics import TrendPoint
from halo_scheduler.wording.jobs import action_text, searched_text
from halo_scheduler.wording.schedules import describe
from halo_scheduler.wording.short_schedules import describe_shortly
from ui.style.wording import natural_key

_NOBODY: tuple[str, tuple[Follower, ...]] = ("", ())
_SNIPPET_BEFORE = 4


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
        case Several():
            # Several run at least as often as the most frequent.
            return min(_pace(item) for item in schedule.schedules)
        case _:
            return (2, 0, ())


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


class StatusChoice(StrEnum):
    """The statuses to choose from; a job may have several."""

    RUNNING = "running"
    ASKING = "asking"
    WAITING = "waiting"
    FAILING = "failing"
    PAUSED = "paused"
    OFF = "off"


class KindChoice(StrEnum):
    """The kinds of actions to choose from."""

    COMMAND = "command"
    HTTP = "http"
    PROMPT = "prompt"
    REMINDER = "reminder"
    FUNCTION = "function"


@dataclass(frozen=True, slots=True)
class JobFilter:
    """The filter criteria; no status, no kind or a group of None means all of them."""

    text: str = ""
    statuses: frozenset[StatusChoice] = frozenset()
    kinds: frozenset[KindChoice] = frozenset()
    group: str | None = None

    @property
    def is_open(self) -> bool:
        """Whether every job matches."""
        return self == JobFilter()

    @property
    def words(self) -> str:
        """The search text, normalised for comparison."""
        return self.text.casefold().strip()

    def choose(self, rows: Sequence[JobRow]) -> Sequence[JobRow]:
        """Return the matching rows in order; runs at every keystroke over thousands of rows."""
        text = self.words
        if text:
            rows = [row for row in rows if text in row.text]
        if self.group is not None:
            rows = [row for row in rows if row.job.group == self.group]
        if self.kinds:
            rows = [row for row in rows if kind_of(row) in self.kinds]
        if self.statuses:
            rows = [row for row in rows if any(_STATUSES[status](row) for status in self.statuses)]
        return rows


_STATUSES: dict[StatusChoice, Callable[[JobRow], bool]] = {
    StatusChoice.RUNNING: lambda row: row.situation.kind is SituationKind.RUNNING,
    StatusChoice.ASKING: lambda row: row.situation.question is not None,
    StatusChoice.WAITING: lambda row: row.situation.waiting is not None,
    StatusChoice.FAILING: lambda row: row.situation.is_failing,
    StatusChoice.PAUSED: lambda row: row.situation.status is JobStatus.PAUSED,
    StatusChoice.OFF: lambda row: row.situation.status is JobStatus.DISABLED,
}
RARE_KINDS = (KindChoice.REMINDER, KindChoice.FUNCTION)
"""The kinds that are offered only if there are such jobs."""
_KINDS = {
    Command: KindChoice.COMMAND,
    HttpRequest: KindChoice.HTTP,
    Prompt: KindChoice.PROMPT,
    Reminder: KindChoice.REMINDER,
    Callback: KindChoice.FUNCTION,
}


def kind_words() -> dict[KindChoice, str]:
    """Return the kinds as the filter menu names them."""
    return {
        KindChoice.COMMAND: _tr("Commands"),
        KindChoice.HTTP: _tr("HTTP requests"),
        KindChoice.PROMPT: _tr("Prompts"),
        KindChoice.REMINDER: _tr("Reminders"),
        KindChoice.FUNCTION: _tr("Functions"),
    }


def _tr(text: str) -> str:
    return QCoreApplication.translate("JobFilter", text)


def kind_of(row: JobRow) -> KindChoice:
    """Return the kind of a job's action."""
    return _KINDS[type(row.job.action)]


def count_choices(rows: Iterable[JobRow]) -> Counter[StatusChoice | KindChoice]:
    """Return how many jobs match each choice."""
    counts: Counter[StatusChoice | KindChoice] = Counter()
    for row in rows:
        counts[kind_of(row)] += 1
        counts.update(status for status, has in _STATUSES.items() if has(row))
    return counts


def match_in(text: str, words: str) -> tuple[int, int] | None:
    """Return the start and end of the match in a displayed text, or None."""
    # Case folding may change the length of a text; then the match has no position in it.
    folded = text.casefold() if words else ""
    at = folded.find(words) if len(folded) == len(text) else -1
    return (at, at + len(words)) if words and at >= 0 else None


def hidden_match(row: JobRow, words: str) -> str:
    """Return the part of a command, URL, prompt or description that matches; empty for none."""
    for text in (action_text(row.job.action), row.job.description):
        found = match_in(text, words)
        if found is not None:
            start = max(found[0] - _SNIPPET_BEFORE, 0)
            return f"{'…' if start else ''}{text[start:]}"
    return ""
