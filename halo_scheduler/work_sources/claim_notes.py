"""Claim records: which run may own which item, on disk before the item is taken."""

from __future__ import annotations

import json
import logging
import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from pathlib import Path

from halo_scheduler.errors import ScheduleError
from halo_scheduler.host.private_files import make_private_folder
from halo_scheduler.model.codec import decode
from halo_scheduler.model.messages import MessageKind, message
from halo_scheduler.model.work_source import WorkSource
from halo_scheduler.work_sources.item import Claim, SourceError
from halo_scheduler.work_sources.moving import sync_folder

_LOG = logging.getLogger(__name__)
_SUFFIX = ".item"
_PARTIAL = ".item-part"


@dataclass(frozen=True, slots=True)
class KeptClaim:
    """A recorded claim and its source, without the token."""

    source: WorkSource
    claim: Claim


class ClaimNotes:
    """The claim records in a folder, one file per run that has an item or was about to take one."""

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
            # The disk, or a lack of descriptors: another time it may be read.
            _LOG.warning("The note of the item of run %s cannot be read: %s", run_id, error)
            return None
        except (ValueError, LookupError, TypeError, RecursionError, ScheduleError) as error:
            _LOG.warning("The note of the item of run %s cannot be read and is removed: %s", run_id, error)
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
            _LOG.warning("The note of the item of run %s cannot be removed: %s", run_id, error)

    def _path(self, run_id: str) -> Path:
        return self._folder / f"{run_id}{_SUFFIX}"


class RunNote:
    """A run's claim record, as its source sees it."""

    def __init__(self, notes: ClaimNotes, source: WorkSource, item_id: str, run_id: str) -> None:
        self._notes = notes
        self._kept = KeptClaim(source, Claim(item_id=item_id, key=run_id))
        self.has_begun = False

    @property
    def key(self) -> str:
        return self._kept.claim.key

    def begin(self) -> None:
        """Record that the item may be ours from now on."""
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
