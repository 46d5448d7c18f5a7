"""Housekeeping: a daily backup, old runs pruned in small steps, some room held in reserve."""

from __future__ import annotations

import logging
import threading
from pathlib import Path

from halo_scheduler.errors import StoreError
from halo_scheduler.grammar.interval import DAY_MS, HOUR_MS, MINUTE_MS
from halo_scheduler.store.backup import back_up, list_backups
from halo_scheduler.store.connection import Database
from halo_scheduler.store.jobs import TRASH_MS
from halo_scheduler.store.reserve import hold_reserve
from halo_scheduler.store.settings import OUTPUT_KEPT_BYTES, RUNS_KEPT_DAYS, RUNS_KEPT_PER_JOB
from halo_scheduler.store.store import Store

_LOG = logging.getLogger(__name__)
_STEP = 200
# A disk that no longer answers must not keep the program from ending.
_LONGEST_WAIT_S = 30.0


class Maintenance:
    """Does what is due, a little at each tick; the backup has its own thread and connection."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._seen_at: int | None = None
        self._prune_at = 0
        self._reserve_at = 0
        self._backup: threading.Thread | None = None
        self._backed_up_at: int | None = None

    def tick(self, now_ms: int) -> None:
        """Begin a backup when the last is a day old; delete some runs that are too old or too many.

        Room on the disk that was given up when it was full is taken again, as soon as there is some.
        """
        self._distrust_a_new_time(now_ms)
        if now_ms >= self._reserve_at:
            self._reserve_at = now_ms + MINUTE_MS
            hold_reserve(self._store.database.path)
        if now_ms >= self._prune_at:
            self._prune(now_ms)
        if self._is_backup_due(now_ms):
            self._backed_up_at = now_ms
            self._backup = threading.Thread(
                target=_back_up, args=(self._store.database.path, now_ms), name="halo-backup", daemon=True
            )
            self._backup.start()

    def finish(self) -> None:
        """Wait for a backup that is under way, but not for ever: what is left of it is not taken for one."""
        if self._backup is None:
            return
        self._backup.join(_LONGEST_WAIT_S)
        if self._backup.is_alive():
            _LOG.warning("A backup took longer than %g s and was not waited for.", _LONGEST_WAIT_S)

    def _prune(self, now_ms: int) -> None:
        with self._store.transaction():
            self._store.jobs.purge(now_ms - TRASH_MS)
            pruned = self._store.runs.prune(
                keep_per_job=self._store.settings.number(RUNS_KEPT_PER_JOB),
                ended_before=now_ms - self._store.settings.number(RUNS_KEPT_DAYS) * DAY_MS,
                most=_STEP,
            )
            dropped = self._store.outputs.prune(
                keep_bytes=self._store.settings.number(OUTPUT_KEPT_BYTES), most=_STEP
            )
        if max(pruned, dropped) < _STEP:
            # Nothing is left; look again in an hour.
            self._prune_at = now_ms + HOUR_MS

    def _distrust_a_new_time(self, now_ms: int) -> None:
        """Delete nothing by its age for a day after the clock has jumped by more: it may be wrong by years."""
        if self._seen_at is not None and abs(now_ms - self._seen_at) > DAY_MS:
            self._prune_at = now_ms + DAY_MS
        self._seen_at = now_ms

    def _is_backup_due(self, now_ms: int) -> bool:
        if self._backup is not None and self._backup.is_alive():
            return False
        if self._backed_up_at is None:
            self._backed_up_at = self._last_backup_at(now_ms)
        return abs(now_ms - self._backed_up_at) >= DAY_MS

    def _last_backup_at(self, now_ms: int) -> int:
        try:
            backups = list_backups(self._store.database.path)
        except StoreError as error:
            _LOG.error("Backups cannot be listed, so the next one is made in an hour: %s", error)
            return now_ms - DAY_MS + HOUR_MS
        return backups[0].made_at if backups else 0


def _back_up(path: Path, now_ms: int) -> None:
    try:
        database = Database.open(path, must_exist=True)
        try:
            back_up(database, now_ms)
        finally:
            database.close()
    except StoreError as error:
        _LOG.error("No backup was made: %s", error)
