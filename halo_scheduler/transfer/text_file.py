"""The text of a file that somebody gave us: its limits, and where in it something stands."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sized
from functools import cached_property

from halo_scheduler.errors import SchedulerError
from halo_scheduler.schedule.words import shown

MOST_BYTES = 5 << 20
MOST_NODES = 400_000
MOST_JOBS = 20_000
DEEPEST = 32
_PLAIN_KEY = re.compile(r"[A-Za-z0-9_.-]{1,60}|\[[0-9]+\]", re.ASCII)
_LAST_PART = re.compile(r"(\.[^.\[\]]*|\[[^\[\]]*\]|[^.\[\]]+)$")


class FileError(SchedulerError, ValueError):
    """A file cannot be taken in; `line` counts from 1, and `path` names the field as in a ScheduleError."""

    def __init__(self, message: str, *, line: int | None = None, path: str = "", file: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.line = line
        self.path = path
        self.file = file

    def __str__(self) -> str:
        return located(self.message, self.line, self.path, self.file)


def located(message: str, line: int | None, path: str = "", file: str = "") -> str:
    """Return a sentence with its place in front: "jobs.yaml, line 12, jobs[3].schedule.cron: …"."""
    places = [file] if file else []
    places += [f"line {line}"] if line is not None else []
    places += [path] if path else []
    return f"{', '.join(places)}: {message}" if places else message


class Word(str):
    """A text without quotes: the place where it stands decides whether it is a text, a number or nothing."""

    __slots__ = ()


class TextFile:
    """What a text says as plain data: objects, lists, texts, numbers, true, false, null.

    The lines of its parts are looked up only when somebody asks: most files are right.
    """

    def __init__(self, data: object, find_lines: Callable[[], Mapping[str, int]]) -> None:
        self.data = data
        self._find_lines = find_lines

    @cached_property
    def _lines(self) -> Mapping[str, int]:
        return self._find_lines()

    def line_of(self, path: str) -> int | None:
        """Return the line on which a field stands, or what it is a part of."""
        while path and path not in self._lines:
            shorter = _LAST_PART.sub("", path)
            path = shorter if shorter != path else ""
        return self._lines.get(path)


def text_of(content: bytes, *, most_bytes: int = MOST_BYTES) -> str:
    """Return the text of a file's content, unless it is too long or no text."""
    if len(content) > most_bytes:
        raise FileError(f"the file is larger than {most_bytes >> 20} MB; split it")
    if b"\0" in content:
        raise FileError("the file is no text: it has NUL bytes", line=_line_at(content, content.index(b"\0")))
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise FileError(
            "the file is no text in UTF-8; convert it first", line=_line_at(content, error.start)
        ) from None


def refuse_too_many(path: str, items: Sized, noun: str = "jobs") -> None:
    """Refuse a file that holds more than anybody has: looking at all of it, even for a line, would take too long."""
    if len(items) > MOST_JOBS:
        raise FileError(f"the file has more than {MOST_JOBS} {noun}; split it", path=path)


def under(path: str, key: str | int) -> str:
    """Return the path of a part."""
    if isinstance(key, int):
        return f"{path}[{key}]"
    return f"{path}.{shown_key(key)}" if path else shown_key(key)


def shown_key(key: str) -> str:
    """Return a key as a part of a path; one that is no plain word is quoted, so that it cannot break the line."""
    return str(key) if _PLAIN_KEY.fullmatch(key) else shown(str(key))


def _line_at(content: bytes, position: int) -> int:
    return content.count(b"\n", 0, position) + 1
