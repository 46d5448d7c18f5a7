"""Shared by all checks: their findings, the scene they examine, and a time limit for slow calls."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from enum import StrEnum
from functools import cached_property
from pathlib import Path
from typing import Generic, NamedTuple, TypeVar

import psutil

from halo_scheduler.errors import StoreError
from halo_scheduler.grammar.english import listed
from halo_scheduler.grammar.interval import SECOND_MS
from halo_scheduler.host.process import is_alive
from halo_scheduler.host.process_tree import all_marked
from halo_scheduler.model.settings import Settings
from halo_scheduler.store.job_records import JobRecord
from halo_scheduler.store.jobs import UnreadableJob
from halo_scheduler.store.lease import EngineRow
from halo_scheduler.store.store import Store
from halo_scheduler.wording.schedules import elapsed_in_words

T = TypeVar("T")
_PROCESSES = Path("/proc")
_DELETED = " (deleted)"
_MOST_NAMED = 3


class Mark(StrEnum):
    """The severity of a finding."""

    FINE = "fine"
    LOOK = "look"
    """A warning; the state may be intended."""
    WRONG = "wrong"


class Topic(StrEnum):
    """The subject of a check."""

    DATABASE = "database"
    PERMISSIONS = "permissions"
    BACKUPS = "backups"
    ENGINE = "engine"
    WEBHOOKS = "webhooks"
    CHAT = "chat"
    ZONE = "time zone"
    AUTOSTART = "autostart"
    TRAY = "tray"
    SECRETS = "secrets"
    PROCESSES = "processes"
    SPOOL = "spool"
    JOBS = "jobs"


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """One result of a check; `mend` fixes it and returns a sentence about the fix."""

    topic: Topic
    mark: Mark
    what: str
    advice: str = ""
    mend: Callable[[], str] | None = field(default=None, compare=False, repr=False)


def fine(topic: Topic, what: str, advice: str = "") -> Finding:
    """Return a finding without a problem."""
    return Finding(topic=topic, mark=Mark.FINE, what=what, advice=advice)


def look(topic: Topic, what: str, advice: str = "", mend: Callable[[], str] | None = None) -> Finding:
    """Return a warning."""
    return Finding(topic=topic, mark=Mark.LOOK, what=what, advice=advice, mend=mend)


def wrong(topic: Topic, what: str, advice: str = "", mend: Callable[[], str] | None = None) -> Finding:
    """Return a problem."""
    return Finding(topic=topic, mark=Mark.WRONG, what=what, advice=advice, mend=mend)


def wrong_because(topic: Topic, error: Exception, advice: str = "") -> Finding:
    """Return a problem from an error whose message may end with advice."""
    what, _, to_do = " ".join(_said_by(error).split()).partition("; ")
    return wrong(topic, f"{_begun(what)}.", advice or _begun(to_do))


def named(names: Sequence[str]) -> str:
    """Return names for a sentence; only the first few of many."""
    more = len(names) - _MOST_NAMED
    return listed(names if more <= 0 else [*names[:_MOST_NAMED], f"{more} more"])


def first_of(findings: Iterable[Finding], most: int = 10) -> Iterator[Finding]:
    """Yield the first findings of a kind, and one with the number of the others."""
    found = list(findings)
    yield from found[:most]
    if len(found) > most:
        worst = wrong if any(item.mark is Mark.WRONG for item in found[most:]) else look
        yield worst(found[0].topic, f"And {len(found) - most} more like these.")


def size_of(count: int) -> str:
    """Return a size in words: "512 bytes", "1.4 MB"."""
    if count < 1_000:  # noqa: PLR2004 - a kilobyte
        return f"{count} bytes"
    size, units = float(count), iter(("kB", "MB", "GB", "TB"))
    unit = ""
    while size >= 1_000 and (larger := next(units, "")):  # noqa: PLR2004
        size, unit = size / 1_000, larger
    return f"{size:.1f} {unit}"


def _said_by(error: Exception) -> str:
    if isinstance(error, OSError) and error.strerror and error.filename:
        return f"{error.filename} cannot be used: {error.strerror.lower()}"
    return str(error)


def _begun(sentence: str) -> str:
    """Capitalise a sentence unless it starts with a path or a name."""
    first, _, _ = sentence.partition(" ")
    return sentence[:1].upper() + sentence[1:] if first.isalpha() else sentence


def within(limit_s: float, work: Callable[[], T]) -> T:
    """Return the result of a function, or raise its error; TimeoutError when it takes too long.

    After a timeout the function continues in its thread: a hung drive or service cannot be interrupted.
    """
    attempt = _Attempt(work)
    thread = threading.Thread(target=attempt.run, name="halo-doctor", daemon=True)
    thread.start()
    thread.join(limit_s)
    if attempt.fault is not None:
        raise attempt.fault
    if not attempt.answers:
        raise TimeoutError(f"there was no answer within {limit_s:g} s")
    return attempt.answers[0]


class _Attempt(Generic[T]):
    """A function call on its own thread, and its result."""

    def __init__(self, work: Callable[[], T]) -> None:
        self._work = work
        self.answers: list[T] = []
        self.fault: BaseException | None = None

    def run(self) -> None:
        try:
            self.answers.append(self._work())
        except BaseException as error:  # noqa: BLE001 - raised again where it is waited for
            self.fault = error


class FileUser(NamedTuple):
    """A process that has a file open."""

    pid: int
    program: str
    is_deleted: bool
    """Whether the file it has open is no longer the one at that path."""


def users_of(path: Path) -> list[FileUser]:
    """Return the other processes that have a file open, as far as the system reports them."""
    target = str(path.resolve())
    found: set[FileUser] = set()
    for pid in psutil.pids() if (_PROCESSES / "self" / "fd").is_dir() else []:
        if pid == os.getpid():
            continue
        for name in _open_names(pid):
            if name in (target, target + _DELETED):
                found.add(FileUser(pid, _program_of(pid), name != target))
    return sorted(found)


def _open_names(pid: int) -> list[str]:
    names: list[str] = []
    with suppress(OSError):  # It has ended, or belongs to another user.
        for entry in os.scandir(_PROCESSES / str(pid) / "fd"):
            with suppress(OSError):
                names.append(os.readlink(entry.path))  # noqa: PTH115 - thousands of them
    return names


def _program_of(pid: int) -> str:
    with suppress(psutil.Error):
        return psutil.Process(pid).name()
    return "?"


class Scene:
    """A database that may be missing or broken; without a store, only its surroundings can be checked."""

    def __init__(self, path: Path, now_ms: int, store: Store | None = None) -> None:
        self.path = path
        self.now_ms = now_ms
        self._store = store

    @property
    def is_readable(self) -> bool:
        return self._store is not None

    @property
    def store(self) -> Store:
        if self._store is None:
            raise StoreError("the database cannot be read")
        return self._store

    def ago(self, at: int) -> str:
        """Return how long ago an instant was."""
        past_ms = self.now_ms - at
        return "just now" if past_ms < SECOND_MS else f"{elapsed_in_words(past_ms)} ago"

    @cached_property
    def all_jobs(self) -> list[JobRecord | UnreadableJob]:
        """All jobs, including removed and unreadable ones."""
        return self.store.jobs.as_they_are()

    @cached_property
    def jobs(self) -> list[JobRecord]:
        """All readable jobs that are not in the trash."""
        return [found for found in self.all_jobs if isinstance(found, JobRecord) and found.removed_at is None]

    @cached_property
    def unreadable_jobs(self) -> list[UnreadableJob]:
        """All unreadable jobs that are not in the trash."""
        return [
            found for found in self.all_jobs if isinstance(found, UnreadableJob) and found.removed_at is None
        ]

    def name_of(self, job_id: str) -> str:
        """Return the name of a job, even one in the trash."""
        return self._names.get(job_id, "a deleted job")

    @cached_property
    def _names(self) -> dict[str, str]:
        return {
            found.id: found.spec.name if isinstance(found, JobRecord) else found.name
            for found in self.all_jobs
        }

    @cached_property
    def settings(self) -> Settings:
        return self.store.settings.read()

    @cached_property
    def engine(self) -> EngineRow | None:
        """The current or last holder of the engine lease."""
        return self.store.lease.read() if self.is_readable else None

    @cached_property
    def has_engine(self) -> bool:
        """Whether the engine's process is alive and still holds the lease."""
        row = self.engine
        return row is not None and row.stopped_at is None and is_alive(row.pid, row.process_start)

    @cached_property
    def marked(self) -> dict[str, list[int]]:
        """The runs with living processes, including those of other databases, and the processes."""
        return all_marked(self.store.runs.all_ids if self.is_readable else list)

    @cached_property
    def users(self) -> list[FileUser]:
        """The other processes that have the database open."""
        return users_of(self.path)
