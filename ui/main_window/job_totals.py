"""Totals over all jobs for the status strip, and its "pause all" and "resume all"."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace

from PySide6.QtCore import QObject, QTimer, Signal

from halo_scheduler.errors import SchedulerError
from halo_scheduler.model import JobStatus, SituationKind
from halo_scheduler.service.scheduler import Scheduler
from ui.backend.backend import Backend
from ui.main_window.table.job_rows import JobRow
from ui.main_window.table.job_table import JobTableModel
from ui.style.wording import at_moment, one_line
from ui.widgets.pauses import PauseChoice, pause_end
from ui.widgets.status_strip import StatusStrip, Summary
from ui.widgets.waiting_text import WaitingJob, WaitingJobs, waiting_line

_SHORT_NAME = 40


@dataclass(frozen=True, slots=True)
class Totals:
    """The numbers, which jobs wait, when the next run is, and which groups there are."""

    summary: Summary
    waiting: WaitingJobs
    next_at: int | None
    groups: frozenset[str]


def sum_up(rows: Iterable[JobRow]) -> Totals:
    """Go through all jobs once: there may be thousands."""
    running = failing = paused = ready = 0
    waiting: list[WaitingJob] = []
    planned: list[tuple[int, str]] = []
    groups = set()
    for row in rows:
        one = row.situation
        running += one.kind is SituationKind.RUNNING
        # What was imported, or an assistant made, stays paused when all are resumed.
        paused += one.status is JobStatus.PAUSED and not one.needs_review
        ready += one.status is JobStatus.IDLE
        failing += one.is_failing
        groups.add(row.job.group or "")
        if one.waiting is not None:
            waiting.append(WaitingJob(one.name, one.waiting))
        elif one.next_run_at is not None and one.blocker is None:
            planned.append((one.next_run_at if one.quiet is None else one.quiet.until, one.name))
    next_at, following = min(planned, default=(None, ""))
    summary = Summary(
        running=running,
        failing=failing,
        paused=paused,
        ready=ready,
        next_name=one_line(following, _SHORT_NAME),
    )
    return Totals(summary, WaitingJobs.of(waiting), next_at, frozenset(groups - {""}))


class JobTotals(QObject):
    """Keeps the status strip up to date and pauses or resumes all jobs."""

    groups_found = Signal(object)
    """All groups."""
    refused = Signal(str)

    def __init__(self, backend: Backend, model: JobTableModel, strip: StatusStrip) -> None:
        super().__init__(strip)
        self._backend = backend
        self._model = model
        self._strip = strip
        self._totals = sum_up(())
        # Thousands of jobs are gone through once for all that changed in a turn.
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
        """Tell what the jobs are doing."""
        self._totals = sum_up(self._model.rows())
        self.show_times()
        self.groups_found.emit(self._totals.groups)

    def show_times(self) -> None:
        """Update the times shown."""
        now_ms = self._backend.now_ms()
        next_at = self._totals.next_at or 0
        words = self.tr("now")
        if next_at > now_ms:
            words = at_moment(next_at, now_ms)
        waiting = waiting_line(self._totals.waiting, now_ms)
        self._strip.show_summary(replace(self._totals.summary, next_when=words, waiting=waiting))

    def _pause_all(self, choice: PauseChoice) -> None:
        until = pause_end(choice, self._backend.now_ms())
        self._do(lambda scheduler: scheduler.pause_all(until))

    def _do(self, work: Callable[[Scheduler], None]) -> None:
        self._backend.ask(work, None, self._refuse, owner=self)

    def _refuse(self, error: SchedulerError) -> None:
        self.refused.emit(str(error))
