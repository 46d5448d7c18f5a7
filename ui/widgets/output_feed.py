"""Streams a run's output to a window, from the start and while it runs."""

from __future__ import annotations

from dataclasses import dataclass

from PySide6.QtCore import QEvent, QObject, QTimer, Signal
from PySide6.QtWidgets import QWidget

from halo_scheduler.actions.output_reader import OutputFollower
from halo_scheduler.errors import SchedulerError
from halo_scheduler.model.changes import Change, ChangeKind
from halo_scheduler.service.scheduler import Scheduler
from ui.backend.backend import Asked, Backend

_LARGEST_PIECE = 262_144
_PAUSE_MS = 500


class OutputFeed(QObject):
    """Emits the output of a run; polls while its parent widget is visible."""

    chunk = Signal(bytes)
    ended = Signal()
    printed = Signal(int)
    """The total number of bytes that the run printed; emitted before its end."""
    failed = Signal(str)

    def __init__(self, backend: Backend, parent: QWidget) -> None:
        super().__init__(parent)
        self._backend = backend
        self._watcher = parent
        self._reading: _Reading | None = None
        self._asked: Asked | None = None
        self._is_asked_again = False
        self._pause = QTimer(self, singleShot=True, interval=_PAUSE_MS)
        self._pause.timeout.connect(self._poll_if_visible)
        backend.changed.connect(self._notice)
        parent.installEventFilter(self)

    @property
    def run_id(self) -> str | None:
        """The id of the followed run."""
        return None if self._reading is None else self._reading.run_id

    def follow(self, run_id: str) -> None:
        """Emit a run's output from the start."""
        self.stop()
        self._reading = _Reading(run_id)
        self._poll()

    def stop(self) -> None:
        """Stop following."""
        self._pause.stop()
        if self._asked is not None:
            self._asked.cancel()
            self._asked = None
        if self._reading is not None:
            reading, self._reading = self._reading, None
            self._backend.ask(lambda _scheduler: reading.close())

    def _poll(self) -> None:
        reading = self._reading
        if reading is None:
            return
        if self._asked is not None:
            self._is_asked_again = True
            return
        self._is_asked_again = False
        self._pause.stop()
        self._asked = self._backend.ask(reading.read, self._take, self._fail, owner=self)

    def _poll_if_visible(self) -> None:
        if self._watcher.isVisible():
            self._poll()

    def _take(self, piece: _Piece) -> None:
        self._asked = None
        if piece.content:
            self.chunk.emit(piece.content)
        if self._reading is None:
            return  # The receiver has stopped following.
        if piece.is_last:
            self._reading = None
            self.printed.emit(piece.printed)
            self.ended.emit()
        elif piece.is_more or self._is_asked_again:
            self._poll()
        elif self._watcher.isVisible():
            self._pause.start()

    def _fail(self, error: SchedulerError) -> None:
        self._asked = None
        self.failed.emit(str(error))

    def _notice(self, change: Change) -> None:
        if self._reading is None or change.run_id not in (None, self._reading.run_id):
            return
        if change.kind is ChangeKind.RUN_FINISHED:
            self._poll()
        elif change.kind is ChangeKind.RUN_PROGRESS or change.run_id is None:
            self._poll_if_visible()

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:  # noqa: N802 - Qt's name
        if event.type() == QEvent.Type.Show:
            self._poll()
        return super().eventFilter(watched, event)


@dataclass(frozen=True, slots=True)
class _Piece:
    content: bytes
    is_more: bool
    is_last: bool
    printed: int = 0


class _Reading:
    """The read position in one run's output; used in the backend's thread."""

    def __init__(self, run_id: str) -> None:
        self.run_id = run_id
        self._scheduler: Scheduler | None = None
        self._follower: OutputFollower | None = None
        self._given = 0
        self._rest = b""

    def read(self, scheduler: Scheduler) -> _Piece:
        """Return the new output."""
        follower = self._the_follower(scheduler)
        is_over = follower.is_run_over()
        content = bytearray(self._rest)
        self._rest = b""
        while len(content) < _LARGEST_PIECE:
            new = follower.read()
            if not new:
                break
            content += new
        is_more = len(content) >= _LARGEST_PIECE
        if is_over and not is_more:
            content += follower.end()
            self.close()
        self._given += len(content)
        is_last = is_over and not is_more
        printed = scheduler.runs.printed_bytes(self.run_id) if is_last else 0
        return _Piece(bytes(content), is_more=is_more, is_last=is_last, printed=printed)

    def close(self) -> None:
        """Close the output."""
        if self._follower is not None:
            self._follower.__exit__(None, None, None)
            self._follower = None

    def _the_follower(self, scheduler: Scheduler) -> OutputFollower:
        if self._follower is None or self._scheduler is not scheduler:
            self.close()
            self._scheduler = scheduler
            self._follower = scheduler.runs.follow_output(self.run_id)
            self._rest = self._skip(self._follower)
        return self._follower

    def _skip(self, follower: OutputFollower) -> bytes:
        """Skip what was emitted before the database was reopened, and return the rest."""
        read = bytearray()
        while len(read) < self._given:
            new = follower.read()
            if not new:
                break
            read += new
        return bytes(read[self._given :])
