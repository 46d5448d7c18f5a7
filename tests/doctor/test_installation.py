"""What a bug report says of an installation."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

from halo_scheduler import Command, Every
from halo_scheduler.doctor.installation import (
    display_line,
    engine_facts,
    finding_lines,
    installed_as,
    package_version,
    system_lines,
    versions,
)
from halo_scheduler.doctor.scene import Topic, fine, look, wrong
from halo_scheduler.service.scheduler import Scheduler


def test_the_size_of_the_database_includes_its_journal(tmp_path: Path) -> None:
    with Scheduler.open(tmp_path / "halo.db") as scheduler:
        for number in range(50):
            scheduler.add_job(f"job {number}", Every("1h"), Command(argv=("true",)))
        sizes = [(tmp_path / name).stat().st_size for name in ("halo.db", "halo.db-wal")]
        assert sizes[1] > 0
        assert engine_facts(scheduler, os.getpid()).database_bytes == sum(sizes)


def test_each_version_is_known() -> None:
    assert [name for name, _ in versions()] == ["Halo Scheduler", "Python", "PySide", "SQLite"]
    assert all(number and number != "unknown" for _, number in versions())


def test_a_missing_package_has_no_version() -> None:
    assert package_version("no-such-package") == "unknown"


def test_a_source_tree_is_distinguished_from_packages(monkeypatch: pytest.MonkeyPatch) -> None:
    assert installed_as() == "source tree"
    monkeypatch.setattr(sys, "prefix", "/home/ann/.local/share/pipx/venvs/halo-scheduler")
    assert installed_as() == "pipx"
    monkeypatch.setattr(sys, "frozen", True, raising=False)
    monkeypatch.setattr(sys, "executable", "/home/ann/.local/lib/halo-scheduler/halo")
    assert installed_as() == "bundle"
    monkeypatch.setattr(sys, "executable", "/opt/halo-scheduler/halo")
    assert installed_as() == "Debian package"


def test_what_a_build_leaves_in_the_source_tree_hides_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "halo_scheduler.egg-info").mkdir()
    (tmp_path / "halo_scheduler.egg-info" / "PKG-INFO").write_text("Name: halo-scheduler\nVersion: 0.2.0\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    assert installed_as() == "source tree"


def test_the_checks_are_reported_without_their_sentences() -> None:
    findings = [
        fine(Topic.DATABASE, "The file /home/ann/x is whole."),
        wrong(Topic.JOBS, "The program of my private job is missing."),
        look(Topic.JOBS, "Another one."),
    ]
    assert finding_lines(findings) == ["Check of database: fine", "Check of jobs: 1 problem, 1 warning"]


@pytest.mark.parametrize(
    ("environment", "line"),
    [
        ({}, "Display: none (no desktop named)"),
        ({"DISPLAY": ":0", "XDG_CURRENT_DESKTOP": "GNOME"}, "Display: X11 (GNOME)"),
        ({"DISPLAY": ":0", "WAYLAND_DISPLAY": "wayland-0"}, "Display: Wayland, X11 (no desktop named)"),
    ],
)
def test_the_display_is_named(environment: dict[str, str], line: str) -> None:
    assert display_line(environment) == line


def test_the_folder_of_the_user_is_not_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", "/home/ann")
    assert "Data folder: ~/.local/share/halo" in system_lines(Path("/home/ann/.local/share/halo"))
    assert "Data folder: a custom folder" in system_lines(Path("/srv/ann"))
