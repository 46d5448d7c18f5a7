"""The text of a file that somebody gave us: its limits, and where in it something stands."""

from __future__ import annotations

import re
from typing import Protocol

from halo_scheduler.errors import SchedulerError
from halo_scheduler.grammar.english import shown

# Far more than anybody writes, and little enough to be looked through within a second.
MOST_BYTES = 5 << 20
MOST_LINES = 400_000
MOST_NODES = 200_000
MOST_ITEMS = 10_000
MOST_COPIED = 20_000_000
DEEPEST = 32
_PLAIN_KEY = re.compile(r"[A-Za-z0-9_.-]{1,60}|\[[0-9]+\]", re.ASCII)
_BETWEEN_PARTS = re.compile(r"[.\[]")


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


class Place(Protocol):
    """Where something in a text stands, and what is a part of it."""

    @property
    def line(self) -> int:
        """The line, from 1."""

    def part(self, name: str) -> Place | None:
        """Return the place of a part, by its name in a path: `schedule`, `[3]`."""


class TextFile:
    """What a text says as plain data: objects, lists, texts, numbers, true, false, null."""

    def __init__(self, data: object, place: Place) -> None:
        self.data = data
        self._place = place

    def line_of(self, path: str) -> int:
        """Return the line on which a field stands, or what it is a part of."""
        place = self._place
        while found := _first_part(place, path):
            place, path = found
        return place.line


def _first_part(place: Place, path: str) -> tuple[Place, str] | None:
    """Find the part that a path begins with, and return it with the rest of the path."""
    for end in _ends(path):
        inner = place.part(path[:end])
        if inner is not None:
            return inner, path[end:].removeprefix(".")
    return None


def _ends(path: str) -> list[int]:
    """Return where the first part of a path may end, the last one first: a key may have dots in it."""
    ends = [match.start() for match in _BETWEEN_PARTS.finditer(path) if match.start()]
    return [len(path), *reversed(ends)] if path else []


def text_of(content: bytes, *, most_bytes: int = MOST_BYTES) -> str:
    """Return the text of a file's content, unless it is too long or no text."""
    if len(content) > most_bytes:
        raise FileError(f"the file is larger than {most_bytes >> 20} MB; split it")
    if content.count(b"\n") > MOST_LINES:
        raise FileError(f"the file has more than {MOST_LINES} lines; split it")
    if b"\0" in content:
        raise FileError("the file is no text: it has NUL bytes", line=_line_at(content, content.index(b"\0")))
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise FileError(
            "the file is no text in UTF-8; convert it first", line=_line_at(content, error.start)
        ) from None


def too_many(path: str, line: int) -> FileError:
    """Return the refusal of a list or an object that holds more than anybody has."""
    return FileError(f"there are more than {MOST_ITEMS} entries here; split the file", line=line, path=path)


def refuse_copies(size: int, jobs: int, line: int | None = None) -> None:
    """Refuse a file whose jobs share so much that a copy for each would be more than anybody has."""
    if size * jobs > MOST_COPIED:
        raise FileError(f"what its {jobs} jobs have in common is too long for so many; split it", line=line)


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
