"""What other threads bring to the engine's."""

from __future__ import annotations

import logging
import queue
from collections.abc import Callable

_LOG = logging.getLogger(__name__)


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
