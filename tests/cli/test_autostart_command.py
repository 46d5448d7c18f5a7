"""`halo autostart`, as a process."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from halo_scheduler.host.autostart import login_command, system_autostart

_HALO = Path(sys.executable).parent / "halo"


@pytest.fixture
def config(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("HALO_HOME", str(tmp_path / "halo"))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    return tmp_path / "config"


def _halo(*arguments: str) -> str:
    done = subprocess.run(
        [_HALO, "autostart", *arguments], capture_output=True, text=True, timeout=60, check=True
    )
    assert done.stderr == ""
    return done.stdout


def test_it_is_switched_on_and_off_as_by_the_settings(config: Path, tmp_path: Path) -> None:
    entry = config / "autostart" / "halo-scheduler.desktop"
    assert _halo("status").startswith("off: ")
    assert str(entry) in _halo("on")
    assert system_autostart().is_current(login_command())
    assert _halo("status") == f"on: Halo starts at login ({entry})\n"
    assert json.loads(_halo("status", "--json")) == {"is_on": True, "is_current": True, "where": str(entry)}
    assert _halo("off") == "Halo no longer starts at login\n"
    assert not entry.exists()
    # Nothing needs a database for that.
    assert not (tmp_path / "halo").exists()


@pytest.mark.usefixtures("config")
def test_an_entry_that_starts_something_else_is_reported() -> None:
    system_autostart().turn_on(["/another/halo"])
    assert "starts another installation" in _halo("status")


def test_a_folder_that_cannot_be_written_is_one_sentence(config: Path) -> None:
    config.touch()
    done = subprocess.run([_HALO, "autostart", "on"], capture_output=True, text=True, timeout=60, check=False)
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.startswith("halo: cannot write ")
    assert done.stderr.count("\n") == 1
