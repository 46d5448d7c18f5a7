"""Moving files: nothing is ever overwritten, by whichever way the disk allows."""

from __future__ import annotations

import ctypes
import errno
import threading
from collections.abc import Callable
from itertools import islice
from pathlib import Path

import pytest

from halo_scheduler.work_sources import moving
from halo_scheduler.work_sources.moving import free_names, move, move_by_link, move_into, sync_folder

Move = Callable[[Path, Path], None]


def _without_links(old: Path, new: Path) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Path, "hardlink_to", _refuse)
        move_by_link(old, new)


def _refuse(*_: object) -> None:
    raise OSError(errno.EPERM, "Operation not permitted")


_WAYS = pytest.mark.parametrize("way", [move, move_by_link, _without_links])


@_WAYS
def test_a_file_gets_a_new_name(way: Move, tmp_path: Path) -> None:
    (tmp_path / "old").write_text("text")
    way(tmp_path / "old", tmp_path / "new")
    assert {path.name: path.read_text() for path in tmp_path.iterdir()} == {"new": "text"}


@_WAYS
def test_an_existing_file_is_not_overwritten(way: Move, tmp_path: Path) -> None:
    (tmp_path / "old").write_text("mine")
    (tmp_path / "new").write_text("theirs")
    with pytest.raises(FileExistsError):
        way(tmp_path / "old", tmp_path / "new")
    assert {path.name: path.read_text() for path in tmp_path.iterdir()} == {"old": "mine", "new": "theirs"}


@_WAYS
def test_a_broken_link_is_not_overwritten_either(way: Move, tmp_path: Path) -> None:
    (tmp_path / "old").write_text("mine")
    (tmp_path / "new").symlink_to("nowhere")
    with pytest.raises(FileExistsError):
        way(tmp_path / "old", tmp_path / "new")


@_WAYS
def test_a_file_that_is_gone_is_reported(way: Move, tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        way(tmp_path / "old", tmp_path / "new")


def _not_known_here(*_: object) -> int:
    ctypes.set_errno(errno.EINVAL)
    return -1


@pytest.mark.parametrize("rename", [None, _not_known_here], ids=["the system", "the disk"])
def test_a_file_that_cannot_move_in_one_step_moves_in_two(
    rename: Callable[..., int] | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(moving, "_renameat2", lambda: rename)
    (tmp_path / "old").write_text("text")
    move(tmp_path / "old", tmp_path / "new")
    assert [path.name for path in tmp_path.iterdir()] == ["new"]


def test_a_taken_name_gets_a_number_before_its_ending(tmp_path: Path) -> None:
    for name in ("a.md", "a (2).md"):
        (tmp_path / name).touch()
    assert list(islice(free_names(tmp_path, "a.md"), 2)) == ["a (3).md", "a (4).md"]


@pytest.mark.parametrize("name", ["é" * 126 + ".md", "a" * 255, "a." + "b" * 253, "\udcff" * 255])
def test_the_longest_name_gets_a_number_too(name: str, tmp_path: Path) -> None:
    (tmp_path / "old").write_text("mine")
    (tmp_path / name).write_text("theirs")
    move_into(tmp_path, tmp_path / "old", name)
    (other,) = (path for path in tmp_path.iterdir() if path.name != name)
    assert other.read_text() == "mine"
    assert "(2)" in other.name


def test_files_that_want_one_name_at_once_all_get_one(tmp_path: Path) -> None:
    for number in range(20):
        (tmp_path / f"old-{number}").write_text(str(number))
    (tmp_path / "done").mkdir()
    barrier = threading.Barrier(20)

    def settle(number: int) -> None:
        barrier.wait(30)
        move_into(tmp_path / "done", tmp_path / f"old-{number}", "a.md")

    threads = [threading.Thread(target=settle, args=(number,)) for number in range(20)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(30)
    found = sorted(int(path.read_text()) for path in (tmp_path / "done").iterdir())
    assert found == list(range(20))
    assert [path.name for path in tmp_path.iterdir()] == ["done"]


def test_a_folder_is_put_on_disk(tmp_path: Path) -> None:
    sync_folder(tmp_path)
    with pytest.raises(FileNotFoundError):
        sync_folder(tmp_path / "gone")
