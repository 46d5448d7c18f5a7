"""What all jobs together are doing: told in the strip, and paused or resumed from there."""

from __future__ import annotations

import heapq
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from operator import attrgetter

from PySide6.QtCore import QObject, QTimer, Signal

from halo_scheduler.errors import SchedulerError
from halo_scheduler.model import Job, JobStatus, WaitingFor
from halo_scheduler.model.changes import Change, ChangeKind
from halo_scheduler.model.quiet_times import QuietTime
from halo_scheduler.service.scheduler import Scheduler
from ui.backend.backend import Backend
from ui.backend.quiet_times import QuietHours, is_skipped
from ui.main_window.table.job_rows import JobRow, StatusChoice, has_status
from ui.main_window.table.job_table import JobTableModel
from ui.style.wording import at_moment, is_assistants, one_line, shortly_waited_for, waited_for
from ui.widgets.pauses import PauseChoice, pause_end
from ui.widgets.status_strip import StatusStrip, Summary
from ui.widgets.waiting_text import MOST_NAMED, WaitingJob, WaitingJobs

_SHORT_NAME = 40
_SHORTER_NAME = 24
_ALWAYS_LOUD = QuietHours()


@dataclass(frozen=True, slots=True)
class Totals:
    """The numbers, when the next run is, and which groups there are."""

    summary: Summary
    next_at: int | None
    groups: frozenset[str]


def sum_up(rows: Iterable[JobRow], hours: QuietHours = _ALWAYS_LOUD) -> Totals:
    """Go through all jobs once: there may be thousands."""
    running = failing = paused = ready = 0
    waiting: list[Job] = []
    planned: list[Job] = []
    groups = set()
    for row in rows:
        job = row.job
        running += job.status is JobStatus.RUNNING and not job.is_starting
        # What an assistant made stays paused when all are resumed.
        paused += job.status is JobStatus.PAUSED and not is_assistants(job)
        ready += job.status is JobStatus.IDLE
        failing += has_status(row, StatusChoice.FAILING)
        groups.add(job.group or "")
        if job.waiting_for is not None:
            waiting.append(job)
        elif job.next_run_at is not None and not row.is_held:
            planned.append(job)
    next_at, following = _first(planned, hours)
    summary = Summary(
        running=running,
        failing=failing,
        paused=paused,
        ready=ready,
        waiting=_told(waiting),
        next_name="" if following is None else one_line(following.name, _SHORT_NAME),
    )
    return Totals(summary, next_at, frozenset(groups - {""}))


def _first(planned: Sequence[Job], hours: QuietHours) -> tuple[int | None, Job | None]:
    """Return what starts first, and when: what is due in a quiet time starts at its end, or not at all."""
    if not hours.are_any:
        following = min(planned, key=attrgetter("next_run_at"), default=None)
        return (None, None) if following is None else (following.next_run_at, following)
    left = [(job.next_run_at or 0, number, job) for number, job in enumerate(planned)]
    heapq.heapify(left)
    while left:
        at, number, job = heapq.heappop(left)
        quiet = hours.find(job.group, at)
        if quiet is None:
            return at, job
        if not is_skipped(job):
            heapq.heappush(left, (quiet.until, number, job))
    return None, None


def _told(waiting: Sequence[Job]) -> WaitingJobs:
    if len(waiting) == 1:
        only = WaitingJob(
            one_line(waiting[0].name, _SHORT_NAME), one_line(waited_for(waiting[0]), _SHORT_NAME)
        )
        return WaitingJobs((only,), 1, is_alike=True)
    # Of several, each gets less room: what comes next is to be told, too.
    first = (
        WaitingJob(one_line(job.name, _SHORTER_NAME), one_line(shortly_waited_for(job), _SHORTER_NAME))
        for job in waiting[:MOST_NAMED]
    )
    reasons = {
        (job.waiting_for, "" if job.waiting_for is WaitingFor.QUIET_TIME else job.waiting_reason)
        for job in waiting
    }
    return WaitingJobs(tuple(first), len(waiting), is_alike=len(reasons) == 1)


class JobTotals(QObject):
    """Keeps the strip true, and does what is wanted there of all jobs."""

    groups_found = Signal(object)
    """The groups there are now."""
    refused = Signal(str)

    def __init__(self, backend: Backend, model: JobTableModel, strip: StatusStrip) -> None:
        super().__init__(strip)
        self._backend = backend
        self._model = model
        self._strip = strip
        self._totals = sum_up(())
        self._hours = QuietHours()
        self._knows_hours = False
        # Thousands of jobs are gone through once for all that changed in a turn.
        self._later = QTimer(self)
        self._later.setSingleShot(True)
        self._later.setInterval(0)
        self._later.timeout.connect(self.sum_up)
        strip.pause_wanted.connect(self._pause_all)
        strip.resume_wanted.connect(lambda: self._do(Scheduler.resume_all))
        backend.changed.connect(self._note_change)

    def sum_up_later(self) -> None:
        """Go through the jobs once the present turn is over."""
        self._later.start()

    @property
    def is_due(self) -> bool:
        """Whether the jobs are still to be gone through."""
        return self._later.isActive()

    def sum_up(self) -> None:
        """Tell what the jobs are doing."""
        if not self._knows_hours:
            self._read_hours()
        self._totals = sum_up(self._model.rows(), self._hours)
        self.show_times()
        self.groups_found.emit(self._totals.groups)

    def show_times(self) -> None:
        """Tell the times as they are now."""
        now_ms = self._backend.now_ms()
        next_at = self._totals.next_at or 0
        words = self.tr("now")
        if next_at > now_ms:
            words = at_moment(next_at, now_ms)
        self._strip.show_summary(replace(self._totals.summary, next_when=words))

    def _note_change(self, change: Change) -> None:
        if change.kind is ChangeKind.SETTINGS:
            self._knows_hours = False
            self._later.start()

    def _read_hours(self) -> None:
        self._knows_hours = True
        self._backend.ask(
            lambda scheduler: scheduler.settings.read().quiet_times, self._take_hours, owner=self
        )

    def _take_hours(self, times: tuple[QuietTime, ...]) -> None:
        hours = QuietHours(times)
        if hours != self._hours:
            self._hours = hours
            self._later.start()

    def _pause_all(self, choice: PauseChoice) -> None:
        until = pause_end(choice, self._backend.now_ms())
        self._do(lambda scheduler: scheduler.pause_all(until))

    def _do(self, work: Callable[[Scheduler], None]) -> None:
        self._backend.ask(work, None, self._refuse, owner=self)

    def _refuse(self, error: SchedulerError) -> None:
        self.refused.emit(str(error))
