"""Where the engine runs, this program or another, and listening to its changes."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from PySide6.QtCore import QObject, QSocketNotifier, QTimer, Signal

from halo_scheduler.errors import SchedulerError, StoreDamagedError, StoreReplacedError
from halo_scheduler.ipc.client import ChangeStream
from halo_scheduler.model.changes import Change, ChangeKind
from halo_scheduler.service.engine_control import Status
from halo_scheduler.service.scheduler import Scheduler

from .backend import Backend
from .engine_thread import EngineThread, ShutdownMode

_LOOK_MS = 30_000
_SOON_MS = 1_000
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
        self._look = QTimer(self)
        self._look.setSingleShot(True)
        self._look.timeout.connect(self._look_after_engine)
        self._pause = QTimer(self)
        self._pause.setSingleShot(True)
        self._pause.timeout.connect(self._listen_on)
        thread.begun.connect(self._be_here)
        thread.held.connect(self._be_elsewhere)
        thread.failed.connect(self._be_nowhere)
        thread.lost.connect(self._lose)
        thread.stopped.connect(self._have_stopped)

    def start(self) -> None:
        """Try to start the engine."""
        self._is_leaving = False
        self._thread.start()

    def stop(self, shutdown_mode: ShutdownMode) -> None:
        """Stop the engine; `stopped` is emitted when done."""
        self._is_leaving = True
        self._look.stop()
        self._thread.stop(shutdown_mode)

    def _be_here(self) -> None:
        was_elsewhere = self.state.place in (EnginePlace.ELSEWHERE, EnginePlace.NOWHERE)
        self._look.stop()
        self._set(EngineState(EnginePlace.HERE))
        self._listen()
        if was_elsewhere:
            self.taken_over.emit()

    def _be_elsewhere(self, sentence: str) -> None:
        self._set(EngineState(EnginePlace.ELSEWHERE, sentence))
        self._listen()
        self._look.start(_LOOK_MS)

    def _be_nowhere(self, error: SchedulerError) -> None:
        can_start = not isinstance(error, (StoreDamagedError, StoreReplacedError))
        self._set(EngineState(EnginePlace.NOWHERE, str(error), can_start))
        if isinstance(error, StoreDamagedError):
            # Retrying does not help: the user has to choose a backup.
            self.damaged.emit(error)
        elif isinstance(error, StoreReplacedError):
            # The window still shows the old file; only a restart shows and runs the new one.
            self._look.stop()
            self._hang_up()
        else:
            self._look.start(_LOOK_MS)

    def _lose(self) -> None:
        self._hang_up()
        self._look.start(_SOON_MS)

    def _have_stopped(self) -> None:
        self._hang_up()
        self.stopped.emit()

    def _set(self, state: EngineState) -> None:
        if state != self.state:
            self.state = state
            self.state_changed.emit(state)

    # --- Listening -----------------------------------------------------------------------------------

    def _listen(self) -> None:
        if self._stream is None:
            self._backend.ask(_connect, self._have_stream, owner=self)

    def _have_stream(self, stream: ChangeStream | None) -> None:
        if stream is None or self._stream is not None or self._is_leaving:
            if stream is not None:
                stream.close()
            elif not self._is_leaving:
                # An engine without a socket is polled instead.
                self._look.start(_LOOK_MS)
            return
        self._stream = stream
        self._notifier = QSocketNotifier(stream.fileno(), QSocketNotifier.Type.Read, self)
        self._notifier.activated.connect(self._hear)
        # Changes before the connection were not heard.
        self._backend.tell(Change(ChangeKind.JOB))

    def _listen_on(self) -> None:
        if self._notifier is not None:
            self._notifier.setEnabled(True)

    def _hear(self) -> None:
        if self._notifier is not None:
            self._notifier.setEnabled(False)
            self._pause.start(_PAUSE_MS)
        changes = self._stream.take() if self._stream is not None else []
        for change in changes or ():
            self._backend.tell(change)
        if changes is None and not self._is_leaving:
            # Not at once, in case the engine closes every connection.
            self._lose()

    def _hang_up(self) -> None:
        if self._notifier is not None:
            self._notifier.setEnabled(False)
            self._notifier.deleteLater()
            self._notifier = None
        if self._stream is not None:
            self._stream.close()
            self._stream = None

    def _look_after_engine(self) -> None:
        """Ask which engine runs, which is cheap; start one if none does."""
        self._backend.ask(
            Scheduler.status, self._see_status, lambda _error: self._look.start(_LOOK_MS), owner=self
        )

    def _see_status(self, status: Status) -> None:
        if self._is_leaving:
            return
        if status.state == "running" and self.state.place is EnginePlace.HERE and self._stream is None:
            self._listen()
        elif status.state == "running" and self.state.place is EnginePlace.ELSEWHERE:
            self._listen()
            self._look.start(_LOOK_MS)
        else:
            self._thread.start()


def _connect(scheduler: Scheduler) -> ChangeStream | None:
    try:
        return ChangeStream.connect(scheduler.path, skips_own=True)
    except OSError:
        return None
