"""Learning from the event loop when a process is gone."""

from __future__ import annotations

import os
import select
from collections.abc import Callable

from PySide6.QtCore import QObject, QSocketNotifier, Qt, Signal

from halo_scheduler.host.watch import ThreadWatch

HAS_PIDFD = hasattr(os, "pidfd_open")


class NotifierWatch(QObject):
    """Waits on descriptors of processes: one path for our own children and for adopted ones.

    They are gathered in one epoll, so that a run costs no notifier of its own.
    """

    _heard = Signal(object)

    def __init__(self, parent: QObject) -> None:
        super().__init__(parent)
        self._heard.connect(self._hear, Qt.ConnectionType.QueuedConnection)
        self._threads = ThreadWatch(self._heard.emit)
        self._epoll = select.epoll()
        self._watched: dict[int, Callable[[], None]] = {}
        self._notifier = QSocketNotifier(self._epoll.fileno(), QSocketNotifier.Type.Read, self)
        self._notifier.activated.connect(self._see_gone)

    def add(self, pid: int, wait: Callable[[], object], gone: Callable[[], None]) -> None:
        try:
            descriptor = os.pidfd_open(pid)
        except ProcessLookupError:
            gone()
            return
        except OSError:
            # No descriptor left, or none allowed here: that says nothing about the process.
            self._threads.add(pid, wait, gone)
            return
        self._watched[descriptor] = gone
        self._epoll.register(descriptor, select.EPOLLIN)

    def _see_gone(self) -> None:
        for descriptor, _ in self._epoll.poll(0):
            gone = self._watched.pop(descriptor)
            # Closing is not enough: a child that is just being started may for a moment hold a copy.
            self._epoll.unregister(descriptor)
            os.close(descriptor)
            gone()

    def _hear(self, gone: Callable[[], None]) -> None:
        gone()

    def close(self) -> None:
        """Watch nothing any more."""
        self._notifier.setEnabled(False)
        for descriptor in self._watched:
            os.close(descriptor)
        self._watched.clear()
        self._epoll.close()
