"""Hints about folders: which changes are reported, what a storm of them does, and which drives are silent."""

from __future__ import annotations

import errno
import logging
import os
import shutil
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from process_probe import until

from halo_scheduler.host import folder_events as module
from halo_scheduler.host.folder_events import FolderEvents, Hint, reports_changes


class _Desk:
    """Follows folders, and waits for hints."""

    def __init__(self) -> None:
        self.woken = threading.Event()
        self.events = FolderEvents(self.woken.set)

    def wait(self) -> dict[str, Hint]:
        """Wait for a hint, and return all of them."""
        assert self.woken.wait(60)
        self.woken.clear()
        return self.events.take()

    def collect(self, is_enough: Callable[[Hint], bool]) -> Hint:
        """Wait until the hints about one folder are enough together."""
        total = Hint()

        def take() -> bool:
            for hint in self.events.take().values():
                total.deleted |= hint.deleted
                total.count += hint.count
            return is_enough(total)

        until(take)
        return total


@pytest.fixture
def desk() -> Iterator[_Desk]:
    desk = _Desk()
    yield desk
    desk.events.close()
    until(lambda: not _threads())


def _threads() -> list[threading.Thread]:
    return [item for item in threading.enumerate() if type(item).__module__.startswith("watchdog")]


def test_a_new_file_is_reported(desk: _Desk, tmp_path: Path) -> None:
    assert desk.events.follow({str(tmp_path): False}) == {str(tmp_path)}
    (tmp_path / "a").touch()
    assert set(desk.wait()) == {str(tmp_path)}


def test_a_renamed_file_is_reported(desk: _Desk, tmp_path: Path) -> None:
    (tmp_path / "a").touch()
    (tmp_path / "in").mkdir()
    desk.events.follow({str(tmp_path / "in"): False})
    (tmp_path / "a").rename(tmp_path / "in" / "a")
    assert desk.wait()


def test_names_of_deleted_files_are_reported(desk: _Desk, tmp_path: Path) -> None:
    for name in "abc":
        (tmp_path / name).touch()
    desk.events.follow({str(tmp_path): False})
    (tmp_path / "a").unlink()
    (tmp_path / "b").rename(tmp_path / "d")
    assert desk.collect(lambda hint: len(hint.deleted) == 2).deleted == {"a", "b"}


def test_changes_are_reported_only_where_they_count(desk: _Desk, tmp_path: Path) -> None:
    quiet, loud = tmp_path / "quiet", tmp_path / "loud"
    for folder in (quiet, loud):
        folder.mkdir()
        (folder / "a").touch()
    desk.events.follow({str(quiet): False, str(loud): True})
    for folder in (quiet, loud):
        (folder / "a").write_text("x")
    assert set(desk.wait()) == {str(loud)}
    assert desk.events.follow({str(quiet): True, str(loud): True}) == {str(quiet)}
    (quiet / "a").write_text("y")
    assert desk.wait()


def test_reading_a_folder_is_no_change(desk: _Desk, tmp_path: Path) -> None:
    desk.events.follow({str(tmp_path): True})
    list(tmp_path.iterdir())
    (tmp_path / "a").touch()
    assert desk.collect(lambda hint: hint.count >= 1).count <= 2


def test_a_folder_made_again_is_followed_again(desk: _Desk, tmp_path: Path) -> None:
    folder = tmp_path / "in"
    folder.mkdir()
    desk.events.follow({str(folder): False})
    shutil.rmtree(folder)
    assert desk.wait()
    assert desk.events.follow({str(folder): False}) == set()
    assert not desk.events.is_followed(str(folder))
    folder.mkdir()
    assert desk.events.follow({str(folder): False}) == {str(folder)}
    (folder / "a").touch()
    assert desk.wait()


def test_a_folder_made_again_with_the_same_number_is_followed_again(
    desk: _Desk, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "_identity", lambda _folder: (1, 1))
    folder = f"{tmp_path}/in/"
    Path(folder).mkdir()
    desk.events.follow({folder: False})
    Path(folder).rmdir()
    Path(folder).mkdir()
    desk.collect(lambda _hint: not desk.events.is_followed(folder))
    assert desk.events.follow({folder: False}) == {folder}
    (Path(folder) / "a").touch()
    desk.collect(lambda hint: hint.count == 1)


def test_a_deleted_subfolder_is_not_the_folder(desk: _Desk, tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    desk.events.follow({str(tmp_path): False})
    (tmp_path / "in").rmdir()
    assert desk.wait()
    assert desk.events.is_followed(str(tmp_path))


def test_a_folder_in_the_place_of_a_renamed_one_is_followed(desk: _Desk, tmp_path: Path) -> None:
    folder = tmp_path / "in"
    folder.mkdir()
    desk.events.follow({str(folder): False})
    folder.rename(tmp_path / "old")
    folder.mkdir()
    assert desk.events.follow({str(folder): False}) == {str(folder)}


def test_a_link_to_a_folder_is_followed(desk: _Desk, tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to("real")
    desk.events.follow({str(tmp_path / "link"): False})
    (tmp_path / "real" / "a").touch()
    assert desk.wait()


def test_a_folder_in_a_storm_is_left_alone(desk: _Desk, tmp_path: Path) -> None:
    desk.events.follow({str(tmp_path): False})
    for number in range(2_000):
        (tmp_path / str(number)).touch()
    until(lambda: desk.events._hints and next(iter(desk.events._hints.values())).is_storm)
    assert [hint.is_storm for hint in desk.events.take().values()] == [True]
    assert not desk.events.is_followed(str(tmp_path))
    assert desk.events.follow({str(tmp_path): False}) == {str(tmp_path)}


def test_without_folders_there_is_no_thread(desk: _Desk, tmp_path: Path) -> None:
    assert not _threads()
    desk.events.follow({str(tmp_path): False})
    assert _threads()
    desk.events.follow({})
    until(lambda: not _threads())


def test_a_folder_that_may_not_be_read_is_not_followed(
    desk: _Desk, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os, "access", lambda _path, _mode: False)
    assert desk.events.follow({str(tmp_path): False}) == set()


def test_used_up_watches_are_reported_once_and_tried_again(
    desk: _Desk, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def observer() -> None:
        raise OSError(errno.EMFILE, "inotify instance limit reached")

    monkeypatch.setattr(module, "Observer", observer)
    with caplog.at_level(logging.WARNING):
        for _ in range(2):
            assert desk.events.follow({str(tmp_path): False}) == set()
    assert [record.message.partition(": ")[2] for record in caplog.records] == [
        "[Errno 24] inotify instance limit reached"
    ]
    monkeypatch.undo()
    assert desk.events.follow({str(tmp_path): False}) == {str(tmp_path)}


# --- Drives --------------------------------------------------------------------------------------------


@pytest.fixture
def mounts(tmp_path: Path) -> Path:
    path = tmp_path / "mountinfo"
    share = str(tmp_path / "the share").replace(" ", "\\040")
    path.write_text(
        "22 1 259:2 / / rw,relatime shared:1 - ext4 /dev/sda1 rw\n"
        f"23 22 0:50 / {share} rw shared:2 master:3 - nfs4 nas:/x rw\n"
        f"24 22 0:51 / {tmp_path}/phone rw - fuse.sshfs phone:/ rw\n"
        f"25 22 8:17 / {tmp_path}/stick rw - fuseblk /dev/sdb1 rw\n"
    )
    return path


@pytest.mark.parametrize(
    ("place", "is_reported"),
    [
        ("", True),
        ("in", True),
        ("the share", False),
        ("the share/deep/er", False),
        ("the share er", True),
        ("phone/x", False),
        ("stick/x", True),
        ("in/../phone/x", False),
    ],
)
def test_network_drives_are_silent(tmp_path: Path, mounts: Path, place: str, is_reported: bool) -> None:
    assert reports_changes(f"{tmp_path}/{place}", mounts) is is_reported


def test_a_link_onto_a_network_drive_is_silent(tmp_path: Path, mounts: Path) -> None:
    (tmp_path / "link").symlink_to("the share/deep")
    (tmp_path / "whole").symlink_to(tmp_path / "link")
    assert not reports_changes(str(tmp_path / "whole" / "x"), mounts)


def test_links_in_a_circle_end(tmp_path: Path, mounts: Path) -> None:
    (tmp_path / "a").symlink_to("a")
    assert reports_changes(str(tmp_path / "a"), mounts)


def test_without_a_list_of_mounts_every_drive_is_silent(tmp_path: Path) -> None:
    assert not reports_changes("/", tmp_path / "missing")


def test_a_share_of_windows_is_silent(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "platform", "win32")
    assert not reports_changes(r"\\nas\share")
    assert reports_changes(r"C:\in")
