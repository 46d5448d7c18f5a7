"""Where the engine runs, this program or another, and listening to its changes."""

from __future__ import annotations

import os
from dataclasses import dataclass
from enum import StrEnum

from PySide6.QtCore import QObject, QSocketNotifier, QTimer, Signal

from halo_scheduler.errors import (
    SchedulerError,
    StoreDamagedError,
    StoreReplacedError,
    StoreUnavailableError,
)
from halo_scheduler.ipc.client import ChangeStream
from halo_scheduler.model.alarms import StoreTrouble
from halo_scheduler.model.changes import Change, ChangeKind
from halo_scheduler.service.engine_control import Status
from halo_scheduler.service.scheduler import Scheduler

from .backend import Backend
from .engine_thread import EngineThread, ShutdownMode

_POLL_MS = 30_000
_RETRY_MS = 1_000
# However many changes an engine reports, the GUI thread reads only this often.
_PAUSE_MS = 50


class EnginePlace(StrEnum):
    """Where the engine runs."""

    STARTING = "starting"
    HERE = "here"
    ELSEWHERE = "elsewhere"
    NOWHERE = "nowhere"


@dataclass(frozen=True, slots=True)
class EngineState:
    """Where the engine runs; `sentence` names another engine, or the error."""

    place: EnginePlace
    sentence: str = ""
    can_start: bool = False


class EngineLink(QObject):
    """Starts the engine if none runs, listens to the one that does, and takes over when it stops."""

    state_changed = Signal(object)
    taken_over = Signal()
    damaged = Signal(object)
    """A StoreDamagedError: jobs cannot run before a backup is restored."""
    stopped = Signal()

    def __init__(self, backend: Backend, thread: EngineThread, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._backend = backend
        self._thread = thread
        self.state = EngineState(EnginePlace.STARTING)
        self._stream: ChangeStream | None = None
        self._notifier: QSocketNotifier | None = None
        self._is_leaving = False
        self._poll = QTimer(self)
        self._poll.setSingleShot(True)
        self._poll.timeout.connect(self._poll_engine)
        self._pause = QTimer(self)
        self._pause.setSingleShot(True)
        self._pause.timeout.connect(self._resume_listening)
        thread.begun.connect(self._on_begun)
        thread.held.connect(self._on_held)
        thread.failed.connect(self._on_failed)
        thread.lost.connect(self._on_lost)
        thread.stopped.connect(self._on_stopped)

    def start(self) -> None:
        """Try to start the engine."""
        self._is_leaving = False
        self._thread.start()

    def stop(self, shutdown_mode: ShutdownMode) -> None:
        """Stop the engine; `stopped` is emitted when done."""
        self._is_leaving = True
        self._poll.stop()
        self._thread.stop(shutdown_mode)

    def cancel_stop(self) -> None:
        """Cancel a stop that waits for current runs."""
        self._is_leaving = False
        self._thread.cancel_stop()

    def _on_begun(self) -> None:
        is_place_new = self.state.place in (EnginePlace.ELSEWHERE, EnginePlace.NOWHERE)
        # With trouble it was this window's own engine that could not run.
        was_elsewhere = is_place_new and self._backend.trouble is None
        self._poll.stop()
        self._backend.show_trouble(None)
        self._set(EngineState(EnginePlace.HERE))
        self._listen()
        if was_elsewhere:
            self.taken_over.emit()

    def _on_held(self, sentence: str) -> None:
        self._set(EngineState(EnginePlace.ELSEWHERE, sentence))
        self._listen()
        self._poll.start(_POLL_MS)

    def _on_failed(self, error: SchedulerError) -> None:
        can_start = not isinstance(error, (StoreDamagedError, StoreReplacedError))
        self._set(EngineState(EnginePlace.NOWHERE, str(error), can_start))
        if isinstance(error, StoreDamagedError):
            # Retrying does not help: the user has to choose a backup.
            self.damaged.emit(error)
        else:
            if isinstance(error, StoreReplacedError):
                self._disconnect()
            self._poll.start(_POLL_MS)
        if isinstance(error, StoreUnavailableError):
            since = self._backend.now_ms() if self._backend.trouble is None else self._backend.trouble.since
            self._backend.show_trouble(StoreTrouble.of(error, since))

    def _on_lost(self) -> None:
        self._disconnect()
        self._poll.start(_RETRY_MS)

    def _on_stopped(self) -> None:
        self._disconnect()
        self.stopped.emit()

    def _set(self, state: EngineState) -> None:
        if state != self.state:
            self.state = state
            self.state_changed.emit(state)

    # --- Listening -----------------------------------------------------------------------------------

    def _listen(self) -> None:
        if self._stream is None:
            self._backend.ask(_connect, self._on_connected, owner=self)

    def _on_connected(self, stream: ChangeStream | None) -> None:
        if stream is None or self._stream is not None or self._is_leaving:
            if stream is not None:
                stream.close()
            elif not self._is_leaving:
                # An engine without a socket is polled instead.
                self._poll.start(_POLL_MS)
            return
        self._stream = stream
        self._notifier = QSocketNotifier(stream.fileno(), QSocketNotifier.Type.Read, self)
        self._notifier.activated.connect(self._read_changes)
        # Changes before the connection were not heard.
        self._backend.tell(Change(ChangeKind.JOB))

    def _resume_listening(self) -> None:
        if self._notifier is not None:
            self._notifier.setEnabled(True)

    def _read_changes(self) -> None:
        if self._notifier is not None:
            self._notifier.setEnabled(False)
            self._pause.start(_PAUSE_MS)
        changes = self._stream.take() if self._stream is not None else []
        if self._stream is not None and any(change.kind is ChangeKind.STORE for change in changes or ()):
            self._backend.show_trouble(self._stream.trouble)
        for change in changes or ():
            self._backend.tell(change)
        if changes is None and not self._is_leaving:
            # Not at once, in case the engine closes every connection.
            self._on_lost()

    def _disconnect(self) -> None:
        if self._notifier is not None:
            self._notifier.setEnabled(False)
            self._notifier.deleteLater()
            self._notifier = None
        if self._stream is not None:
            self._stream.close()
            self._stream = None
            self._backend.show_trouble(None)

    def _poll_engine(self) -> None:
        """Ask which engine runs, which is cheap; start one if none does."""
        self._backend.ask(_status, self._on_status, self._poll_later, owner=self)

    def _poll_later(self, _error: SchedulerError) -> None:
        self._poll.start(_POLL_MS)

    def _on_status(self, status: Status) -> None:
        if self._is_leaving:
            return
        if self.state.place is EnginePlace.NOWHERE and status.pid == os.getpid():
            # The engine that lost the file still has the lease.
            self._backend.ask(_release_lost, lambda _none: self._thread.start(), self._poll_later, owner=self)
        elif status.state != "stopped" and self.state.place is EnginePlace.HERE and self._stream is None:
            self._listen()
        elif status.state != "stopped" and self.state.place is EnginePlace.ELSEWHERE:
            self._listen()
            self._poll.start(_POLL_MS)
        else:
            self._thread.start()


def _status(scheduler: Scheduler) -> Status:
    """Return which engine runs the jobs of the file that the windows show; a file in its place is not run."""
    scheduler.engine.require_in_place()
    return scheduler.status()


def _release_lost(scheduler: Scheduler) -> None:
    scheduler.engine.release_lost()


def _connect(scheduler: Scheduler) -> ChangeStream | None:
    try:
        return ChangeStream.connect(scheduler.path, skips_own=True)
    except OSError:
        return None
