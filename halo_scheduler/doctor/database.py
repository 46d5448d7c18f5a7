"""Checks that the database opens, is intact and has a schema of this version, and that a usable backup exists."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path

from halo_scheduler.doctor.scene import (
    Finding,
    Scene,
    Topic,
    fine,
    look,
    named,
    size_of,
    wrong,
    wrong_because,
)
from halo_scheduler.errors import StoreDamagedError, StoreError
from halo_scheduler.grammar.english import counted
from halo_scheduler.grammar.interval import DAY_MS, SECOND_MS
from halo_scheduler.paths import database_bytes
from halo_scheduler.service.settings import Backup, find_backups
from halo_scheduler.store.backup import check
from halo_scheduler.store.connection import Database
from halo_scheduler.store.schema import NEWEST, stored_version
from halo_scheduler.store.store import Store

_TOPIC = Topic.DATABASE
_RESTORE = "Restore the newest backup with: halo backup restore --latest"
_LITTLE_ROOM = 200 << 20
_NO_ROOM = 10 << 20
_LARGE_JOURNAL = 256 << 20
_MAKE_ONE = "Make one now with: halo backup"
# The engine makes one each day; without an engine the database doesn't change.
_OLD_WITH_ENGINE_MS = 2 * DAY_MS
_OLD_MS = 14 * DAY_MS


def open_database(path: Path) -> tuple[Store | None, list[Finding]]:
    """Open a database read-only if possible, and return the findings; the caller closes it."""
    if is_missing(path):
        return None, [_missing(path)]
    if not os.access(path.parent, os.X_OK):
        return None, [wrong(_TOPIC, f"You don't have permission to open {path.parent}.")]
    try:
        store = _whole_store(path)
    except StoreDamagedError as error:
        return None, [wrong_because(_TOPIC, error, _RESTORE)]
    except StoreError as error:
        return None, [_unusable(path, error)]
    finding = _about_version(store)
    if finding is None:
        return store, []
    store.close()
    return None, [finding]


def is_missing(path: Path) -> bool:
    """Return whether the file does not exist; False if the folder cannot be read."""
    try:
        path.stat()
    except PermissionError:
        return False
    except OSError:
        return True
    return False


def _missing(path: Path) -> Finding:
    if path.parent.exists() and not path.parent.is_dir():
        what = f"{path.parent} is a file, not a folder; nothing can be stored there."
        return wrong(_TOPIC, what, "Choose another folder with HALO_HOME.")
    if find_backups(path) or path.with_name(f"{path.name}-wal").exists():
        return wrong(_TOPIC, f"The database {path} is missing.", _RESTORE)
    return fine(_TOPIC, f"There is no database at {path} yet; it is created on first use.")


def _whole_store(path: Path) -> Store:
    try:
        return _checked_store(path)
    except StoreDamagedError:
        if not path.with_name(f"{path.name}-wal").exists():
            raise
    # Another process may have started to write while we read the file as immutable.
    return _checked_store(path)


def _checked_store(path: Path) -> Store:
    store = Store(Database.open_for_reading(path))
    try:
        store.check()
    except BaseException:
        store.close()
        raise
    return store


def _unusable(path: Path, error: StoreError) -> Finding:
    if path.is_file() and not os.access(path, os.R_OK):
        advice = "If it belongs to another user (see ls -l), move it away or choose another HALO_HOME"
        return wrong(_TOPIC, f"You don't have permission to read {path}.", advice)
    return wrong_because(_TOPIC, error)


def _about_version(store: Store) -> Finding | None:
    """Return why an intact database cannot be used as it is."""
    path = store.database.path
    version = stored_version(store.database)
    if version == NEWEST:
        return None
    if version > NEWEST:
        what = f"The database was written by a newer Halo (schema {version}; this one knows {NEWEST})."
        return wrong(_TOPIC, what, _advice_on_newer(path))
    if version > 0:
        what = f"The database is from an older Halo (schema {version} of {NEWEST})."
        return look(_TOPIC, what, "It is backed up and updated when Halo is next used")
    if store.has_tables():
        return wrong(_TOPIC, f"{path} is a database of another program.", "Choose another HALO_HOME")
    what = f"The database {path} is empty."
    return wrong(_TOPIC, what, _RESTORE) if find_backups(path) else fine(_TOPIC, what)


def _advice_on_newer(path: Path) -> str:
    """Name the backup made before a newer Halo upgraded the database, if there is one."""
    for backup in find_backups(path):
        try:
            database = Database.open_as_it_is(backup.path)
            try:
                version = stored_version(database)
            finally:
                database.close()
        except StoreError:
            continue
        if 0 < version <= NEWEST:
            return f"Install that version; or go back with: halo backup restore {backup.path}"
    return "Install that version, or choose another HALO_HOME"


def check_database(scene: Scene) -> Iterator[Finding]:
    """Check a readable database."""
    path, journal = scene.path, scene.path.with_name(f"{scene.path.name}-wal")
    journal_size = journal.stat().st_size if journal.exists() else 0
    count = counted(len(scene.jobs) + len(scene.unreadable_jobs), "job")
    yield fine(_TOPIC, f"{path} is intact: {count}, {size_of(database_bytes(path))}.")
    if journal_size > _LARGE_JOURNAL:
        what = f"The journal of the database has grown to {size_of(journal_size)}."
        yield look(_TOPIC, what, "A program keeps reading it; restart Halo")


def check_users(scene: Scene) -> Iterator[Finding]:
    """Find programs that still write to a deleted database."""
    lost = [f"{user.program} (process {user.pid})" for user in scene.users if user.is_deleted]
    if lost:
        are = "uses" if len(lost) == 1 else "use"
        what = f"{named(lost)} still {are} a database that was deleted or replaced; its records are lost."
        yield wrong(_TOPIC, what, "Quit it, then start it again")


def check_disk(scene: Scene) -> Iterator[Finding]:
    """Check free space, and that the folder is writable."""
    # pathlib raises where a folder above is closed to us.
    folder = next(folder for folder in scene.path.absolute().parents if os.path.isdir(folder))  # noqa: PTH112
    if sys.platform != "win32" and os.statvfs(folder).f_flag & os.ST_RDONLY:
        yield wrong(
            _TOPIC, f"The disk of {folder} is read-only.", "Make it writable; runs cannot be recorded"
        )
        return
    if os.access(folder, os.X_OK) and not os.access(folder, os.W_OK):
        # A folder that we cannot open is reported already.
        yield wrong(
            _TOPIC, f"You don't have permission to write to {folder}.", "Check its owner with: ls -ld"
        )
    free = shutil.disk_usage(folder).free
    if free < _NO_ROOM:
        what = f"The disk of {folder} is full: {size_of(free)} are free."
        yield wrong(_TOPIC, what, "Free some space; runs cannot be recorded")
    elif free < _LITTLE_ROOM:
        what = f"The disk of {folder} is nearly full: {size_of(free)} are free."
        yield look(_TOPIC, what, "Free some space before runs can no longer be recorded")


def check_backups(scene: Scene) -> Iterator[Finding]:
    """Check the newest backups until one is valid."""
    broken: list[str] = []
    usable: Backup | None = None
    for backup in find_backups(scene.path):
        try:
            check(backup.path)
        except StoreError:
            broken.append(backup.path.name)
        else:
            usable = backup
            break
    if broken:
        what = f"{named(broken)} cannot be restored: damaged or unreadable."
        yield wrong(Topic.BACKUPS, what, f"Remove it from {scene.path.parent / 'backups'}. {_MAKE_ONE}")
    if usable is not None:
        yield _on_age(scene, usable)
    elif not broken:
        yield _on_none(scene)
    yield from _on_unfinished(scene)


def _on_age(scene: Scene, newest: Backup) -> Finding:
    age_ms = scene.now_ms - newest.made_at
    when = scene.ago(newest.made_at)
    limit_ms = _OLD_WITH_ENGINE_MS if scene.has_engine else _OLD_MS
    if age_ms <= limit_ms:
        return fine(Topic.BACKUPS, f"The newest backup is intact, made {when}.")
    return look(Topic.BACKUPS, f"The newest backup is old, made {when}.", _MAKE_ONE)


def _on_none(scene: Scene) -> Finding:
    if scene.is_readable and scene.jobs:
        return look(Topic.BACKUPS, "No backup yet.", _MAKE_ONE)
    return fine(Topic.BACKUPS, "No backup yet, and no jobs to back up.")


def _on_unfinished(scene: Scene) -> Iterator[Finding]:
    """Find remains of interrupted backups."""
    before_s = (scene.now_ms - DAY_MS) / SECOND_MS
    parts = (scene.path.parent / "backups").glob(f"{scene.path.stem}-*.part")
    old = sorted(str(path) for path in parts if path.lstat().st_mtime < before_s)
    if old:
        yield look(
            Topic.BACKUPS, f"{named(old)} is left over from an unfinished backup.", "It can be deleted"
        )
