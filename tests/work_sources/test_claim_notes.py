"""Notes of claims: private, whole at every moment, and no obstacle when they are broken."""

from __future__ import annotations

import json
import stat
import threading
from pathlib import Path

import pytest
from machine import START
from task_desk import folder_source, make_tasks, put

from halo_scheduler.model.actions import FolderSource
from halo_scheduler.work_sources.item import Verdict
from halo_scheduler.work_sources.work_desk import ClaimNotes, WorkDesk


@pytest.fixture
def desk(tmp_path: Path) -> WorkDesk:
    return WorkDesk(tmp_path / "spool", lambda _: dict, lambda: START)


@pytest.fixture
def base(tmp_path: Path) -> Path:
    return make_tasks(tmp_path)


@pytest.fixture
def source(base: Path) -> FolderSource:
    return folder_source(base)


def test_a_note_is_private_and_complete(
    desk: WorkDesk, base: Path, source: FolderSource, tmp_path: Path
) -> None:
    put(base, "1.md")
    desk.open(source).claim("a")
    note = tmp_path / "spool" / "a.item"
    assert [path.name for path in note.parent.iterdir()] == ["a.item"]
    assert stat.S_IMODE(note.stat().st_mode) == 0o600
    assert stat.S_IMODE(note.parent.stat().st_mode) == 0o700
    assert json.loads(note.read_text()) == {"source": source.to_dict(), "item": "1.md", "place": "1.md"}


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"{",
        b"[]",
        b"null",
        b"{}",
        b"\xff\xfe",
        b"[" * 100_000,
        b'{"source": {"kind": "mail"}, "item": "1", "place": ""}',
        b'{"source": {"kind": "folder", "path": "relative"}, "item": "1", "place": ""}',
        b'{"source": {"kind": "folder", "path": "/x"}, "item": 5, "place": ""}',
        b'{"source": {"kind": "folder", "path": "/x"}, "item": "1"}',
        b'{"source": 5, "item": "1", "place": ""}',
    ],
)
def test_a_note_that_cannot_be_read_is_logged_and_removed(
    content: bytes, desk: WorkDesk, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / "spool").mkdir()
    (tmp_path / "spool" / "a.item").write_bytes(content)
    assert desk.claimed() == {"a"}
    assert desk.settlement("a", Verdict.RELEASED) is None
    assert "The claim record of run a cannot be read and is removed" in caplog.text
    assert desk.claimed() == set()


def test_a_note_that_was_never_finished_is_removed_in_silence(
    desk: WorkDesk, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / "spool").mkdir()
    (tmp_path / "spool" / "a.item-part").write_bytes(b'{"sou')
    assert desk.claimed() == {"a"}
    assert desk.settlement("a", Verdict.RELEASED) is None
    assert (desk.claimed(), caplog.text) == (set(), "")


def test_a_folder_instead_of_a_note_does_no_harm(
    desk: WorkDesk, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / "spool" / "a.item").mkdir(parents=True)
    assert desk.settlement("a", Verdict.RELEASED) is None
    assert "cannot be read" in caplog.text


def test_other_files_are_not_notes(desk: WorkDesk, tmp_path: Path) -> None:
    (tmp_path / "spool").mkdir()
    for name in ("a.out", "a.code", "a.ticket", "a.prompt", "a.work"):
        (tmp_path / "spool" / name).touch()
    assert desk.claimed() == set()


def test_a_note_that_the_disk_does_not_give_now_is_kept(
    desk: WorkDesk, base: Path, source: FolderSource, monkeypatch: pytest.MonkeyPatch
) -> None:
    put(base, "1.md")
    desk.open(source).claim("a")

    def fail(_path: Path, **_: str) -> str:
        raise OSError(24, "Too many open files")

    with monkeypatch.context() as patched:
        patched.setattr(Path, "read_text", fail)
        assert desk.settlement("a", Verdict.DONE) is None
    assert desk.taken("a") == "1.md"


def test_a_note_is_lent_to_one_thread_after_the_other(
    desk: WorkDesk, base: Path, source: FolderSource, tmp_path: Path
) -> None:
    put(base, "1.md")
    desk.open(source).claim("a")
    notes = ClaimNotes(tmp_path / "spool")
    found: list[bool] = []
    has_begun = threading.Event()

    def borrow() -> None:
        has_begun.set()
        with notes.lent("a") as kept:
            found.append(kept is not None)

    second = threading.Thread(target=borrow)
    with notes.lent("a"), notes.lent("another"):
        second.start()
        has_begun.wait()
        second.join(0.1)
        assert (second.is_alive(), found) == (True, [])
        notes.remove("a")
    second.join()
    assert found == [False]
