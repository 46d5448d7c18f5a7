"""The only place that reads the time."""

from __future__ import annotations

import time
from typing import Protocol

_NS_PER_MS = 1_000_000


class WallClock(Protocol):
    """The time of day, which people and programs may set."""

    def now_ms(self) -> int:
        """Return the current instant in epoch milliseconds, UTC."""


class Clock(WallClock, Protocol):
    """The wall clock, which says when a job is due, and a monotonic one, which says how long something has taken."""

    def monotonic_ms(self) -> int:
        """Return milliseconds since some moment in the past; only differences mean anything.

        On Linux and macOS it stands still while the machine sleeps.
        """


class SystemClock:
    """The machine's own clocks."""

    def now_ms(self) -> int:
        return time.time_ns() // _NS_PER_MS

    def monotonic_ms(self) -> int:
        return time.monotonic_ns() // _NS_PER_MS


class ManualClock:
    """A clock that stands still until it is told to move, for tests and embedders."""

    def __init__(self, now_ms: int) -> None:
        self._now_ms = now_ms
        self._monotonic_ms = 0

    def now_ms(self) -> int:
        return self._now_ms

    def monotonic_ms(self) -> int:
        return self._monotonic_ms

    def set(self, now_ms: int) -> None:
        """Set the wall clock to an instant, also backwards; the monotonic clock does not move."""
        self._now_ms = now_ms

    def advance(self, by_ms: int) -> None:
        """Let time pass on both clocks; a negative duration sets the wall clock back."""
        self._now_ms += by_ms
        self._monotonic_ms += max(by_ms, 0)

    def sleep(self, by_ms: int) -> None:
        """Let the machine sleep: time passes, but only the wall clock counts it."""
        self._now_ms += by_ms
