"""The wheel: what is in it, and that it works on its own."""

from __future__ import annotations

import shutil
import subprocess
import sys
import sysconfig
import venv
import zipfile
from importlib.metadata import version
from pathlib import Path

import pytest

_ROOT = Path(__file__).parents[1]
_NOT_SOURCE = shutil.ignore_patterns(".*", "build", "dist", "*.egg-info", "__pycache__")


def _run(*command: str | Path, cwd: Path) -> str:
    done = subprocess.run(command, cwd=cwd, capture_output=True, text=True, check=False, timeout=300)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Build the wheel from a copy, so that nothing is left in the source tree."""
    source = tmp_path_factory.mktemp("source") / "halo"
    shutil.copytree(_ROOT, source, ignore=_NOT_SOURCE)
    _run(sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", source / "out", cwd=source)
    (built,) = (source / "out").glob("*.whl")
    return built


def test_the_wheel_holds_every_module_and_resource_and_nothing_else(wheel: Path) -> None:
    names = {name for name in zipfile.ZipFile(wheel).namelist() if ".dist-info/" not in name}
    packages = ("halo_scheduler", "ui")
    expected = {
        path.relative_to(_ROOT).as_posix()
        for package in packages
        for path in (_ROOT / package).rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    }
    expected |= {
        f"halo_scheduler/{path.relative_to(_ROOT).as_posix()}"
        for path in (_ROOT / "resources").rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    }
    assert names == expected


def test_the_wheel_works_in_a_clean_environment(wheel: Path, tmp_path: Path) -> None:
    venv.create(tmp_path / "venv", with_pip=False)
    python = tmp_path / "venv" / "bin" / "python"
    _run(
        *(sys.executable, "-m", "pip", "--python", python, "install", "--no-index", "--no-deps"),
        *("--disable-pip-version-check", wheel),
        cwd=tmp_path,
    )
    # What it depends on is borrowed from here: tests reach no network. Our own editable install is not,
    # because a path file inside a borrowed directory is not read.
    site = Path(
        _run(python, "-c", "import sysconfig; print(sysconfig.get_path('purelib'))", cwd=tmp_path).strip()
    )
    (site / "borrowed.pth").write_text(sysconfig.get_path("purelib") + "\n", encoding="utf-8")

    assert (
        _run(tmp_path / "venv" / "bin" / "halo", "--version", cwd=tmp_path)
        == f"Halo Scheduler {version('halo-scheduler')}\n"
    )
    assert "every 15 minutes" in _run(
        tmp_path / "venv" / "bin" / "halo", "preview", "--every", "15m", cwd=tmp_path
    )
    program = (
        "import halo_scheduler, ui; from importlib.resources import files; "
        "print(halo_scheduler.__file__, ui.__file__); "
        "assert files('halo_scheduler.resources.icons').joinpath('halo.svg').read_text().startswith('<svg')"
    )
    places = _run(python, "-c", program, cwd=tmp_path).split()
    assert all(Path(place).is_relative_to(tmp_path) for place in places)


def test_qt_stays_below_the_release_that_crashes_on_python_3_11(wheel: Path) -> None:
    metadata = next(name for name in zipfile.ZipFile(wheel).namelist() if name.endswith("/METADATA"))
    lines = zipfile.ZipFile(wheel).read(metadata).decode().splitlines()
    qt = sorted(line.replace(" ", "") for line in lines if line.startswith("Requires-Dist: PySide6"))
    assert qt == [
        'Requires-Dist:PySide6-Essentials<6.12,>=6.10;python_version<"3.12"',
        'Requires-Dist:PySide6-Essentials>=6.10;python_version>="3.12"',
    ]
