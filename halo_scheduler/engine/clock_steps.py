"""Noticing that the wall clock was set, by comparing it with the monotonic clock."""

from __future__ import annotations

from halo_scheduler.clock import Clock

# Less is not worth a tick: a clock that is kept right over the network is moved by milliseconds.
_SMALLEST_MS = 1_000


class ClockSteps:
    """Compares how far both clocks have moved since it was last asked."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._offset_ms = self._read_offset()

    def take(self) -> int:
        """Return by how much the wall clock was set, or the machine slept, since the last call; 0 if it was not."""
        step_ms = self.peek()
        self._offset_ms = self._read_offset()
        return step_ms

    def peek(self) -> int:
        """Return what `take` would."""
        step_ms = self._read_offset() - self._offset_ms
        return step_ms if abs(step_ms) >= _SMALLEST_MS else 0

    def _read_offset(self) -> int:
        return self._clock.now_ms() - self._clock.monotonic_ms()
