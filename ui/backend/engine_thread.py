"""The thread of the engine, with its own event loop and database connection."""

from __future__ import annotations

import logging
from enum import StrEnum
from pathlib import Path
from typing import Protocol

from PySide6.QtCore import QObject, Qt, QThread, Signal, Slot

from halo_scheduler.clock import Clock
from halo_scheduler.errors import (
    EngineHeldError,
    SchedulerError,
    SchedulerShutdownError,
    StoreDamagedError,
    StoreReplacedError,
)
from halo_scheduler.model import JobSpec, Outcome
from halo_scheduler.model.messages import text_message
from halo_scheduler.service.scheduler import Scheduler

_LOG = logging.getLogger(__name__)
_FOR_EVER_MS = 2**31 - 1
_NO_TIME_MS = 0
_OWNER = "Halo's desktop program"
_LONGEST_END_MS = 5_000


class ShutdownMode(StrEnum):
    """What happens to current runs when the engine stops."""

    WAIT = "wait"
    STOP = "stop"
    LEAVE = "leave"


class EngineThread(QObject):
    """Starts and stops an engine beside the window; its signals arrive in the GUI thread."""

    begun = Signal()
    held = Signal(str)
    """Another engine runs the jobs; the sentence names it."""
    failed = Signal(object)
    """A SchedulerError: the database cannot be used."""
    lost = Signal()
    alarmed = Signal(object)
    """An Alarm: the engine hangs or starts nothing."""
    stopped = Signal()
    trial_output = Signal(int, bytes)
    trial_ended = Signal(int, object)

    _start_wanted = Signal()
    _stop_wanted = Signal(object)
    _stop_cancelled = Signal()
    _trial_wanted = Signal(int, object)
    _trial_stop_wanted = Signal(int)

    def __init__(self, path: Path, clock: Clock, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._thread = QThread()
        self._thread.setObjectName("halo-engine")
        # Everything is connected here, before the thread runs: see docs/adr/0010.
        self._host = _Host(path, clock)
        self._host.moveToThread(self._thread)
        queued = Qt.ConnectionType.QueuedConnection
        self._start_wanted.connect(self._host.start, queued)
        self._stop_wanted.connect(self._host.stop, queued)
        self._stop_cancelled.connect(self._host.cancel_stop, queued)
        self._trial_wanted.connect(self._host.start_trial, queued)
        self._trial_stop_wanted.connect(self._host.stop_trial, queued)
        for here, there in (
            (self.begun, self._host.begun),
            (self.held, self._host.held),
            (self.failed, self._host.failed),
            (self.lost, self._host.lost),
            (self.alarmed, self._host.alarmed),
            (self.stopped, self._host.stopped),
            (self.trial_output, self._host.trial_output),
            (self.trial_ended, self._host.trial_ended),
        ):
            there.connect(here, queued)
        self._trials = 0

    def start(self) -> None:
        """Try to start the engine: `begun`, `held` or `failed` reports the result."""
        if not self._thread.isRunning():
            self._thread.start()
        self._start_wanted.emit()

    def stop(self, shutdown_mode: ShutdownMode) -> None:
        """Stop the engine if it runs here; `stopped` is emitted when done. A second call may be more urgent."""
        if not self._thread.isRunning():
            self.stopped.emit()
            return
        self._stop_wanted.emit(shutdown_mode)

    def cancel_stop(self) -> None:
        """Cancel a stop that waits for current runs."""
        self._stop_cancelled.emit()

    def start_trial(self, spec: JobSpec) -> int:
        """Run an unsaved job once; return the number that its signals carry."""
        self._trials += 1
        if not self._thread.isRunning():
            self._thread.start()
        self._trial_wanted.emit(self._trials, spec)
        return self._trials

    def stop_trial(self, number: int) -> None:
        self._trial_stop_wanted.emit(number)

    def end(self) -> None:
        """End the thread; the engine has stopped before."""
        self._thread.quit()
        self._thread.wait(_LONGEST_END_MS)


class _Stoppable(Protocol):
    """A test run."""

    def stop(self) -> None: ...


class _Host(QObject):
    """Lives in the engine's thread."""

    begun = Signal()
    held = Signal(str)
    failed = Signal(object)
    lost = Signal()
    alarmed = Signal(object)
    stopped = Signal()
    trial_output = Signal(int, bytes)
    trial_ended = Signal(int, object)

    def __init__(self, path: Path, clock: Clock) -> None:
        super().__init__()
        self._path = path
        self._clock = clock
        self._scheduler: Scheduler | None = None
        self._is_stopping = False
        self._trials: dict[int, _Stoppable] = {}
        self._trier: Scheduler | None = None
        # Test runs have connections: they are kept, never destroyed beside the window's thread (docs/adr/0010).
        self._past_trials: list[_Stoppable] = []

    @Slot()
    def start(self) -> None:
        if self._scheduler is not None:
            return
        try:
            scheduler = Scheduler.open(self._path, clock=self._clock, owner=_OWNER)
        except SchedulerError as error:
            self.failed.emit(error)
            return
        try:
            scheduler.start(adopt_orphans=True, alarmed=self.alarmed.emit)
        except EngineHeldError as error:
            scheduler.close()
            self.held.emit(str(error))
        except SchedulerError as error:
            scheduler.close()
            self.failed.emit(error)
        else:
            self._scheduler = scheduler
            scheduler.subscribe(lambda _change: self._notice_loss())
            self.begun.emit()

    def _notice_loss(self) -> None:
        scheduler = self._scheduler
        if scheduler is None or scheduler.engine.is_running or self._is_stopping:
            return
        self._forget()
        if isinstance(scheduler.engine.lost_by, (StoreReplacedError, StoreDamagedError)):
            self.failed.emit(scheduler.engine.lost_by)
        else:
            self.lost.emit()

    def _forget(self) -> None:
        if self._scheduler is not None:
            self._scheduler.close()
            self._scheduler = None

    @Slot(object)
    def stop(self, shutdown_mode: ShutdownMode) -> None:
        for trial in self._trials.values():
            trial.stop()
        if self._scheduler is None:
            self.stopped.emit()
            return
        if self._is_stopping:
            # A second call while the first one waits.
            if shutdown_mode is ShutdownMode.STOP:
                self._scheduler.engine.end_runs()
            return
        self._is_stopping = True
        try:
            self._scheduler.stop(
                wait=shutdown_mode is not ShutdownMode.LEAVE,
                timeout_ms=_FOR_EVER_MS if shutdown_mode is ShutdownMode.WAIT else _NO_TIME_MS,
                end_runs=shutdown_mode is ShutdownMode.STOP,
            )
        except SchedulerShutdownError as error:
            _LOG.info("%s", error)
        except SchedulerError as error:
            _LOG.warning("%s", error)
        self._is_stopping = False
        if self._scheduler.engine.is_running:
            return  # The stop was cancelled.
        self._forget()
        self.stopped.emit()

    @Slot()
    def cancel_stop(self) -> None:
        if self._scheduler is not None and self._is_stopping:
            self._scheduler.engine.cancel_stop()

    @Slot(int, object)
    def start_trial(self, number: int, spec: JobSpec) -> None:
        try:
            trial = self._for_trials().engine.try_job(spec, self)
        except SchedulerError as error:
            from halo_scheduler.actions.run_services import Ended  # noqa: PLC0415 - not for the sake of a refusal

            ended = Ended(run_id="", outcome=Outcome.FAILURE, message=text_message(str(error)))
            self.trial_ended.emit(number, ended)
            return
        self._trials[number] = trial
        trial.output.connect(lambda chunk: self.trial_output.emit(number, chunk))
        trial.ended.connect(lambda ended: self._end_trial(number, ended))
        trial.start()

    def _for_trials(self) -> Scheduler:
        """Return a scheduler for test runs in this thread, even while another program has the engine."""
        self._trier = self._trier or Scheduler.open(self._path, clock=self._clock)
        return self._trier

    @Slot(int)
    def stop_trial(self, number: int) -> None:
        if number in self._trials:
            self._trials[number].stop()

    def _end_trial(self, number: int, ended: object) -> None:
        self._past_trials.append(self._trials.pop(number))
        self.trial_ended.emit(number, ended)
