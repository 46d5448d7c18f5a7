"""A real daemon whose database is replaced or deleted under it: it stops, and nobody takes it for running."""

from __future__ import annotations

import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from daemons import House
from process_probe import LONG_S, until

from halo_scheduler import Cron
from halo_scheduler.ipc import poke
from halo_scheduler.service import Scheduler

_HALO = (sys.executable, "-m", "halo_scheduler")


@pytest.fixture
def house(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[House]:
    found = House(tmp_path, monkeypatch)
    yield found
    found.close()


def _halo(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([*_HALO, *arguments], capture_output=True, text=True, timeout=LONG_S, check=False)


def _exit_code(house: House) -> int:
    assert house._daemon is not None
    return house._daemon.wait(LONG_S)


def test_a_daemon_stops_when_a_backup_is_restored_under_it(house: House) -> None:
    job_id = house.scheduler.add_job("job", Cron("* * * * *", timezone="UTC"))
    house.start()
    house.scheduler.make_backup()
    path = house.scheduler.path
    path.rename(path.with_name("away.db"))
    restored = _halo("backup", "restore", "--latest", "--yes")
    assert restored.returncode == 0, restored.stderr
    assert _exit_code(house) == 1
    assert "was deleted or replaced" in house.log()
    assert "not running" in _halo("status").stdout
    house.scheduler.close()
    house.scheduler = Scheduler.open()
    house.start()
    assert house.scheduler.get_job(job_id) is not None
    assert house.stop() == 0


def test_a_living_daemon_is_not_taken_for_the_engine_of_a_copy(house: House) -> None:
    house.start()
    path = house.scheduler.path
    copy = path.with_name("copy.db")
    with Scheduler.open(path) as scheduler:
        scheduler._store.database.rows("VACUUM INTO ?", [str(copy)])
    with Scheduler.open(copy) as scheduler:
        row = scheduler._store.lease.read()
        assert row is not None
        assert row.pid == house.pid
        assert scheduler.status().state == "stopped"
    assert house.scheduler.status().state == "running"
    # Copied by hand into its place: it can be run at once, while the old daemon has not yet found out.
    path.unlink()
    shutil.copy(copy, path)
    for ending in ("-wal", "-shm"):
        path.with_name(path.name + ending).unlink(missing_ok=True)
    assert "not running" in _halo("status").stdout
    old = house._daemon
    assert old is not None
    house.scheduler.close()
    house.scheduler = Scheduler.open()
    assert poke(path)
    assert old.wait(LONG_S) == 1
    house.start()
    assert house.stop() == 0


def test_a_daemon_stops_when_its_database_is_deleted(house: House) -> None:
    house.scheduler.add_job("job", Cron("* * * * * *", timezone="UTC"))
    house.start()
    until(house.scheduler.get_run_log)
    house.scheduler.path.unlink()
    assert _exit_code(house) == 1
    assert "was deleted or replaced" in house.log()
