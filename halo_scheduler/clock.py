"""The only module that reads the time."""

from __future__ import annotations

import time
from typing import Protocol

# Smaller steps are ignored: NTP adjusts the clock by milliseconds.
_SMALLEST_MS = 1_000

_NS_PER_MS = 1_000_000


class ClockSteps:
    """Compares how far both clocks have moved since the last call."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._offset_ms = self._read_offset()

    def take(self) -> int:
        """Return by how much the wall clock was set, or the computer slept, since the last call; else 0."""
        step_ms = self.peek()
        self._offset_ms = self._read_offset()
        return step_ms

    def peek(self) -> int:
        """Return what `take` would, without resetting."""
        step_ms = self._read_offset() - self._offset_ms
        return step_ms if abs(step_ms) >= _SMALLEST_MS else 0

    def _read_offset(self) -> int:
        return self._clock.now_ms() - self._clock.monotonic_ms()


class WallClock(Protocol):
    """The time of day, which people and programs may set."""

    def now_ms(self) -> int:
        """Return the current instant in epoch milliseconds, UTC."""


class Clock(WallClock, Protocol):
    """The wall clock, for when a job is due, and a monotonic clock, for durations."""

    def monotonic_ms(self) -> int:
        """Return milliseconds since an unspecified moment; only differences are meaningful.

        On Linux and macOS it stops while the computer sleeps.
        """


class SystemClock:
    """The computer's clocks."""

    def now_ms(self) -> int:
        return time.time_ns() // _NS_PER_MS

    def monotonic_ms(self) -> int:
        return time.monotonic_ns() // _NS_PER_MS


class ManualClock:
    """A clock that moves only on request, for tests and embedders."""

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
        """Simulate sleep: only the wall clock advances."""
        self._now_ms += by_ms
