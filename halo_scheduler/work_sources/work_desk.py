"""The work desk: gives items to runs, and records each claim on disk before it takes the item."""

from __future__ import annotations

import json
import logging
import os
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Protocol, assert_never

from halo_scheduler.errors import ScheduleError, SchedulerError
from halo_scheduler.host.private_files import make_private_folder
from halo_scheduler.model.actions import FolderSource, GithubSource, WorkSource
from halo_scheduler.model.codec import decode
from halo_scheduler.model.messages import MessageKind, message
from halo_scheduler.wording.messages import error_message
from halo_scheduler.work_sources.github_memory import GithubMemory
from halo_scheduler.work_sources.item import Claim, Item, NoWorkError, Source, SourceError, Verdict
from halo_scheduler.work_sources.moving import sync_folder

if TYPE_CHECKING:
    from halo_scheduler.work_sources.web import Web


_MOST_SHOWN = 1_000
_LOG = logging.getLogger(__name__)
_SUFFIX = ".item"
_PARTIAL = ".item-part"


class ReadSecrets(Protocol):
    """Locates secrets, and returns a function that reads them later on a thread that may block."""

    def __call__(self, names: Iterable[str]) -> Callable[[], Mapping[str, str]]: ...


class WorkDesk:
    """Opens sources and records claims in a folder, so that they survive a crash.

    Its own methods never wait for a source; the engine's thread calls them. What `open` and `settlement` return may
    block, and belongs on worker threads.
    """

    def __init__(
        self,
        folder: Path,
        read_secrets: ReadSecrets,
        now_ms: Callable[[], int],
        *,
        environment: Callable[[], Mapping[str, str]] = lambda: os.environ,
        web: Web | None = None,
        comment_of: Callable[[str], str] = lambda _run_id: "",
    ) -> None:
        """`comment_of` returns the comment on the item of an ended run."""
        self._notes = ClaimNotes(folder)
        self._read_secrets = read_secrets
        self._environment = environment
        self._web = web
        self._comment_of = comment_of
        self._memory = GithubMemory(now_ms)

    def open(self, source: WorkSource) -> OpenedSource:
        """Return a source without contacting it."""
        secrets = self._read_secrets(source.secret_names)

        def connect() -> Source:
            match source:
                case FolderSource():
                    return _connect_folder(source)
                case GithubSource():
                    return self._connect_github(source, _values(secrets).get(source.token, ""))
                case _:
                    assert_never(source)

        return OpenedSource(source, connect, self._notes)

    def _connect_github(self, source: GithubSource, token: str) -> Source:
        # HTTP and TLS take longer to load than the rest of the engine, and few have such a source.
        from halo_scheduler.work_sources.github import Github  # noqa: PLC0415
        from halo_scheduler.work_sources.web import Web  # noqa: PLC0415

        self._web = self._web or Web(environment=self._environment)
        return Github(source, token, self._web, self._memory)

    def claimed(self) -> set[str]:
        """Return the runs that may own an item; after a start, settle those that no longer run."""
        return self._notes.run_ids()

    def taken(self, run_id: str) -> str:
        """Return the item that a run certainly owns, or an empty string."""
        kept = self._notes.read(run_id)
        return kept.claim.item_id if kept is not None and kept.claim.place else ""

    def settlement(self, run_id: str, verdict: Verdict) -> Callable[[], None] | None:
        """Return a function that reports a run's item, or None if the run has none.

        Call this for every ended run, even if its claim failed: the claim may have been interrupted. Never call it
        while `OpenedSource.claim` is running. The function raises SourceError when the source is unavailable and may
        be called again; on success the record is deleted.
        """
        kept = self._notes.read(run_id)
        if kept is None:
            return None
        opened = self.open(kept.source)
        wants_comment = isinstance(kept.source, GithubSource) and kept.source.comments
        comment = self._comment_of(run_id) if wants_comment else ""

        def settle() -> None:
            with self._notes.lent(run_id) as claimed:
                if claimed is not None:
                    opened.connect().settle(claimed.claim, verdict, comment)
                    self._notes.remove(run_id)

        return settle

    def forget(self, run_id: str) -> None:
        """Delete a run's claim record without informing the source."""
        self._notes.remove(run_id)


class OpenedSource:
    """A source that is ready to use; its methods may block, and raise SourceError."""

    def __init__(self, source: WorkSource, connect: Callable[[], Source], notes: ClaimNotes) -> None:
        self._source = source
        self.connect = connect
        self._notes = notes

    def claim(self, run_id: str, only: str = "") -> Item:
        """Claim the first available item, or the one that was asked for.

        Raises NoWorkError when the queue is empty, SourceError when the requested item is not available.
        """
        connected = self.connect()
        connected.prepare()
        for item_id in [only] if only else (item.id for item in connected.ready()):
            note = RunNote(self._notes, self._source, item_id, run_id)
            item = connected.claim(item_id, note)
            if item is not None:
                return item
            note.drop()
        if only:
            raise SourceError(message(MessageKind.ITEM_NOT_READY, item=only))
        raise NoWorkError("there is no item that is ready")

    def take_over(self, run_id: str, from_run: str) -> Item | None:
        """Continue with the item of an earlier run; None if it has none from this source.

        No other worker can claim it in between.
        """
        with self._notes.lent(from_run) as kept:
            if kept is None or kept.source != self._source or not kept.claim.place:
                return None
            item = self.connect().resume(kept.claim)
            if item is not None:
                self._notes.write(run_id, replace(kept, claim=replace(kept.claim, key=run_id)))
            self._notes.remove(from_run)
            return item

    def first(self) -> Item:
        """Return the item that would be claimed now, without claiming it; raises NoWorkError."""
        connected = self.connect()
        for candidate in connected.ready():
            item = connected.read(candidate.id)
            if item is not None:
                return item
        raise NoWorkError("there is no item that is ready")

    def give_back(self, run_id: str) -> None:
        """Return an item to the queue when its run does not start."""
        with self._notes.lent(run_id) as kept:
            if kept is not None:
                self.connect().settle(kept.claim, Verdict.RELEASED)
                self._notes.remove(run_id)

    def ready(self) -> list[Item]:
        """Return up to a thousand claimable items in order; bodies may be missing."""
        found: Iterator[Item] = self.connect().ready()
        return list(islice(found, _MOST_SHOWN))


def _connect_folder(source: FolderSource) -> Source:
    from halo_scheduler.work_sources.folder import Folder  # noqa: PLC0415 - only for jobs with such a source

    return Folder(source)


def _values(secrets: Callable[[], Mapping[str, str]]) -> Mapping[str, str]:
    try:
        return secrets()
    except SchedulerError as error:
        raise SourceError(error_message(error)) from error
    except Exception as error:  # whatever a keyring raises is the source's failure
        raise SourceError(message(MessageKind.TOKEN_NOT_READ, error=type(error).__name__)) from error


@dataclass(frozen=True, slots=True)
class KeptClaim:
    """A recorded claim and its source, without the token."""

    source: WorkSource
    claim: Claim


class ClaimNotes:
    """The claim records in a folder: one file per run that has claimed an item or was about to."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._lent: set[str] = set()
        self._turn = threading.Condition()

    def run_ids(self) -> set[str]:
        """Return the runs that have a record, complete or not."""
        with suppress(FileNotFoundError):
            return {path.stem for path in self._folder.iterdir() if path.suffix in {_SUFFIX, _PARTIAL}}
        return set()

    def read(self, run_id: str) -> KeptClaim | None:
        """Return a run's record; an unreadable one is logged and removed."""
        path = self._path(run_id)
        try:
            data = json.loads(path.read_text(encoding="utf-8"))
            claim = Claim(item_id=_text(data, "item"), key=run_id, place=_text(data, "place"))
            return KeptClaim(decode(WorkSource, data["source"]), claim)
        except FileNotFoundError:
            pass
        except OSError as error:
            # A disk error or a lack of file descriptors: a later attempt may succeed.
            _LOG.warning("The claim record of run %s cannot be read: %s", run_id, error)
            return None
        except (ValueError, LookupError, TypeError, RecursionError, ScheduleError) as error:
            _LOG.warning("The claim record of run %s cannot be read and is removed: %s", run_id, error)
        self.remove(run_id)
        return None

    @contextmanager
    def lent(self, run_id: str) -> Iterator[KeptClaim | None]:
        """Hand out a run's record to one thread at a time, so that no item is settled twice."""
        with self._turn:
            self._turn.wait_for(lambda: run_id not in self._lent)
            self._lent.add(run_id)
        try:
            yield self.read(run_id)
        finally:
            with self._turn:
                self._lent.discard(run_id)
                self._turn.notify_all()

    def write(self, run_id: str, kept: KeptClaim) -> None:
        """Write or replace a record atomically; it is on disk on return."""
        data = {"source": kept.source.to_dict(), "item": kept.claim.item_id, "place": kept.claim.place}
        partial = self._folder / f"{run_id}{_PARTIAL}"
        try:
            make_private_folder(self._folder)
            with suppress(FileNotFoundError):
                partial.unlink()
            descriptor = os.open(partial, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
            with os.fdopen(descriptor, "w", encoding="utf-8") as file:
                json.dump(data, file)
                file.flush()
                os.fsync(file.fileno())
            partial.replace(self._path(run_id))
            sync_folder(self._folder)
        except OSError as error:
            said = error.strerror or str(error)
            unwritten = message(MessageKind.CLAIM_NOT_WRITTEN, folder=str(self._folder), error=said)
            raise SourceError(unwritten) from error

    def remove(self, run_id: str) -> None:
        """Delete a run's record; a failure is only logged."""
        try:
            for path in (self._path(run_id), self._folder / f"{run_id}{_PARTIAL}"):
                path.unlink(missing_ok=True)
            sync_folder(self._folder)
        except FileNotFoundError:
            return  # There is not even a folder.
        except OSError as error:
            _LOG.warning("The claim record of run %s cannot be removed: %s", run_id, error)

    def _path(self, run_id: str) -> Path:
        return self._folder / f"{run_id}{_SUFFIX}"


class RunNote:
    """A run's claim record, as used by its source."""

    def __init__(self, notes: ClaimNotes, source: WorkSource, item_id: str, run_id: str) -> None:
        self._notes = notes
        self._kept = KeptClaim(source, Claim(item_id=item_id, key=run_id))
        self.has_begun = False

    @property
    def key(self) -> str:
        return self._kept.claim.key

    def begin(self) -> None:
        """Record that a claim of the item begins."""
        self._notes.write(self.key, self._kept)
        self.has_begun = True

    def take(self, place: str) -> None:
        """Record that the item is ours, and where it is."""
        self._notes.write(self.key, replace(self._kept, claim=replace(self._kept.claim, place=place)))

    def drop(self) -> None:
        """Delete the record: the claim was lost."""
        if self.has_begun:
            self._notes.remove(self.key)


def _text(data: dict[str, object], name: str) -> str:
    value = data[name]
    if not isinstance(value, str):
        raise TypeError(f"{name} is not text")
    return value
