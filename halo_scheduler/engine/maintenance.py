"""Maintenance: daily backups, daily refresh of calendars, pruning of old runs, and a reserve of disk space."""

from __future__ import annotations

import logging
import os
import threading
from collections.abc import Callable, Iterable
from contextlib import suppress
from datetime import date
from pathlib import Path
from typing import TypeVar

from halo_scheduler.actions.run_services import Ended
from halo_scheduler.actions.spool import Spool, left_behind, spool_folder
from halo_scheduler.day_sources.looking_up import look_up_source
from halo_scheduler.engine.active_runs import ActiveRuns
from halo_scheduler.engine.handle import Handle
from halo_scheduler.errors import ScheduleError, StoreError, StoreFullError
from halo_scheduler.grammar.interval import DAY_MS, HOUR_MS, MINUTE_MS
from halo_scheduler.host.disk_space import disk_space
from halo_scheduler.store.backup import back_up, list_backups
from halo_scheduler.store.connection import Database
from halo_scheduler.store.events import EventKind
from halo_scheduler.store.jobs import TRASH_MS
from halo_scheduler.store.settings import (
    OUTPUT_KEPT_BYTES,
    RUNS_KEPT_DAYS,
    RUNS_KEPT_PER_JOB,
    SPOOL_LIMIT_BYTES,
)
from halo_scheduler.store.store import Store

_MOST_BYTES = 4 << 20
_PART = 32
_Found = dict[str, frozenset[date] | str]
_LOG = logging.getLogger(__name__)
_Result = TypeVar("_Result")
_STEP = 200
# The first backup may be older than the first job, so until there are a few backups, edits are backed up early.
_FEW_BACKUPS = 3
_FIRST_EDITS_MS = 10 * MINUTE_MS
# A disk that no longer answers must not keep the program from ending.
_LONGEST_WAIT_S = 30.0


def reserve_path(database: Path) -> Path:
    """Return the path of a database's reserve file."""
    return database.with_name(f"{database.name}-reserve")


def hold_reserve(database: Path) -> None:
    """Allocate the reserve file, unless it exists or less than twice its size is free."""
    path, space = reserve_path(database), disk_space(str(database.parent))
    if space is None:
        return
    size = min(_MOST_BYTES, space.total // _PART)
    if _size(path) < size and space.free >= 2 * size:
        with suppress(OSError):  # It is tried again.
            _fill(path, size)


def release_reserve(database: Path) -> bool:
    """Delete the reserve file to free its space; return whether there was one."""
    try:
        reserve_path(database).unlink()
    except OSError:
        return False
    return True


def _size(path: Path) -> int:
    try:
        return path.lstat().st_size
    except OSError:
        return 0


def _fill(path: Path, size: int) -> None:
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | getattr(os, "O_NOFOLLOW", 0), 0o600)
    try:
        if hasattr(os, "posix_fallocate"):
            os.posix_fallocate(descriptor, 0, size)
        else:
            os.write(descriptor, bytes(size))
    except OSError:
        path.unlink()
        raise
    finally:
        os.close(descriptor)


class DiskReclaimer:
    """Frees disk space for one engine, first by shortening output, which loses least."""

    def __init__(
        self,
        database: Database,
        runs: ActiveRuns,
        ended: Callable[[], Iterable[Ended]],
        now_ms: Callable[[], int],
    ) -> None:
        """`ended` returns the runs whose ends are known but not recorded yet."""
        self._database = database
        self._folder = spool_folder(database.path)
        self._runs = runs
        self._ended = ended
        self._now_ms = now_ms

    def retry_when_full(self, write: Callable[[], _Result]) -> _Result:
        """Run a write; whenever the disk is full, free some space and retry."""
        for reclaim in (self._shorten_output, self._release_reserve, self._empty_ended):
            try:
                return write()
            except StoreFullError:
                reclaim()
        return write()

    def _shorten_output(self) -> None:
        """Have each active run shorten its own output, and shorten the other outputs here."""
        ended = {one.run_id for one in self._ended()}
        self._runs.poll_all(self._now_ms())
        shorten_output(self._folder, but_for=self._runs.works.keys() - ended)

    def _release_reserve(self) -> None:
        if release_reserve(self._database.path):
            _LOG.warning("The disk of %s is full; the reserved space is used now.", self._database.path)
        with suppress(StoreError):
            self._database.reuse_journal()

    def _empty_ended(self) -> None:
        """Delete spooled output that is in memory and will be stored with the end of its run."""
        for ended in self._ended():
            if ended.output is not None and not ended.needs_secrets:
                Spool(self._folder, ended.run_id).empty()


def shorten_output(folder: Path, but_for: Iterable[str] = ()) -> None:
    """Cut the middle out of the outputs in a folder because the disk is nearly full."""
    for run_id in left_behind(folder).difference(but_for):
        with suppress(OSError):
            Spool(folder, run_id).cap(SPOOL_LIMIT_BYTES.default)


def reclaim_beside(database: Path) -> None:
    """Free disk space for a database that cannot be opened because its disk is full."""
    shorten_output(spool_folder(database))
    release_reserve(database)


class Maintenance:
    """Does what is due, a little per tick; the backup has its own thread and connection."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._seen_at: int | None = None
        self._prune_at = 0
        self._reserve_at = 0
        self._backup: threading.Thread | None = None
        self._backed_up_at: int | None = None
        self._backups = 0

    def tick(self, now_ms: int) -> None:
        """Start a backup if the last is a day old or the first edits are not backed up; prune old runs.

        A reserve that was released on a full disk is allocated again as soon as there is space.
        """
        self._distrust_a_new_time(now_ms)
        if now_ms >= self._reserve_at:
            self._reserve_at = now_ms + MINUTE_MS
            hold_reserve(self._store.database.path)
        if now_ms >= self._prune_at:
            self._prune(now_ms)
        if self._is_backup_due(now_ms):
            self._begin_backup(now_ms)

    def _begin_backup(self, now_ms: int) -> None:
        self._backed_up_at = now_ms
        self._backups += 1
        backup = threading.Thread(
            target=_back_up, args=(self._store.database.path, now_ms), name="halo-backup", daemon=True
        )
        try:
            backup.start()
        except RuntimeError as error:
            _LOG.error("No backup was made, and the next one is tried in an hour: %s", error)
            self._backed_up_at = now_ms - DAY_MS + HOUR_MS
            return
        self._backup = backup

    def finish(self) -> None:
        """Back up the first edits and wait for a running backup, with a time limit; an incomplete one is not used."""
        with suppress(StoreError):  # The next engine backs up.
            if self._seen_at is not None and not self._is_backing_up() and self._has_first_edits():
                self._begin_backup(max(self._seen_at, self._store.jobs.last_edited_at() + 1))
        if self._backup is None:
            return
        self._backup.join(_LONGEST_WAIT_S)
        if self._backup.is_alive():
            _LOG.warning("A backup took longer than %g s; not waiting for it.", _LONGEST_WAIT_S)

    def _prune(self, now_ms: int) -> None:
        with self._store.transaction():
            self._store.jobs.purge(now_ms - TRASH_MS)
            pruned = self._store.runs.prune(
                keep_per_job=self._store.settings.number(RUNS_KEPT_PER_JOB),
                ended_before=now_ms - self._store.settings.number(RUNS_KEPT_DAYS) * DAY_MS,
                most=_STEP,
            )
            keep_bytes = self._store.settings.number(OUTPUT_KEPT_BYTES)
            dropped = [
                table.prune(keep_bytes=keep_bytes, most=_STEP)
                for table in (self._store.outputs, self._store.inputs)
            ]
        if max(pruned, *dropped) < _STEP:
            # Nothing is left to prune; check again in an hour.
            self._prune_at = now_ms + HOUR_MS

    def _distrust_a_new_time(self, now_ms: int) -> None:
        """Prune nothing by age for a day after a clock jump of more than a day, which may be an error."""
        if self._seen_at is not None and abs(now_ms - self._seen_at) > DAY_MS:
            self._prune_at = now_ms + DAY_MS
        self._seen_at = now_ms

    def _is_backup_due(self, now_ms: int) -> bool:
        if self._is_backing_up():
            return False
        if self._backed_up_at is None:
            self._backed_up_at = self._last_backup_at(now_ms)
        passed_ms = abs(now_ms - self._backed_up_at)
        return passed_ms >= DAY_MS or (passed_ms >= _FIRST_EDITS_MS and self._has_first_edits())

    def _is_backing_up(self) -> bool:
        return self._backup is not None and self._backup.is_alive()

    def _has_first_edits(self) -> bool:
        """Return whether jobs were edited since the last backup while there are only a few backups."""
        is_young = self._backed_up_at is not None and self._backups < _FEW_BACKUPS
        return is_young and self._store.jobs.last_edited_at() > (self._backed_up_at or 0)

    def _last_backup_at(self, now_ms: int) -> int:
        try:
            backups = list_backups(self._store.database.path)
        except StoreError as error:
            _LOG.error("Backups cannot be listed, so the next one is made in an hour: %s", error)
            return now_ms - DAY_MS + HOUR_MS
        self._backups = len(backups)
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


# --- Calendars -----------------------------------------------------------------------------------------


class DayRefresh:
    """Looks up all day sources when the engine starts and every day; if one cannot be read, its last days stay."""

    def __init__(self, store: Store, handle: Handle) -> None:
        self._store = store
        self._handle = handle
        self._due_at = 0
        self._found: _Found = {}

    @property
    def has_news(self) -> bool:
        """Whether looked-up days are not stored yet."""
        return bool(self._found)

    def settle(self, now_ms: int) -> list[str]:
        """Store looked-up days inside the engine's transaction; return the sources whose days changed."""
        changed = [source for source, days in self._found.items() if self._save(source, days, now_ms)]
        if now_ms >= self._due_at or now_ms < self._due_at - DAY_MS:
            self._due_at = now_ms + DAY_MS
            self._store.day_sources.forget_unused()
            sources = [stored.source for stored in self._store.day_sources.all()]
            if sources:
                self._begin_looking(sources, now_ms)
        return changed

    def _begin_looking(self, sources: Iterable[str], now_ms: int) -> None:
        """Look up the days on another thread; without one, retry in a minute."""
        try:
            self._handle.submit(lambda: self._look(sources, now_ms))
        except RuntimeError as error:
            _LOG.warning("Calendars cannot be looked up now: %s", error)
            self._due_at = now_ms + MINUTE_MS

    def forget_recorded(self) -> None:
        """Discard the stored results, after the commit."""
        self._found = {}

    def _save(self, source: str, days: frozenset[date] | str, now_ms: int) -> bool:
        table, events = self._store.day_sources, self._store.events
        if isinstance(days, str):
            if table.save_trouble(source, days):
                events.append(now_ms, EventKind.DAYS_TROUBLE, source=source, text=days)
            return False
        is_changed = table.save(source, days, now_ms)
        if is_changed:
            events.append(now_ms, EventKind.DAYS_CHANGED, source=source)
        return is_changed

    def _look(self, sources: Iterable[str], now_ms: int) -> None:
        """Look up the days; runs on any thread."""
        found: _Found = {}
        for source in sources:
            try:
                found[source] = look_up_source(source, now_ms)
            except ScheduleError as error:
                found[source] = error.message
            except Exception as error:  # noqa: BLE001 - a fault in a library is stored, and the last days stay
                _LOG.exception("Looking up the days of %s failed.", source)
                found[source] = f"an error occurred: {error}"
        self._handle.post(lambda: self._found.update(found))
