"""Keeps the job table and the totals of the status strip up to date."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from PySide6.QtCore import QElapsedTimer, QObject, QTimer, Signal

from halo_scheduler.errors import SchedulerError
from halo_scheduler.model import Job, JobStatus, Run, SituationKind, StatusReason
from halo_scheduler.model.changes import Change, ChangeKind
from halo_scheduler.service.scheduler import Scheduler
from halo_scheduler.wording.measures import when_in_words
from ui.backend.backend import Backend, Ends, Lane, ended_job, ended_run, ended_situation, still_running
from ui.main_window.table.job_rows import Followers, JobFacts, JobRow, make_row, sort_key
from ui.main_window.table.job_table import JobTableModel
from ui.style.wording import one_line
from ui.widgets.job_text import WaitingJob, WaitingJobs, waiting_line
from ui.widgets.pauses import PauseChoice, pause_end
from ui.widgets.status_strip import StatusStrip, Summary

_SHORT_NAME = 40
# A burst of changes becomes one query.
_GATHER_MS = 40
_MOST_SINGLE_JOBS = 500
_TREND = 20
_JOB_KINDS = (
    ChangeKind.JOB,
    ChangeKind.RUN_STARTED,
    ChangeKind.RUN_FINISHED,
    ChangeKind.RUN_PROGRESS,
    ChangeKind.QUESTION,
    ChangeKind.WATCH,
    ChangeKind.SETTINGS,
)


@dataclass(frozen=True, slots=True)
class Totals:
    """The counts, the waiting jobs, the next run and the groups."""

    summary: Summary
    waiting: WaitingJobs
    next_at: int | None
    groups: frozenset[str]
    imported: tuple[str, ...] = ()
    """The imported jobs that are paused until the user has reviewed them."""


def sum_up(rows: Iterable[JobRow]) -> Totals:
    """Compute the totals in one pass, as there may be thousands of jobs."""
    running = failing = paused = ready = 0
    waiting: list[WaitingJob] = []
    planned: list[tuple[int, str]] = []
    groups = set()
    imported: list[str] = []
    for row in rows:
        one = row.situation
        if one.needs_review and one.reason is StatusReason.IMPORTED:
            imported.append(row.id)
        running += one.kind is SituationKind.RUNNING
        # "Resume all" does not resume jobs that need a review: imported ones, or those an assistant made.
        paused += one.status is JobStatus.PAUSED and not one.needs_review
        ready += one.status is JobStatus.IDLE
        failing += one.is_failing
        groups.add(row.job.group or "")
        if one.waiting is not None:
            waiting.append(WaitingJob(one.name, one.waiting))
        elif one.starts_at is not None:
            planned.append((one.starts_at, one.name))
    next_at, following = min(planned, default=(None, ""))
    summary = Summary(
        running=running,
        failing=failing,
        paused=paused,
        ready=ready,
        next_name=one_line(following, _SHORT_NAME),
    )
    return Totals(
        summary, WaitingJobs.of(waiting), next_at, frozenset(groups - {""}), imported=tuple(imported)
    )


class JobTotals(QObject):
    """Keeps the status strip up to date and pauses or resumes all jobs."""

    groups_found = Signal(object)
    """All groups."""
    imported_found = Signal(int)
    """The number of imported jobs that are paused until the user has reviewed them."""
    refused = Signal(str)

    def __init__(self, backend: Backend, model: JobTableModel, strip: StatusStrip) -> None:
        super().__init__(strip)
        self._backend = backend
        self._model = model
        self._strip = strip
        self._totals = sum_up(())
        # All changes in one turn of the event loop cause one pass over the jobs.
        self._later = QTimer(self)
        self._later.setSingleShot(True)
        self._later.setInterval(0)
        self._later.timeout.connect(self.sum_up)
        strip.pause_wanted.connect(self._pause_all)
        strip.resume_wanted.connect(lambda: self._do(Scheduler.resume_all))

    def sum_up_later(self) -> None:
        """Sum up the jobs in the next turn of the event loop."""
        self._later.start()

    @property
    def is_due(self) -> bool:
        """Whether summing up is still pending."""
        return self._later.isActive()

    def sum_up(self) -> None:
        """Compute and emit the totals."""
        self._totals = sum_up(self._model.rows())
        self.show_times()
        self.groups_found.emit(self._totals.groups)
        self.imported_found.emit(len(self._totals.imported))

    def resume_imported(self) -> None:
        """Resume the imported jobs."""
        imported = self._totals.imported

        def resume(scheduler: Scheduler) -> None:
            for job_id in imported:
                scheduler.resume_job(job_id)

        self._do(resume)

    def show_times(self) -> None:
        """Update the times shown."""
        now_ms = self._backend.now_ms()
        next_at = self._totals.next_at or 0
        words = self.tr("now")
        if next_at > now_ms:
            words = when_in_words(next_at, now_ms, has_seconds=False)
        waiting = waiting_line(self._totals.waiting, now_ms)
        self._strip.show_summary(replace(self._totals.summary, next_when=words, waiting=waiting))

    def _pause_all(self, choice: PauseChoice) -> None:
        until = pause_end(choice, self._backend.now_ms())
        self._do(lambda scheduler: scheduler.pause_all(until))

    def _do(self, work: Callable[[Scheduler], None]) -> None:
        self._backend.ask(work, None, self._refuse, owner=self)

    def _refuse(self, error: SchedulerError) -> None:
        self.refused.emit(str(error))


@dataclass(frozen=True, slots=True)
class _Update:
    """The result of one query."""

    rows: list[JobRow] = field(default_factory=list)
    gone: frozenset[str] = frozenset()
    facts: Mapping[str, JobFacts] = field(default_factory=dict)
    running: Mapping[str, Run] = field(default_factory=dict)


class JobLoader(QObject):
    """Queries what the table lacks, one query at a time, and only while the window is visible."""

    loaded = Signal()
    """All jobs are loaded, for the first time or again."""
    updated = Signal(object)
    """The ids of changed jobs, empty if only details of visible rows changed; None if any job may have changed."""

    def __init__(
        self, backend: Backend, model: JobTableModel, in_sight: Callable[[], list[str]], parent: QObject
    ) -> None:
        super().__init__(parent)
        self._backend = backend
        self._model = model
        self._in_sight = in_sight
        self._is_watching = False
        self._is_loaded = False
        self._is_asking = False
        self._wants_all = True
        self._dirty: set[str] = set()
        self._stale_facts: set[str] = set()
        self._wants_running = False
        self._rows: list[JobRow] = []
        self._followers = Followers()
        self._loading = QElapsedTimer()
        self._load_ms = 0
        self._gather = QTimer(self)
        self._gather.setSingleShot(True)
        self._gather.timeout.connect(self._ask)
        backend.changed.connect(self._note)

    @property
    def is_loaded(self) -> bool:
        """Whether all jobs are loaded."""
        return self._is_loaded

    def set_watching(self, watching: bool) -> None:  # noqa: FBT001 - it is what the name says
        """Follow changes while the window is visible; changes in between are loaded then."""
        self._is_watching = watching
        if watching:
            self._ask()
        else:
            self._gather.stop()

    def load_visible(self) -> None:
        """Load the details of the rows that became visible."""
        if self._is_loaded and self._is_watching and self._missing_facts():
            self._ask()

    def _note(self, change: Change) -> None:
        if change.kind not in _JOB_KINDS:
            return
        if change.job_id is None or change.kind is ChangeKind.SETTINGS:
            # A change of the settings may concern quiet hours and limits.
            self._wants_all = True
        elif change.kind is ChangeKind.RUN_PROGRESS:
            self._wants_running = True
        else:
            self._dirty.add(change.job_id)
            self._stale_facts.add(change.job_id)
            self._wants_running = True
        if self._is_watching and not self._gather.isActive():
            self._gather.start(self._pause_ms() if self._wants_all else _GATHER_MS)

    def _pause_ms(self) -> int:
        """Return the delay before everything is loaded again, so that loading never takes most of the time."""
        return max(_GATHER_MS, 2 * self._load_ms)

    def _ask(self) -> None:
        if self._is_asking or not self._is_watching:
            return
        if self._wants_all or len(self._dirty) > _MOST_SINGLE_JOBS:
            self._load_all()
            return
        dirty, facts = frozenset(self._dirty), self._missing_facts()
        if not (dirty or facts or self._wants_running):
            return
        self._dirty.clear()
        self._stale_facts -= facts
        self._wants_running = False
        self._is_asking = True
        ends = self._backend.ends
        self._backend.ask(
            lambda scheduler: _read(scheduler, dirty, facts, ends),
            lambda update: self._take(update, dirty),
            self._fail,
            owner=self,
        )

    def _missing_facts(self) -> frozenset[str]:
        seen = self._in_sight()
        return frozenset(
            job_id for job_id in seen if job_id in self._stale_facts or self._model.facts(job_id) is None
        )

    def _take(self, update: _Update, asked: Iterable[str]) -> None:
        self._is_asking = False
        self._model.update(update.rows, update.gone)
        # Chains are stored with the first job, so a change may affect the jobs after it.
        self._dirty |= self._followers.take(update.rows, update.gone)
        self._model.set_running(update.running)
        self._model.set_facts(update.facts)
        self.updated.emit(frozenset(asked))
        if self._dirty or self._wants_running or self._missing_facts():
            self._gather.start(_GATHER_MS)
        elif self._wants_all:
            self._gather.start(self._pause_ms())

    def _load_all(self) -> None:
        self._is_asking, self._wants_all, self._rows = True, False, []
        self._loading.start()
        key = sort_key(self._model.order[0])
        self._dirty.clear()
        self._stale_facts = {job.id for job in self._model.jobs()}
        ends = self._backend.ends
        self._backend.ask_stream(
            lambda scheduler, _is_cancelled: _read_all(scheduler, key, ends),
            self._take_rows,
            self._finish_loading,
            self._fail,
            owner=self,
            lane=Lane.QUICK,
        )

    def _take_rows(self, parts: list[list[JobRow]]) -> None:
        self._rows = parts[-1]
        if not self._is_loaded and self._model.job_count == 0:
            self._model.replace(self._rows)

    def _finish_loading(self) -> None:
        self._is_asking = False
        rows, self._rows = self._rows, []
        self._load_ms = self._loading.elapsed()
        self._model.replace(rows)
        self._followers = Followers(rows)
        self._is_loaded = True
        self._wants_running = True
        self.loaded.emit()
        self.updated.emit(None)
        self._ask()

    def _fail(self, error: SchedulerError) -> None:
        self._is_asking = False
        self._backend.fault.emit(str(error))


def _read_all(
    scheduler: Scheduler, key: Callable[[JobRow], tuple[Any, ...]], ends: Ends
) -> Iterator[list[JobRow]]:
    """Show the first page at once and the rest together, so that the rows move only once."""
    rows: list[JobRow] = []
    for page in scheduler.jobs.in_pages():
        rows += _rows(scheduler, {job.id: job for job in page}, ends)
        if len(rows) <= len(page):
            yield sorted(rows, key=key)
    # Sorted here, outside the GUI thread.
    yield sorted(rows, key=key)


def _read(scheduler: Scheduler, dirty: frozenset[str], facts: frozenset[str], ends: Ends) -> _Update:
    jobs = scheduler.jobs.get_many(dirty) if dirty else {}
    return _Update(
        rows=_rows(scheduler, jobs, ends) if jobs else [],
        gone=dirty - jobs.keys(),
        facts=_facts(scheduler, facts, ends) if facts else {},
        running={run.job_id: run for run in still_running(scheduler.runs.running(), ends)},
    )


def _rows(scheduler: Scheduler, jobs: Mapping[str, Job], ends: Ends) -> list[JobRow]:
    """Return jobs with their situations, without jobs deleted meanwhile."""
    situations = scheduler.jobs.situations(jobs)
    return [
        make_row(ended_job(job, ends), ended_situation(situations[job_id], ends))
        for job_id, job in jobs.items()
        if job_id in situations
    ]


def _facts(scheduler: Scheduler, job_ids: frozenset[str], ends: Ends) -> dict[str, JobFacts]:
    trends, last = scheduler.runs.trends(job_ids, _TREND), scheduler.runs.last(job_ids)
    if ends:
        # A run that has ended may still be stored as running.
        last = last | {run.job_id: ended_run(run, ends) for run in scheduler.runs.running()}
    return {job_id: JobFacts(last.get(job_id), trends.get(job_id, ())) for job_id in job_ids}
