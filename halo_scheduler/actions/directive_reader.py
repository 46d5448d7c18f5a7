"""Hearing what a run says about itself while its output grows: every byte once, before any of it is cut out."""

from __future__ import annotations

import os
from dataclasses import dataclass

from halo_scheduler.actions.directives import NO_DIRECTIVES, Directives, LineReader
from halo_scheduler.actions.holes import data_from, hole_from, read_at
from halo_scheduler.grammar.redaction import Redactor

_CHUNK = 1 << 20
_SKIPPED = "{because} that not all of its output was searched for :: lines"


@dataclass(frozen=True, slots=True)
class Heard:
    """Up to where an output was read, and what was said before."""

    position: int = 0
    said: Directives = NO_DIRECTIVES


class Hearing:
    """Reads the lines of an output that is written meanwhile."""

    def __init__(self, redactor: Redactor, before: Heard) -> None:
        self._reader = LineReader(redactor, before.said)
        self._reach = redactor.reach
        # A secret may begin before the line it is in.
        self._position = max(0, before.position - self._reach)
        self._lowest = 0
        if before.position:
            self._reader.skip(before.position - self._position)

    @property
    def heard(self) -> Heard:
        """What is behind us."""
        return Heard(max(self._lowest, self._position - self._reader.unread_bytes), self._reader.directives)

    @property
    def needed_from(self) -> int:
        """From where on the output is needed by whoever goes on in our place."""
        return max(0, self.heard.position - self._reach)

    def is_behind(self, size: int) -> bool:
        """Tell whether an output of this size has more to say."""
        return size != self._position

    def has_heard(self, size: int) -> bool:
        """Tell whether the first so many bytes of the output were read."""
        return self._position >= size

    def hear(self, descriptor: int, most_bytes: int) -> bool:
        """Take in what is new, but not too much at once; tell whether that was too little.

        What was written in the meantime does not count: whoever writes without a pause is not waited for.
        """
        if os.fstat(descriptor).st_size < self._position:
            self.skip_to(os.fstat(descriptor).st_size)
        while most_bytes > 0:
            start = data_from(descriptor, self._position)
            if start > self._position:
                self.skip_to(start)
            piece = read_at(descriptor, min(_CHUNK, most_bytes), start)
            # Looked for after reading: the hole may have been made in between.
            piece = piece[: hole_from(descriptor, start) - start]
            if not piece:
                self._pass_empty_end(descriptor)
                return False
            self._reader.feed(piece)
            self._position = start + len(piece)
            most_bytes -= len(piece)
        return True

    def _pass_empty_end(self, descriptor: int) -> None:
        """Go to the end of an output that was only made longer: there is nothing to wait for."""
        size = os.fstat(descriptor).st_size
        if hole_from(descriptor, self._position) == self._position < size:
            self.skip_to(size)

    def skip_to(self, position: int) -> None:
        """Go on elsewhere: what lies between is gone."""
        self._position = position
        self._reader.leave_gap()

    def pass_over(self, position: int, because: str) -> None:
        """Go on nearer to the end, and say why much was not read."""
        if position > self._position:
            self.skip_to(position)
            fault = _SKIPPED.format(because=because)
            self._reader.directives = self._reader.directives.and_then(Directives(fault=fault))

    def follow_cut(self, at: int) -> None:
        """Go on where the output was cut off: what is written there follows what was read last."""
        self._position = self._lowest = at

    def end(self) -> Directives:
        """Return all that was said: nothing follows."""
        return self._reader.end()
