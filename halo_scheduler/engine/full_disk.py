"""Reclaiming space on a full disk, so that what happened can be recorded."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable
from contextlib import suppress
from pathlib import Path
from typing import TypeVar

from halo_scheduler.actions.run_services import Ended
from halo_scheduler.actions.spool import Spool, left_behind, spool_folder
from halo_scheduler.engine.active_runs import ActiveRuns
from halo_scheduler.errors import StoreError, StoreFullError
from halo_scheduler.store.connection import Database
from halo_scheduler.store.reserve import release_reserve
from halo_scheduler.store.settings import SPOOL_LIMIT_BYTES

_LOG = logging.getLogger(__name__)
_Result = TypeVar("_Result")


class DiskReclaimer:
    """Reclaims space for one engine: by shortening output first, as that costs least."""

    def __init__(
        self,
        database: Database,
        runs: ActiveRuns,
        ended: Callable[[], Iterable[Ended]],
        now_ms: Callable[[], int],
    ) -> None:
        """`ended` are the runs whose end is known and not yet recorded."""
        self._database = database
        self._folder = spool_folder(database.path)
        self._runs = runs
        self._ended = ended
        self._now_ms = now_ms

    def retry_when_full(self, write: Callable[[], _Result]) -> _Result:
        """Write something as a whole; each time the disk is full, reclaim some space and write it again."""
        for reclaim in (self._shorten_output, self._release_reserve, self._empty_ended):
            try:
                return write()
            except StoreFullError:
                reclaim()
        return write()

    def _shorten_output(self) -> None:
        """Have each run under way shorten its own output; the others are shortened here."""
        ended = {one.run_id for one in self._ended()}
        self._runs.poll_all(self._now_ms())
        shorten_output(self._folder, but_for=self._runs.works.keys() - ended)

    def _release_reserve(self) -> None:
        if release_reserve(self._database.path):
            _LOG.warning("The disk of %s is full; the room held in reserve is used now.", self._database.path)
        with suppress(StoreError):
            self._database.reuse_journal()

    def _empty_ended(self) -> None:
        """Delete output that is in memory, and will be stored together with the end of its run."""
        for ended in self._ended():
            if ended.output is not None and not ended.needs_secrets:
                Spool(self._folder, ended.run_id).empty()


def shorten_output(folder: Path, but_for: Iterable[str] = ()) -> None:
    """Take the middle out of the outputs in a folder, as the disk has too little room for all of them."""
    for run_id in left_behind(folder).difference(but_for):
        with suppress(OSError):
            Spool(folder, run_id).cap(SPOOL_LIMIT_BYTES.default)


def reclaim_beside(database: Path) -> None:
    """Reclaim space for a database that cannot even be opened, as its disk is full."""
    shorten_output(spool_folder(database))
    release_reserve(database)
