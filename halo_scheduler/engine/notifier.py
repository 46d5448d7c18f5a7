"""Learning from the event loop when a process is gone."""

from __future__ import annotations

import os
import selectors
import sys
from collections.abc import Callable

from PySide6.QtCore import QObject

from halo_scheduler.host.event_loop import Notifier
from halo_scheduler.host.watch import ThreadWatch

HAS_PIDFD = sys.platform == "linux" and hasattr(os, "pidfd_open")


class NotifierWatch(QObject):
    """Waits on descriptors of processes: one path for our own children and for adopted ones.

    They are gathered in one selector, so that a run costs no notifier of its own.
    """

    def __init__(self, post: Callable[[Callable[[], None]], None], parent: QObject) -> None:
        """`post` has a function called in this thread, for processes that only another one can wait for."""
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
            # No descriptor left, or none allowed here: that says nothing about the process.
            self._threads.add(pid, wait, gone)
            return
        self._selector.register(descriptor, selectors.EVENT_READ, gone)

    def _see_gone(self) -> None:
        for key, _ in self._selector.select(0):
            # Closing is not enough: a child that is just being started may for a moment hold a copy.
            self._selector.unregister(key.fd)
            os.close(key.fd)
            key.data()

    def close(self) -> None:
        """Watch nothing any more."""
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
