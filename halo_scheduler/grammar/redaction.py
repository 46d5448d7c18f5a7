"""Keeping secrets out of what is stored or shown, also where they lie across the borders of chunks.

A secret is recognised as it is and in the encodings that programs print by themselves: in each of them only some
characters change, so every character stands for all its spellings at once. Whole encodings (Base64, hexadecimal,
UTF-16) are forms of their own. Colours, cursor movements and other characters that are not printed do not hide a secret
that they split, and neither does a line that is drawn over: the text that is shown in the end is searched as well.
"""

from __future__ import annotations

import re
from base64 import b64encode
from bisect import bisect_right
from collections.abc import Iterable, Iterator
from itertools import accumulate, product

from halo_scheduler.grammar.text import ESCAPES, shown_text

MARK = b"***"
_SHORTEST_LINE = 8
# Fewer characters of Base64 also turn up by chance.
_SHORTEST_BASE64 = 8
_PREFIX = 5
_MOST_PREFIXES = 64
# Beside a gap this much more is hidden, for colour codes within a secret that the gap has cut.
_ROOM_FOR_ESCAPES = 64
# Of output that is made of little else than secrets, the rest is hidden as a whole: looking for each takes too long.
_MOST_FOUND = 50_000
# A secret is not followed through more than this, however it is coloured.
_MOST_HELD = 65_536
# The two highest bits of every byte of UTF-8 that is not the first of its character.
_CONTINUES = 0x80
_NAMED = {'"': "quot", "&": "amp", "'": "apos", "<": "lt", ">": "gt", "\xa0": "nbsp"}
_LETTERED = {"\n": b"\\n", "\r": b"\\r", "\t": b"\\t", "\b": b"\\b", "\f": b"\\f"}
# What a shell, SQL, CSV or a URL's query makes of single characters.
_QUOTED = {"'": (b"'\\''", b"'\"'\"'", b"\\'", b"''"), '"': (b'""',), " ": (b"+",), "\n": (b"\r\n",)}

# What is not printed does not separate the halves of a secret: controls, and characters without a width. Each begins
# with a plain byte, so that the search passes quickly over all others.
_CONTROLS = bytes({*range(32), 127} - {*b"\t\n\r\x1b"})
_WIDTHLESS = (
    b"|".join(rb"\x%02x" % control for control in _CONTROLS)
    + rb"|\xc2[\x80-\x9f\xad]|\xcd\x8f|\xd8\x9c|\xe1(?:\x85[\x9f\xa0]|\x9e[\xb4\xb5]|\xa0[\x8b-\x8f])"
    rb"|\xe2(?:\x80[\x8b-\x8f\xa8-\xae]|\x81[\xa0-\xaf])|\xe3\x85\xa4"
    rb"|\xef(?:\xb8[\x80-\x8f]|\xbb\xbf|\xbe\xa0|\xbf[\xb9-\xbb])|\xf3\xa0[\x80-\xbf]{2}"
    # The next chunk may complete one.
    rb"|\xc2\Z|\xcd\Z|\xd8\Z|\xe1.?\Z|\xe2.?\Z|\xe3.?\Z|\xef.?\Z|\xf3.{0,2}\Z"
)
_INVISIBLE = re.compile(ESCAPES.encode() + b"|" + _WIDTHLESS)
# What stands in a title that nothing ends may also be meant as text.
_TITLE = re.compile(rb"\x1b[\]PX^_]")
_INVISIBLE_BUT_TITLES = re.compile(
    rb"\x1b\[[0-?]*[ -/]*(?:[@-~]|\Z)|\x1b[ -/]*(?:[0-~]|\Z)|\x1b|" + _WIDTHLESS
)
# Most output has none of the bytes that these begin with: that is seen quickest by marking them with 1.
_BEGINS_INVISIBLE = bytes(byte in _CONTROLS + b"\x1b\xc2\xcd\xd8\xe1\xe2\xe3\xef\xf3" for byte in range(256))
_C1 = re.compile(rb"\xc2[\x90\x98\x9b-\x9f]")
# What a line can be put together with that does not stand in it like this.
_DRAWS = re.compile(rb"\x08|\r|\x1b\[[0-?]*[ -/]*[CDGK]|\xc2\x9b[0-?]*[ -/]*[CDGK]")
_ERASED_LINE = b"\x1b[2K"

Form = tuple[tuple[bytes, ...], ...]
"""A secret in one encoding: the spellings of each of its parts, one after the other."""


class Redactor:
    """Knows some secrets, and replaces them wherever they appear, in any of their forms."""

    def __init__(self, secrets: Iterable[str] = ()) -> None:
        forms = {form for secret in secrets for form in _forms(secret)}
        prefixes = {prefix: form for form in forms for prefix in _prefixes(form)}
        self._pattern = re.compile(_trie(prefixes)) if prefixes else None
        self._forms: dict[int, list[Form]] = {}
        for form in forms:
            for first in {spelling[0] for spelling in form[0]}:
                self._forms.setdefault(first, []).append(form)
        self._longest = max(map(_longest, forms), default=0)
        self.reach = self._longest - 1 + _ROOM_FOR_ESCAPES if forms else 0
        """How far a secret can reach over a border."""

    def redacted(self, data: bytes, start: int = 0, end: int | None = None) -> bytes:
        """Return the bytes from `start` to `end`; of a secret that crosses either border nothing is shown."""
        shown = _without(self.spans(data), data, start, len(data) if end is None else end)
        return shown if (drawn := self.drawn(shown)) is None else drawn

    def text(self, text: str) -> str:
        """Return a text without secrets."""
        return self.redacted(text.encode(errors="replace")).decode(errors="replace")

    def stream(self) -> RedactedStream:
        """Return something that redacts a stream of chunks."""
        return RedactedStream(self)

    def spans(self, data: bytes) -> list[tuple[int, int]]:
        """Return where secrets lie, from the first byte to behind the last; those that overlap are one."""
        return self.look(data)[0]

    def drawn(self, data: bytes) -> bytes | None:
        """Return data as it is shown, without secrets, if a secret can be seen only there; otherwise None."""
        if self._pattern is None or _DRAWS.search(data) is None:
            return None
        shown = shown_text(data).encode(errors="replace")
        spans = self.spans(shown)
        return _without(spans, shown, 0, len(shown)) if spans else None

    def look(self, data: bytes) -> tuple[list[tuple[int, int]], int]:
        """Return where secrets lie, and up to where that is known whatever follows."""
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
        """Return where the first secret begins that may go on behind the end."""
        start = max(0, len(data) - self._longest)
        short = max(start, len(data) - _PREFIX)
        match = pattern.search(data, start)
        while match and match.start() < short:
            if self._is_open(data, match.start()):
                return match.start()
            match = pattern.search(data, match.start() + 1)
        return next((at for at in range(short, len(data)) if self._is_open(data, at)), len(data))

    def _is_open(self, data: bytes, at: int) -> bool:
        return any(_ends(form, data, at)[1] for form in self._forms.get(data[at], ()))


class RedactedStream:
    """Gives out a stream chunk by chunk, holding back what may be the beginning of a secret."""

    def __init__(self, redactor: Redactor) -> None:
        self._redactor = redactor
        self._held = b""
        self._hidden = 0
        self._line = b""

    def feed(self, chunk: bytes) -> bytes:
        """Take in a chunk, and return what is safe to show by now."""
        data = self._held + chunk
        spans, border = self._redactor.look(data)
        # A secret that begins before the border lies here as a whole; one that overlaps it may not.
        begun = [behind for first, behind in spans if first < border]
        shown = _without(spans, data, min(self._hidden, border), border)
        self._held, self._hidden = data[border:], max([self._hidden, border, *begun]) - border
        return self._drawn(shown)

    def leave_gap(self) -> None:
        """Go on behind a gap: what lies right before and behind it may be a part of a secret."""
        self._held, self._hidden = b"", self._redactor.reach

    def end(self) -> bytes:
        """Return the rest: nothing follows that could complete a secret."""
        held, self._held = self._held, b""
        return self._drawn(self._redactor.redacted(held, start=min(self._hidden, len(held))))

    def _drawn(self, shown: bytes) -> bytes:
        """Return what follows on a line; if it would draw a secret there, the line is begun anew without it."""
        lines = self._line + shown
        drawn = self._redactor.drawn(lines)
        if drawn is not None:
            shown, lines = _ERASED_LINE + drawn, drawn
        self._line = lines[lines.rfind(b"\n") + 1 :][-_MOST_HELD:]
        return shown


# --- Finding -----------------------------------------------------------------------------------------


def _ends(form: Form, data: bytes, at: int) -> tuple[int, bool]:
    """Return behind what a form that begins here ends, or 0; and whether it may go on behind the data."""
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
    """Yield what can be read of data when all that is not printed is left out."""
    if 1 not in data.translate(_BEGINS_INVISIBLE) or not _INVISIBLE.search(data):
        return
    # Both ways to write a control have two bytes.
    data = _C1.sub(lambda match: bytes((0x1B, match[0][1] - 0x40)), data)
    yield _Visible(data, _INVISIBLE)
    if _TITLE.search(data):
        yield _Visible(data, _INVISIBLE_BUT_TITLES)


class _Visible:
    """The bytes of some data that a terminal shows, and where each of them stands in the data."""

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
        """Return where a visible byte stands in the data."""
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
        """Leave out the last character: what follows is drawn over it."""
        is_within_character = True
        while self._pieces and is_within_character:
            first, behind = self._pieces.pop()
            is_within_character = self._raw[behind - 1] & 0xC0 == _CONTINUES
            self._add(first, behind - 1)


# --- Forms -------------------------------------------------------------------------------------------


def _forms(secret: str) -> Iterator[Form]:
    """Yield a secret in every encoding."""
    data = secret.encode()
    if not data:
        return
    yield _spelled(secret)
    # A key of several lines may be printed line by line, and a last line without its end.
    yield from (_spelled(line) for line in secret.splitlines() if len(line) >= _SHORTEST_LINE)
    whole = {*_in_hexadecimal(data), *_in_base64(data), *_in_utf16(secret)}
    yield from (((form.encode(),),) for form in whole)
    yield ((secret.encode("utf-16-le"),),)


def _spelled(text: str) -> Form:
    """Return a text with all spellings of each character; what is always spelled the same is one part."""
    parts: list[tuple[bytes, ...]] = []
    for character in text:
        spellings = _spellings(character)
        if len(spellings) == 1 and parts and len(parts[-1]) == 1:
            parts[-1] = (parts[-1][0] + spellings[0],)
        else:
            parts.append(spellings)
    return tuple(parts)


def _spellings(character: str) -> tuple[bytes, ...]:
    """Return how JSON, URLs, HTML, shells and Python write a character; letters and digits they leave alone."""
    plain = character.encode()
    if character.isascii() and character.isalnum():
        return (plain,)
    found = {plain, _LETTERED.get(character, plain), *_QUOTED.get(character, ())}
    if character.isascii() and character.isprintable():
        found.add(b"\\" + plain)
    for data in {plain, character.encode("latin-1", errors="ignore")} - {b""}:
        found |= {data, *(_escaped(data, start) for start in ("%", "\\x")), _octal(data)}
        found |= {_escaped(data, start).upper().replace(b"\\X", b"\\x") for start in ("%", "\\x")}
    found |= {spelling.encode() for spelling in (*_in_utf16(character), *_in_html(character))}
    return tuple(sorted(found, key=lambda spelling: (-len(spelling), spelling)))


def _escaped(data: bytes, start: str) -> bytes:
    return "".join(f"{start}{byte:02x}" for byte in data).encode()


def _octal(data: bytes) -> bytes:
    return "".join(f"\\{byte:03o}" for byte in data).encode()


def _in_utf16(text: str) -> Iterator[str]:
    """Yield a character, or every one of a text, as JSON may write it."""
    units = text.encode("utf-16-be").hex()
    for digits in {units, units.upper()}:
        yield "".join(f"\\u{digits[at : at + 4]}" for at in range(0, len(digits), 4))


def _in_html(character: str) -> Iterator[str]:
    code = ord(character)
    yield from (f"&#{code};", f"&#{code:03};", f"&#x{code:x};", f"&#x{code:X};", f"&#X{code:X};")
    if character in _NAMED:
        yield f"&{_NAMED[character]};"


def _in_hexadecimal(data: bytes) -> Iterator[str]:
    """Yield bytes as dumps write them, and with every one escaped, also those that need not be."""
    plain = data.hex()
    for digits in {plain, plain.upper()}:
        pairs = [digits[at : at + 2] for at in range(0, len(digits), 2)]
        yield from (separator.join(pairs) for separator in ("", ":", " ", "-"))
        yield from ("".join(f"{start}{pair}" for pair in pairs) for start in ("\\x", "%"))


def _in_base64(data: bytes) -> Iterator[str]:
    """Yield what stays the same of some bytes in Base64, whatever stands before and behind them."""
    for before in range(3):
        first = -(-before * 8 // 6)
        behind = (before + len(data)) * 8 // 6
        text = b64encode(bytes(before) + data).decode()[first:behind]
        if len(text) >= _SHORTEST_BASE64:
            yield from {text, text.replace("+", "-").replace("/", "_")}


def _longest(form: Form) -> int:
    return sum(max(map(len, spellings)) for spellings in form)


def _prefixes(form: Form) -> set[bytes]:
    """Return what a form can begin with, as far as there are not too many such beginnings."""
    found = {b""}
    for spellings in form:
        pairs = product(found, spellings)
        longer = {before + spelling if len(before) < _PREFIX else before for before, spelling in pairs}
        if len(longer) > _MOST_PREFIXES and b"" not in found:
            break
        found = longer
        if min(map(len, found)) >= _PREFIX:
            break
    return {prefix[:_PREFIX] for prefix in found}


def _trie(words: Iterable[bytes]) -> bytes:
    """Return a pattern that finds one of some words, none of them empty, looking at each byte once."""
    following: dict[bytes, set[bytes]] = {}
    for word in words:
        if not word:
            return b""
        following.setdefault(word[:1], set()).add(word[1:])
    branches = [re.escape(first) + _trie(rest) for first, rest in sorted(following.items())]
    return branches[0] if len(branches) == 1 else b"(?:" + b"|".join(branches) + b")"
