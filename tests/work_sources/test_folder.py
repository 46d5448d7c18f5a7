"""Files in a folder as items: claimed once, moved and never overwritten, whatever their names and contents."""

from __future__ import annotations

import os
import socket
import stat
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from noted_claim import Note

from halo_scheduler.model.actions import FolderSource
from halo_scheduler.work_sources.folder import Folder, id_of
from halo_scheduler.work_sources.item import Claim, SourceError, Verdict


@pytest.fixture
def base(tmp_path: Path) -> Path:
    folder = tmp_path / "tasks"
    folder.mkdir()
    Folder(FolderSource(path=str(folder))).prepare()
    return folder


@pytest.fixture
def folder(base: Path) -> Folder:
    return Folder(FolderSource(path=str(base)))


def _put(base: Path, name: str, content: str | bytes = "text", where: str = "ready") -> Path:
    path = base / where / name
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return path


def _tree(base: Path) -> dict[str, str]:
    return {str(path.relative_to(base)): path.read_text() for path in base.rglob("*") if path.is_file()}


def _claim(name: str, place: str | None = None, key: str = "run-1") -> Claim:
    return Claim(item_id=id_of(name), key=key, place=name if place is None else place)


# --- What is ready -----------------------------------------------------------------------------------


def test_files_are_ready_in_the_order_of_their_names(base: Path, folder: Folder) -> None:
    for name in ("10 later.md", "9 first.md", "z.txt"):
        _put(base, name, f"# {name} title")
    assert [item.id for item in folder.ready()] == ["9 first.md", "10 later.md", "z.txt"]
    assert next(folder.ready()).title == "9 first.md title"


def test_only_whole_files_are_ready(base: Path, folder: Folder) -> None:
    _put(base, "good.md")
    for name in (".hidden", "a.part", "b.tmp", "c.md~"):
        _put(base, name)
    (base / "ready" / "directory").mkdir()
    (base / "ready" / "link.md").symlink_to(base / "ready" / "good.md")
    os.mkfifo(base / "ready" / "pipe")
    with socket.socket(socket.AF_UNIX) as listener:
        here = Path.cwd()
        os.chdir(base / "ready")  # The path of a socket must be short.
        listener.bind("socket")
        os.chdir(here)
    assert [item.id for item in folder.ready()] == ["good.md"]


@pytest.mark.parametrize("name", ["directory", "link.md", "pipe", ".hidden", "../outside.md", "..", ""])
def test_a_file_that_is_not_an_item_cannot_be_claimed_by_name(name: str, base: Path, folder: Folder) -> None:
    _put(base, "outside.md", where=".")
    _put(base, ".hidden")
    (base / "ready" / "directory").mkdir()
    (base / "ready" / "link.md").symlink_to(base / "outside.md")
    os.mkfifo(base / "ready" / "pipe")
    before = sorted(base.rglob("*"))
    assert folder.claim(name, note := Note()) is None
    assert folder.read(name) is None
    assert (sorted(base.rglob("*")), note.steps) == (before, [])


def test_a_preview_creates_nothing(tmp_path: Path) -> None:
    folder = Folder(FolderSource(path=str(tmp_path)))
    assert list(folder.ready()) == []
    assert folder.read("a.md") is None
    assert list(tmp_path.iterdir()) == []


def test_the_folders_are_made_before_the_first_claim(base: Path) -> None:
    assert {path.name for path in base.iterdir()} == {"ready", "in-progress", "done", "failed"}


def test_an_item_that_is_read_stays_where_it_is(base: Path, folder: Folder) -> None:
    path = _put(base, "a.md", "---\nlabels: bug\n---\n# Title\n\nBody\n")
    item = folder.read("a.md")
    assert item is not None
    assert (item.title, item.body, item.labels, item.url) == ("Title", "Body\n", ("bug",), path.as_uri())
    assert path.exists()


# --- Claiming ----------------------------------------------------------------------------------------


def test_a_claimed_file_is_in_progress(base: Path, folder: Folder) -> None:
    _put(base, "a.md", "# Title\nBody")
    item = folder.claim("a.md", note := Note())
    assert item is not None
    assert (item.id, item.title, item.body) == ("a.md", "Title", "Body")
    assert item.url == (base / "in-progress" / "a.md").as_uri()
    assert _tree(base) == {"in-progress/a.md": "# Title\nBody"}
    assert note.steps == ["begin", "take a.md"]


def test_a_file_claimed_by_another_worker_is_lost(base: Path, folder: Folder) -> None:
    _put(base, "a.md")
    assert folder.claim("a.md", Note("run-1")) is not None
    assert folder.claim("a.md", Note("run-2")) is None


def test_a_file_that_vanishes_in_the_last_moment_is_lost(base: Path, folder: Folder) -> None:
    path = _put(base, "a.md")

    class Slow(Note):
        def begin(self) -> None:
            path.unlink()

    assert folder.claim("a.md", Slow()) is None


def test_a_name_that_is_in_progress_already_is_left_alone(base: Path, folder: Folder) -> None:
    _put(base, "a.md", "theirs", where="in-progress")
    _put(base, "a.md", "ours")
    item = folder.claim("a.md", note := Note())
    assert item is not None
    assert item.body == "ours"
    assert note.steps == ["begin", "take a (2).md"]
    folder.settle(_claim("a.md", "a (2).md"), Verdict.DONE)
    assert _tree(base) == {"in-progress/a.md": "theirs", "done/a.md": "ours"}


def test_a_note_that_cannot_be_written_gives_the_file_back(base: Path, folder: Folder) -> None:
    _put(base, "a.md")
    note = Note()
    note.refuses = "take a.md"
    with pytest.raises(SourceError, match="the disk is full"):
        folder.claim("a.md", note)
    assert _tree(base) == {"ready/a.md": "text"}
    assert note.steps == ["begin", "drop"]


def test_without_its_first_note_nothing_is_moved(base: Path, folder: Folder) -> None:
    _put(base, "a.md")
    note = Note()
    note.refuses = "begin"
    with pytest.raises(SourceError, match="the disk is full"):
        folder.claim("a.md", note)
    assert _tree(base) == {"ready/a.md": "text"}


@pytest.mark.parametrize(
    "name",
    [
        "two\nlines",
        "\x1b[31mred",
        "-rf",
        "--help",
        "$(touch x); rm -rf *",
        "a" * 255,
        "é" * 127,
        "%2e%2e%2fa",
        "bad\udcff\udcfe.md",
        " ",
        "con.txt",
        "{{answer}}.md",
    ],
)
def test_a_hostile_name_is_harmless_from_save_to_window(name: str, base: Path, folder: Folder) -> None:
    _put(base, name, "")
    (ready,) = folder.ready()
    assert ready.id.isprintable()
    item = folder.claim(ready.id, note := Note())
    assert item is not None
    assert item.id == ready.id == item.title or name == " "
    item.url.encode()
    assert note.steps == ["begin", f"take {name}"]
    folder.settle(_claim(name), Verdict.FAILED)
    assert [os.fsencode(path.name) for path in (base / "failed").iterdir()] == [os.fsencode(name)]


def test_a_file_of_five_megabytes_is_cut_quickly(base: Path, folder: Folder) -> None:
    _put(base, "big.md", b"# Big\n" + b"\xff" * 5_000_000)
    began = time.process_time()
    item = folder.claim("big.md", Note())
    assert time.process_time() - began < 2
    assert item is not None
    assert item.title == "Big"
    assert item.note == "its text is cut after 1 MiB of 4.8 MiB"
    assert item.body.endswith(f"[… {item.note} …]\n")
    assert (base / "in-progress" / "big.md").stat().st_size == 5_000_006


def test_a_file_that_is_not_text_has_replacement_characters(base: Path, folder: Folder) -> None:
    _put(base, "a.bin", b"caf\xe9\0\x89PNG")
    item = folder.claim("a.bin", Note())
    assert item is not None
    assert item.body == "caf\ufffd\ufffd\ufffdPNG"


def test_a_file_that_became_another_kind_is_reported(base: Path, folder: Folder) -> None:
    path = _put(base, "a.md")

    class Sly(Note):
        def begin(self) -> None:
            path.unlink()
            path.symlink_to("/etc/passwd")

    with pytest.raises(SourceError, match=r"a\.md is no longer a file; it is now in failed/"):
        folder.claim("a.md", Sly())
    assert (base / "failed" / "a.md").is_symlink()


# --- Settling ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("verdict", "where"),
    [(Verdict.DONE, "done"), (Verdict.FAILED, "failed"), (Verdict.RELEASED, "ready")],
)
def test_a_verdict_moves_the_file(verdict: Verdict, where: str, base: Path, folder: Folder) -> None:
    _put(base, "a.md")
    folder.claim("a.md", Note())
    folder.settle(_claim("a.md"), verdict)
    assert _tree(base) == {f"{where}/a.md": "text"}


@pytest.mark.parametrize("verdict", list(Verdict))
def test_nothing_that_exists_is_overwritten(verdict: Verdict, base: Path, folder: Folder) -> None:
    _put(base, "a.md", "new")
    folder.claim("a.md", Note())
    where = {Verdict.RELEASED: "ready"}.get(verdict, str(verdict))
    _put(base, "a.md", "old", where=where)
    folder.settle(_claim("a.md"), verdict)
    assert _tree(base) == {f"{where}/a.md": "old", f"{where}/a (2).md": "new"}


def test_settling_again_changes_nothing(base: Path, folder: Folder) -> None:
    _put(base, "a.md")
    folder.claim("a.md", Note())
    for _ in range(2):
        folder.settle(_claim("a.md"), Verdict.DONE)
    assert _tree(base) == {"done/a.md": "text"}


def test_a_file_that_a_person_removed_is_left_alone(base: Path, folder: Folder) -> None:
    _put(base, "a.md")
    folder.claim("a.md", Note())
    (base / "in-progress" / "a.md").unlink()
    folder.settle(_claim("a.md"), Verdict.DONE)
    assert _tree(base) == {}


def test_a_claim_that_never_was_leaves_the_file_of_another_alone(base: Path, folder: Folder) -> None:
    _put(base, "a.md")
    folder.claim("a.md", Note("theirs"))
    folder.settle(_claim("a.md", "", key="ours"), Verdict.RELEASED)
    assert _tree(base) == {"in-progress/a.md": "text"}


@pytest.mark.parametrize("verdict", list(Verdict))
def test_a_file_that_was_never_shown_becomes_ready(verdict: Verdict, base: Path, folder: Folder) -> None:
    (base / "in-progress" / ".halo-run-1").write_text("text")
    folder.settle(_claim("a.md", ""), verdict)
    assert _tree(base) == {"ready/a.md": "text"}


def test_a_link_to_another_folder_is_not_followed(base: Path, folder: Folder) -> None:
    _put(base, "a.md", where="ready")
    folder.settle(_claim("a.md", "../ready/a.md"), Verdict.DONE)
    assert _tree(base) == {"ready/a.md": "text"}


def test_folders_that_were_removed_meanwhile_are_made_again(base: Path, folder: Folder) -> None:
    _put(base, "a.md")
    folder.claim("a.md", Note())
    (base / "done").rmdir()
    folder.settle(_claim("a.md"), Verdict.DONE)
    assert _tree(base) == {"done/a.md": "text"}


# --- Folders that cannot be used ---------------------------------------------------------------------


@pytest.mark.parametrize("do", ["prepare", "ready", "claim", "settle"])
def test_a_folder_that_does_not_exist_is_not_made(do: str, tmp_path: Path) -> None:
    folder = Folder(FolderSource(path=str(tmp_path / "gone")))
    deeds: dict[str, Callable[[], object]] = {
        "prepare": folder.prepare,
        "ready": lambda: list(folder.ready()),
        "claim": lambda: folder.claim("a.md", Note()),
        "settle": lambda: folder.settle(_claim("a.md"), Verdict.DONE),
    }
    with pytest.raises(SourceError, match=r"the folder .*gone does not exist"):
        deeds[do]()
    assert list(tmp_path.iterdir()) == []


def test_a_file_is_not_a_folder(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(SourceError, match="file is not a folder"):
        list(Folder(FolderSource(path=str(tmp_path / "file"))).ready())


def test_a_path_of_another_system_is_not_a_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "C:\\tasks").mkdir()
    with pytest.raises(SourceError, match="is not a folder"):
        list(Folder(FolderSource(path="C:\\tasks")).ready())


def test_the_home_is_filled_in(base: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(base.parent))
    _put(base, "a.md")
    assert [item.id for item in Folder(FolderSource(path="~/tasks")).ready()] == ["a.md"]


def test_an_unknown_home_is_reported() -> None:
    with pytest.raises(SourceError, match="in a home folder that is not known"):
        Folder(FolderSource(path="~nobody-has-this-name/tasks")).prepare()


@pytest.mark.skipif(not Path("/sys/kernel").is_dir(), reason="needs a file system that takes no files")
def test_a_folder_that_takes_nothing_is_reported() -> None:
    with pytest.raises(SourceError, match=r"the folder ready/ cannot be created in /sys/kernel: \w+"):
        Folder(FolderSource(path="/sys/kernel")).prepare()


def test_a_file_instead_of_a_folder_is_reported(tmp_path: Path) -> None:
    (tmp_path / "ready").touch()
    folder = Folder(FolderSource(path=str(tmp_path)))
    with pytest.raises(SourceError, match="cannot be listed: Not a directory"):
        list(folder.ready())
    with pytest.raises(SourceError, match="ready/ cannot be created"):
        folder.prepare()


def test_folders_on_two_disks_are_reported(base: Path, tmp_path_factory: pytest.TempPathFactory) -> None:
    elsewhere = Path("/dev/shm")  # noqa: S108 - a disk that is surely another one
    if not elsewhere.is_dir() or elsewhere.stat().st_dev == base.stat().st_dev:
        pytest.skip("there is only one disk")
    other = elsewhere / f"halo-{os.getpid()}-{tmp_path_factory.getbasetemp().name}"
    other.mkdir()
    try:
        (base / "in-progress").rmdir()
        (base / "in-progress").symlink_to(other)
        _put(base, "a.md")
        with pytest.raises(SourceError, match="must be on one disk"):
            Folder(FolderSource(path=str(base))).claim("a.md", Note())
        assert (base / "ready" / "a.md").exists()
    finally:
        other.rmdir()


def test_a_file_that_cannot_be_read_is_shown_and_reported_when_it_is_claimed(
    base: Path, folder: Folder, monkeypatch: pytest.MonkeyPatch
) -> None:
    _put(base, "a.md")
    really_open = os.open

    def refuse(path: Path, flags: int) -> int:
        if Path(path).name == "a.md":
            raise PermissionError(13, "Permission denied")
        return really_open(path, flags)

    monkeypatch.setattr(os, "open", refuse)  # Root may read everything.
    assert [item.title for item in folder.ready()] == ["a.md"]
    with pytest.raises(SourceError, match=r"a\.md cannot be read: Permission denied; it is now in failed/"):
        folder.claim("a.md", note := Note())
    # It is out of the way of the others.
    assert note.steps == ["begin", "take a.md", "drop"]
    assert _tree(base) == {"failed/a.md": "text"}


def test_a_folder_that_went_missing_is_reported(base: Path, folder: Folder) -> None:
    _put(base, "a.md")
    (base / "in-progress").rmdir()
    with pytest.raises(
        SourceError, match=r"a\.md cannot be moved to in-progress/: No such file or directory"
    ):
        folder.claim("a.md", Note())
    assert _tree(base) == {"ready/a.md": "text"}


def test_a_path_that_no_disk_takes_is_reported() -> None:
    with pytest.raises(SourceError, match="cannot be used: File name too long"):
        Folder(FolderSource(path=f"/{'a' * 300}")).prepare()


def test_created_folders_have_normal_permissions(base: Path) -> None:
    assert all(not stat.S_IMODE(path.stat().st_mode) & 0o002 for path in base.iterdir())
