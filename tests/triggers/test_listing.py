"""Reading folders, and keeping what was seen as a short text."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from halo_scheduler.model import FileEvent, OnFile
from halo_scheduler.model.jobs import MOST_INPUT_BYTES
from halo_scheduler.triggers import listing
from halo_scheduler.triggers.listing import FolderError, Sight, input_of, list_files, marks_of, pack, unpack


def _names(folder: Path, match: str = "*", on: FileEvent = FileEvent.APPEARS) -> set[str]:
    return set(list_files(OnFile(str(folder), match, on), {}).files)


def test_only_regular_files_that_match_are_listed(tmp_path: Path) -> None:
    for name in ("a.pdf", "b.txt", ".hidden.pdf", "half.pdf.part", "c~.pdf"):
        (tmp_path / name).touch()
    (tmp_path / "folder.pdf").mkdir()
    os.mkfifo(tmp_path / "pipe.pdf")
    assert _names(tmp_path, "*.pdf") == {"a.pdf", ".hidden.pdf", "c~.pdf"}
    assert "half.pdf.part" in _names(tmp_path)


def test_links_are_not_followed(tmp_path: Path) -> None:
    (tmp_path / "secret").touch()
    inbox = tmp_path / "inbox"
    inbox.mkdir()
    (inbox / "link").symlink_to(tmp_path / "secret")
    assert _names(inbox) == set()


def test_a_link_as_the_folder_itself_is_followed(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "real" / "a").touch()
    (tmp_path / "link").symlink_to("real")
    assert _names(tmp_path / "link") == {"a"}


def test_names_with_control_characters_are_left_out(tmp_path: Path) -> None:
    lines = ("e\x85", "f\u2028", "g\u2029")
    for name in ("a\n.pdf", "b\r", "c\x1b[31m", "d\x7f", *lines, "ä ö", os.fsdecode(b"\xff")):
        (tmp_path / name).touch()
    assert _names(tmp_path) == {"ä ö", os.fsdecode(b"\xff")}


def test_a_path_below_the_home_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    (tmp_path / "Inbox").mkdir()
    (tmp_path / "Inbox" / "a").touch()
    assert set(list_files(OnFile("~/Inbox"), {}).files) == {"a"}


def test_a_single_file_is_listed_without_a_name(tmp_path: Path) -> None:
    path = tmp_path / "notes.txt"
    path.write_text("x")
    assert _names(path) == {""}
    os.mkfifo(tmp_path / "pipe")
    assert _names(tmp_path / "pipe") == set()


def test_size_and_mtime_make_the_mark(tmp_path: Path) -> None:
    path = tmp_path / "a"
    event = OnFile(str(tmp_path))

    def mark() -> int:
        sight = list_files(event, {}).files["a"]
        assert sight is not None
        return sight.mark

    path.write_text("x")
    os.utime(path, ns=(0, 1_000))
    marks = {mark()}
    os.utime(path, ns=(0, 2_000))
    marks.add(mark())
    path.write_text("xy")
    os.utime(path, ns=(0, 2_000))
    marks.add(mark())
    path.chmod(0o600)
    assert len(marks) == 3
    assert mark() in marks


def test_a_copy_that_keeps_its_times_has_changed_now(tmp_path: Path) -> None:
    path = tmp_path / "a"
    path.touch()
    os.utime(path, (0, 0))
    sight = list_files(OnFile(str(tmp_path)), {}).files["a"]
    assert sight is not None
    assert sight.changed_at == path.stat().st_ctime_ns // 1_000_000


def test_files_known_by_name_are_examined_only_for_changes(tmp_path: Path) -> None:
    (tmp_path / "a").touch()
    assert list_files(OnFile(str(tmp_path)), {"a": 0}).files == {"a": None}
    changes = OnFile(str(tmp_path), on=FileEvent.CHANGES)
    assert isinstance(list_files(changes, {"a": 0}).files["a"], Sight)


def test_a_file_that_vanishes_meanwhile_is_left_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "a").touch()

    def sight(_seen: os.stat_result) -> Sight:
        raise FileNotFoundError

    monkeypatch.setattr(listing, "_sight", sight)
    assert _names(tmp_path) == set()


@pytest.mark.parametrize("path", ["missing", "missing/below", "file/below"])
def test_a_missing_folder_is_not_an_empty_one(tmp_path: Path, path: str) -> None:
    (tmp_path / "file").touch()
    assert not list_files(OnFile(str(tmp_path / path)), {}).is_there


def test_an_unreadable_folder_is_an_error_that_says_why(tmp_path: Path) -> None:
    (tmp_path / "a").symlink_to("a")
    with pytest.raises(FolderError, match=r"a cannot be read: too many levels of symbolic links$"):
        _names(tmp_path / "a")


def test_too_many_files_are_an_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(listing, "MOST_FILES", 2)
    for name in "abc":
        (tmp_path / name).touch()
    with pytest.raises(FolderError, match="holds more than 2 files that match"):
        _names(tmp_path)


# --- What was seen last --------------------------------------------------------------------------------


@pytest.mark.parametrize("on", FileEvent)
@pytest.mark.parametrize("names", [[], [""], ["a"], ["a", "ä ö", os.fsdecode(b"\xff"), "b" * 255]])
def test_the_watch_state_is_read_back(on: FileEvent, names: list[str]) -> None:
    event = OnFile("/in", on=on)
    reads_all = on is FileEvent.CHANGES
    known = {name: (2**64 - 1 - index) * reads_all for index, name in enumerate(names)}
    assert unpack(event, pack(event, known, 42)) == (known, 42)


@pytest.mark.parametrize(
    "other", [OnFile("/out"), OnFile("/in", "*.pdf"), OnFile("/in", on=FileEvent.VANISHES)]
)
def test_the_watch_state_of_another_event_is_ignored(other: OnFile) -> None:
    assert unpack(other, pack(OnFile("/in"), {"a": 0}, 1)) is None


def test_another_settle_time_keeps_the_watch_state() -> None:
    assert unpack(OnFile("/in", settle="9s"), pack(OnFile("/in"), {"a": 0}, 1)) == ({"a": 0}, 1)


@pytest.mark.parametrize(
    "damage",
    [
        lambda state: state[:0],
        lambda state: state[:-9],
        lambda state: f"{state} x",
        lambda state: state + "ä",
    ],
)
def test_a_damaged_state_is_unknown(damage: object) -> None:
    state = pack(OnFile("/in"), {"a": 0}, 1)
    assert callable(damage)
    assert unpack(OnFile("/in"), damage(state)) is None


def test_a_hundred_thousand_names_take_less_than_a_megabyte() -> None:
    event = OnFile("/in")
    known = {f"IMG_2026{number % 1_231:04}_{number:06}.jpg": 0 for number in range(100_000)}
    assert len(pack(event, known, 1)) < 1_000_000


def test_known_files_have_marks_only_where_changes_count(tmp_path: Path) -> None:
    (tmp_path / "a").touch()
    for on in FileEvent:
        event = OnFile(str(tmp_path), on=on)
        assert bool(marks_of(event, list_files(event, {}))["a"]) == (on is FileEvent.CHANGES)


# --- Input ---------------------------------------------------------------------------------------------


def test_the_input_has_one_path_per_line() -> None:
    assert input_of("/in", ["a", os.fsdecode(b"\xff")]) == b"/in/a\n/in/\xff\n"
    assert input_of("/in/notes", [""]) == b"/in/notes\n"


def test_paths_that_have_no_room_are_counted() -> None:
    names = [f"{number:06}" + "x" * 200 for number in range(10_000)]
    given = input_of("/in", names)
    lines = given.decode().splitlines()
    assert len(given) <= MOST_INPUT_BYTES
    assert lines[-1] == f"# {10_000 - len(lines) + 1} more files"
    assert lines[-2] == f"/in/{names[len(lines) - 2]}"
