"""How often an output is looked at, and when it is too much for the disk."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from halo_scheduler.actions import growth as growth_module
from halo_scheduler.actions.growth import Growth
from halo_scheduler.actions.spool import Spool
from halo_scheduler.host.disk_space import DiskSpace

_MB = 1 << 20
_TOTAL = 400 * _MB  # of which 20 are kept free


class _Scene:
    """An output that grows on a disk with a little room."""

    def __init__(self, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.free = _TOTAL
        self._monkeypatch = monkeypatch
        monkeypatch.setattr(growth_module, "disk_space", lambda _folder: DiskSpace(_TOTAL, self.free))
        self._spool = Spool(folder, "run")
        os.close(self._spool.create())
        self.growth = Growth(self._spool)
        self.now_ms = 0

    def look(self, grown: int, after_ms: int = 100) -> int:
        """Let it grow, look, and return how long until the next look."""
        os.truncate(self._spool.output_path, self._spool.size() + grown)
        self.now_ms += after_ms
        self.growth.look(self.now_ms)
        return self.growth.next_look_at() - self.now_ms


@pytest.fixture
def scene(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> _Scene:
    return _Scene(tmp_path, monkeypatch)


def test_what_was_printed_before_the_first_look_is_growth(scene: _Scene) -> None:
    scene.look(10)
    scene.growth.begin(0)
    scene.look(0)
    assert scene.growth.grown == 10


def test_what_an_earlier_engine_has_read_is_no_growth(scene: _Scene) -> None:
    scene.look(10)
    scene.growth.begin(0, known_bytes=10)
    scene.look(0)
    assert scene.growth.grown == 0


@pytest.mark.parametrize(("room", "first_ms"), [(380 * _MB, 190), (100 * _MB, 50), (_MB, 20), (-_MB, 20)])
def test_the_first_look_comes_before_the_fastest_can_have_filled_the_disk(
    scene: _Scene, room: int, first_ms: int
) -> None:
    scene.free = room + 20 * _MB
    assert scene.growth.begin(1_000) == 1_000 + first_ms


def test_a_disk_that_says_nothing_is_no_reason_to_hurry(
    scene: _Scene, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(growth_module, "disk_space", lambda _folder: None)
    assert scene.growth.begin(0) == 250
    assert scene.look(100 * _MB) == 500


def test_what_hardly_grows_is_left_alone_however_full_the_disk(scene: _Scene) -> None:
    scene.free = 0
    scene.growth.begin(0)
    assert scene.look(1_000) == 1_000


@pytest.mark.parametrize(
    ("grown", "room", "pause_ms"),
    [
        (10 * _MB, 300 * _MB, 500),  # 3 s would fill it
        (10 * _MB, 50 * _MB, 250),  # half a second
        (100 * _MB, 50 * _MB, 25),
        (100 * _MB, 0, 20),
    ],
)
def test_the_next_look_comes_before_it_can_have_filled_the_disk_at_its_pace(
    scene: _Scene, grown: int, room: int, pause_ms: int
) -> None:
    scene.growth.begin(0)
    scene.free = room + 20 * _MB
    assert scene.look(grown) == pause_ms


def test_one_that_fills_the_disk_again_and_again_is_too_much(scene: _Scene) -> None:
    scene.growth.begin(0)
    scene.free = 0
    for _ in range(9):
        scene.look(_MB)
    assert not scene.growth.fills_disk
    scene.look(_MB)
    assert scene.growth.fills_disk


def test_one_that_pauses_or_leaves_room_once_is_not(scene: _Scene) -> None:
    scene.growth.begin(0)
    scene.free = 0
    for grown in (*[_MB] * 9, 0, *[_MB] * 9):
        scene.look(grown)
        assert not scene.growth.fills_disk
    scene.free = 5 * _MB
    scene.look(_MB)
    assert not scene.growth.fills_disk


def test_one_that_prints_little_is_not_blamed_for_a_disk_that_others_filled(scene: _Scene) -> None:
    scene.growth.begin(0)
    scene.free = 0
    for _ in range(100):
        scene.look(10_000)
    assert not scene.growth.fills_disk


def test_a_disk_that_was_full_once_is_noted_also_when_there_is_room_again(scene: _Scene) -> None:
    scene.growth.begin(0)
    assert scene.growth.note() == ""
    scene.free = 0
    assert scene.growth.note() == "the disk was full while it ran"
    scene.look(_MB)
    scene.free = _TOTAL
    assert scene.growth.note() == "the disk was full while it ran"
