"""The selection of runs to show, and the queries for it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

from halo_scheduler.model import Outcome, Run, Trigger
from halo_scheduler.service.scheduler import Scheduler


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
        """Tell whether all runs are shown."""
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
        """Tell whether a run matches, ignoring the text filter."""
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
