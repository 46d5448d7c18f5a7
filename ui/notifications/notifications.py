"""Notices on the desktop: shown by the desktop's own service, or by whatever the program has instead."""

from __future__ import annotations

import os
import sys
import threading
from collections import deque
from collections.abc import Callable
from pathlib import Path

from PySide6.QtCore import QObject, Qt, Signal

from halo_scheduler.rules.notices import Notice
from ui.style.icons import icon_path

from .waker import EndWantedError, Waker

# Starting the service may take the desktop some seconds.
_ANSWER_LIMIT_S = 10.0
_LONGEST_CLOSE_S = 1.0
_LEAVE_TO_ACTIVATE = "XDG_ACTIVATION_TOKEN"


class Notifications(QObject):
    """Shows notices, and tells which one was clicked.

    The bus is met on a thread of its own, which starts with the first notice and sleeps until something happens.
    """

    opened = Signal(object)
    """The Notice that the user clicked."""
    _clicked = Signal(object, str)
    _refused = Signal(object)

    def __init__(
        self,
        fallback: Callable[[Notice], None],
        parent: QObject | None = None,
        *,
        answer_limit_s: float = _ANSWER_LIMIT_S,
    ) -> None:
        """`fallback` shows a notice where the desktop has no such service, or none that answers."""
        super().__init__(parent)
        self._fallback = fallback
        self._sender: _Sender | None = None
        self._answer_limit_s = answer_limit_s
        self._icon = Path(icon_path("halo")).as_uri()
        self._open_label = self.tr("Open")
        self._clicked.connect(self._open, Qt.ConnectionType.QueuedConnection)
        self._refused.connect(self._fall_back, Qt.ConnectionType.QueuedConnection)

    def show(self, notice: Notice) -> None:
        """Show a notice, in place of an earlier one on the same job."""
        if sys.platform != "linux":
            self._refused.emit(notice)
        elif self._sender is None or not self._sender.accepts(notice):
            self._sender = _Sender(notice, self._serve, self._refused.emit)

    def close(self) -> None:
        """End the thread; what is on the screen stays there."""
        if self._sender is not None:
            self._sender.close()
            self._sender = None

    def _serve(self, waiting: deque[Notice], waker: Waker) -> None:
        # Loaded by the thread, with the first notice: a start without one needs no client of the bus.
        from .service import serve  # noqa: PLC0415

        serve(
            waiting,
            waker,
            icon=self._icon,
            open_label=self._open_label,
            clicked=self._clicked.emit,
            refused=self._refused.emit,
            answer_limit_s=self._answer_limit_s,
        )

    def _open(self, notice: Notice, token: str) -> None:
        # Under Wayland a window comes to the front only with the desktop's leave, which Qt looks for here.
        if token:
            os.environ[_LEAVE_TO_ACTIVATE] = token
        self.opened.emit(notice)
        os.environ.pop(_LEAVE_TO_ACTIVATE, None)

    def _fall_back(self, notice: Notice) -> None:
        self._fallback(notice)


class _Sender:
    """The thread that meets the notification service, for as long as the bus is there."""

    def __init__(
        self,
        first: Notice,
        serve: Callable[[deque[Notice], Waker], None],
        refused: Callable[[Notice], None],
    ) -> None:
        """Start it with a first notice; it ends with `serve`, and what is waiting then is refused."""
        self._serve = serve
        self._refused = refused
        self._lock = threading.Lock()
        self._is_over = False
        self._waiting = deque([first])
        self._waker = Waker()
        # A daemon thread: nothing that the bus does keeps the program from ending.
        self._thread = threading.Thread(target=self._run, name="notifications", daemon=True)
        self._thread.start()

    def accepts(self, notice: Notice) -> bool:
        """Take a notice to be shown; False when the bus has gone, and a new thread must try anew."""
        with self._lock:
            if self._is_over:
                return False
            self._waiting.append(notice)
            self._waker.wake()
            return True

    def close(self) -> None:
        """End the thread."""
        self._waker.end()
        self._thread.join(_LONGEST_CLOSE_S)

    def _run(self) -> None:
        try:
            self._serve(self._waiting, self._waker)
        except EndWantedError:
            self._waiting.clear()
        with self._lock:
            self._is_over = True
            self._waker.close()
        for notice in self._waiting:
            self._refused(notice)
