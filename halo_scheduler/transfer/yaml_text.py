"""Reads YAML from any source, with the line of every error; writes YAML that people can edit and diff.

Anchors, aliases, merge keys and tags are refused: with them, a few bytes can become gigabytes or arbitrary objects.
Unquoted texts become a `Word`. (Import this module only to read YAML: PyYAML loads slowly.)
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from functools import reduce
from typing import Any

import yaml
from yaml import AliasEvent, MappingEndEvent, ScalarEvent, SequenceEndEvent, SequenceStartEvent

from halo_scheduler.grammar.english import shown
from halo_scheduler.grammar.text import hidden_characters, is_shown_whole
from halo_scheduler.transfer.text_file import (
    DEEPEST,
    MOST_ITEMS,
    MOST_NODES,
    FileError,
    TextFile,
    Word,
    shown_key,
    text_of,
    too_many,
    under,
)

_MERGE = "<<"
_TAG_DIRECTIVE = re.compile("(?:^|[\\n\\r\x85\u2028\u2029])%TAG[ \\t]")
_NO_TAG = {None, "!"}  # a lone exclamation mark only marks text
_INDENT = "  "
_LONGEST_LIST = 90
# The lists whose items are separated by empty lines.
_APART = {"jobs:"}
# Texts that never need quotes; YAML allows slightly more.
_PLAIN = re.compile(r"(?:[\w/.~$+(^]|-(?=[\w-]))(?:[\w /.~$+()^=@;<>&|!*'\"-]|:(?! |$)|(?<! )#)*(?<! )")
_PLAIN_IN_LIST = re.compile(r"(?:[\w/.~$+(^]|-(?=[\w-]))(?:[\w/.~$+()^=@;<>&|!*'\"-]|:(?=\w))*")
# Texts that YAML 1.1 or 1.2 reads as another type.
_AMBIGUOUS = re.compile(
    r"~|null|y|n|yes|no|on|off|true|false"
    r"|[-+]?[0-9][0-9_,:]*(?:\.[0-9_]*)?(?:e[-+]?[0-9]+)?|[-+]?\.[0-9][0-9_]*(?:e[-+]?[0-9]+)?"
    r"|[-+]?0[box][0-9a-f_]+|[-+]?\.(?:inf|nan)"
    r"|[0-9]{4}-[0-9]{1,2}-[0-9]{1,2}.*|-{1,3}|\.{3}|=",
    re.IGNORECASE,
)
# The key of a chain: a boolean in YAML 1.1, but our reader takes it as text.
_OWN_KEYS = {"on"}


def read_yaml(content: bytes) -> TextFile:
    """Parse one YAML document. FileError says what is wrong and on which line."""
    text = text_of(content)
    if found := _TAG_DIRECTIVE.search(text):
        # Tags are useless here, and the parser's time grows with the square of their number.
        raise FileError("%TAG lines are not supported; remove it", line=text.count("\n", 0, found.end()) + 1)
    place = _Place(1)
    try:
        return TextFile(_Builder(text, place).build(), place)
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        problem = error.problem or error.context or "it breaks the grammar"
        raise FileError(
            f"this is not YAML: {problem}", line=None if mark is None else mark.line + 1
        ) from None
    except (yaml.YAMLError, UnicodeError) as error:
        reason = getattr(error, "reason", None) or "it breaks the grammar"
        position = getattr(error, "position", None)
        line = text.count("\n", 0, position) + 1 if isinstance(position, int) else None
        raise FileError(f"this is not YAML: {reason}", line=line) from None


class _Place:
    """A position; simple parts only store their line number."""

    __slots__ = ("_by_key", "keys", "line", "parts")

    def __init__(self, line: int) -> None:
        self.line = line
        self.keys: list[str] | None = None
        self.parts: list[int | _Place] = []
        self._by_key: dict[str, int] | None = None

    def part(self, name: str) -> _Place | None:
        index = self._index(name)
        if index is None or index >= len(self.parts):
            return None
        found = self.parts[index]
        return _Place(found) if isinstance(found, int) else found

    def _index(self, name: str) -> int | None:
        if self.keys is None:
            return int(name[1:-1]) if name[:1] == "[" and name[1:-1].isdecimal() else None
        if self._by_key is None:
            self._by_key = {shown_key(key): index for index, key in enumerate(self.keys)}
        return self._by_key.get(name)


class _Builder:
    """Builds plain data from a parser's events, so memory is bounded by the text.

    There may be some hundred thousand events, so details for an error are computed only on error.
    """

    def __init__(self, text: str, place: _Place) -> None:
        # libyaml is many times as fast; all wheels of PyYAML include it.
        loader: type[Any] = yaml.CSafeLoader if yaml.__with_libyaml__ else yaml.SafeLoader
        self._next = loader(text).get_event
        self._root = place
        self._nodes = 0
        self._path: list[str | int] = []

    def build(self) -> object:
        data: object = None
        documents = 0
        while type(event := self._next()) is not yaml.StreamEndEvent:
            if type(event) is yaml.DocumentStartEvent:
                documents += 1
                if documents > 1:
                    raise FileError("a second document begins here; one file holds one", line=_line(event))
                first = self._next()
                self._root.line = _line(first)
                data = self._value(first, self._root)
        return data

    def _value(self, event: Any, place: _Place) -> Any:
        kind = type(event)
        if kind is AliasEvent or event.anchor is not None or event.tag not in _NO_TAG:
            raise self._refusal(event)
        if kind is ScalarEvent:
            return Word(event.value) if event.implicit[0] else event.value
        if len(self._path) > DEEPEST:
            raise FileError(f"it is nested deeper than {DEEPEST} levels", line=_line(event))
        return self._list(place) if kind is SequenceStartEvent else self._mapping(place)

    def _list(self, place: _Place) -> list[Any]:
        items: list[Any] = []
        path, depth = self._path, len(self._path)
        path.append(0)
        while type(event := self._next()) is not SequenceEndEvent:
            if len(items) >= MOST_ITEMS or self._nodes >= MOST_NODES:
                raise self._excess(event, depth)
            self._nodes += 1
            path[depth] = len(items)
            inner = self._enter(event, place, event.start_mark.line + 1)
            items.append(self._value(event, inner))
        path.pop()
        return items

    def _mapping(self, place: _Place) -> dict[str, Any]:
        found: dict[str, Any] = {}
        path, depth = self._path, len(self._path)
        while type(event := self._next()) is not MappingEndEvent:
            if len(found) >= MOST_ITEMS or self._nodes >= MOST_NODES:
                raise self._excess(event, depth)
            self._nodes += 1
            key = self._key(event, found)
            path.append(key)
            value = self._next()
            inner = self._enter(value, place, event.start_mark.line + 1)
            found[key] = self._value(value, inner)
            path.pop()
        place.keys = list(found)
        return found

    def _enter(self, event: Any, place: _Place, line: int) -> _Place:
        """Record the line of a part; a part with children gets its own `_Place`."""
        if type(event) is ScalarEvent:
            place.parts.append(line)
            return place
        inner = _Place(line)
        place.parts.append(inner)
        return inner

    def _key(self, event: Any, found: dict[str, Any]) -> str:
        if type(event) is AliasEvent or event.anchor is not None or event.tag not in _NO_TAG:
            raise self._refusal(event)
        if type(event) is not ScalarEvent:
            raise self._error("a key must be text", event)
        key: str = event.value
        if key == _MERGE:
            raise self._error("merge keys are not supported; write the fields out", event)
        if key in found:
            raise self._error(f"the key {shown(key)} appears twice", event)
        return key

    def _excess(self, event: Any, depth: int) -> FileError:
        """Return why the document is too large."""
        if self._nodes >= MOST_NODES:
            return FileError(f"the file has more than {MOST_NODES} entries; split it", line=_line(event))
        return too_many(_joined(self._path[:depth]), _line(event))

    def _refusal(self, event: Any) -> FileError:
        """Return why a construct is not accepted."""
        if type(event) is AliasEvent or event.anchor is not None:
            return self._error("anchors and aliases are not supported; write the value out", event)
        return self._error(f"the tag {shown(event.tag)} is not supported; remove it", event)

    def _error(self, message: str, event: Any) -> FileError:
        return FileError(message, line=_line(event), path=_joined(self._path))


def _joined(path: list[str | int]) -> str:
    return reduce(under, path, "")


def _line(event: Any) -> int:
    return int(event.start_mark.line) + 1


def write_yaml(data: Mapping[str, object], header: Sequence[str] = ()) -> str:
    """Return plain data as YAML in the given order; the header becomes comment lines."""
    comments = [f"# {line}".rstrip() for line in header]
    return "\n".join([*comments, *_mapping(data, ""), ""])


def _mapping(data: Mapping[str, object], indent: str) -> Iterator[str]:
    for key, value in data.items():
        yield from _entry(f"{indent}{_key(key)}:", value, indent)


def _entry(head: str, value: object, indent: str) -> Iterator[str]:
    """Write a value after its key."""
    if isinstance(value, Mapping) and value:
        yield head
        yield from _mapping(value, indent + _INDENT)
    elif isinstance(value, list) and value:
        yield from _list(head, value, indent)
    elif isinstance(value, str) and _is_block(value):
        yield from _block(head, value, indent + _INDENT)
    else:
        yield f"{head} {_scalar(value)}"


def _list(head: str, items: list[object], indent: str) -> Iterator[str]:
    line = f"{head} [{', '.join(_scalar(item, _PLAIN_IN_LIST) for item in items)}]"
    if len(line) <= _LONGEST_LIST and not any(isinstance(item, dict | list) for item in items):
        yield line
        return
    yield head
    for index, item in enumerate(items):
        if isinstance(item, Mapping) and item:
            if index and head in _APART:
                yield ""
            yield from _first_dashed(_mapping(item, indent + _INDENT * 2), indent + _INDENT)
        else:
            yield from _entry(f"{indent}{_INDENT}-", item, indent + _INDENT)


def _first_dashed(lines: Iterator[str], indent: str) -> Iterator[str]:
    first = next(lines)
    yield f"{indent}- {first[len(indent) + 2 :]}"
    yield from lines


def _block(head: str, text: str, indent: str) -> Iterator[str]:
    """Write multi-line text as a literal block; the indicator keeps or strips trailing newlines."""
    body = text.rstrip("\n")
    line_ends = len(text) - len(body)
    yield f"{head} |{'-' if line_ends == 0 else '' if line_ends == 1 else '+'}"
    for line in body.split("\n"):
        yield f"{indent}{line}" if line else ""
    yield from [""] * (line_ends - 1)


def _is_block(text: str) -> bool:
    """Return whether a text can be written as a literal block without changing it."""
    lines = text.rstrip("\n").split("\n")
    if "\n" not in text or not is_shown_whole(text):
        return False
    return lines[0][:1] not in {"", " ", "\t"} and lines[-1].strip() != ""


def _key(key: str) -> str:
    return key if key in _OWN_KEYS else _text(key, _PLAIN_IN_LIST)


def _scalar(value: object, plain: re.Pattern[str] = _PLAIN) -> str:
    match value:
        case str():
            return _text(value, plain)
        case None:
            return "null"
        case bool():
            return "true" if value else "false"
        case int() | float():
            return repr(value)
        case _:
            return "{}" if isinstance(value, Mapping) else "[]"


def _text(text: str, plain: re.Pattern[str]) -> str:
    if plain.fullmatch(text) and not _AMBIGUOUS.fullmatch(text) and is_shown_whole(text):
        return text
    is_visible = is_shown_whole(text) and "\t" not in text and "\n" not in text
    if is_visible and ('"' in text or "\\" in text):
        return "'" + text.replace("'", "''") + "'"
    quoted = json.dumps(text, ensure_ascii=False)
    return quoted if is_shown_whole(quoted) else "".join(map(_escaped, quoted))


def _escaped(sign: str) -> str:
    """Return a character as a visible escape; YAML, unlike JSON, has none for lone surrogates."""
    if (sign.isascii() and sign.isprintable()) or not hidden_characters(sign):
        return sign
    return f"\\u{ord(sign):04x}" if sign <= "\uffff" else f"\\U{ord(sign):08x}"
