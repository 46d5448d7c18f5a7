"""Threads for blocking calls: as many as needed, none of which delays the others or the exit."""

from __future__ import annotations

import _thread
import logging
import queue
import threading
from collections.abc import Callable

_LOG = logging.getLogger(__name__)
_IDLE_SECONDS = 10


class Inbox:
    """A queue of calls from any thread, run by the thread that drains it."""

    def __init__(self) -> None:
        self._news: queue.SimpleQueue[Callable[[], None]] = queue.SimpleQueue()
        self._is_wake_pending = False

    def put(self, news: Callable[[], None]) -> None:
        self._news.put(news)

    def needs_wake(self) -> bool:
        """Return whether the engine's thread must be woken; False while an earlier wake-up is still pending."""
        is_needed, self._is_wake_pending = not self._is_wake_pending, True
        return is_needed

    def take_in(self) -> None:
        """Run the queued calls."""
        # Cleared first: news that arrives from here on is either drained below or wakes the thread again.
        self._is_wake_pending = False
        while True:
            try:
                news = self._news.get_nowait()
            except queue.Empty:
                return
            try:
                news()
            except Exception:  # noqa: BLE001 - a fault in one run's event must not block the others
                _LOG.exception("An event of a run could not be processed.")

    def wait(self, timeout_s: float) -> bool:
        """Wait for a call and run it; return whether there was one."""
        try:
            self._news.get(timeout=timeout_s)()
        except queue.Empty:
            return False
        return True


class DaemonPool:
    """Runs functions on daemon threads."""

    def __init__(self) -> None:
        self._work: queue.SimpleQueue[Callable[[], None]] = queue.SimpleQueue()
        self._idle = 0
        self._lock = threading.Lock()

    def submit(self, work: Callable[[], None]) -> None:
        """Run a function soon; RuntimeError if no thread is available, and then it is never run."""
        with self._lock:
            has_idle = self._idle > 0
            if has_idle:
                self._idle -= 1
        if not has_idle:
            # Before `put`: without a thread the work must not stay queued for another thread.
            # Not a `Thread`: its `start` waits until the thread runs, 5 ms each on a busy computer.
            _thread.start_new_thread(self._serve, ())
        self._work.put(work)

    def _serve(self) -> None:
        while True:
            try:
                work = self._work.get(timeout=_IDLE_SECONDS)
            except queue.Empty:
                with self._lock:
                    if self._idle == 0:
                        continue  # This thread is reserved: its work is about to be queued.
                    self._idle -= 1
                    return
            try:
                work()
            except Exception:  # noqa: BLE001 - a fault in one call must not affect the next
                _LOG.exception("A worker thread failed.")
            del work  # It may reference much memory, and the next one may come much later.
            with self._lock:
                self._idle += 1
