"""How much of a disk may be used, on large ones, small ones, and those that others have filled."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from halo_scheduler.host.disk_space import DiskSpace, disk_space

_MB = 1 << 20


@pytest.mark.parametrize(
    ("total", "free", "kept_free", "room"),
    [
        (1 << 40, 1 << 39, 64 * _MB, (1 << 39) - 64 * _MB),
        (100 * _MB, 50 * _MB, 5 * _MB, 45 * _MB),
        (100 * _MB, 2 * _MB, 5 * _MB, -3 * _MB),
        (1 << 40, 0, 64 * _MB, -64 * _MB),
    ],
    ids=["large", "small", "small and nearly full", "filled by others"],
)
def test_a_part_of_the_disk_is_kept_free(total: int, free: int, kept_free: int, room: int) -> None:
    space = DiskSpace(total, free)
    assert (space.kept_free, space.room) == (kept_free, room)


@pytest.mark.parametrize(
    ("total", "free", "is_full"),
    [
        (1 << 40, 2 * _MB, False),
        (1 << 40, _MB - 1, True),
        (8 * _MB, 200 << 10, False),
        (8 * _MB, 90 << 10, True),
        (8 * _MB, 0, True),
    ],
)
def test_a_disk_counts_as_full_a_little_before_it_is(total: int, free: int, is_full: bool) -> None:
    assert DiskSpace(total, free).is_full == is_full


def test_a_real_disk_is_asked(tmp_path: Path) -> None:
    space = disk_space(str(tmp_path))
    assert space is not None
    assert space.total == shutil.disk_usage(tmp_path).total


def test_nothing_is_known_of_a_disk_that_does_not_say(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert disk_space(str(tmp_path / "gone")) is None
    # As a tmpfs without a limit.
    monkeypatch.setattr(shutil, "disk_usage", lambda _path: (0, 0, 0))
    assert disk_space(str(tmp_path)) is None
