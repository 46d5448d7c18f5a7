"""Reading YAML from anybody: plain data only, every refusal with its line.

Only what a person writes by hand is taken: no anchors, aliases, merge keys or tags, of which a few bytes can
become gigabytes or other programs' objects. Texts without quotes come as a `Word`. (Import this module only where
YAML is read: PyYAML takes a while to load.)
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import partial
from typing import Any

import yaml

from halo_scheduler.schedule.words import shown
from halo_scheduler.transfer.text_file import DEEPEST, MOST_NODES, FileError, TextFile, Word, text_of, under

_MERGE = "<<"
_NO_TAG = {None, "!"}  # a lone exclamation mark only says that it is a text


def read_yaml(content: bytes) -> TextFile:
    """Read one YAML document; FileError says what is wrong and on which line."""
    text = text_of(content)
    return TextFile(_Builder(text).build(), partial(_find_lines, text))


class _Builder:
    """Builds plain data from the events of a parser: it never holds more than the text says."""

    def __init__(self, text: str) -> None:
        self._events = _events(text)
        self._nodes = 0

    def build(self) -> object:
        root: object = None
        documents = 0
        for event in self._events:
            if isinstance(event, yaml.DocumentStartEvent):
                documents += 1
                if documents > 1:
                    raise FileError("a second document begins here; one file holds one", line=_line(event))
                root = self._value(next(self._events), "", 0)
        return root

    def _value(self, event: yaml.Event, path: str, depth: int) -> Any:
        self._check(event, path, depth)
        if isinstance(event, yaml.ScalarEvent):
            return Word(event.value) if event.implicit[0] else str(event.value)
        if isinstance(event, yaml.SequenceStartEvent):
            return self._list(path, depth)
        return self._mapping(path, depth)

    def _list(self, path: str, depth: int) -> list[Any]:
        items: list[Any] = []
        while not isinstance(event := next(self._events), yaml.SequenceEndEvent):
            items.append(self._value(event, under(path, len(items)), depth + 1))
        return items

    def _mapping(self, path: str, depth: int) -> dict[str, Any]:
        found: dict[str, Any] = {}
        while not isinstance(event := next(self._events), yaml.MappingEndEvent):
            self._check(event, path, depth)
            if not isinstance(event, yaml.ScalarEvent):
                raise FileError("a key must be a text", line=_line(event), path=path)
            key = str(event.value)
            if key == _MERGE:
                raise FileError("merge keys are not taken; write it out", line=_line(event), path=path)
            if key in found:
                raise FileError(f"the key {shown(key)} is there twice", line=_line(event), path=path)
            found[key] = self._value(next(self._events), under(path, key), depth + 1)
        return found

    def _check(self, event: yaml.Event, path: str, depth: int) -> None:
        self._nodes += 1
        if self._nodes > MOST_NODES:
            raise FileError(f"the file has more than {MOST_NODES} entries; split it", line=_line(event))
        if depth > DEEPEST:
            raise FileError(f"it is nested deeper than {DEEPEST} levels", line=_line(event))
        if isinstance(event, yaml.AliasEvent) or getattr(event, "anchor", None) is not None:
            raise FileError("anchors and aliases are not taken; write it out", line=_line(event), path=path)
        tag = getattr(event, "tag", None)
        if tag not in _NO_TAG:
            raise FileError(f"the tag {shown(tag)} is not taken; leave it out", line=_line(event), path=path)


def _events(text: str) -> Iterator[yaml.Event]:
    # libyaml is many times as fast; it is there wherever PyYAML comes as a wheel.
    loader: type[Any] = yaml.CSafeLoader if yaml.__with_libyaml__ else yaml.SafeLoader
    try:
        yield from yaml.parse(text, Loader=loader)
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


def _line(event: yaml.Event) -> int:
    mark = event.start_mark
    return 1 if mark is None else int(mark.line) + 1


def _find_lines(text: str) -> Mapping[str, int]:
    """Return the line of every part of a text that was read before."""
    return dict(_lines(_events(text)))


def _lines(events: Iterator[yaml.Event]) -> Iterator[tuple[str, int]]:
    for event in events:
        if isinstance(event, yaml.DocumentStartEvent):
            first = next(events)
            yield "", _line(first)
            yield from _lines_within(first, events, "")


def _lines_within(event: yaml.Event, events: Iterator[yaml.Event], path: str) -> Iterator[tuple[str, int]]:
    if isinstance(event, yaml.SequenceStartEvent):
        index = 0
        while not isinstance(item := next(events), yaml.SequenceEndEvent):
            yield under(path, index), _line(item)
            yield from _lines_within(item, events, under(path, index))
            index += 1
    elif isinstance(event, yaml.MappingStartEvent):
        while not isinstance(key := next(events), yaml.MappingEndEvent):
            inner = under(path, str(getattr(key, "value", "")))
            yield inner, _line(key)
            yield from _lines_within(next(events), events, inner)
