"""Threads for what may block: as many as there is work, and none that holds up the others or the exit."""

from __future__ import annotations

import _thread
import logging
import queue
import threading
from collections.abc import Callable

_LOG = logging.getLogger(__name__)
_IDLE_SECONDS = 10


class Inbox:
    """Takes news on whatever thread, and tells it on the one that takes it in."""

    def __init__(self) -> None:
        self._news: queue.SimpleQueue[Callable[[], None]] = queue.SimpleQueue()
        self._is_wake_pending = False

    def put(self, news: Callable[[], None]) -> None:
        self._news.put(news)

    def needs_wake(self) -> bool:
        """Tell whether the engine's thread must be woken; False while an earlier wake-up is still pending."""
        is_needed, self._is_wake_pending = not self._is_wake_pending, True
        return is_needed

    def take_in(self) -> None:
        """Do what was brought."""
        # Cleared first: news that arrives from here on is either drained below or wakes the thread again.
        self._is_wake_pending = False
        while True:
            try:
                news = self._news.get_nowait()
            except queue.Empty:
                return
            try:
                news()
            except Exception:  # noqa: BLE001 - a fault in one run's news must not keep back the others'
                _LOG.exception("News of a run could not be taken in.")

    def wait(self, timeout_s: float) -> bool:
        """Wait for news, and do the first of it; tell whether there was some."""
        try:
            self._news.get(timeout=timeout_s)()
        except queue.Empty:
            return False
        return True


class DaemonPool:
    """Runs functions on threads of its own."""

    def __init__(self) -> None:
        self._work: queue.SimpleQueue[Callable[[], None]] = queue.SimpleQueue()
        self._idle = 0
        self._lock = threading.Lock()

    def submit(self, work: Callable[[], None]) -> None:
        """Have it done soon; RuntimeError when there is no thread to be had, and then it is not done at all."""
        with self._lock:
            has_idle = self._idle > 0
            if has_idle:
                self._idle -= 1
        if not has_idle:
            # First: what gets no thread must not be done later by one that counts on something else.
            # Not a `Thread`: its `start` waits until it runs, 5 ms for each while others are busy.
            _thread.start_new_thread(self._serve, ())
        self._work.put(work)

    def _serve(self) -> None:
        while True:
            try:
                work = self._work.get(timeout=_IDLE_SECONDS)
            except queue.Empty:
                with self._lock:
                    if self._idle == 0:
                        continue  # Somebody counts on this thread: its work is on the way.
                    self._idle -= 1
                    return
            try:
                work()
            except Exception:  # noqa: BLE001 - a fault in one piece of work is not the next one's
                _LOG.exception("Something went wrong on a worker thread.")
            del work  # It may hold on to much, and the next may come much later.
            with self._lock:
                self._idle += 1
