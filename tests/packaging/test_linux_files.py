"""What packages for Linux install beside the program."""

from __future__ import annotations

import gzip
import os
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path
from xml.etree import ElementTree as ET

import click
import pytest

from halo_scheduler.cli import halo

_ROOT = Path(__file__).parents[2]
_DATE = "1700000000"


@pytest.fixture(scope="module")
def usr(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("package") / "usr"
    subprocess.run(
        [sys.executable, _ROOT / "packaging" / "linux_files.py", folder, "/usr/bin/halo"],
        env={**os.environ, "SOURCE_DATE_EPOCH": _DATE},
        check=True,
        timeout=120,
    )
    return folder


def test_without_a_date_it_is_that_of_the_last_commit(tmp_path: Path) -> None:
    subprocess.run(
        [sys.executable, _ROOT / "packaging" / "linux_files.py", tmp_path / "usr", "halo"],
        env={key: value for key, value in os.environ.items() if key != "SOURCE_DATE_EPOCH"},
        check=True,
        timeout=120,
    )
    committed = subprocess.check_output(["git", "log", "-1", "--format=%ct"], cwd=_ROOT)
    page = (tmp_path / "usr" / "share" / "man" / "man1" / "halo.1.gz").read_bytes()
    assert int.from_bytes(page[4:8], "little") == int(committed)


def test_every_command_has_a_man_page_with_its_options(usr: Path) -> None:
    pages = {path.name: gzip.decompress(path.read_bytes()).decode() for path in usr.glob("share/man/man1/*")}
    context = click.Context(halo, info_name="halo")
    assert {"halo.1.gz", *(f"halo-{name}.1.gz" for name in halo.list_commands(context))} <= set(pages)
    assert "halo-backup-restore.1.gz" in pages
    assert "\\-\\-every 15m" in pages["halo-add.1.gz"]
    assert "halo add backup \\-\\-every 6h" in pages["halo-add.1.gz"]
    assert "(1)\nShow upcoming runs of all jobs." in pages["halo.1.gz"]


@pytest.mark.parametrize(
    ("shell", "place"),
    [
        ("bash", "bash-completion/completions/halo"),
        ("zsh", "zsh/vendor-completions/_halo"),
        ("fish", "fish/vendor_completions.d/halo.fish"),
    ],
)
def test_each_shell_gets_its_completion(usr: Path, shell: str, place: str) -> None:
    script = usr / "share" / place
    assert f"_HALO_COMPLETE={shell}_complete" in script.read_text(encoding="utf-8")


def test_the_software_centre_understands_the_metainfo(usr: Path) -> None:
    (path,) = usr.glob("share/metainfo/*.metainfo.xml")
    release = ET.parse(path).getroot().find("releases/release")  # noqa: S314 - our own file
    assert release is not None
    project = tomllib.loads((_ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert release.get("version") == project["version"]
    checker = shutil.which("appstreamcli")
    if checker is not None:
        done = subprocess.run(
            [checker, "validate", "--no-net", path], capture_output=True, text=True, check=False, timeout=60
        )
        assert done.returncode == 0, done.stdout


def test_launcher_icons_and_unit_are_there(usr: Path) -> None:
    assert (usr / "share/applications/halo-scheduler.desktop").is_file()
    icons = {path.parts[-3] for path in usr.glob("share/icons/hicolor/*/apps/halo-scheduler.*")}
    assert icons == {"48x48", "64x64", "128x128", "256x256", "scalable"}
    unit = (usr / "lib/systemd/user/halo-scheduler.service").read_text(encoding="utf-8")
    assert "\nExecStart=/usr/bin/halo daemon\n" in unit
