"""Backups, from a damaged file to a running engine."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from machine import START, Bench

from halo_scheduler import Every, Outcome
from halo_scheduler.errors import EngineHeldError, StoreUnavailableError
from halo_scheduler.service.scheduler import Scheduler
from halo_scheduler.service.settings import find_backups, make_backup, restore_backup

_HOUR = 3_600_000


@pytest.fixture
def bench(tmp_path: Path) -> Iterator[Bench]:
    found = Bench(tmp_path / "halo.db")
    yield found
    found.close()


def test_without_a_database_there_is_nothing_to_back_up(tmp_path: Path) -> None:
    with pytest.raises(StoreUnavailableError, match="there is no database"):
        make_backup(tmp_path / "none.db", START)
    assert list(tmp_path.iterdir()) == []


def test_a_backup_is_not_restored_under_a_running_engine(bench: Bench) -> None:
    bench.tick()
    make_backup(bench.path, START)
    with pytest.raises(EngineHeldError, match="stop it first"):
        restore_backup(bench.path, None, START)


def test_a_backup_is_made_listed_and_restored(bench: Bench) -> None:
    bench.scheduler.add_job("job", Every("1h"))
    made = make_backup(bench.path, START)
    assert find_backups(bench.path) == [made]
    bench.scheduler.close()
    bench.path.write_bytes(b"junk" * 500)
    backup, aside = restore_backup(bench.path, None, START)
    assert backup == made.path
    assert aside is not None
    assert aside.exists()
    bench.scheduler = Scheduler.open(bench.path, clock=bench.clock)
    bench.scheduler.on_job_due(lambda *_: None)
    bench.clock.advance(_HOUR)
    bench.scheduler.tick()
    assert [run.outcome for run in bench.scheduler.get_run_log()] == [Outcome.SUCCESS]


def test_two_databases_in_one_folder_have_their_own_backups(tmp_path: Path) -> None:
    for name in ("one.db", "two.db"):
        Scheduler.open(tmp_path / name).close()
    one, two = (make_backup(tmp_path / name, START) for name in ("one.db", "two.db"))
    assert find_backups(tmp_path / "one.db") == [one]
    assert find_backups(tmp_path / "two.db") == [two]
