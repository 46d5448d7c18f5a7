"""Change notifications for folders, and the drives that have none."""

from __future__ import annotations

import errno
import logging
import os
import re
import sys
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

from watchdog.events import (
    DirCreatedEvent,
    DirDeletedEvent,
    DirMovedEvent,
    FileCreatedEvent,
    FileDeletedEvent,
    FileModifiedEvent,
    FileMovedEvent,
    FileSystemEvent,
    FileSystemEventHandler,
)
from watchdog.observers import Observer
from watchdog.observers.api import BaseObserver, ObservedWatch

_LOG = logging.getLogger(__name__)
# With more events between two polls, the events are dropped and the folder is polled instead.
_STORM = 500
_MOUNTS = Path("/proc/self/mountinfo")
# Other computers or programs change files there, and the kernel does not report it.
_SILENT_DRIVES = re.compile(
    r"nfs|cifs|smb|9p|afs|ceph|gfs|ocfs|lustre|davfs|ncp|coda|vboxsf|vmhgfs|virtiofs|autofs|proc|sysfs|fuse(\.|$)"
)
_ESCAPE = re.compile(r"\\([0-7]{3})")
_MOST_STEPS = 1_000
_NAMES: list[type[FileSystemEvent]] = [
    FileCreatedEvent,
    FileMovedEvent,
    FileDeletedEvent,
    DirCreatedEvent,
    DirMovedEvent,
    DirDeletedEvent,
]


@dataclass(slots=True)
class Hint:
    """The reported changes in a folder since the last poll; `is_storm` if there were too many."""

    deleted: set[str] = field(default_factory=set)
    count: int = 0
    is_gone: bool = False
    """Whether the folder itself was deleted; a new folder may have its name and even its inode number."""

    @property
    def is_storm(self) -> bool:
        return self.count >= _STORM


class _Watch(NamedTuple):
    """A watched folder: the identity of its directory, and whether changes of files are reported too."""

    handle: ObservedWatch
    identity: tuple[int, int]
    has_changes: bool


class FolderEvents:
    """Collects change notifications of folders; watchdog's threads run only while folders are watched."""

    def __init__(self, happened: Callable[[], None]) -> None:
        """`happened` is called on another thread at the first hint after `take`."""
        self._happened = happened
        self._lock = threading.Lock()
        self._hints: dict[str, Hint] = {}
        self._watches: dict[str, _Watch] = {}
        self._observer: BaseObserver | None = None
        self._faults: dict[str, str] = {}

    def follow(self, folders: Mapping[str, bool]) -> set[str]:
        """Watch these folders; return those that were not watched before.

        The value says whether changes of files in the folder count. A folder that cannot be watched is omitted, and
        retried by the next call.
        """
        for folder, watch in list(self._watches.items()):
            if folders.get(folder) != watch.has_changes or _identity(folder) != watch.identity:
                self._leave(folder)
        new = set()
        for folder in folders.keys() - self._watches.keys():
            if self._join(folder, [*_NAMES, FileModifiedEvent] if folders[folder] else _NAMES):
                new.add(folder)
        if not self._watches:
            self.close()
        return new

    def is_followed(self, folder: str) -> bool:
        """Return whether a folder is watched."""
        return folder in self._watches

    def fault(self, folder: str) -> str:
        """Return why a folder cannot be watched, as a clause; "" if it can, or need not be."""
        return self._faults.get(folder, "")

    def take(self) -> dict[str, Hint]:
        """Return the hints since the last call; stop watching deleted folders and those with too many events."""
        with self._lock:
            hints, self._hints = self._hints, {}
        for folder, hint in hints.items():
            if hint.is_storm or hint.is_gone:
                self._leave(folder)
        return hints

    def close(self) -> None:
        """Stop watching; the threads end soon."""
        self._watches.clear()
        if self._observer is not None:
            self._observer.stop()
            self._observer = None

    def note(self, folder: str, event: FileSystemEvent) -> None:
        """Record an event; any thread may call it."""
        with self._lock:
            is_first = not self._hints
            hint = self._hints.setdefault(folder, Hint())
            hint.count += 1
            hint.is_gone |= isinstance(event, DirDeletedEvent) and os.fsdecode(event.src_path) == folder
            if isinstance(event, FileDeletedEvent | FileMovedEvent) and not hint.is_storm:
                hint.deleted.add(os.path.basename(os.fsdecode(event.src_path)))  # noqa: PTH119 - for each event
            is_urgent = hint.count == _STORM
        if is_first or is_urgent:
            self._happened()

    def _join(self, folder: str, kinds: list[type[FileSystemEvent]]) -> bool:
        identity = _identity(folder)
        # watchdog does not report that it lacks permission to read a folder.
        if identity is None or not os.access(folder, os.R_OK):
            return False
        try:
            if self._observer is None:
                observer = Observer()
                observer.start()
                self._observer = observer
            handle = self._observer.schedule(
                _Handler(self, folder), folder, event_filter=kinds, follow_symlink=True
            )
        except (OSError, RuntimeError) as error:
            # The user's inotify instances or watches are used up, or there is no thread left.
            fault = _fault_words(error)
            if self._faults.get(folder) != fault:
                _LOG.warning("%s cannot be watched for changes, so it is polled: %s", folder, error)
            self._faults[folder] = fault
            return False
        self._faults.pop(folder, None)
        self._watches[folder] = _Watch(handle, identity, FileModifiedEvent in kinds)
        return True

    def _leave(self, folder: str) -> None:
        watch = self._watches.pop(folder, None)
        if watch is not None and self._observer is not None:
            self._observer.unschedule(watch.handle)


def _fault_words(error: OSError | RuntimeError) -> str:
    match getattr(error, "errno", None):
        case errno.EMFILE:
            return "too many programs watch files (the limit fs.inotify.max_user_instances)"
        case errno.ENOSPC:
            return "too many files are watched (the limit fs.inotify.max_user_watches)"
    return str(error) or type(error).__name__


class _Handler(FileSystemEventHandler):
    def __init__(self, events: FolderEvents, folder: str) -> None:
        self._events = events
        self._folder = folder

    def dispatch(self, event: FileSystemEvent) -> None:
        self._events.note(self._folder, event)


def _identity(folder: str) -> tuple[int, int] | None:
    """Return the identity of a directory, independent of its name; None if it doesn't exist."""
    try:
        found = os.stat(folder)  # noqa: PTH116
    except OSError:
        return None
    return found.st_dev, found.st_ino


def reports_changes(path: str, mounts: Path = _MOUNTS) -> bool:
    """Return whether the system reports changes in a folder: not on drives that other computers write to.

    An unresponsive drive is not accessed: only mount points are read.
    """
    if sys.platform != "linux":
        return not path.startswith(("\\\\", "//"))
    try:
        listed = mounts.read_text(encoding="utf-8", errors="surrogateescape")
    except OSError:
        return False
    return not _is_on_silent_drive(path, dict(map(_mount_of, listed.splitlines())))


def _mount_of(line: str) -> tuple[str, str]:
    """Return the mount point and the type of a mount."""
    before, _, after = line.partition(" - ")
    place = before.split(" ")[4]
    return _ESCAPE.sub(lambda found: chr(int(found[1], 8)), place), after.split(" ")[0]


def _is_on_silent_drive(path: str, kinds: Mapping[str, str]) -> bool:
    """Follow a path, link by link, until it enters a silent drive or ends."""
    at, rest = "/", list(reversed(path.split("/")))
    for _ in range(_MOST_STEPS):
        if not rest:
            return False
        at = os.path.normpath(os.path.join(at, rest.pop()))  # noqa: PTH118 - a Path keeps ".."
        if _SILENT_DRIVES.match(_kind_at(at, kinds)):
            return True
        try:
            target = os.readlink(at)  # noqa: PTH115 - a Path costs more
        except OSError:
            continue
        at = "/" if target.startswith("/") else os.path.dirname(at)  # noqa: PTH120
        rest += reversed(target.split("/"))
    return False


def _kind_at(place: str, kinds: Mapping[str, str]) -> str:
    while place not in kinds and place != (above := os.path.dirname(place)):  # noqa: PTH120
        place = above
    return kinds.get(place, "")
