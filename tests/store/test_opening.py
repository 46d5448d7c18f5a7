"""Many open one database in the same moment: a new one, an older one, one that somebody keeps locked."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

import apsw
import pytest

from halo_scheduler.errors import StoreUnavailableError
from halo_scheduler.store import connection, schema
from halo_scheduler.store.backup import list_backups
from halo_scheduler.store.connection import Database
from halo_scheduler.store.store import Store

_NOW = 1_800_000_000_000
_MANY = 8
_ROUNDS = 12


def _open_at_once(path: Path) -> list[int]:
    """Return the version that each of many finds who open a database in the same moment."""
    barrier = threading.Barrier(_MANY)

    def find_version(_number: int) -> int:
        barrier.wait(20)
        store = Store.open(path, _NOW)
        try:
            return schema.stored_version(store.database)
        finally:
            store.close()

    with ThreadPoolExecutor(_MANY) as pool:
        return list(pool.map(find_version, range(_MANY)))


def test_many_create_a_database_at_once(tmp_path: Path) -> None:
    for number in range(_ROUNDS):
        path = tmp_path / f"{number}.db"
        assert _open_at_once(path) == [schema.NEWEST] * _MANY
        assert not list_backups(path)


def test_many_bring_a_database_up_to_date_at_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    steps = schema._steps()
    first = {number: step for number, step in steps.items() if number < schema.NEWEST}
    for number in range(_ROUNDS):
        path = tmp_path / f"{number}.db"
        with monkeypatch.context() as older:
            older.setattr(schema, "_steps", lambda: first)
            older.setattr(schema, "NEWEST", max(first))
            Store.open(path, _NOW).close()
        assert _open_at_once(path) == [schema.NEWEST] * _MANY
        assert list_backups(path)
    assert not list((tmp_path / "backups").glob("*.part"))


@pytest.mark.parametrize("kind", ["IMMEDIATE", "EXCLUSIVE"])
def test_a_database_that_stays_locked_is_reported(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str
) -> None:
    monkeypatch.setattr(connection, "_BUSY_TIMEOUT_MS", 50)
    path = tmp_path / "halo.db"
    with _locked(path, kind), pytest.raises(StoreUnavailableError, match="in use by another program"):
        Database.open(path)
    Database.open(path).close()


@contextmanager
def _locked(path: Path, kind: str) -> Iterator[None]:
    """Keep a file as a writer does who knows no journal beside it."""
    held = apsw.Connection(str(path))
    held.execute("CREATE TABLE other (number)").fetchall()
    held.execute(f"BEGIN {kind}").fetchall()
    try:
        yield
    finally:
        held.close()
