"""Turns for large answers: however many servers send at full speed, together they leave room for everything else."""

from __future__ import annotations

import threading
from collections.abc import Callable
from time import monotonic, sleep

# Most answers are shorter, and never wait for a turn.
_FREE_BYTES = 16 << 10
_BYTES_PER_S = 64 << 20
_LONGEST_PAUSE_S = 0.05
_CHECK_EVERY_S = 0.1
_TURN = threading.Lock()


class Turns:
    """The share of one connection: what it has received is worked on only while it has the turn.

    All threads share the interpreter and the disk. So one large answer is worked on at a time, at most half of the
    time and at no more than 64 MB/s.
    """

    def __init__(self) -> None:
        self._received = 0
        self._since: float | None = None
        self._size = 0

    def take(self, size: int, check: Callable[[], None]) -> None:
        """Wait for the turn to work on some bytes; `check` raises when there is nothing more to wait for."""
        self._received += size
        if self._received <= _FREE_BYTES:
            return
        while not _TURN.acquire(timeout=_CHECK_EVERY_S):
            check()
        self._since, self._size = monotonic(), size

    def give_back(self) -> None:
        """Rest as long as the work took, then let the next one have the turn."""
        if self._since is None:
            return
        pause_s = max(monotonic() - self._since, self._size / _BYTES_PER_S)
        sleep(min(pause_s, _LONGEST_PAUSE_S))
        self.leave()

    def leave(self) -> None:
        """Let the next one have the turn at once: nothing more is received here."""
        if self._since is not None:
            self._since = None
            _TURN.release()
