"""Making room: what is given up first on a full disk, so that ends can be recorded."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest
from small_disk import SmallDisk, small_disk

from halo_scheduler import Outcome
from halo_scheduler.actions.run_services import Ended
from halo_scheduler.actions.spool import Output, Spool, spool_folder
from halo_scheduler.engine.active_runs import ActiveRuns
from halo_scheduler.engine.full_disk import DiskReclaimer, reclaim_beside
from halo_scheduler.errors import StoreFullError
from halo_scheduler.store.connection import Database
from halo_scheduler.store.reserve import hold_reserve, reserve_path
from halo_scheduler.store.store import Store

_MB = 1 << 20


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
        self.disk = DiskReclaimer(self.database, ActiveRuns(), lambda: ends, lambda: 0)
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


def test_output_is_shortened_first_then_the_reserve_goes_then_what_is_in_memory(scene: _Scene) -> None:
    assert scene.disk.retry_when_full(scene.write(fail=3)) == "written"
    assert scene.seen == [(True, _MB), (True, _MB), (False, _MB), (False, 0)]
    assert scene.withheld.size() == _MB


def test_what_does_not_help_is_told(scene: _Scene) -> None:
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
