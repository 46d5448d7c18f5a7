"""Housekeeping."""

from __future__ import annotations

import logging
import threading
from pathlib import Path

import pytest

from halo_scheduler.engine.maintenance import Maintenance
from halo_scheduler.store.backup import list_backups
from halo_scheduler.store.store import Store

_NOW, _DAY = 1_700_000_000_000, 86_400_000


def test_a_backup_is_made_once_a_day(tmp_path: Path) -> None:
    store = Store.open(tmp_path / "halo.db", _NOW)
    for hours in (0, 1, 23, 24, 25, 47, 49):
        # A new one each time, as after a restart.
        maintenance = Maintenance(store)
        maintenance.tick(_NOW + hours * 3_600_000)
        maintenance.finish()
    assert [(backup.made_at - _NOW) // 3_600_000 for backup in list_backups(store.database.path)] == [
        49,
        24,
        0,
    ]
    store.close()


def test_a_backup_that_fails_is_said_and_disturbs_nobody(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    store = Store.open(tmp_path / "halo.db", _NOW)
    (tmp_path / "backups").write_text("in the way", encoding="utf-8")
    maintenance = Maintenance(store)
    with caplog.at_level(logging.ERROR):
        maintenance.tick(_NOW)
        maintenance.finish()
    assert "No backup was made" in caplog.text
    store.close()


def test_a_backup_that_does_not_end_is_not_waited_for(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = Store.open(tmp_path / "halo.db", _NOW)
    is_free = threading.Event()
    monkeypatch.setattr("halo_scheduler.engine.maintenance.back_up", lambda *_: is_free.wait(10))
    monkeypatch.setattr("halo_scheduler.engine.maintenance._LONGEST_WAIT_S", 0.01)
    maintenance = Maintenance(store)
    maintenance.tick(_NOW)
    maintenance.finish()
    assert "was not waited for" in caplog.text
    is_free.set()
    maintenance.finish()
    store.close()


def test_old_runs_go_a_few_at_a_time(tmp_path: Path) -> None:
    store = Store.open(tmp_path / "halo.db", _NOW)
    store.database.rows(
        "INSERT INTO scheduler_jobs (id, name, description, schedule, action, policy, anchor_at, enabled, metadata, "
        "created_at, updated_at, counted_until) VALUES ('1', 'a', '', '{}', '{}', '{}', 0, 1, '{}', 0, 0, 0)"
    )
    store.database.run_many(
        "INSERT INTO scheduler_run_log (id, job_id, attempt, trigger, source, outcome, finished_at, generation) "
        "VALUES (?, '1', 1, 'schedule', 'every', 'success', ?, 1)",
        [(str(index), _NOW - 91 * _DAY) for index in range(500)],
    )
    maintenance = Maintenance(store)
    left = []
    for tick in range(4):
        maintenance.tick(_NOW + tick)
        left.append(store.database.rows("SELECT count(*) FROM scheduler_run_log")[0][0])
    maintenance.finish()
    assert left == [300, 100, 0, 0]
    store.close()


def test_a_clock_that_jumps_by_years_deletes_no_history(tmp_path: Path) -> None:
    store = Store.open(tmp_path / "halo.db", _NOW)
    store.database.rows(
        "INSERT INTO scheduler_jobs (id, name, description, schedule, action, policy, anchor_at, enabled, metadata, "
        "created_at, updated_at, counted_until) VALUES ('1', 'a', '', '{}', '{}', '{}', 0, 1, '{}', 0, 0, 0)"
    )
    store.database.rows(
        "INSERT INTO scheduler_run_log (id, job_id, attempt, trigger, source, outcome, finished_at, generation) "
        "VALUES ('1', '1', 1, 'schedule', 'every', 'success', ?, 1)",
        [_NOW],
    )
    maintenance = Maintenance(store)
    left = []
    for at in (_NOW, _NOW + 3_650 * _DAY, _NOW + 3_650 * _DAY + 60_000, _NOW + 60_000):
        maintenance.tick(at)
        left.append(store.database.rows("SELECT count(*) FROM scheduler_run_log")[0][0])
    # A day later it is likely to be right after all.
    for at in (_NOW + 3_650 * _DAY, _NOW + 3_651 * _DAY):
        maintenance.tick(at)
        left.append(store.database.rows("SELECT count(*) FROM scheduler_run_log")[0][0])
    maintenance.finish()
    assert left == [1, 1, 1, 1, 1, 0]
    store.close()
