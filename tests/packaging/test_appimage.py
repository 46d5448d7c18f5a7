"""The AppImage, around a stand-in for the bundle: its folder starts, and further processes start from the image."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

_ROOT = Path(__file__).parents[2]
_PACKAGING = _ROOT / "packaging" / "bundle"

pytestmark = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="AppImages are for Linux")


def _script(path: Path, lines: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"#!/bin/sh\n{lines}\n", encoding="utf-8")
    path.chmod(0o755)
    return path


def test_the_folder_starts_and_becomes_one_file(tmp_path: Path) -> None:
    _script(tmp_path / "bundle/halo-scheduler/halo", 'echo "halo: $*"')
    tool = _script(tmp_path / "appimagetool", 'for last; do :; done; echo "$@" >"$last"')
    given = {
        "BUNDLE": tmp_path / "bundle",
        "DIST": tmp_path / "dist",
        "APPIMAGETOOL": tool,
        "PYTHON": sys.executable,
    }
    environment = {
        **os.environ,
        "SOURCE_DATE_EPOCH": "1700000000",
        **{name: str(of) for name, of in given.items()},
    }
    subprocess.run([_PACKAGING / "appimage"], env=environment, check=True, timeout=120)
    folder = tmp_path / "bundle" / "Halo.AppDir"
    (tmp_path / "link").symlink_to(folder / "AppRun")
    started = subprocess.run(
        [tmp_path / "link", "list", "a b"], capture_output=True, text=True, check=True, timeout=60
    )
    assert started.stdout == "halo: list a b\n"
    assert {path.name for path in folder.iterdir()} >= {
        "halo-scheduler.desktop",
        "halo-scheduler.png",
        ".DirIcon",
    }
    assert (folder / ".DirIcon").read_bytes().startswith(b"\x89PNG")
    assert not list(folder.rglob("*.service"))
    (image,) = (tmp_path / "dist").iterdir()
    assert image.name.endswith(f"-{os.uname().machine}.AppImage")


@pytest.mark.parametrize("is_inside", [True, False])
def test_the_program_starts_others_from_the_image(tmp_path: Path, is_inside: bool) -> None:
    code = "import os, sys, start; start._give_back_environment(); print(sys.executable, os.environ.get('APPDIR'))"
    mounted = str(Path(sys.executable).parent) if is_inside else str(tmp_path)
    environment = {
        **os.environ,
        "PYTHONPATH": str(_PACKAGING),
        "APPIMAGE": "/home/ann/Halo.AppImage",
        "APPDIR": mounted,
    }
    done = subprocess.run(
        [sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True, timeout=60
    )
    expected = "/home/ann/Halo.AppImage None" if is_inside else f"{sys.executable} {mounted}"
    assert done.stdout.strip() == expected
