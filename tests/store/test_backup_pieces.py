"""Backups are copied in pieces, and whoever waits is told how far it is."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import apsw
import pytest
from past_runs import Past

from halo_scheduler.errors import StoreUnavailableError
from halo_scheduler.service.scheduler import Scheduler
from halo_scheduler.service.settings import make_backup, restore_backup
from halo_scheduler.store import backup

_NOW = 1_800_000_000_000
_TABLES = ("scheduler_jobs", "scheduler_run_log", "scheduler_events", "scheduler_settings")


@pytest.fixture
def path(tmp_path: Path) -> Path:
    path = tmp_path / "halo.db"
    with Scheduler.open(path) as scheduler:
        past = Past(scheduler)
        past.runs(past.job(), 25)
        past.job("other")
        # A gap, and numbers below zero, as no table of ours has them by itself.
        scheduler._store.database.rows("DELETE FROM scheduler_run_log WHERE seq BETWEEN 5 AND 15")
        scheduler._store.database.rows("UPDATE scheduler_run_log SET seq = -3 WHERE seq = 1")
    return path


def _content(path: Path) -> dict[str, list[tuple[object, ...]]]:
    connection = apsw.Connection(str(path))
    content = {table: connection.execute(f"SELECT * FROM {table}").fetchall() for table in _TABLES}
    connection.close()
    return content


def test_all_pieces_together_are_the_whole(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(backup, "_ROWS_AT_ONCE", 3)
    before = _content(path)
    assert len(before["scheduler_run_log"]) == 14
    told: list[tuple[int, int]] = []
    made = make_backup(path, _NOW, lambda done, total: told.append((done, total)))
    assert _content(made.path) == before
    assert len({total for _, total in told}) == 1
    assert [done for done, _ in told] == sorted(done for done, _ in told)
    # More than once for the table that has more than three rows.
    assert len({done for done, _ in told}) > 8
    assert told[-1][0] == told[-1][1]


def test_a_restored_backup_is_reported_in_pieces(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(backup, "_BYTES_AT_ONCE", 4_096)
    made = make_backup(path, _NOW)
    before = _content(path)
    told: list[tuple[int, int]] = []
    restore_backup(path, made.path, _NOW, lambda done, total: told.append((done, total)))
    size = made.path.stat().st_size
    assert told == [(done, 2 * size) for done in range(size, 2 * size + 1, 4_096)]
    assert _content(path) == before
    assert path.stat().st_mode & 0o777 == 0o600


def test_an_empty_database_is_backed_up(tmp_path: Path) -> None:
    path = tmp_path / "halo.db"
    Scheduler.open(path).close()
    told: list[tuple[int, int]] = []
    made = make_backup(path, _NOW, lambda done, total: told.append((done, total)))
    assert _content(made.path) == _content(path)
    assert set(told) == {(0, 0)}


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no limit of open files")
def test_backups_that_cannot_be_listed_for_want_of_descriptors_are_a_sentence(path: Path) -> None:
    import resource  # noqa: PLC0415 - Windows has none

    make_backup(path, _NOW)
    limits = resource.getrlimit(resource.RLIMIT_NOFILE)
    os.close(first_free := os.dup(0))
    resource.setrlimit(resource.RLIMIT_NOFILE, (first_free, limits[1]))
    try:
        with pytest.raises(StoreUnavailableError, match="too many open files"):
            backup.list_backups(path)
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, limits)
