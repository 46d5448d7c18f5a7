"""The selection of runs to show: its filters, its span of days, and the queries for it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from datetime import date, datetime, time, timedelta

from halo_scheduler.grammar.interval import HOUR_MS, SECOND_MS
from halo_scheduler.grammar.zone import local_time, machine_zone, to_instant, wall_seconds
from halo_scheduler.model import Outcome, Run, Trigger
from halo_scheduler.rules.statistics import DayCount
from halo_scheduler.service.scheduler import Scheduler

_DAY = timedelta(days=1)
_MOST_DAYS = 92
_MOST_WEEKS = 104 * 7
_WEEK = 7
_DECEMBER = 12


@dataclass(frozen=True, slots=True)
class DaySpan:
    """Consecutive days, both ends included; without a first day, from the start of the history."""

    first: date | None = None
    last: date | None = None

    @property
    def since(self) -> int | None:
        """The instant at which the first day begins."""
        return None if self.first is None else day_start(self.first)

    @property
    def until(self) -> int | None:
        """The instant at which the last day ends."""
        return None if self.last is None else day_start(self.last + _DAY)

    def holds(self, day: date) -> bool:
        """Return whether a day is in the span."""
        return (self.first is None or day >= self.first) and (self.last is None or day <= self.last)


@dataclass(frozen=True, slots=True)
class Bucket:
    """An hour, day, week or month, and the number of its runs by outcome."""

    first: date
    last: date
    counts: Counter[Outcome]
    hour_at: int | None = None
    """The instant at which an hour begins."""

    @property
    def total(self) -> int:
        return self.counts.total()


def last_days(count: int, now_ms: int) -> DaySpan:
    """Return the last days up to and including today."""
    return DaySpan(today(now_ms) - (count - 1) * _DAY)


def today(now_ms: int) -> date:
    """Return the local day of an instant."""
    return local_time(now_ms).date()


def day_start(day: date) -> int:
    """Return the instant at which a local day begins."""
    return to_instant(machine_zone(), wall_seconds(datetime.combine(day, time()))) * SECOND_MS


def buckets(first: date, last: date, days: Iterable[DayCount]) -> list[Bucket]:
    """Return a span divided into days, or into weeks or months if it is long."""
    found: list[Bucket] = []
    step = _step(first, last)
    counted = {date.fromisoformat(count.day): count.by_outcome for count in days}
    day = _begin(first, step)
    while day <= last:
        end = _end(day, step)
        found.append(Bucket(day, end, Counter()))
        day = end + _DAY
    position = 0
    for day, by_outcome in sorted(counted.items()):
        while position < len(found) and found[position].last < day:
            position += 1
        if position < len(found) and found[position].first <= day:
            found[position].counts.update(by_outcome)
    return found


def hours(scheduler: Scheduler, choice: Choice, day: date) -> list[Bucket]:
    """Count the chosen runs of a local day by hour."""
    found = []
    for at in range(day_start(day), day_start(day + _DAY), HOUR_MS):
        counts: Counter[Outcome] = Counter()
        for one in choice.days(scheduler, at, at + HOUR_MS):
            counts.update(one.by_outcome)
        found.append(Bucket(day, day, counts, at))
    return found


def _step(first: date, last: date) -> str:
    length = (last - first).days + 1
    if length <= _MOST_DAYS:
        return "day"
    return "week" if length <= _MOST_WEEKS else "month"


def _begin(day: date, step: str) -> date:
    if step == "week":
        return day - day.weekday() * _DAY
    return day.replace(day=1) if step == "month" else day


def _end(day: date, step: str) -> date:
    if step == "week":
        return day + (_WEEK - 1) * _DAY
    if step == "month":
        following = date(day.year + 1, 1, 1) if day.month == _DECEMBER else date(day.year, day.month + 1, 1)
        return following - _DAY
    return day


@dataclass(frozen=True, slots=True, kw_only=True)
class Choice:
    """Which runs to show: None and empty fields mean all; `run_ids` overrides all other fields."""

    job_id: str | None = None
    outcomes: frozenset[Outcome] | None = None
    trigger: Trigger | None = None
    since: int | None = None
    until: int | None = None
    text: str = ""
    run_ids: tuple[str, ...] = ()

    @property
    def is_everything(self) -> bool:
        """Return whether all runs are shown."""
        return self == Choice()

    def page(self, scheduler: Scheduler, limit: int, before: str | None = None) -> list[Run]:
        """Return some runs, newest first, ignoring the text filter."""
        if self.run_ids:
            found = scheduler.runs.get_many(self.run_ids).values() if before is None else ()
            return sorted(found, key=run_at, reverse=True)
        return scheduler.get_run_log(
            self.job_id,
            limit,
            outcomes=self.outcomes,
            trigger=self.trigger,
            since=self.since,
            until=self.until,
            before=before,
        )

    def days(self, scheduler: Scheduler, since: int, until: int) -> list[DayCount]:
        """Count the runs from one instant until another by day, ignoring the text filter and the dates."""
        only = self.outcomes or frozenset()
        counts = scheduler.runs.count_by_day(
            since,
            until,
            job_id=self.job_id,
            outcome=next(iter(only)) if len(only) == 1 else None,
            trigger=self.trigger,
        )
        if self.outcomes is None:
            return counts
        chosen = (DayCount(one.day, _only(one, self.outcomes)) for one in counts)
        return [one for one in chosen if one.by_outcome]

    def hits(self, scheduler: Scheduler, is_cancelled: Callable[[], bool]) -> Iterator[Run | None]:
        """Yield the runs whose output contains the text, newest first, and None as a sign of progress."""
        return scheduler.runs.search_output(
            self.text,
            job_id=self.job_id,
            outcomes=self.outcomes,
            trigger=self.trigger,
            since=self.since,
            until=self.until,
            is_cancelled=is_cancelled,
        )

    def pages(
        self, scheduler: Scheduler, limit: int, is_cancelled: Callable[[], bool]
    ) -> Iterator[list[Run]]:
        """Yield all runs in pages, ignoring the text filter."""
        before: str | None = None
        while not is_cancelled():
            page = self.page(scheduler, limit, before)
            if page:
                yield page
            if self.run_ids or len(page) < limit:
                return
            before = page[-1].id

    def admits(self, run: Run) -> bool:
        """Return whether a run matches, ignoring the text filter."""
        if self.run_ids:
            return run.id in self.run_ids
        at = run_at(run)
        return (
            self.job_id in (None, run.job_id)
            and self.trigger in (None, run.trigger)
            and (self.outcomes is None or run.outcome in self.outcomes)
            and (self.since is None or at >= self.since)
            and (self.until is None or at < self.until)
        )


@dataclass(frozen=True, slots=True)
class JobName:
    """A job's name, and whether the job is in the trash."""

    name: str
    is_removed: bool = False


def job_names(scheduler: Scheduler, job_ids: Iterable[str]) -> dict[str, JobName]:
    """Return the names of some jobs, including jobs in the trash."""
    wanted = set(job_ids)
    names = {job_id: JobName(job.name) for job_id, job in scheduler.jobs.get_many(wanted).items()}
    if wanted - names.keys():
        names |= {job.id: JobName(job.name, is_removed=True) for job in scheduler.list_removed()}
    return names


def run_at(run: Run) -> int:
    """Return the time of a run: its start, or when it was found not to start."""
    if run.started_at is not None:
        return run.started_at
    return run.finished_at or run.slot_at or 0


def _only(count: DayCount, outcomes: frozenset[Outcome]) -> dict[Outcome, int]:
    return {outcome: number for outcome, number in count.by_outcome.items() if outcome in outcomes}
