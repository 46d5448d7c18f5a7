"""The Debian package, built around a stand-in for the bundle: its content, and that its scripts are sound."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import sysconfig
from pathlib import Path

import pytest

_ROOT = Path(__file__).parents[2]

pytestmark = pytest.mark.skipif(
    not all(map(shutil.which, ("dpkg-deb", "readelf"))), reason="Debian's tools are not installed"
)


def _output(*command: str | Path) -> str:
    return subprocess.run(command, capture_output=True, text=True, check=True, timeout=120).stdout


@pytest.fixture(scope="module")
def package(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("deb")
    internal = folder / "bundle" / "_internal"
    internal.mkdir(parents=True)
    program = internal.with_name("halo")
    program.write_text("#!/bin/sh\n", encoding="utf-8")
    program.chmod(0o755)
    # A library that needs only the C library.
    module = Path(sysconfig.get_path("platlib")) / "psutil"
    (library,) = module.glob("_psutil_linux*.so")
    shutil.copyfile(library, internal / library.name)
    subprocess.run(
        [sys.executable, _ROOT / "packaging" / "deb.py"],
        env={
            **os.environ,
            "HALO_BUNDLE": str(folder / "bundle"),
            "HALO_OUTPUT": str(folder / "out"),
            "SOURCE_DATE_EPOCH": "1700000000",
            "DEB_COMPRESSION": "none",
        },
        check=True,
        timeout=120,
    )
    (found,) = (folder / "out").glob("halo-scheduler_*.deb")
    return found


def test_the_package_brings_the_program_and_its_desktop_files(package: Path) -> None:
    content = _output("dpkg-deb", "--contents", package)
    for wanted in (
        "./usr/bin/halo -> /opt/halo-scheduler/halo",
        "./opt/halo-scheduler/halo",
        "./usr/share/applications/halo-scheduler.desktop",
        "./usr/share/man/man1/halo-add.1.gz",
        "./usr/share/man/man1/halo-scheduler.1.gz -> halo.1.gz",
        "./usr/share/metainfo/io.github.halo_scheduler.metainfo.xml",
        "./usr/lib/systemd/user/halo-scheduler.service",
        "./usr/share/doc/halo-scheduler/copyright",
        "./usr/share/doc/halo-scheduler/THIRD_PARTY.md.gz",
    ):
        assert wanted in content
    assert "./etc" not in content
    assert {line.split()[1] for line in content.splitlines()} == {"root/root"}


def test_it_depends_on_the_libraries_it_is_linked_with(package: Path) -> None:
    assert _output("dpkg-deb", "--field", package, "Depends").startswith("libc6 (>= 2.")


@pytest.mark.parametrize("script", ["postinst", "prerm"])
def test_the_scripts_of_the_package_can_be_read_by_sh(package: Path, tmp_path: Path, script: str) -> None:
    _output("dpkg-deb", "--control", package, tmp_path / "control")
    path = tmp_path / "control" / script
    assert os.access(path, os.X_OK)
    _output("sh", "-n", path)
    # With nothing to upgrade or remove they do nothing.
    _output(path, {"postinst": "configure", "prerm": "upgrade"}[script], "")
