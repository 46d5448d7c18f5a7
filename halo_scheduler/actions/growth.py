"""How the output of a run grows: when it is looked at next, and when it is more than the disk can take."""

from __future__ import annotations

from halo_scheduler.actions.spool import Spool
from halo_scheduler.host.disk_space import DiskSpace, disk_space

_FIRST_LOOK_MS = 250
_QUIET_LOOK_MS = 1_000
_BUSY_LOOK_MS = 500
_SHORTEST_MS = 20
_NOTABLE_BYTES = 256 << 10
_BUSY_BYTES = 4 << 20
# What a program that does nothing else prints within a millisecond.
_FASTEST_BYTES_PER_MS = 1 << 20
_MOST_PRESSES = 10


class Growth:
    """Watches the output of one run."""

    def __init__(self, spool: Spool) -> None:
        self._spool = spool
        self._size = 0
        self._looked_at = 0
        self._elapsed_ms = 1
        self._presses = 0
        self._has_filled = False
        self.grown = 0
        """By how much it grew between the last two looks."""

    def begin(self, now_ms: int, *, known_bytes: int = 0) -> int:
        """Begin with what is known already; return when to look first: early on a disk that is quickly filled.

        What a quick program has printed by now is not known yet: the first look must not miss it.
        """
        self._size, self._looked_at = known_bytes, now_ms
        space = self._space()
        if space is None:
            return now_ms + _FIRST_LOOK_MS
        until_full_ms = space.room // _FASTEST_BYTES_PER_MS
        return now_ms + _between(_SHORTEST_MS, until_full_ms // 2, _FIRST_LOOK_MS)

    def look(self, now_ms: int) -> None:
        """See how much came since the last look, and whether it has filled the disk."""
        size = self._spool.size()
        self.grown, self._size = size - self._size, size
        self._elapsed_ms, self._looked_at = max(1, now_ms - self._looked_at), now_ms
        is_pressed = self.grown > _NOTABLE_BYTES and (space := self._space()) is not None and space.is_full
        self._presses = self._presses + 1 if is_pressed else 0
        self._has_filled |= is_pressed

    @property
    def fills_disk(self) -> bool:
        """Whether it filled the disk again and again, however much was taken out of it in between."""
        return self._presses >= _MOST_PRESSES

    def note(self) -> str:
        """Return what to note on a run that failed: that there was no room for what it had to write."""
        space = self._space()
        is_full = self._has_filled or (space is not None and space.is_full)
        return "the disk was full while it ran" if is_full else ""

    def next_look_at(self) -> int:
        """Return when to look again: before it can have filled the disk at its pace."""
        return self._looked_at + self._pause_ms()

    def _pause_ms(self) -> int:
        if self.grown <= _NOTABLE_BYTES:
            return _QUIET_LOOK_MS
        longest_ms = _BUSY_LOOK_MS if self.grown > _BUSY_BYTES else _QUIET_LOOK_MS
        space = self._space()
        if space is None:
            return longest_ms
        until_full_ms = space.room * self._elapsed_ms // self.grown
        return _between(_SHORTEST_MS, until_full_ms // 2, longest_ms)

    def _space(self) -> DiskSpace | None:
        return disk_space(self._spool.folder)


def _between(low: int, value: int, high: int) -> int:
    return min(max(low, value), high)
