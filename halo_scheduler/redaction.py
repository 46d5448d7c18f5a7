"""Keeping secrets out of what is stored or shown, also where they lie across the borders of chunks."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator
from urllib.parse import quote

MARK = b"***"
_SHORTEST_LINE = 8


class Redactor:
    """Knows some secrets, and replaces them wherever they appear: as they are, quoted in JSON or in a URL."""

    def __init__(self, secrets: Iterable[str] = ()) -> None:
        forms = {form.encode() for secret in secrets for form in _forms(secret)} - {b""}
        # The longest first: where one secret begins with another, all of it must go.
        chosen = sorted(forms, key=len, reverse=True)
        self._pattern = re.compile(b"|".join(re.escape(form) for form in chosen)) if chosen else None
        self.reach = len(chosen[0]) - 1 if chosen else 0
        """How far a secret can reach over a border: its length but for one byte."""

    def redacted(self, data: bytes, start: int = 0, end: int | None = None) -> bytes:
        """Return the bytes from `start` to `end`; of a secret that crosses either border nothing is shown."""
        end = len(data) if end is None else end
        pieces: list[bytes] = []
        position = start
        for first, behind in self.spans(data):
            if first >= end:
                break
            if first >= start:
                pieces += [data[position:first], MARK]
            position = max(position, behind)
        pieces.append(data[position:end])
        return b"".join(pieces)

    def text(self, text: str) -> str:
        """Return a text without secrets."""
        return self.redacted(text.encode(errors="replace")).decode(errors="replace")

    def stream(self) -> RedactedStream:
        """Return something that redacts a stream of chunks."""
        return RedactedStream(self)

    def spans(self, data: bytes) -> Iterator[tuple[int, int]]:
        """Return where secrets lie, from the first byte to behind the last; those that overlap are one."""
        pattern = self._pattern
        match = pattern.search(data) if pattern else None
        while pattern and match:
            first, behind = match.span()
            match = pattern.search(data, first + 1)
            while match and match.start() < behind:
                behind = max(behind, match.end())
                match = pattern.search(data, match.start() + 1)
            yield first, behind


class RedactedStream:
    """Gives out a stream chunk by chunk, holding back what may be the beginning of a secret."""

    def __init__(self, redactor: Redactor) -> None:
        self._redactor = redactor
        self._held = b""
        self._hidden = 0

    def feed(self, chunk: bytes) -> bytes:
        """Take in a chunk, and return what is safe to show by now."""
        data = self._held + chunk
        border = len(data) - self._redactor.reach
        if border <= self._hidden:
            self._held = data
            return b""
        # A secret that begins before the border lies here as a whole; one that overlaps it may not.
        begun = [behind for first, behind in self._redactor.spans(data) if first < border]
        shown = self._redactor.redacted(data, start=self._hidden, end=border)
        self._held, self._hidden = data[border:], max([border, *begun]) - border
        return shown

    def leave_gap(self) -> None:
        """Go on behind a gap: what lies right before and behind it may be a part of a secret."""
        self._held, self._hidden = b"", self._redactor.reach

    def end(self) -> bytes:
        """Return the rest: nothing follows that could complete a secret."""
        held, self._held = self._held, b""
        return self._redactor.redacted(held, start=min(self._hidden, len(held)))


def _forms(secret: str) -> Iterator[str]:
    yield from (secret, json.dumps(secret)[1:-1], json.dumps(secret, ensure_ascii=False)[1:-1])
    yield from (quote(secret), quote(secret, safe=""))
    # A key of several lines may be printed line by line, and a last line without its end.
    yield from (line for line in secret.splitlines() if len(line) >= _SHORTEST_LINE)
