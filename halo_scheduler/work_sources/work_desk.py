"""The work desk: gives items to runs, and records who has which."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Protocol, assert_never

from halo_scheduler.errors import SchedulerError
from halo_scheduler.model.messages import MessageKind, message
from halo_scheduler.model.work_source import FolderSource, GithubSource, WorkSource
from halo_scheduler.wording.messages import error_message
from halo_scheduler.work_sources.claim_notes import ClaimNotes, RunNote
from halo_scheduler.work_sources.github_memory import GithubMemory
from halo_scheduler.work_sources.item import Item, NoWorkError, Source, SourceError, Verdict

if TYPE_CHECKING:
    from halo_scheduler.work_sources.web import Web

_MOST_SHOWN = 1_000


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
    from halo_scheduler.work_sources.folder import Folder  # noqa: PLC0415 - for those who have such a source

    return Folder(source)


def _values(secrets: Callable[[], Mapping[str, str]]) -> Mapping[str, str]:
    try:
        return secrets()
    except SchedulerError as error:
        raise SourceError(error_message(error)) from error
    except Exception as error:  # whatever a keyring raises is the source's failure
        raise SourceError(message(MessageKind.TOKEN_NOT_READ, error=type(error).__name__)) from error
