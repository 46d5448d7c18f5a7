"""Start at login: the way of this system, and the command that is started."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from halo_scheduler.errors import SchedulerError
from halo_scheduler.host.autostart import login_command, system_autostart


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Give the user a home of their own, with everything at its usual place."""
    for name in ("HALO_HOME", "XDG_CONFIG_HOME", "XDG_DATA_HOME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    return tmp_path


def _entry(home: Path) -> str:
    return (home / ".config/autostart/halo-scheduler.desktop").read_text(encoding="utf-8")


def test_on_linux_the_entry_is_a_desktop_file(home: Path) -> None:
    system_autostart().turn_on(["/usr/bin/halo"])
    assert "\nExec=/usr/bin/halo\n" in _entry(home)


def test_on_macos_the_entry_is_a_launch_agent(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "platform", "darwin")
    assert system_autostart().where() == str(home / "Library/LaunchAgents/io.github.halo-scheduler.plist")


def test_an_unusual_data_folder_is_found_again_at_login(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HALO_HOME", str(home / "my data"))
    system_autostart().turn_on(["/usr/bin/halo"])
    assert f'\nExec=env "HALO_HOME={home}/my data" /usr/bin/halo\n' in _entry(home)


def test_a_relative_data_folder_is_found_from_any_directory(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(home)
    monkeypatch.setenv("HALO_HOME", "data")
    system_autostart().turn_on(["/usr/bin/halo"])
    assert f"\nExec=env HALO_HOME={home}/data /usr/bin/halo\n" in _entry(home)


def test_the_systems_own_variable_for_data_is_followed_too(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_DATA_HOME", str(home / "data"))
    system_autostart().turn_on(["/usr/bin/halo"])
    assert f"\nExec=env HALO_HOME={home}/data/halo-scheduler /usr/bin/halo\n" in _entry(home)


def test_the_login_command_starts_the_desktop_program_hidden() -> None:
    assert login_command() == [sys.executable, "-P", "-m", "ui", "--hidden"]
    assert login_command(hidden=False) == [sys.executable, "-P", "-m", "ui"]


def test_the_login_command_finds_the_program_from_a_directory_with_another_ui(tmp_path: Path) -> None:
    (tmp_path / "ui").mkdir()
    (tmp_path / "ui" / "__init__.py").write_text("raise SystemExit('the wrong one')")
    python, safe, *_ = login_command()
    asked = [python, safe, "-c", "import ui; print(ui.__file__)"]
    environment = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
    found = subprocess.run(
        asked, cwd=tmp_path, env=environment, capture_output=True, text=True, check=True, timeout=60
    )
    assert Path(found.stdout.strip()).parent != tmp_path / "ui"


def test_on_windows_the_program_has_no_console(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "platform", "win32")
    monkeypatch.setattr(sys, "executable", str(tmp_path / "python.exe"))
    assert login_command()[0] == str(tmp_path / "python.exe")
    (tmp_path / "pythonw.exe").touch()
    assert login_command()[0] == str(tmp_path / "pythonw.exe")


def test_a_python_with_an_unknown_path_is_reported_in_a_sentence(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(sys, "executable", "")
    with pytest.raises(SchedulerError, match="path of this Python is unknown"):
        login_command()
