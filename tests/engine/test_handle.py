"""What the engine reports while the disk of its database is full."""

from __future__ import annotations

from pathlib import Path

import pytest
from machine import Bench

from halo_scheduler.engine import handle
from halo_scheduler.engine.handle import StartWaits
from halo_scheduler.host.disk_space import DiskSpace
from halo_scheduler.model.alarms import StoreTrouble, TroubleKind
from halo_scheduler.model.words import Shortage

_DISK = 50 << 20
_ROOM, _FULL = DiskSpace(_DISK, _DISK // 2), DiskSpace(_DISK, 8_192)


@pytest.fixture
def waits(tmp_path: Path) -> StartWaits:
    bench = Bench(tmp_path / "run.db")
    return StartWaits(bench.scheduler._store)


def _kinds(trouble: StoreTrouble | None) -> tuple[TroubleKind, int] | None:
    return None if trouble is None else (trouble.kind, trouble.since)


def test_a_disk_without_room_is_reported_before_a_start_fails(
    waits: StartWaits, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(handle, "disk_space", lambda _path: _ROOM)
    assert waits.trouble(1) is None
    monkeypatch.setattr(handle, "disk_space", lambda _path: _FULL)
    assert _kinds(waits.trouble(2)) == (TroubleKind.ALMOST_FULL, 2)
    assert _kinds(waits.trouble(3)) == (TroubleKind.ALMOST_FULL, 2)
    waits.note("run", Shortage.DISK)
    assert waits.has_news
    waits.note_recorded()
    assert _kinds(waits.trouble(4)) == (TroubleKind.FULL, 4)
    assert not waits.has_news
    waits.end("run")
    assert _kinds(waits.trouble(5)) == (TroubleKind.FULL, 4)
    monkeypatch.setattr(handle, "disk_space", lambda _path: _ROOM)
    assert waits.trouble(6) is None


def test_nothing_is_reported_of_a_disk_whose_space_is_unknown(
    waits: StartWaits, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(handle, "disk_space", lambda _path: None)
    assert waits.trouble(1) is None
    waits.note("run", Shortage.DISK)
    assert _kinds(waits.trouble(2)) == (TroubleKind.FULL, 2)
