"""Housekeeping."""

from __future__ import annotations

import logging
import os
import shutil
import stat
import threading
from collections.abc import Callable
from pathlib import Path

import apsw
import pytest
from small_disk import SmallDisk, small_disk

from halo_scheduler import Manual, Outcome
from halo_scheduler.actions.run_services import Ended
from halo_scheduler.actions.spool import Output, Spool, spool_folder
from halo_scheduler.clock import ClockSteps, ManualClock
from halo_scheduler.engine.active_runs import ActiveRuns
from halo_scheduler.engine.maintenance import (
    DiskReclaimer,
    Maintenance,
    hold_reserve,
    reclaim_beside,
    release_reserve,
    reserve_path,
)
from halo_scheduler.errors import StoreFullError
from halo_scheduler.service.scheduler import Scheduler
from halo_scheduler.store.backup import Backup, list_backups
from halo_scheduler.store.connection import Database
from halo_scheduler.store.store import Store

_NOW, _DAY = 1_700_000_000_000, 86_400_000
_MB = 1 << 20


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


def _job_names(backup: Backup) -> list[str]:
    copy = apsw.Connection(str(backup.path), flags=apsw.SQLITE_OPEN_READONLY)
    names = [name for (name,) in copy.execute("SELECT name FROM scheduler_jobs ORDER BY name")]
    copy.close()
    return names


def test_the_first_edits_are_backed_up_soon_and_when_the_engine_stops(tmp_path: Path) -> None:
    clock = ManualClock(_NOW)
    with Scheduler.open(tmp_path / "halo.db", clock=clock) as scheduler:
        maintenance = Maintenance(scheduler._store)
        for minutes, name in ((0, ""), (1, "first"), (5, ""), (11, ""), (12, "second")):
            clock.set(_NOW + minutes * 60_000)
            if name:
                scheduler.add_job(name, Manual())
            maintenance.tick(clock.now_ms())
            assert maintenance._backup is not None
            maintenance._backup.join()
        found = list_backups(scheduler.path)
        assert [((backup.made_at - _NOW) // 60_000, _job_names(backup)) for backup in found] == [
            (11, ["first"]),
            (0, []),
        ]
        maintenance.finish()
        assert _job_names(list_backups(scheduler.path)[0]) == ["first", "second"]
        # From now on, once a day is enough.
        scheduler.add_job("third", Manual())
        maintenance.finish()
        assert len(list_backups(scheduler.path)) == 3


def test_a_backup_that_fails_is_reported_and_does_not_affect_others(
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


def test_a_backup_without_a_thread_is_tried_again_in_an_hour(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(_thread: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    store = Store.open(tmp_path / "halo.db", _NOW)
    maintenance = Maintenance(store)
    with monkeypatch.context() as context:
        context.setattr(threading.Thread, "start", fail)
        maintenance.tick(_NOW)
    assert "can't start new thread" in caplog.text
    maintenance.tick(_NOW + _DAY // 24 - 1)
    maintenance.finish()
    assert list_backups(store.database.path) == []
    maintenance.tick(_NOW + _DAY // 24)
    maintenance.finish()
    assert len(list_backups(store.database.path)) == 1
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
    assert "not waiting for it" in caplog.text
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


def _write_output(folder: Path, run_id: str, size: int) -> Spool:
    spool = Spool(folder, run_id)
    descriptor = spool.create()
    os.write(descriptor, b"x" * size)
    os.close(descriptor)
    return spool


class _Scene:
    """A database beside the outputs of two runs that have ended, one of which waits for its secrets."""

    def __init__(self, path: Path) -> None:
        self.database = Database.open(path)
        hold_reserve(path)
        folder = spool_folder(path)
        self.known = _write_output(folder, "known", _MB)
        self.withheld = _write_output(folder, "withheld", _MB)
        ends = [
            Ended(run_id="known", outcome=Outcome.SUCCESS, output=Output.of(b"x", 1)),
            Ended(run_id="withheld", outcome=Outcome.SUCCESS, needs_secrets=frozenset({"S"})),
        ]
        self.disk = DiskReclaimer(
            self.database, ActiveRuns(ClockSteps(ManualClock(0))), lambda: ends, lambda: 0
        )
        self.seen: list[tuple[bool, int]] = []

    def write(self, fail: int) -> Callable[[], str]:
        """Return what fails so many times because the disk is full, and notes what there was each time."""

        def write() -> str:
            self.seen.append((reserve_path(self.database.path).exists(), self.known.size()))
            if len(self.seen) <= fail:
                raise StoreFullError("full")
            return "written"

        return write


@pytest.fixture
def scene(tmp_path: Path) -> _Scene:
    return _Scene(tmp_path / "halo.db")


def test_with_room_nothing_is_given_up(scene: _Scene) -> None:
    assert scene.disk.retry_when_full(scene.write(fail=0)) == "written"
    assert scene.seen == [(True, _MB)]


def test_output_is_shortened_first_then_the_reserve_is_released_then_ends_stay_in_memory(
    scene: _Scene,
) -> None:
    assert scene.disk.retry_when_full(scene.write(fail=3)) == "written"
    assert scene.seen == [(True, _MB), (True, _MB), (False, _MB), (False, 0)]
    assert scene.withheld.size() == _MB


def test_a_reserve_that_does_not_help_is_reported(scene: _Scene) -> None:
    with pytest.raises(StoreFullError):
        scene.disk.retry_when_full(scene.write(fail=4))


def test_other_errors_give_nothing_up(scene: _Scene) -> None:
    def write() -> None:
        raise LookupError

    with pytest.raises(LookupError):
        scene.disk.retry_when_full(write)
    assert reserve_path(scene.database.path).exists()


@pytest.mark.parametrize("kind", ["tmpfs", "ext4"])
def test_a_database_can_be_opened_again_on_a_disk_full_of_output(tmp_path: Path, kind: str) -> None:
    with small_disk(tmp_path, kind, "16m") as disk:
        path = disk.folder / "halo.db"
        Store.open(path, 0).close()
        _fill_with_output(disk, path)
        with pytest.raises(StoreFullError):
            Store.open(path, 0).close()
        reclaim_beside(path)
        Store.open(path, 0).close()


def _fill_with_output(disk: SmallDisk, path: Path) -> None:
    disk.fill()
    spool = Spool(spool_folder(path), "run")
    spool_folder(path).mkdir(exist_ok=True)
    (disk.folder / "filler").rename(spool.output_path)
    # What the folder itself took.
    while disk.free_bytes():
        with Path(spool.output_path).open("ab", buffering=0) as file:
            file.write(bytes(disk.free_bytes()))


def _held(database: Path) -> int:
    if not reserve_path(database).exists():
        return 0
    status = reserve_path(database).stat()
    return min(status.st_size, getattr(status, "st_blocks", status.st_size) * 512)


def test_a_reserve_takes_room_and_is_private(tmp_path: Path) -> None:
    database = tmp_path / "halo.db"
    hold_reserve(database)
    assert reserve_path(database) == tmp_path / "halo.db-reserve"
    assert _held(database) == 4 * _MB
    assert stat.S_IMODE(reserve_path(database).stat().st_mode) == 0o600


def test_a_reserve_in_use_is_left_alone(tmp_path: Path) -> None:
    database = tmp_path / "halo.db"
    hold_reserve(database)
    before = reserve_path(database).stat()
    hold_reserve(database)
    assert reserve_path(database).stat().st_mtime_ns == before.st_mtime_ns


def test_a_reserve_is_released_once_and_created_again(tmp_path: Path) -> None:
    database = tmp_path / "halo.db"
    assert not release_reserve(database)
    hold_reserve(database)
    assert release_reserve(database)
    assert _held(database) == 0
    assert not release_reserve(database)
    hold_reserve(database)
    assert _held(database) == 4 * _MB


@pytest.mark.parametrize("kind", ["tmpfs", "ext4"])
def test_on_a_small_disk_the_reserve_is_small_and_returns_its_space(tmp_path: Path, kind: str) -> None:
    with small_disk(tmp_path, kind, "32m") as disk:
        database = disk.folder / "halo.db"
        hold_reserve(database)
        total = shutil.disk_usage(disk.folder).total
        assert total // 40 < _held(database) <= total // 30
        disk.fill()
        before = disk.free_bytes()
        assert release_reserve(database)
        assert disk.free_bytes() - before > total // 50


def test_a_disk_that_is_nearly_full_is_not_filled_with_a_reserve(tmp_path: Path) -> None:
    with small_disk(tmp_path, "tmpfs", "32m") as disk:
        disk.fill(leave_bytes=_MB + _MB // 2)
        hold_reserve(disk.folder / "halo.db")
        assert _held(disk.folder / "halo.db") == 0
        assert disk.free_bytes() > _MB


def test_a_reserve_is_made_without_the_help_of_the_system(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delattr(os, "posix_fallocate", raising=False)
    hold_reserve(tmp_path / "halo.db")
    assert _held(tmp_path / "halo.db") == 4 * _MB
