"""One program per data directory."""

from __future__ import annotations

import os
import stat
import subprocess
import sys
import tempfile
import threading
from pathlib import Path

import pytest
from pytestqt.qtbot import QtBot

from halo_scheduler.ipc import client as ipc
from ui.app.single_instance import SingleInstance


@pytest.fixture(autouse=True)
def _runtime(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, qapp: object) -> None:  # noqa: ARG001 - sockets need it
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path))


def test_the_second_raises_the_first(tmp_path: Path, qtbot: QtBot) -> None:
    first, second = SingleInstance(tmp_path / "halo.db"), SingleInstance(tmp_path / "halo.db")
    assert first.claim()
    first.listen()
    assert not second.claim()
    with qtbot.waitSignal(first.raise_requested):
        assert second.raise_other()
    first.release()


@pytest.mark.skipif(os.name != "posix", reason="modes of files are of POSIX")
def test_the_lock_is_readable_by_its_owner_only(tmp_path: Path) -> None:
    instance = SingleInstance(tmp_path / "halo.db")
    assert instance.claim()
    assert stat.S_IMODE(Path(f"{instance._name}.lock").stat().st_mode) == 0o600
    instance.release()


def test_one_that_is_still_starting_is_waited_for(tmp_path: Path, qtbot: QtBot) -> None:
    first, second = SingleInstance(tmp_path / "halo.db"), SingleInstance(tmp_path / "halo.db")
    assert first.claim()
    raised: list[bool] = []
    waiting = threading.Thread(target=lambda: raised.append(second.raise_other()))
    with qtbot.waitSignal(first.raise_requested):
        waiting.start()
        first.listen()
    waiting.join()
    assert raised == [True]
    first.release()


@pytest.mark.skipif(sys.platform != "linux", reason="the length of a socket's place is the system's")
@pytest.mark.parametrize("length", range(76, 81))
def test_a_second_instance_raises_the_first_with_any_length_of_socket_path(
    monkeypatch: pytest.MonkeyPatch, qtbot: QtBot, length: int
) -> None:
    """The longest place that a socket may have lies within these lengths."""
    with tempfile.TemporaryDirectory(dir="/tmp") as short:
        folder = Path(short, "x" * (length - len(short) - 1))
        folder.mkdir(mode=0o700)
        assert len(str(folder)) == length
        monkeypatch.setenv("XDG_RUNTIME_DIR", str(folder))
        first, second = SingleInstance(Path(short, "halo.db")), SingleInstance(Path(short, "halo.db"))
        assert first.claim()
        first.listen()
        with qtbot.waitSignal(first.raise_requested):
            assert second.raise_other()
        first.release()


def test_another_database_has_a_program_of_its_own(tmp_path: Path) -> None:
    first, other = SingleInstance(tmp_path / "one.db"), SingleInstance(tmp_path / "other.db")
    assert first.claim()
    assert other.claim()
    first.release()
    other.release()


_CLAIMS_AND_DIES = """
import os, sys
from pathlib import Path
from PySide6.QtCore import QCoreApplication
from ui.app.single_instance import SingleInstance
application = QCoreApplication([])
instance = SingleInstance(Path(sys.argv[1]))
assert instance.claim()
instance.listen()
os.kill(os.getpid(), 9)
"""


def test_files_of_a_killed_program_do_not_prevent_a_start(tmp_path: Path, qtbot: QtBot) -> None:
    database = tmp_path / "halo.db"
    killed = subprocess.run([sys.executable, "-c", _CLAIMS_AND_DIES, database], check=False, timeout=60)
    assert killed.returncode == -9
    alive = SingleInstance(database)
    # Both of what it held are still there.
    assert Path(alive._name).exists()
    assert Path(f"{alive._name}.lock").exists()
    assert alive.claim()
    alive.listen()
    with qtbot.waitSignal(alive.raise_requested):
        assert SingleInstance(database).raise_other()
    alive.release()


def test_a_released_instance_can_be_replaced(tmp_path: Path) -> None:
    first = SingleInstance(tmp_path / "halo.db")
    assert first.claim()
    first.release()
    second = SingleInstance(tmp_path / "halo.db")
    assert second.claim()
    second.release()


def test_a_missing_instance_is_detected(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ui.app.single_instance._LONGEST_MS", 20)
    assert not SingleInstance(tmp_path / "halo.db").raise_other()


def test_a_taken_name_in_the_folder_of_all_does_not_keep_it_from_starting(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """Somebody else made /tmp/halo-UID first; a short path has another place, a long one does without."""
    monkeypatch.delenv("XDG_RUNTIME_DIR")
    monkeypatch.setattr(ipc, "_RUNTIME_FOLDERS", tmp_path / "none")
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    taken = tmp_path / f"halo-{os.getuid()}"
    taken.touch()
    with tempfile.TemporaryDirectory(dir="/tmp") as short:
        first, second = SingleInstance(Path(short, "halo.db")), SingleInstance(Path(short, "halo.db"))
        assert first.claim()
        assert not second.claim()
        first.release()
    assert not caplog.records
    long = SingleInstance(tmp_path / ("x" * 80) / "halo.db")
    assert long.claim()
    assert "Can't tell whether" in caplog.text
    long.release()


def test_another_users_window_is_not_raised(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ui.app.single_instance._LONGEST_MS", 200)
    first, second = SingleInstance(tmp_path / "halo.db"), SingleInstance(tmp_path / "halo.db")
    assert first.claim()
    first.listen()
    monkeypatch.setattr("ui.app.single_instance.is_own_peer", lambda _descriptor: False)
    assert not second.raise_other()
    first.release()


def test_only_its_user_can_reach_it(tmp_path: Path) -> None:
    first = SingleInstance(tmp_path / "halo.db")
    assert first.claim()
    first.listen()
    assert Path(first._name).stat().st_mode & 0o077 == 0
    first.release()
