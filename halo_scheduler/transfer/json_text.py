"""Parses untrusted JSON; every error names its line."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from functools import reduce
from itertools import islice, pairwise
from typing import Any

from halo_scheduler.transfer.text_file import (
    DEEPEST,
    MOST_ITEMS,
    MOST_NODES,
    FileError,
    TextFile,
    text_of,
    too_many,
    under,
)

_MOST_DIGITS = 100
_STRING = r'"(?:[^"\\]++|\\.)*+"'
# Outside strings: NaN and infinities, and brackets.
_NO_NUMBER = re.compile(rf"{_STRING}|(-?Infinity|NaN|[0-9]{{{_MOST_DIGITS + 1}}})", re.DOTALL)
_BRACKET = re.compile(rf'(?:[^"{{}}\[\]]++|{_STRING})*+([{{}}\[\]])', re.DOTALL)
_BLANKS = re.compile(r"[ \t\n\r]*")
_SKIPPED = json.JSONDecoder()


def read_json(content: bytes) -> TextFile:
    """Parse JSON text. FileError says what is wrong and on which line."""
    text = text_of(content)
    objects = _Objects()
    try:
        data = json.loads(
            text, object_pairs_hook=objects.make, parse_constant=_refuse_constant, parse_int=_whole_number
        )
    except FileError:
        raise
    except json.JSONDecodeError as error:
        raise FileError(f"this is not JSON: {error.msg}", line=error.lineno) from None
    except _OddObjectError:
        raise _odd_object(text, objects.made) from None
    except RecursionError:
        raise _too_deep(text) from None
    except ValueError as error:
        raise FileError(f"this is not JSON: {error}", line=_line_of_no_number(text)) from None
    file = TextFile(data, _Place(_Lines(text), _next_sign(text, 0), _next_sign(text, 0)))
    _refuse_too_much(file, text)
    return file


class _OddObjectError(Exception):
    """An object repeats a key or has too many keys."""


class _Objects:
    """Builds and counts objects."""

    def __init__(self) -> None:
        self.made = 0

    def make(self, pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        found = dict(pairs)
        if len(found) != len(pairs) or len(pairs) > MOST_ITEMS:
            raise _OddObjectError
        self.made += 1
        if self.made > MOST_NODES:
            raise _excess()
        return found


def _whole_number(digits: str) -> int:
    if len(digits) > _MOST_DIGITS:
        raise ValueError(f"a number has more than {_MOST_DIGITS} digits")
    return int(digits)


def _refuse_constant(name: str) -> None:
    raise ValueError(f"{name} is not a JSON number")


# --- Size limits --------------------------------------------------------------------------------


def _refuse_too_much(file: TextFile, text: str) -> None:
    """Refuse oversized input early, because every part costs time afterwards."""
    nodes = 0
    left: list[tuple[Any, tuple[str | int, ...]]] = [(file.data, ())]
    while left:
        value, path = left.pop()
        if not isinstance(value, list | dict):
            continue
        nodes += len(value)
        if len(value) > MOST_ITEMS:
            where = reduce(under, path, "")
            raise too_many(where, file.line_of(where))
        if nodes > MOST_NODES:
            raise _excess()
        if len(path) > DEEPEST:
            raise _too_deep(text)
        parts = value.items() if isinstance(value, dict) else enumerate(value)
        left += [(part, (*path, key)) for key, part in parts if isinstance(part, list | dict)]


def _excess() -> FileError:
    return FileError(f"the file has more than {MOST_NODES} entries; split it")


def _too_deep(text: str) -> FileError:
    depth = 0
    for match in _BRACKET.finditer(text):
        depth += 1 if match[1] in "{[" else -1
        if depth > DEEPEST:
            break
    return FileError(f"it is nested deeper than {DEEPEST} levels", line=_line_at(text, match.start(1)))


def _line_of_no_number(text: str) -> int:
    found = next(match for match in _NO_NUMBER.finditer(text) if match[1])
    return _line_at(text, found.start())


# --- Positions ---------------------------------------------------------------------------------------


class _Lines:
    """Finds line numbers; fast for increasing offsets."""

    def __init__(self, text: str) -> None:
        self.text = text
        self._position = 0
        self._line = 1

    def at(self, position: int) -> int:
        if position < self._position:
            self._position, self._line = 0, 1
        self._line += self.text.count("\n", self._position, position)
        self._position = position
        return self._line


class _Place:
    """The position of a part and of its value; its own parts are located on demand."""

    def __init__(self, lines: _Lines, position: int, value_at: int) -> None:
        self._lines = lines
        self._position = position
        self._value_at = value_at
        self._by_name: dict[str, _Place] | None = None

    @property
    def line(self) -> int:
        return self._lines.at(self._position)

    def part(self, name: str) -> _Place | None:
        if self._by_name is None:
            self._by_name = {
                under("", key): _Place(self._lines, position, value_at)
                for key, position, value_at in _parts(self._lines.text, self._value_at)
            }
        return self._by_name.get(name)


def _parts(text: str, position: int) -> Iterator[tuple[str | int, int, int]]:
    """Yield the parts of a value with their positions. The text is valid JSON."""
    opening = text[position]
    if opening not in "{[":
        return
    index = 0
    position = _next_sign(text, position + 1)
    while text[position] not in "}]":
        key: str | int = index
        began = value_at = position
        if opening == "{":
            key, position = _SKIPPED.raw_decode(text, position)
            value_at = _next_sign(text, _next_sign(text, position) + 1)
        yield key, began, value_at
        _, position = _SKIPPED.raw_decode(text, value_at)
        position = _next_sign(text, position)
        if text[position] == ",":
            position = _next_sign(text, position + 1)
        index += 1


def _line_at(text: str, position: int) -> int:
    return text.count("\n", 0, position) + 1


def _next_sign(text: str, position: int) -> int:
    match = _BLANKS.match(text, position)
    return position if match is None else match.end()


def _odd_object(text: str, objects_before: int) -> FileError:
    """Find what is wrong with the object that ends after `objects_before` others."""
    around = _around(text, objects_before)
    path = ""
    for outer, inner in pairwise(around):
        parts = islice(_parts(text, outer), MOST_ITEMS + 1)
        key = next((key for key, _, value_at in parts if value_at == inner), None)
        if key is None:
            return too_many(path, _line_at(text, outer))
        path = under(path, key)
    seen: set[str | int] = set()
    for key, position, _ in islice(_parts(text, around[-1]), MOST_ITEMS):
        if key in seen:
            return FileError("this key appears twice", line=_line_at(text, position), path=under(path, key))
        seen.add(key)
    return too_many(path, _line_at(text, around[-1]))


def _around(text: str, objects_before: int) -> Sequence[int]:
    """Return the starts of the parents of the object that ends after `objects_before` others, then its own."""
    begun: list[int] = []
    for match in _BRACKET.finditer(text):
        if match[1] in "{[":
            begun.append(match.start(1))
            continue
        if match[1] == "}":
            if objects_before == 0:
                break
            objects_before -= 1
        begun.pop()
    return begun
