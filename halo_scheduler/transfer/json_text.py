"""Reading JSON from anybody: every refusal with its line."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from functools import partial
from typing import Any

from halo_scheduler.transfer.text_file import FileError, TextFile, text_of, under

_MOST_DIGITS = 100
# Texts, the signs of the grammar, and what lies between them.
_TOKEN = re.compile(r'"(?:[^"\\]|\\.)*+"?|[{}\[\],:]|[^\s"{}\[\],:]+', re.DOTALL)


def read_json(content: bytes) -> TextFile:
    """Read a JSON text; FileError says what is wrong and on which line."""
    text = text_of(content)
    try:
        data = json.loads(
            text, object_pairs_hook=_object, parse_constant=_refuse_constant, parse_int=_whole_number
        )
    except json.JSONDecodeError as error:
        raise FileError(f"this is not JSON: {error.msg}", line=error.lineno) from None
    except _TwiceError:
        raise _twice(text) from None
    except RecursionError:
        raise FileError("this JSON is nested too deep") from None
    except ValueError as error:
        raise FileError(f"this is not JSON: {error}") from None
    return TextFile(data, partial(_find_lines, text))


class _TwiceError(Exception):
    """A key is there twice."""


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise _TwiceError
    return found


def _twice(text: str) -> FileError:
    """Look for the key that is there twice: all that comes before it is JSON."""
    seen: set[str] = set()
    for path, line in _lines(_tokens(text)):
        if path in seen:
            return FileError("this key is there twice", line=line, path=path)
        seen.add(path)
    return FileError("a key is there twice")


def _whole_number(digits: str) -> int:
    if len(digits) > _MOST_DIGITS:
        raise ValueError(f"a number has more than {_MOST_DIGITS} digits")
    return int(digits)


def _refuse_constant(name: str) -> None:
    raise ValueError(f"{name} is no number in JSON")


def _find_lines(text: str) -> Mapping[str, int]:
    """Return the line of every part of a text that was read before."""
    return dict(_lines(_tokens(text)))


def _tokens(text: str) -> Iterator[tuple[str, int]]:
    line, seen = 1, 0
    for match in _TOKEN.finditer(text):
        line += text.count("\n", seen, match.start())
        seen = match.start()
        yield match[0], line


def _lines(tokens: Iterator[tuple[str, int]]) -> Iterator[tuple[str, int]]:
    sign, line = next(tokens)
    yield "", line
    yield from _lines_within(sign, tokens, "")


def _lines_within(sign: str, tokens: Iterator[tuple[str, int]], path: str) -> Iterator[tuple[str, int]]:
    """Go through a value that begins with a sign: the text is known to be JSON."""
    if sign == "{":
        for key, line in tokens:
            if key == "}":
                return
            if key != ",":
                inner = under(path, json.loads(key))
                yield inner, line
                next(tokens)  # the colon
                yield from _lines_within(next(tokens)[0], tokens, inner)
    elif sign == "[":
        index = 0
        for item, line in tokens:
            if item == "]":
                return
            if item != ",":
                yield under(path, index), line
                yield from _lines_within(item, tokens, under(path, index))
                index += 1
