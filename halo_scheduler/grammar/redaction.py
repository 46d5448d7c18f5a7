"""Redaction of secrets in stored and shown text, also across chunk borders.

A secret is found in all its forms, even if colours, cursor movements or other unprinted characters split it, or if a
line is overwritten: the text that a terminal shows in the end is searched as well.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterable, Iterator
from itertools import accumulate

from halo_scheduler.grammar.secret_forms import LONGEST_BEGINNING, Form, beginnings, forms_of, longest
from halo_scheduler.grammar.text import ESCAPES, shown_text

MARK = b"***"
# This much more is hidden next to a gap, for colour codes within a secret that the gap cuts.
_ROOM_FOR_ESCAPES = 64
# Output that consists mostly of secrets is hidden as a whole from here on: finding each takes too long.
_MOST_FOUND = 50_000
# The longest stretch that a secret with colour codes may span.
_MOST_HELD = 65_536
# The two highest bits of a UTF-8 continuation byte.
_CONTINUES = 0x80

# Unprinted characters within a secret are ignored: controls, and characters without a width. Each pattern begins with
# a plain byte, so that the search is fast.
_CONTROLS = bytes({*range(32), 127} - {*b"\t\n\r\x1b"})
_WIDTHLESS = (
    b"|".join(rb"\x%02x" % control for control in _CONTROLS)
    + rb"|\xc2[\x80-\x9f\xad]|\xcd\x8f|\xd8\x9c|\xe1(?:\x85[\x9f\xa0]|\x9e[\xb4\xb5]|\xa0[\x8b-\x8f])"
    rb"|\xe2(?:\x80[\x8b-\x8f\xa8-\xae]|\x81[\xa0-\xaf])|\xe3\x85\xa4"
    rb"|\xef(?:\xb8[\x80-\x8f]|\xbb\xbf|\xbe\xa0|\xbf[\xb9-\xbb])|\xf3\xa0[\x80-\xbf]{2}"
    # The next chunk may complete such a character.
    rb"|\xc2\Z|\xcd\Z|\xd8\Z|\xe1.?\Z|\xe2.?\Z|\xe3.?\Z|\xef.?\Z|\xf3.{0,2}\Z"
)
_INVISIBLE = re.compile(ESCAPES.encode() + b"|" + _WIDTHLESS)
# An unterminated title may also be plain text.
_TITLE = re.compile(rb"\x1b[\]PX^_]")
_INVISIBLE_BUT_TITLES = re.compile(
    rb"\x1b\[[0-?]*[ -/]*(?:[@-~]|\Z)|\x1b[ -/]*(?:[0-~]|\Z)|\x1b|" + _WIDTHLESS
)
# Most output has none of the first bytes of these; marking them with 1 is the fastest check.
_BEGINS_INVISIBLE = bytes(byte in _CONTROLS + b"\x1b\xc2\xcd\xd8\xe1\xe2\xe3\xef\xf3" for byte in range(256))
_C1 = re.compile(rb"\xc2[\x90\x98\x9b-\x9f]")
# Cursor movements and erasures that change what a line shows in the end.
_DRAWS = re.compile(rb"\x08|\r|\x1b\[[0-?]*[ -/]*[CDGK]|\xc2\x9b[0-?]*[ -/]*[CDGK]")
_ERASED_LINE = b"\x1b[2K"


class Redactor:
    """Replaces some secrets wherever they appear, in any of their forms."""

    def __init__(self, secrets: Iterable[str] = ()) -> None:
        forms = {form for secret in secrets for form in forms_of(secret)}
        self._pattern = re.compile(beginnings(forms)) if forms else None
        self._forms: dict[int, list[Form]] = {}
        for form in forms:
            for first in {spelling[0] for spelling in form[0]}:
                self._forms.setdefault(first, []).append(form)
        self._longest = max(map(longest, forms), default=0)
        self.reach = self._longest - 1 + _ROOM_FOR_ESCAPES if forms else 0
        """How far a secret can reach over a border."""

    def redacted(self, data: bytes, start: int = 0, end: int | None = None) -> bytes:
        """Return the bytes from `start` to `end`; a secret that crosses either border is hidden."""
        shown = _without(self.spans(data), data, start, len(data) if end is None else end)
        return shown if (drawn := self.drawn(shown)) is None else drawn

    def text(self, text: str) -> str:
        """Return a text without secrets."""
        return self.redacted(text.encode(errors="replace")).decode(errors="replace")

    def stream(self) -> RedactedStream:
        """Return a redactor for a stream of chunks."""
        return RedactedStream(self)

    def spans(self, data: bytes) -> list[tuple[int, int]]:
        """Return the positions of secrets, as (first byte, byte after the last); overlapping ones are merged."""
        return self.look(data)[0]

    def drawn(self, data: bytes) -> bytes | None:
        """Return data as shown and redacted, if a secret is visible only there; otherwise None."""
        if self._pattern is None or _DRAWS.search(data) is None:
            return None
        shown = shown_text(data).encode(errors="replace")
        spans = self.spans(shown)
        return _without(spans, shown, 0, len(shown)) if spans else None

    def look(self, data: bytes) -> tuple[list[tuple[int, int]], int]:
        """Return the positions of secrets, and the offset up to which they are certain whatever follows."""
        pattern = self._pattern
        if pattern is None:
            return [], len(data)
        found, settled = list(self._found(pattern, data)), self._first_open(pattern, data)
        for visible in _views(data):
            seen = self._found(pattern, visible.data)
            found += [(visible.place(first), visible.place(behind - 1) + 1) for first, behind in seen]
            first_open = self._first_open(pattern, visible.data)
            settled = min(settled, visible.place(first_open)) if first_open < len(visible.data) else settled
        return list(_merged(sorted(found))), max(settled, len(data) - max(_MOST_HELD, self._longest))

    def _found(self, pattern: re.Pattern[bytes], data: bytes) -> Iterator[tuple[int, int]]:
        match = pattern.search(data)
        count = 0
        while match:
            first = match.start()
            if count == _MOST_FOUND:
                yield first, len(data)
                return
            behind = max(_ends(form, data, first)[0] for form in self._forms[data[first]])
            if behind:
                count += 1
                yield first, behind
            match = pattern.search(data, first + 1)

    def _first_open(self, pattern: re.Pattern[bytes], data: bytes) -> int:
        """Return the start of the first secret that may continue after the end."""
        start = max(0, len(data) - self._longest)
        short = max(start, len(data) - LONGEST_BEGINNING)
        match = pattern.search(data, start)
        while match and match.start() < short:
            if self._is_open(data, match.start()):
                return match.start()
            match = pattern.search(data, match.start() + 1)
        return next((at for at in range(short, len(data)) if self._is_open(data, at)), len(data))

    def _is_open(self, data: bytes, at: int) -> bool:
        return any(_ends(form, data, at)[1] for form in self._forms.get(data[at], ()))


class RedactedStream:
    """Redacts a stream chunk by chunk, holding back what may be the beginning of a secret."""

    def __init__(self, redactor: Redactor) -> None:
        self._redactor = redactor
        self._held = b""
        self._hidden = 0
        self._line = b""

    def feed(self, chunk: bytes) -> bytes:
        """Add a chunk, and return what is now safe to show."""
        data = self._held + chunk
        spans, border = self._redactor.look(data)
        # A secret that begins before the border is complete here; one that overlaps it may not be.
        begun = [behind for first, behind in spans if first < border]
        shown = _without(spans, data, min(self._hidden, border), border)
        self._held, self._hidden = data[border:], max([self._hidden, border, *begun]) - border
        return self._drawn(shown)

    def leave_gap(self) -> None:
        """Continue after a gap; the bytes next to it may be part of a secret."""
        self._held, self._hidden = b"", self._redactor.reach

    def end(self) -> bytes:
        """Return the rest; no more text follows that could complete a secret."""
        held, self._held = self._held, b""
        return self._drawn(self._redactor.redacted(held, start=min(self._hidden, len(held))))

    def _drawn(self, shown: bytes) -> bytes:
        """Return what follows on a line; if it would complete a secret, the line is redrawn without it."""
        lines = self._line + shown
        drawn = self._redactor.drawn(lines)
        if drawn is not None:
            shown, lines = _ERASED_LINE + drawn, drawn
        self._line = lines[lines.rfind(b"\n") + 1 :][-_MOST_HELD:]
        return shown


# --- Finding -----------------------------------------------------------------------------------------


def _ends(form: Form, data: bytes, at: int) -> tuple[int, bool]:
    """Return the end of a form that begins here, or 0; and whether it may continue after the data."""
    positions = {at}
    is_open = False
    for spellings in form:
        following: set[int] = set()
        for position in positions:
            for spelling in spellings:
                if data.startswith(spelling, position):
                    following.add(position + len(spelling))
                elif position + len(spelling) > len(data) and spelling.startswith(data[position:]):
                    is_open = True
        positions = following
        if not positions:
            return 0, is_open
    return max(positions), is_open


def _merged(spans: Iterable[tuple[int, int]]) -> Iterator[tuple[int, int]]:
    """Join sorted spans that overlap."""
    first = behind = -1
    for start, end in spans:
        if start < behind:
            behind = max(behind, end)
            continue
        if behind > 0:
            yield first, behind
        first, behind = start, end
    if behind > 0:
        yield first, behind


def _without(spans: Iterable[tuple[int, int]], data: bytes, start: int, end: int) -> bytes:
    pieces: list[bytes] = []
    position = start
    for first, behind in spans:
        if first >= end:
            break
        if first >= start:
            pieces += [data[position:first], MARK]
        position = max(position, behind)
    pieces.append(data[position:end])
    return b"".join(pieces)


def _views(data: bytes) -> Iterator[_Visible]:
    """Yield the readable parts of data, without unprinted characters."""
    if 1 not in data.translate(_BEGINS_INVISIBLE) or not _INVISIBLE.search(data):
        return
    # Both spellings of a control have two bytes.
    data = _C1.sub(lambda match: bytes((0x1B, match[0][1] - 0x40)), data)
    yield _Visible(data, _INVISIBLE)
    if _TITLE.search(data):
        yield _Visible(data, _INVISIBLE_BUT_TITLES)


class _Visible:
    """The bytes of data that a terminal shows, with their positions in the data."""

    def __init__(self, data: bytes, invisible: re.Pattern[bytes]) -> None:
        self._raw = data
        self._invisible = invisible
        self._pieces: list[tuple[int, int]] = []
        self._offsets: list[int] = []
        if b"\b" in data:
            self._find_pieces()
            self.data = b"".join(data[first:behind] for first, behind in self._pieces)
        else:
            self.data = invisible.sub(b"", data)

    def place(self, at: int) -> int:
        """Return the position of a visible byte in the data."""
        if not self._offsets:
            self._find_pieces()
        index = bisect_right(self._offsets, at) - 1
        return self._pieces[index][0] + at - self._offsets[index]

    def _find_pieces(self) -> None:
        position = 0
        for match in self._invisible.finditer(self._raw):
            self._add(position, match.start())
            if match[0] == b"\b":
                self._take_back()
            position = match.end()
        self._add(position, len(self._raw))
        lengths = (behind - first for first, behind in self._pieces)
        self._offsets = list(accumulate(lengths, initial=0))[:-1] or [0]

    def _add(self, first: int, behind: int) -> None:
        if first < behind:
            self._pieces.append((first, behind))

    def _take_back(self) -> None:
        """Drop the last character: what follows overwrites it."""
        is_within_character = True
        while self._pieces and is_within_character:
            first, behind = self._pieces.pop()
            is_within_character = self._raw[behind - 1] & 0xC0 == _CONTINUES
            self._add(first, behind - 1)
