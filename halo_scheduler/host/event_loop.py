"""The engine's part of a Qt event loop: timers, descriptors and calls from other threads, without connections.

Whoever destroys connected Qt objects beside the window's thread can stop both threads for ever (docs/adr/0010). These
override the handlers of events instead: nothing is connected, so they can be destroyed while the program goes on.
"""

from __future__ import annotations

import logging
import socket
import threading
from collections import deque
from collections.abc import Callable
from contextlib import suppress

from PySide6.QtCore import QEvent, QObject, QSocketNotifier, Qt, QTimer, QTimerEvent

_LOG = logging.getLogger(__name__)
_READ_SIZE = 4_096


class Timer(QTimer):
    """A timer that calls a function once each time it is started."""

    def __init__(
        self,
        fired: Callable[[], None],
        parent: QObject,
        kind: Qt.TimerType = Qt.TimerType.CoarseTimer,
    ) -> None:
        super().__init__(parent)
        self.setSingleShot(True)
        self.setTimerType(kind)
        self._fired = fired

    def timerEvent(self, _event: QTimerEvent) -> None:  # noqa: N802 - Qt's name
        self.stop()
        self._fired()


class Notifier(QSocketNotifier):
    """Calls a function whenever a descriptor is readable."""

    def __init__(self, descriptor: int, readable: Callable[[], None], parent: QObject) -> None:
        super().__init__(descriptor, QSocketNotifier.Type.Read, parent)
        self._readable = readable

    def event(self, event: QEvent) -> bool:
        if event.type() != QEvent.Type.SockAct:
            return super().event(event)
        if self.isEnabled():
            self._readable()
        return True


class Mailbox:
    """Takes calls from any thread and makes them in its own, in their order.

    Other threads touch no Qt object for it: one that is about to be destroyed would not be theirs to touch.
    """

    def __init__(self, parent: QObject) -> None:
        self._calls: deque[Callable[[], None]] = deque()
        self._lock = threading.Lock()
        self._reader, self._writer = socket.socketpair()
        self._reader.setblocking(False)
        self._writer.setblocking(False)
        self._notifier = Notifier(self._reader.fileno(), self._deliver, parent)

    def post(self, call: Callable[[], None]) -> None:
        """Have a function called as soon as the event loop is free; for any thread. Closed, it calls nothing."""
        self._calls.append(call)
        # A full pair wakes as well as one more byte would, and one that is closed has nobody to wake.
        with self._lock, suppress(OSError):
            self._writer.send(b"\0")

    def close(self) -> None:
        """Make no more calls."""
        self._notifier.setEnabled(False)
        with self._lock:
            self._reader.close()
            self._writer.close()
        self._calls.clear()

    def _deliver(self) -> None:
        with suppress(BlockingIOError):
            while self._reader.recv(_READ_SIZE):
                pass
        for _ in range(len(self._calls)):
            if not self._calls:
                return  # Closed by the call before.
            call = self._calls.popleft()
            try:
                call()
            except Exception:  # noqa: BLE001 - the other calls are made all the same
                _LOG.exception("A call from another thread failed.")
