"""Backups of a database that may be too damaged to be opened: make, find, restore."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from halo_scheduler.errors import EngineHeldError, StoreDamagedError, StoreError, StoreUnavailableError
from halo_scheduler.host.private_files import require_own_data_folder
from halo_scheduler.host.process import is_alive
from halo_scheduler.ipc.client import poke
from halo_scheduler.store.backup import Backup, Tell, back_up, check, list_backups, restore, unheard
from halo_scheduler.store.connection import Database
from halo_scheduler.store.lease import LeaseTable

if TYPE_CHECKING:
    from halo_scheduler.service.session import Session

__all__ = ["Backup", "Backups", "find_backups", "make_backup", "newest_usable", "restore_backup"]


class Backups:
    """Makes and lists backups of an open database."""

    def __init__(self, session: Session) -> None:
        self._session = session

    def make(self) -> Backup:
        """Back up everything but output now."""
        return make_backup(self._session.path, self._session.clock.now_ms())

    def list(self) -> list[Backup]:
        """Return the backups there are, newest first."""
        return find_backups(self._session.path)


def make_backup(path: Path, now_ms: int, tell: Tell = unheard) -> Backup:
    """Back up a database now; `tell` hears how much of how much is done."""
    if not path.exists():
        raise StoreUnavailableError(f"there is no database at {path} yet")
    database = Database.open(path)
    try:
        return back_up(database, now_ms, tell)
    finally:
        database.close()


def find_backups(path: Path) -> list[Backup]:
    """Return the backups of a database, newest first; UnsafeFilesError in a folder of somebody else."""
    require_own_data_folder(path)
    return list_backups(path)


def newest_usable(path: Path) -> Backup | None:
    """Return the newest backup that SQLite finds in order; slow when they are large."""
    for backup in list_backups(path):
        try:
            check(backup.path)
        except StoreError:
            continue
        return backup
    return None


def restore_backup(
    path: Path, chosen: Path | None, now_ms: int, tell: Tell = unheard
) -> tuple[Path, Path | None]:
    """Put a backup, or the newest that is in order, in a database's place.

    Return the backup and where the old database is now. Refused while an engine runs on it.
    """
    _refuse_while_held(path, now_ms)
    for backup in [Backup(chosen, now_ms)] if chosen else list_backups(path):
        try:
            aside = restore(path, backup, now_ms, tell)
        except StoreDamagedError:
            if chosen:
                raise
            continue
        # An engine that has the old file open, which somebody had moved away, now finds out and stops.
        poke(path)
        return backup.path, aside
    raise StoreUnavailableError(f"there is no usable backup of {path}")


def _refuse_while_held(path: Path, now_ms: int) -> None:
    if not path.exists():
        return
    try:
        database = Database.open(path)
    except StoreDamagedError:
        return
    try:
        row = LeaseTable(database).read()
    except StoreError:
        return
    finally:
        database.close()
    if row is not None and row.is_held(now_ms) and is_alive(row.pid, row.process_start):
        raise EngineHeldError(f"the database is in use by {row.owner} (process {row.pid}); stop it first")
