"""The engine's part of a Qt event loop: timers, descriptors, calls from other threads, process exits.

Destroying connected Qt objects off the window's thread can deadlock both threads (docs/adr/0010). These classes
override event handlers instead: without connections they can be destroyed while the program runs.
"""

from __future__ import annotations

import logging
import os
import selectors
import socket
import sys
import threading
from collections import deque
from collections.abc import Callable
from contextlib import suppress

from PySide6.QtCore import QEvent, QObject, QSocketNotifier, Qt, QTimer, QTimerEvent

from halo_scheduler.host.process import ThreadWatch

_LOG = logging.getLogger(__name__)
_READ_SIZE = 4_096
HAS_PIDFD = sys.platform == "linux" and hasattr(os, "pidfd_open")


class Timer(QTimer):
    """A single-shot timer that calls a function."""

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
    """Accepts calls from any thread and runs them on its own, in order.

    Other threads touch none of its Qt objects, because these may be about to be destroyed.
    """

    def __init__(self, parent: QObject) -> None:
        self._calls: deque[Callable[[], None]] = deque()
        self._lock = threading.Lock()
        self._reader, self._writer = socket.socketpair()
        self._reader.setblocking(False)
        self._writer.setblocking(False)
        self._notifier = Notifier(self._reader.fileno(), self._deliver, parent)

    def post(self, call: Callable[[], None]) -> None:
        """Run a function as soon as the event loop is free, from any thread; ignored after `close`."""
        self._calls.append(call)
        # A full socket wakes the loop anyway, and a closed one has no loop to wake.
        with self._lock, suppress(OSError):
            self._writer.send(b"\0")

    def close(self) -> None:
        """Run no more calls."""
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


class NotifierWatch(QObject):
    """Watches process descriptors, for own children and adopted processes alike.

    They share one selector, so that a run needs no notifier of its own.
    """

    def __init__(self, post: Callable[[Callable[[], None]], None], parent: QObject) -> None:
        """`post` runs a function on this thread, for processes that another thread has to wait for."""
        super().__init__(parent)
        self._threads = ThreadWatch(post)
        self._selector = selectors.DefaultSelector()
        self._notifier = Notifier(_fileno(self._selector), self._see_gone, self)

    def add(self, pid: int, wait: Callable[[], object], gone: Callable[[], None]) -> None:
        try:
            descriptor = _open_process(pid)
        except ProcessLookupError:
            gone()
            return
        except OSError:
            # Out of descriptors, or not permitted: the process may still be alive.
            self._threads.add(pid, wait, gone)
            return
        self._selector.register(descriptor, selectors.EVENT_READ, gone)

    def _see_gone(self) -> None:
        for key, _ in self._selector.select(0):
            # Closing is not enough: a child that is being started may briefly hold a copy.
            self._selector.unregister(key.fd)
            os.close(key.fd)
            key.data()

    def close(self) -> None:
        """Stop watching."""
        self._notifier.setEnabled(False)
        for key in (self._selector.get_map() or {}).values():
            os.close(key.fd)
        self._selector.close()


def _open_process(pid: int) -> int:
    """Return a descriptor that becomes readable when a process has ended."""
    if sys.platform != "linux":
        raise NotImplementedError
    return os.pidfd_open(pid)


def _fileno(selector: selectors.DefaultSelector) -> int:
    if sys.platform == "win32":
        raise NotImplementedError
    return selector.fileno()
