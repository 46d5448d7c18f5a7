"""The text of an untrusted file: size limits and positions for error messages."""

from __future__ import annotations

import re
from typing import Protocol

from halo_scheduler.errors import SchedulerError
from halo_scheduler.grammar.english import shown

# More than people write, and few enough to search within a second.
MOST_BYTES = 5 << 20
MOST_LINES = 400_000
MOST_NODES = 200_000
MOST_ITEMS = 10_000
MOST_COPIED = 20_000_000
DEEPEST = 32
_PLAIN_KEY = re.compile(r"[A-Za-z0-9_.-]{1,60}|\[[0-9]+\]", re.ASCII)
_BETWEEN_PARTS = re.compile(r"[.\[]")


class FileError(SchedulerError, ValueError):
    """A file cannot be imported; `line` counts from 1, `path` names the field as in a ScheduleError."""

    def __init__(self, message: str, *, line: int | None = None, path: str = "", file: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.line = line
        self.path = path
        self.file = file

    def __str__(self) -> str:
        return located(self.message, self.line, self.path, self.file)


def located(message: str, line: int | None, path: str = "", file: str = "") -> str:
    """Return a sentence preceded by its place: "jobs.yaml, line 12, jobs[3].schedule.cron: …"."""
    places = [file] if file else []
    places += [f"line {line}"] if line is not None else []
    places += [path] if path else []
    return f"{', '.join(places)}: {message}" if places else message


class Word(str):
    """An unquoted scalar; its field determines whether it is text, a number or null."""

    __slots__ = ()


class Place(Protocol):
    """The position of a part in a text, and the positions inside it."""

    @property
    def line(self) -> int:
        """The line number, from 1."""

    def part(self, name: str) -> Place | None:
        """Return the place of a part by its name in a path: `schedule`, `[3]`."""


class TextFile:
    """A parsed file as plain data: objects, lists, strings, numbers, true, false, null."""

    def __init__(self, data: object, place: Place) -> None:
        self.data = data
        self._place = place

    def line_of(self, path: str) -> int:
        """Return the line of a field, or of the nearest parent that has one."""
        place = self._place
        while found := _first_part(place, path):
            place, path = found
        return place.line


def _first_part(place: Place, path: str) -> tuple[Place, str] | None:
    """Return the first part of a path and the rest of the path."""
    for end in _ends(path):
        inner = place.part(path[:end])
        if inner is not None:
            return inner, path[end:].removeprefix(".")
    return None


def _ends(path: str) -> list[int]:
    """Yield the possible ends of the first part of a path, longest first: keys may contain dots."""
    ends = [match.start() for match in _BETWEEN_PARTS.finditer(path) if match.start()]
    return [len(path), *reversed(ends)] if path else []


def text_of(content: bytes, *, most_bytes: int = MOST_BYTES) -> str:
    """Decode a file's content; refuse content that is too long or not text."""
    if len(content) > most_bytes:
        raise FileError(f"the file is larger than {most_bytes >> 20} MB; split it")
    if content.count(b"\n") > MOST_LINES:
        raise FileError(f"the file has more than {MOST_LINES} lines; split it")
    if b"\0" in content:
        raise FileError(
            "the file is not text: it has NUL bytes", line=_line_at(content, content.index(b"\0"))
        )
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise FileError(
            "the file is not UTF-8 text; convert it first", line=_line_at(content, error.start)
        ) from None


def too_many(path: str, line: int) -> FileError:
    """Return the error for a list or object with too many entries."""
    return FileError(f"there are more than {MOST_ITEMS} entries here; split the file", line=line, path=path)


def refuse_copies(size: int, jobs: int, line: int | None = None) -> None:
    """Refuse a file whose shared parts would become too large when copied into each job."""
    if size * jobs > MOST_COPIED:
        raise FileError(f"the parts that its {jobs} jobs share are too long; split it", line=line)


def under(path: str, key: str | int) -> str:
    """Return the path of a part."""
    if isinstance(key, int):
        return f"{path}[{key}]"
    return f"{path}.{shown_key(key)}" if path else shown_key(key)


def shown_key(key: str) -> str:
    """Return a key as part of a path, quoted unless it is a plain word."""
    return str(key) if _PLAIN_KEY.fullmatch(key) else shown(str(key))


def _line_at(content: bytes, position: int) -> int:
    return content.count(b"\n", 0, position) + 1
