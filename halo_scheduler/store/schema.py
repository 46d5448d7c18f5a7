"""The schema's version, and the migrations of older databases."""

from __future__ import annotations

import os
import re
from pathlib import Path

from halo_scheduler.errors import StoreFullError, StoreReadOnlyError, StoreTooNewError, StoreUnavailableError
from halo_scheduler.store.connection import Database

NEWEST = 22
"""The number of the last migration: a database that has it is opened without reading the migrations."""
_WITH_ENGINE_FILE = 7
_STEP = re.compile(r"([0-9]{4})_.+\.sql")


def open_up_to_date(path: Path, now_ms: int) -> Database:
    """Open a database, creating or migrating it as needed."""
    database = Database.open(path)
    try:
        migrate(database, now_ms)
    except BaseException:
        database.close()
        raise
    return database


def open_to_read(path: Path, now_ms: int) -> Database:
    """Open a database as for writing; if it cannot be written, open it read-only as it is."""
    _require_not_lost(path)
    try:
        return open_up_to_date(path, now_ms)
    except (StoreReadOnlyError, StoreFullError) as error:
        database = Database.open_for_reading(path)
        if stored_version(database) != NEWEST:
            database.close()
            raise
        database.refusal = str(error)
        return database


def _require_not_lost(path: Path) -> None:
    """Raise StoreUnavailableError if the database is gone but has backups: an empty one would hide the loss."""
    if os.path.exists(path):  # noqa: PTH110 - unlike Path.exists, it never raises
        return
    from halo_scheduler.store.backup import list_backups  # noqa: PLC0415 - only for a missing database

    if list_backups(path):
        raise StoreUnavailableError(
            f"the database {path} is missing; put it back, or restore a backup with: halo backup restore --latest"
        )


def migrate(database: Database, now_ms: int) -> None:
    """Migrate the schema after a backup; each migration and its number are one transaction."""
    version = stored_version(database)
    if version == NEWEST:
        return
    if version > NEWEST:
        raise StoreTooNewError(
            f"{database.path} was written by a newer Halo (schema {version}, this one knows {NEWEST}); "
            "install that version or choose another HALO_HOME"
        )
    if version > 0:
        _require_no_older_engine(database, version, now_ms)
        from halo_scheduler.store.backup import back_up  # noqa: PLC0415 - only for an old database

        back_up(database, now_ms)
        _take_steps(database, now_ms)
        return
    # In one transaction: no process finds, or backs up, a half-created database.
    with database.transaction():
        _take_steps(database, now_ms)


def _take_steps(database: Database, now_ms: int) -> None:
    steps = _steps()
    for number in sorted(steps):
        with database.transaction():
            version = stored_version(database)
            # Another process may have migrated it meanwhile.
            if version < number:
                _require_no_older_engine(database, version, now_ms)
                database.run_script(steps[number])
                database.run_script(f"PRAGMA user_version = {number}")


def _require_no_older_engine(database: Database, version: int, now_ms: int) -> None:
    """Refuse to migrate while an older engine runs the jobs: it would no longer find its columns."""
    if version == 0:
        return
    # An engine with another file open, such as the original of this copy, is not affected.
    ours = "AND file IN ('', ?)" if version >= _WITH_ENGINE_FILE else "AND ? <> ''"
    row = database.row(
        "SELECT owner, pid, process_start FROM scheduler_engine "
        f"WHERE id = 1 AND stopped_at IS NULL AND expires_at > ? {ours}",
        [now_ms, database.identity],
    )
    if row is None:
        return
    from halo_scheduler.host.process import is_alive  # noqa: PLC0415 - only for an old database

    owner, pid, process_start = row
    if is_alive(pid, process_start):
        raise StoreUnavailableError(
            f"{database.path} is in use by an older Halo ({owner}, process {pid}); quit it, then try again"
        )


def stored_version(database: Database) -> int:
    """Return the schema version of a database; 0 if it has no schema of Halo."""
    return int(database.rows("PRAGMA user_version")[0][0])


def _steps() -> dict[int, str]:
    from importlib.resources import files  # noqa: PLC0415 - slow to load, and only for an old or new database

    folder = files("halo_scheduler.store.migrations")
    found = ((_STEP.fullmatch(item.name), item) for item in folder.iterdir())
    return {int(match[1]): item.read_text(encoding="utf-8") for match, item in found if match}
