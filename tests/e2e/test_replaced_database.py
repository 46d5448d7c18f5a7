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

from halo_scheduler import Command, Cron
from halo_scheduler.ipc.client import poke
from halo_scheduler.service.scheduler import Scheduler

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
    house.scheduler.backups.make()
    path = house.scheduler.path
    path.rename(path.with_name("away.db"))
    restored = _halo("backup", "restore", "--latest", "--yes")
    assert restored.returncode == 0, restored.stderr
    assert _exit_code(house) == 1
    assert "was deleted or replaced" in house.log()
    assert "Halo isn't running" in _halo("status").stdout
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
    _delete_journal(path)
    assert "Halo isn't running" in _halo("status").stdout
    old = house._daemon
    assert old is not None
    house.scheduler.close()
    house.scheduler = Scheduler.open()
    poke(path)  # Should it not have found out by itself.
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


def _delete_journal(path: Path) -> None:
    for ending in ("-wal", "-shm"):
        path.with_name(path.name + ending).unlink(missing_ok=True)


def test_no_slot_runs_twice_when_the_journal_is_deleted_under_a_daemon(house: House) -> None:
    """A second daemon sees nothing of the first one's row, which was in the journal."""
    path, ran = house.scheduler.path, house.folder / "ran"
    program = ("sh", "-c", f"echo $HALO_SLOT >> {ran}")
    house.scheduler.add_job("job", Cron("* * * * * *", timezone="UTC"), Command(argv=program))
    house.start()
    until(lambda: ran.exists() and len(ran.read_text().split()) >= 2)
    # What was written so far is in the main file, so that the second daemon has the job too.
    house.scheduler._store.database.reuse_journal()
    first = house._daemon
    assert first is not None
    _delete_journal(path)
    house.scheduler.close()
    house.scheduler = Scheduler.open()
    assert first.wait(LONG_S) == 1
    assert "the journal of" in house.log()
    house.start()
    before = len(ran.read_text().split())
    until(lambda: len(ran.read_text().split()) >= before + 2)
    slots = ran.read_text().split()
    assert len(slots) == len(set(slots))
    assert house.stop() == 0


def test_two_daemons_never_run_side_by_side_after_the_journal_was_deleted(house: House) -> None:
    house.start()
    first = house._daemon
    assert first is not None
    _delete_journal(house.scheduler.path)
    house.scheduler.close()
    house.scheduler = Scheduler.open()
    house.start()
    assert poke(house.scheduler.path)
    try:
        assert first.wait(LONG_S) == 1
    finally:
        first.kill()
    assert house.stop() == 0


@pytest.mark.parametrize("how", ["emptied", "a backup"])
def test_a_daemon_stops_when_its_database_is_overwritten(house: House, how: str) -> None:
    house.start()
    backup = house.scheduler.backups.make().path.read_bytes()
    # As long as the journal holds every page, nothing is lost with the main file.
    until(lambda: house.scheduler._store.database.rows("PRAGMA wal_checkpoint(TRUNCATE)") == [(0, 0, 0)])
    house.scheduler.add_job("job", Cron("* * * * * *", timezone="UTC"))
    path = house.scheduler.path
    subprocess.run(["dd", f"of={path}", "status=none"], input=b"" if how == "emptied" else backup, check=True)
    assert _exit_code(house) == 1
    assert "overwritten" in house.log() or "damaged" in house.log()
    path.unlink()
    _delete_journal(path)
    house.scheduler.close()
    house.scheduler = Scheduler.open()
