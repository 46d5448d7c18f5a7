"""Where the engine runs, this program or another, and listening to its changes."""

from __future__ import annotations

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
        was_elsewhere = self.state.place in (EnginePlace.ELSEWHERE, EnginePlace.NOWHERE)
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
        elif isinstance(error, StoreReplacedError):
            # The window still shows the old file; only a restart shows and runs the new one.
            self._poll.stop()
            self._disconnect()
        else:
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
        self._backend.ask(
            Scheduler.status, self._on_status, lambda _error: self._poll.start(_POLL_MS), owner=self
        )

    def _on_status(self, status: Status) -> None:
        if self._is_leaving:
            return
        if status.state != "stopped" and self.state.place is EnginePlace.HERE and self._stream is None:
            self._listen()
        elif status.state != "stopped" and self.state.place is EnginePlace.ELSEWHERE:
            self._listen()
            self._poll.start(_POLL_MS)
        else:
            self._thread.start()


def _connect(scheduler: Scheduler) -> ChangeStream | None:
    try:
        return ChangeStream.connect(scheduler.path, skips_own=True)
    except OSError:
        return None
