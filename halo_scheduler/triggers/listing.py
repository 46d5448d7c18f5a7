"""The files of a folder, now and as they were last seen."""

from __future__ import annotations

import fnmatch
import os
import re
import stat
import struct
import zlib
from base64 import b64decode, b64encode
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from hashlib import blake2b
from time import sleep
from typing import NamedTuple, TypeVar

from halo_scheduler.grammar.english import counted
from halo_scheduler.model import FileEvent, OnFile
from halo_scheduler.model.jobs import MOST_INPUT_BYTES

MOST_FILES = 250_000
_MARK_LIMIT = 1 << 64
_NS_PER_MS = 1_000_000
_STRIDE = 100
_REST_S = 0.000_1
# All characters that end a line for some program: Python also splits at a few beyond ASCII.
_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029]")
_VERSION = "1"
_LONGEST_COMMENT = 64


T = TypeVar("T")


def gently(items: Iterable[T]) -> Iterator[T]:
    """Yield items with short sleeps: another thread would otherwise wait 5 ms for the interpreter each time."""
    for index, item in enumerate(items, 1):
        if not index % _STRIDE:
            sleep(_REST_S)
        yield item


class FolderError(OSError):
    """A folder cannot be read; the message is a sentence."""


class Sight(NamedTuple):
    """A file as last seen: a mark that changes with size and mtime, and the time of its last change."""

    mark: int
    changed_at: int


@dataclass(frozen=True, slots=True)
class Listing:
    """The matching files of a folder; the sight is None for a file whose name alone was read."""

    files: Mapping[str, Sight | None] = field(default_factory=dict)
    device: int = 0
    changed_at: int = 0
    """When the folder itself changed last: a file appeared or vanished."""
    is_there: bool = True
    has_exact_times: bool = True
    """Whether the clock of this computer sets the times of files."""
    refused_at: int = 0
    """When a matching file with a name that no input can hold changed last; 0 if there is none."""


def list_files(event: OnFile, known: Mapping[str, int], *, has_exact_times: bool = True) -> Listing:
    """Return the files that match an event; `FolderError` if the folder cannot be read.

    Only regular files count: links could lead out of the folder. Files whose names are known are not examined.
    """
    path = os.path.expanduser(event.path)  # noqa: PTH111 - a Path would raise where there is no home
    files: dict[str, Sight | None] = {}
    refused_at = 0
    try:
        seen = os.stat(path)  # noqa: PTH116 - a Path would cost more than the call
        is_folder = stat.S_ISDIR(seen.st_mode)
        for name, sight in _folder_files(path, event, known) if is_folder else _one_file(seen):
            # The input names one path per line: a line break in a name would forge another path.
            if _CONTROL.search(name):
                refused_at = max(refused_at, 0 if sight is None else sight.changed_at)
                continue
            files[name] = sight
            if len(files) > MOST_FILES:
                break
    except (FileNotFoundError, NotADirectoryError):
        return Listing(is_there=False, has_exact_times=False)
    except OSError as error:
        raise FolderError(f"{event.path} cannot be read: {(error.strerror or str(error)).lower()}") from error
    if len(files) > MOST_FILES:
        raise FolderError(f"{event.path} holds more than {MOST_FILES:,} files that match")
    changed_at = seen.st_mtime_ns // _NS_PER_MS
    return Listing(files, seen.st_dev, changed_at, refused_at=refused_at, has_exact_times=has_exact_times)


def _folder_files(path: str, event: OnFile, known: Mapping[str, int]) -> Iterator[tuple[str, Sight | None]]:
    is_match = re.compile(fnmatch.translate(os.path.normcase(event.match))).match
    reads_all = event.on is FileEvent.CHANGES
    with os.scandir(path) as entries:
        for entry in gently(entries):
            name = entry.name
            if not is_match(os.path.normcase(name)):
                continue
            try:
                if entry.is_file(follow_symlinks=False):
                    yield (
                        name,
                        _sight(entry.stat(follow_symlinks=False)) if reads_all or name not in known else None,
                    )
            except FileNotFoundError:
                continue


def _one_file(seen: os.stat_result) -> Iterator[tuple[str, Sight | None]]:
    """Yield the file at a path that is not a folder; its name is empty."""
    if stat.S_ISREG(seen.st_mode):
        yield "", _sight(seen)


def _sight(seen: os.stat_result) -> Sight:
    mark = (seen.st_mtime_ns * 1_000_003 + seen.st_size) % _MARK_LIMIT
    # Unlike mtime, ctime cannot be set: copies that keep the mtime of their original have just changed, too.
    return Sight(mark, max(seen.st_ctime_ns, seen.st_mtime_ns) // _NS_PER_MS)


def marks_of(event: OnFile, listing: Listing) -> dict[str, int]:
    """Return all files of a folder as known, so that none is reported."""
    reads_all = event.on is FileEvent.CHANGES
    return {
        name: sight.mark if sight is not None and reads_all else 0
        for name, sight in gently(listing.files.items())
    }


def pack(event: OnFile, known: Mapping[str, int], device: int) -> str:
    """Return the known files as a compact text: 100 000 names take about 400 KB."""
    names = "\0".join(known).encode(errors="surrogateescape")
    marks = struct.pack(f"<{len(known)}Q", *known.values()) if event.on is FileEvent.CHANGES else b""
    body = b64encode(zlib.compress(names + marks, 1)).decode("ascii")
    return " ".join((_VERSION, _fingerprint(event), str(device), str(len(known)), str(len(names)), body))


def unpack(event: OnFile, state: str) -> tuple[dict[str, int], int] | None:
    """Return the known files and their device; None if the text is unreadable or belongs to another event."""
    try:
        version, fingerprint, device, count, length, body = state.split(" ")
        if (version, fingerprint) != (_VERSION, _fingerprint(event)):
            return None
        content = zlib.decompress(b64decode(body))
        text = content[: int(length)].decode(errors="surrogateescape")
        names = text.split("\0") if int(count) else []
        has_marks = event.on is FileEvent.CHANGES
        marks = struct.unpack(f"<{count}Q", content[int(length) :]) if has_marks else (0,) * int(count)
        return dict(zip(names, marks, strict=True)), int(device)
    except (ValueError, struct.error, zlib.error):
        return None


def _fingerprint(event: OnFile) -> str:
    return blake2b(f"{event.path}\0{event.match}\0{event.on}".encode(), digest_size=8).hexdigest()


def input_of(folder: str, names: Sequence[str]) -> bytes:
    """Return the input of a run: one path per line, and a comment with the number of omitted paths."""
    lines: list[bytes] = []
    room = MOST_INPUT_BYTES - _LONGEST_COMMENT
    for index, name in enumerate(gently(names)):
        line = os.fsencode(os.path.join(folder, name) if name else folder) + b"\n"  # noqa: PTH118 - a Path costs more
        room -= len(line)
        if room < 0:
            return b"".join(lines) + f"# {counted(len(names) - index, 'more file')}\n".encode()
        lines.append(line)
    return b"".join(lines)
