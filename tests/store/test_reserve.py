"""The reserve beside the database: held while there is room, given up when there is none."""

from __future__ import annotations

import os
import shutil
import stat
from pathlib import Path

import pytest
from small_disk import small_disk

from halo_scheduler.store.reserve import hold_reserve, release_reserve, reserve_path

_MB = 1 << 20


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


def test_one_that_is_held_is_left_alone(tmp_path: Path) -> None:
    database = tmp_path / "halo.db"
    hold_reserve(database)
    before = reserve_path(database).stat()
    hold_reserve(database)
    assert reserve_path(database).stat().st_mtime_ns == before.st_mtime_ns


def test_a_reserve_is_released_once_and_held_again(tmp_path: Path) -> None:
    database = tmp_path / "halo.db"
    assert not release_reserve(database)
    hold_reserve(database)
    assert release_reserve(database)
    assert _held(database) == 0
    assert not release_reserve(database)
    hold_reserve(database)
    assert _held(database) == 4 * _MB


@pytest.mark.parametrize("kind", ["tmpfs", "ext4"])
def test_on_a_small_disk_it_is_small_and_gives_back_what_it_took(tmp_path: Path, kind: str) -> None:
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
