"""The only place that reads the time."""

from __future__ import annotations

import time
from typing import Protocol


class Clock(Protocol):
    """Tells the current instant in epoch milliseconds, UTC."""

    def now_ms(self) -> int: ...


class SystemClock:
    """The machine's own clock."""

    def now_ms(self) -> int:
        return time.time_ns() // 1_000_000


class ManualClock:
    """A clock that stands still until it is told to move, for tests and embedders."""

    def __init__(self, now_ms: int) -> None:
        self._now_ms = now_ms

    def now_ms(self) -> int:
        return self._now_ms

    def set(self, now_ms: int) -> None:
        """Jump to an instant, also backwards."""
        self._now_ms = now_ms

    def advance(self, by_ms: int) -> None:
        """Move on by a duration."""
        self._now_ms += by_ms
