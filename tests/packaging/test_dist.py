"""The packages: what is in the wheel, that it works on its own, and that a build can be repeated."""

from __future__ import annotations

import hashlib
import json
import os
import platform
import re
import shutil
import subprocess
import sys
import sysconfig
import tomllib
import venv
import zipfile
from importlib.metadata import version
from pathlib import Path

import pytest

_ROOT = Path(__file__).parents[2]
_DATE = 1_700_000_000
_NOT_SOURCE = shutil.ignore_patterns(".*", "build", "dist", "*.egg-info", "__pycache__")


def _run(*command: str | Path, cwd: Path, umask: int = -1, **environment: str) -> str:
    done = subprocess.run(
        command,
        cwd=cwd,
        env={**os.environ, **environment},
        umask=umask,
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Build both packages from a copy, so that nothing is left in the source tree."""
    source = _copy_source(tmp_path_factory.mktemp("source") / "halo", umask=0o022)
    return _build(source, umask=0o022, SOURCE_DATE_EPOCH=str(_DATE))


@pytest.fixture(scope="module")
def wheel(built: Path) -> Path:
    (found,) = built.glob("*.whl")
    return found


def test_the_version_is_defined_once_and_the_changelog_is_dated() -> None:
    project = tomllib.loads((_ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    number = project["version"]
    changelog = (_ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    sections = re.findall(r"^## (.+)$", changelog, re.MULTILINE)
    released = [section for section in sections if section != "Unreleased"]
    assert "Unreleased" not in sections[1:]
    assert re.fullmatch(rf"{re.escape(number)} \(\d{{4}}-\d\d-\d\d\)", released[0])
    program = [
        path
        for name in ("halo_scheduler", "ui", "resources", "packaging")
        for path in (_ROOT / name).rglob("*")
    ]
    texts = [
        path
        for path in program
        if path.suffix in {".py", ".xml", ".iss", ".yml", ".spec", ".plist", ".service", ".sh", ""}
        and path.is_file()
    ]
    assert len(texts) > 400
    assert [path for path in texts if number in path.read_text(encoding="utf-8")] == []


def _copy_source(source: Path, *, umask: int) -> Path:
    """Copy the source as a user with that umask would have it, at another time than others."""
    shutil.copytree(_ROOT, source, ignore=_NOT_SOURCE)
    for path in source.rglob("*"):
        path.chmod(0o777 & ~umask)
        os.utime(path, (_DATE - umask, _DATE - umask))
    return source


def _build(source: Path, *, umask: int, **environment: str) -> Path:
    """Build as `make dist` does."""
    _run(sys.executable, source / "packaging" / "dist.py", cwd=source, umask=umask, **environment)
    return source / "dist"


def _commit(source: Path) -> None:
    _run("git", "init", "--quiet", cwd=source)
    author = ("-c", "user.name=Halo", "-c", "user.email=halo@example.org", "-c", "commit.gpgSign=false")
    command = ("git", *author, "commit", "--quiet", "--allow-empty", "--message=Release")
    _run(*command, cwd=source, GIT_COMMITTER_DATE=f"{_DATE} +0000")


def test_a_commit_gives_the_same_packages_to_the_byte_wherever_they_are_built(
    built: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("SOURCE_DATE_EPOCH", raising=False)
    source = _copy_source(tmp_path / "another" / "place", umask=0o077)
    _commit(source)

    again = _build(source, umask=0o077)

    packages = {path.name: path.read_bytes() for path in built.iterdir()}
    assert sorted(Path(name).suffix for name in packages) == [".gz", ".json", ".whl"]
    assert {path.name: path.read_bytes() for path in again.iterdir()} == packages


def test_the_wheel_contains_every_module_and_resource_and_nothing_else(wheel: Path) -> None:
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
        if path.is_file()
        and "__pycache__" not in path.parts
        and _ROOT / "resources" / "manual" not in path.parents
    }
    manual = {name for name in names if name.startswith("halo_scheduler/resources/manual/")}
    assert names - manual == expected
    assert {
        f"halo_scheduler/resources/manual/{page}.html" for page in ("index", "terminal", "library")
    } < manual


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
    manual = Path(_run(tmp_path / "venv" / "bin" / "halo", "manual", cwd=tmp_path).strip())
    assert manual.is_relative_to(tmp_path)
    assert "Your first job" in manual.read_text(encoding="utf-8")
    program = (
        "import halo_scheduler, ui; from importlib.resources import files; "
        "print(halo_scheduler.__file__, ui.__file__); "
        "assert files('halo_scheduler.resources.icons').joinpath('halo.svg').read_text().startswith('<svg')"
    )
    places = _run(python, "-c", program, cwd=tmp_path).split()
    assert all(Path(place).is_relative_to(tmp_path) for place in places)


def test_the_components_of_the_wheel_are_listed_beside_it(wheel: Path) -> None:
    listed = json.loads(wheel.with_suffix(".cdx.json").read_text(encoding="utf-8"))
    program = listed["metadata"]["component"]
    assert (program["name"], program["version"]) == ("halo-scheduler", version("halo-scheduler"))
    assert program["hashes"][0]["content"] == hashlib.sha256(wheel.read_bytes()).hexdigest()
    components = {component["name"]: component for component in listed["components"]}
    assert {"pyside6-essentials", "apsw", "click", "urllib3"} <= set(components)
    assert components["click"]["licenses"] == [{"expression": "BSD-3-Clause"}]
    assert set(listed["dependencies"][0]["dependsOn"]) == {
        component["bom-ref"] for component in listed["components"]
    }


def test_the_list_of_a_bundle_has_its_python_and_the_libraries_that_only_it_brings(tmp_path: Path) -> None:
    archive = tmp_path / "halo-scheduler-0.2.0-linux-x86_64.tar.gz"
    archive.touch()
    _run(sys.executable, _ROOT / "packaging" / "components.py", archive, cwd=tmp_path, SOURCE_DATE_EPOCH="1")
    listed = json.loads((tmp_path / "halo-scheduler-0.2.0-linux-x86_64.cdx.json").read_text(encoding="utf-8"))
    components = {component["name"]: component for component in listed["components"]}
    assert {"apsw", "watchdog", "waitress", "websockets", "holidays", "mcp"} <= set(components)
    assert components["cpython"]["purl"] == f"pkg:generic/cpython@{platform.python_version()}"
    assert "httpx2-jsfetch" not in components


def test_qt_stays_below_the_release_that_crashes_on_python_3_11(wheel: Path) -> None:
    metadata = next(name for name in zipfile.ZipFile(wheel).namelist() if name.endswith("/METADATA"))
    lines = zipfile.ZipFile(wheel).read(metadata).decode().splitlines()
    qt = sorted(line.replace(" ", "") for line in lines if line.startswith("Requires-Dist: PySide6"))
    assert qt == [
        'Requires-Dist:PySide6-Essentials<6.12,>=6.10;python_version<"3.12"',
        'Requires-Dist:PySide6-Essentials>=6.10;python_version>="3.12"',
    ]
