"""Following an output while it grows, and while its middle may be taken out."""

from __future__ import annotations

import os

from halo_scheduler.actions.holes import data_from, hole_from, read_at
from halo_scheduler.actions.spool import gap_words
from halo_scheduler.grammar.redaction import RedactedStream, Redactor

_CHUNK = 1 << 20


class SpoolReader:
    """Reads one output from its beginning on; what it gives is redacted."""

    def __init__(self, path: str, redactor: Redactor) -> None:
        self._descriptor = os.open(path, os.O_RDONLY)
        self._stream: RedactedStream = redactor.stream()
        self._position = 0

    def read(self) -> bytes:
        """Return what was added since the last call, a piece at a time; nothing when there is nothing new."""
        while True:
            before = self._position
            piece = self._next_piece()
            # All of a piece may be held back, and more follow.
            if piece or self._position == before:
                return piece

    def _next_piece(self) -> bytes:
        gap = self._passed_cut()
        start = data_from(self._descriptor, self._position)
        if start > self._position:
            gap += gap_words(start - self._position)
        if gap:
            self._stream.leave_gap()
        chunk = read_at(self._descriptor, _CHUNK, start)
        # Looked for after reading: the hole may have been made in between.
        chunk = chunk[: hole_from(self._descriptor, start) - start]
        self._position = start + len(chunk)
        return gap + self._stream.feed(chunk)

    def _passed_cut(self) -> bytes:
        """Go on from the end of a file that was cut off, where holes are not known."""
        size = os.fstat(self._descriptor).st_size
        if size >= self._position:
            return b""
        lost, self._position = self._position - size, size
        return gap_words(lost)

    def end(self) -> bytes:
        """Return what was held back: nothing follows."""
        return self._stream.end()

    def close(self) -> None:
        os.close(self._descriptor)
