"""The forms of a secret: verbatim, and in the encodings that programs commonly print.

Most encodings change only some characters, so each character matches all its spellings. Encodings of the whole text
(Base64, hexadecimal, UTF-16, HTML entities) are separate forms.
"""

from __future__ import annotations

import re
from base64 import b64encode
from collections.abc import Iterable, Iterator
from functools import lru_cache
from itertools import product

_SHORTEST_LINE = 8
# Fewer Base64 characters also occur by chance.
_SHORTEST_BASE64 = 8
_PREFIX = 5
# Base64 may be wrapped anywhere.
_LINE_BREAK = (b"\r\n", b"\n", b"")
LONGEST_BEGINNING = _PREFIX + len(b"\r\n")
"""How far what `beginnings` matches can reach."""
_MOST_PREFIXES = 64
_URL_SAFE = {"+": b"-", "/": b"_"}
_NAMED = {'"': "quot", "&": "amp", "'": "apos", "<": "lt", ">": "gt", "\xa0": "nbsp"}
# How the code of a byte is marked; a percent sign that is encoded again becomes %25.
_STARTS = ("%", "%25", "\\x")
_LETTERED = {"\n": b"\\n", "\r": b"\\r", "\t": b"\\t", "\b": b"\\b", "\f": b"\\f"}
# How a shell, SQL, CSV or a URL query escapes single characters.
_QUOTED = {
    "'": (b"'\\''", b"'\"'\"'", b"\\'", b"''"),
    '"': (b'""',),
    " ": (b"+", b"%2B", b"%2b"),
    "\n": (b"\r\n",),
}

Form = tuple[tuple[bytes, ...], ...]
"""A secret in one encoding: the spellings of each of its parts, one after the other."""


def forms_of(secret: str) -> Iterator[Form]:
    """Yield a secret in every encoding."""
    data = secret.encode()
    if not data:
        return
    yield _spelled(secret)
    # A multi-line key may be printed line by line, and its last line without a newline.
    yield from (_spelled(line) for line in secret.splitlines() if len(line) >= _SHORTEST_LINE)
    yield from (((form.encode(),),) for form in {*_in_hexadecimal(data), *_in_utf16(secret)})
    yield tuple(map(_entities, secret))
    yield from _in_base64(data)
    yield ((secret.encode("utf-16-le"),),)


def _spelled(text: str) -> Form:
    """Return a text with all spellings of each character; constant stretches are one part."""
    parts: list[tuple[bytes, ...]] = []
    for character in text:
        spellings = _spellings(character)
        if len(spellings) == 1 and parts and len(parts[-1]) == 1:
            parts[-1] = (parts[-1][0] + spellings[0],)
        else:
            parts.append(spellings)
    return tuple(parts)


@lru_cache(maxsize=1_024)
def _spellings(character: str) -> tuple[bytes, ...]:
    """Return how JSON, URLs, HTML, shells and Python write a character; letters and digits stay the same."""
    plain = character.encode()
    if character.isascii() and character.isalnum():
        return (plain,)
    found = {plain, _LETTERED.get(character, plain), *_QUOTED.get(character, ())}
    if character.isascii() and character.isprintable():
        found.add(b"\\" + plain)
    for data in {plain, character.encode("latin-1", errors="ignore")} - {b""}:
        found |= {data, *(_escaped(data, start) for start in _STARTS), _octal(data)}
        found |= {_escaped(data, start).upper().replace(b"\\X", b"\\x") for start in _STARTS}
    found |= {spelling.encode() for spelling in _in_utf16(character)} | {*_entities(character)}
    if character in _NAMED:
        found.add(f"&{_NAMED[character]};".encode())
    # JSON inside JSON, as in structured logs.
    found |= {
        spelling.replace(b"\\", b"\\\\").replace(b'"', b'\\"') for spelling in found if b"\\" in spelling
    }
    return tuple(sorted(found, key=lambda spelling: (-len(spelling), spelling)))


def _escaped(data: bytes, start: str) -> bytes:
    return "".join(f"{start}{byte:02x}" for byte in data).encode()


def _octal(data: bytes) -> bytes:
    return "".join(f"\\{byte:03o}" for byte in data).encode()


def _in_utf16(text: str) -> Iterator[str]:
    """Yield the JSON escapes of a character, or of every character of a text."""
    units = text.encode("utf-16-be").hex()
    for digits in {units, units.upper()}:
        yield "".join(f"\\u{digits[at : at + 4]}" for at in range(0, len(digits), 4))


@lru_cache(maxsize=1_024)
def _entities(character: str) -> tuple[bytes, ...]:
    """Return the numeric HTML entities of a character."""
    code = ord(character)
    found = {f"&#{code};", f"&#{code:03};", f"&#x{code:x};", f"&#x{code:X};", f"&#X{code:X};"}
    return tuple(sorted(map(str.encode, found)))


def _in_hexadecimal(data: bytes) -> Iterator[str]:
    """Yield bytes as hex dumps, and with every byte escaped, even where not needed."""
    plain = data.hex()
    for digits in {plain, plain.upper()}:
        pairs = [digits[at : at + 2] for at in range(0, len(digits), 2)]
        yield from (separator.join(pairs) for separator in ("", ":", " ", "-"))
        yield from ("".join(f"{start}{pair}" for pair in pairs) for start in _STARTS)


def _in_base64(data: bytes) -> Iterator[Form]:
    """Yield the stable part of some bytes in Base64, whatever precedes and follows them."""
    for before in range(3):
        first = -(-before * 8 // 6)
        behind = (before + len(data)) * 8 // 6
        text = b64encode(bytes(before) + data).decode()[first:behind]
        if len(text) >= _SHORTEST_BASE64:
            parts = (part for character in text for part in (_LINE_BREAK, _in_both_alphabets(character)))
            yield tuple(parts)[1:]


def _in_both_alphabets(character: str) -> tuple[bytes, ...]:
    other = _URL_SAFE.get(character)
    return _spellings(character) if other is None else (*_spellings(character), other)


def longest(form: Form) -> int:
    """Return the length of a form in its longest spellings."""
    return sum(max(map(len, spellings)) for spellings in form)


def beginnings(forms: Iterable[Form]) -> bytes:
    """Return a pattern that matches where a form may begin."""
    return _trie({prefix for form in forms for prefix in _prefixes(form)})


def _prefixes(form: Form) -> set[tuple[bytes, ...]]:
    """Return patterns for the possible beginnings of a form, byte by byte, up to a maximum number."""
    found = {b""}
    for spellings in form:
        if spellings is _LINE_BREAK:
            continue
        pairs = product(found, spellings)
        longer = {before + spelling if len(before) < _PREFIX else before for before, spelling in pairs}
        if len(longer) > _MOST_PREFIXES and b"" not in found:
            break
        found = longer
        if min(map(len, found)) >= _PREFIX:
            break
    words = {tuple(re.escape(bytes((byte,))) for byte in prefix[:_PREFIX]) for prefix in found}
    return words if _LINE_BREAK not in form else {longer for word in words for longer in _wrapped(word)}


def _wrapped(word: tuple[bytes, ...]) -> Iterator[tuple[bytes, ...]]:
    """Yield a word as it is, and with a line break within it."""
    yield word
    # Every alternative of the pattern begins with something definite: the search rejects most of them at once.
    yield from ((*word[:at], rb"[\r\n]\n?", *word[at:]) for at in range(1, len(word)))


def _trie(words: Iterable[tuple[bytes, ...]]) -> bytes:
    """Return a pattern that matches one of some sequences of patterns, reading each byte once."""
    following: dict[bytes, set[tuple[bytes, ...]]] = {}
    for word in words:
        if not word:
            return b""
        following.setdefault(word[0], set()).add(word[1:])
    branches = [first + _trie(rest) for first, rest in sorted(following.items())]
    return branches[0] if len(branches) == 1 else b"(?:" + b"|".join(branches) + b")"
