"""What all jobs together are doing: told in the strip, and paused or resumed from there."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from PySide6.QtCore import QObject, QTimer, Signal

from halo_scheduler.errors import SchedulerError
from halo_scheduler.model.changes import Change, ChangeKind
from halo_scheduler.model.quiet_times import QuietTime
from halo_scheduler.service.scheduler import Scheduler
from ui.backend.backend import Backend
from ui.backend.quiet_times import QuietHours
from ui.main_window.table.job_table import JobTableModel
from ui.style.wording import at_moment
from ui.widgets.pauses import PauseChoice, pause_end
from ui.widgets.status_strip import StatusStrip

from .job_summary import sum_up


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
            lambda scheduler: scheduler.get_settings().quiet_times, self._take_hours, owner=self
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
