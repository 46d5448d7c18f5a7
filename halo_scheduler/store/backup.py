"""Backups: everything except the output of runs, verified before use."""

from __future__ import annotations

import itertools
import os
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import BinaryIO

from halo_scheduler.errors import StoreDamagedError
from halo_scheduler.host.private_files import (
    is_trusted_backup,
    make_private_folder,
    open_trusted_backup,
    require_private_database,
)
from halo_scheduler.paths import BACKUPS
from halo_scheduler.store.connection import Database, translated

_KEPT = 7
_LEFT_OUT = ("scheduler_run_output", "scheduler_run_input")
_ROWS_AT_ONCE = 10_000
_BYTES_AT_ONCE = 1 << 20
# Relative cost of copying a row and of indexing it.
_WEIGHTS = {"table": 7, "index": 1}
_BEFORE_ALL = -(1 << 63)

Tell = Callable[[int, int], None]
"""Hears how much of how much is done."""


def unheard(_done: int, _total: int) -> None:
    """Ignore progress."""


@dataclass(frozen=True, slots=True)
class Backup:
    """A backup file and when it was made."""

    path: Path
    made_at: int


def back_up(database: Database, now_ms: int, tell: Tell = unheard) -> Backup:
    """Copy the database in one read transaction, keep the newest seven backups, and return the new one."""
    folder = _folder(database.path)
    with translated(folder):
        make_private_folder(folder)
    target = folder / f"{database.path.stem}-{now_ms}.db"
    # Another process may create one at the same moment.
    partial = target.with_suffix(f".{os.urandom(4).hex()}.part")
    with translated(partial):
        os.close(os.open(partial, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600))
    _copy(database, partial, tell)
    with translated(target):
        partial.replace(target)
        for old in list_backups(database.path)[_KEPT:]:
            old.path.unlink(missing_ok=True)
    return Backup(target, now_ms)


def list_backups(path: Path) -> list[Backup]:
    """Return the backups of a database, newest first; other databases in the same folder have their own."""
    name = re.compile(rf"{re.escape(path.stem)}-([0-9]{{1,18}})\.db", re.ASCII)
    folder = _folder(path)
    with translated(folder):
        named = [(file, name.fullmatch(file.name)) for file in folder.glob("*.db")]
    found = [Backup(file, int(match[1])) for file, match in named if match and is_trusted_backup(file)]
    return sorted(found, key=lambda backup: backup.made_at, reverse=True)


def restore(path: Path, backup: Backup, now_ms: int, tell: Tell = unheard) -> Path | None:
    """Replace the database with a backup; the old file is set aside, and its new path returned."""
    with translated(backup.path):
        source = os.fdopen(open_trusted_backup(backup.path), "rb")
    with source:
        check(backup.path)
        return _replace(path, source, now_ms, tell)


def _replace(path: Path, source: BinaryIO, now_ms: int, tell: Tell) -> Path | None:
    size = os.fstat(source.fileno()).st_size
    # Checking it takes about as long as copying it.
    tell(size, 2 * size)
    moment = datetime.fromtimestamp(now_ms / 1_000, UTC).strftime("%Y%m%dT%H%M%SZ")
    aside = _unused(path, moment)
    with translated(path):
        require_private_database(path)
        partial = path.with_suffix(".restored")
        partial.unlink(missing_ok=True)
        descriptor = os.open(partial, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with os.fdopen(descriptor, "wb") as file:
            while chunk := source.read(_BYTES_AT_ONCE):
                file.write(chunk)
                tell(size + file.tell(), 2 * size)
            file.flush()
            os.fsync(file.fileno())
        had_one = path.exists()
        # The journals first: they must never be next to a database they do not belong to.
        for ending in ("-wal", "-shm"):
            beside = path.with_name(path.name + ending)
            if beside.exists():
                beside.rename(aside.with_name(aside.name + ending))
        if had_one:
            aside.hardlink_to(path)
        # Atomically: there is a database at every moment.
        partial.replace(path)
    return aside if had_one else None


def _unused(path: Path, moment: str) -> Path:
    names = (path.with_name(f"{path.name}.{moment}.{number}.replaced") for number in itertools.count(1))
    return next(name for name in names if not name.exists())


def check(path: Path) -> None:
    """Raise StoreDamagedError unless SQLite's integrity check passes."""
    database = Database.open_as_it_is(path)
    try:
        answer = database.rows("PRAGMA quick_check(1)")
        (version,) = database.rows("PRAGMA user_version")[0]
    finally:
        database.close()
    if answer != [("ok",)]:
        raise StoreDamagedError(f"{path} is damaged: {answer[0][0]}")
    if version == 0:
        raise StoreDamagedError(f"{path} is not a backup of Halo")


def _copy(database: Database, target: Path, tell: Tell) -> None:
    """Copy every table except the output into an attached file, from one snapshot."""
    database.rows("ATTACH ? AS copy", [str(target)])
    try:
        database.run_script("PRAGMA copy.journal_mode = OFF")
        with database.snapshot():
            schema = database.rows(
                "SELECT type, name, sql, tbl_name FROM main.sqlite_schema WHERE sql IS NOT NULL ORDER BY type = 'index'"
            )
            counts = {name: _count(database, name) for kind, name, _, _ in schema if kind == "table"}
            done, total = 0, sum(_WEIGHTS[kind] * counts.get(table, 0) for kind, _, _, table in schema)
            for kind, name, sql, table in schema:
                database.run_script(_in_copy(kind, sql))
                for copied in _copy_rows(database, name) if kind == "table" and counts[name] else ():
                    tell(done + _WEIGHTS[kind] * copied, total)
                done += _WEIGHTS[kind] * counts.get(table, 0)
                tell(done, total)
            version = database.rows("PRAGMA main.user_version")[0][0]
            database.run_script(f"PRAGMA copy.user_version = {int(version)}")
    finally:
        database.rows("DETACH copy")


def _count(database: Database, table: str) -> int:
    """Return how many rows of a table are copied."""
    return 0 if table in _LEFT_OUT else int(database.rows(f'SELECT count(*) FROM main."{table}"')[0][0])


def _copy_rows(database: Database, table: str) -> Iterator[int]:
    """Copy a table in chunks, and yield the number of rows so far after each."""
    copied, after = 0, _BEFORE_ALL
    while True:
        piece = f'SELECT rowid FROM main."{table}" WHERE rowid > ? ORDER BY rowid LIMIT {_ROWS_AT_ONCE}'
        count, last = database.rows(f"SELECT count(*), max(rowid) FROM ({piece})", [after])[0]
        if not count:
            return
        database.rows(
            f'INSERT INTO copy."{table}" SELECT * FROM main."{table}" WHERE rowid > ? AND rowid <= ?',
            [after, last],
        )
        copied, after = copied + count, last
        yield copied


def _in_copy(kind: str, sql: str) -> str:
    if kind == "table":
        return sql.replace("CREATE TABLE ", "CREATE TABLE copy.", 1)
    head = "CREATE UNIQUE INDEX " if sql.startswith("CREATE UNIQUE") else "CREATE INDEX "
    return sql.replace(head, f"{head}copy.", 1)


def _folder(path: Path) -> Path:
    return path.parent / BACKUPS
