"""The launcher: what the desktop's menus read."""

from __future__ import annotations

import configparser
import shutil
import subprocess
from importlib import resources
from importlib.metadata import entry_points
from pathlib import Path

import pytest


@pytest.fixture
def launcher(tmp_path: Path) -> Path:
    """Return the shipped file, under the name the desktop knows it by."""
    shipped = resources.files("halo_scheduler.resources.desktop") / "halo-scheduler.desktop"
    path = tmp_path / "halo-scheduler.desktop"
    path.write_bytes(shipped.read_bytes())
    return path


def _entry(path: Path) -> configparser.SectionProxy:
    parser = configparser.ConfigParser(
        interpolation=None, delimiters=("=",), comment_prefixes=("#",), strict=True
    )
    parser.optionxform = str  # type: ignore[assignment,method-assign] # the keys are case-sensitive
    parser.read_string(path.read_text(encoding="utf-8"))
    assert parser.sections() == ["Desktop Entry"]
    return parser["Desktop Entry"]


def test_the_launcher_says_all_that_a_menu_needs(launcher: Path) -> None:
    entry = _entry(launcher)
    said = {key: entry[key] for key in ("Type", "Name", "Exec", "TryExec", "Icon", "Categories", "Terminal")}
    assert said == {
        "Type": "Application",
        "Name": "Halo Scheduler",
        "Exec": "halo",
        "TryExec": "halo",
        "Icon": "halo-scheduler",
        "Categories": "Utility;",
        "Terminal": "false",
    }


def test_the_launcher_is_tied_to_its_window(launcher: Path) -> None:
    entry = _entry(launcher)
    assert entry["StartupNotify"] == "true"
    assert entry["StartupWMClass"] == launcher.stem


def test_the_program_the_launcher_starts_is_one_we_install(launcher: Path) -> None:

    assert _entry(launcher)["Exec"] in {script.name for script in entry_points(group="console_scripts")}


def test_the_desktop_finds_no_fault_with_the_launcher(launcher: Path) -> None:
    checker = shutil.which("desktop-file-validate")
    if checker is None:
        pytest.skip("desktop-file-validate is not installed")
    checked = subprocess.run([checker, launcher], capture_output=True, text=True, check=False, timeout=30)
    assert (checked.returncode, checked.stdout + checked.stderr) == (0, "")
