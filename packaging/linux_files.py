"""What a package for Linux installs beside the program: launcher, icons, metainfo, man pages, completions, unit."""

from __future__ import annotations

import gzip
import os
import re
import subprocess
import sys
import tomllib
from datetime import UTC, datetime
from pathlib import Path
from xml.etree import ElementTree as ET

import click
from man_pages import write_man_pages

from halo_scheduler.cli import halo
from halo_scheduler.cli.terminal.shell_completion import COMPLETE_VAR, COMPLETIONS

ROOT = Path(__file__).parents[1]
APP_ID = "io.github.halo_scheduler"
_ICON_SIZES = (48, 64, 128, 256)
_COMPLETIONS = {
    "bash": "bash-completion/completions/halo",
    "zsh": "zsh/vendor-completions/_halo",
    "fish": "fish/vendor_completions.d/halo.fish",
}
_RELEASE = re.compile(r"^## (\d+\.\d+\.\d+) \((\d{4}-\d{2}-\d{2})\)$", re.MULTILINE)


def version() -> str:
    """Return the program's version, which is only in pyproject.toml."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    return str(project["version"])


def build_time() -> int:
    """Return the date of the files: SOURCE_DATE_EPOCH, or when the last commit was made."""
    command = ["git", "log", "-1", "--format=%ct"]
    return int(os.environ.get("SOURCE_DATE_EPOCH") or subprocess.check_output(command, cwd=ROOT))


def lay_out(usr: Path, *, program: str, epoch: int) -> None:
    """Write everything below a folder `usr`; `program` is where `halo` will be."""
    share = usr / "share"
    _write(share / "applications/halo-scheduler.desktop", _resource("desktop/halo-scheduler.desktop"))
    _write_icons(share / "icons/hicolor")
    _write(share / f"metainfo/{APP_ID}.metainfo.xml", metainfo(epoch))
    write_man_pages(share / "man/man1", version(), epoch)
    for shell, place in _COMPLETIONS.items():
        _write(share / place, _completion(shell))
    unit = _resource("systemd/halo-scheduler.service")
    _write(usr / "lib/systemd/user/halo-scheduler.service", unit.replace("%h/.local/bin/halo", program))


def metainfo(epoch: int) -> str:
    """Return the AppStream metainfo with the releases of the changelog; this one is dated today until that is cut."""
    document = ET.parse(ROOT / "packaging" / "linux" / f"{APP_ID}.metainfo.xml")  # noqa: S314 - our own file
    releases = document.getroot().find("releases")
    if releases is None:
        raise ValueError("the metainfo has no place for the releases")
    dated = dict(_RELEASE.findall((ROOT / "CHANGELOG.md").read_text(encoding="utf-8")))
    today = datetime.fromtimestamp(epoch, UTC).strftime("%Y-%m-%d")
    for number, date in ({version(): today} | dated).items():
        ET.SubElement(releases, "release", version=number, date=date)
    ET.indent(document)
    return f'<?xml version="1.0" encoding="UTF-8"?>\n{ET.tostring(document.getroot(), encoding="unicode")}\n'


def compress(path: Path, text: str, epoch: int) -> None:
    """Write a compressed file that is the same for the same text."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("wb") as file, gzip.GzipFile("", "wb", 9, file, mtime=epoch) as packed:
        packed.write(text.encode())


def _completion(shell: str) -> str:
    context = click.Context(halo, info_name="halo")
    source = COMPLETIONS[shell](context.command, {}, "halo", COMPLETE_VAR).source()
    return source if shell != "zsh" or source.startswith("#compdef") else f"#compdef halo\n{source}"


def _write_icons(folder: Path) -> None:
    os.environ.setdefault("QT_QPA_PLATFORM", "offscreen")
    from PySide6.QtCore import QRectF, Qt  # noqa: PLC0415 - only for the pictures
    from PySide6.QtGui import QGuiApplication, QImage, QPainter  # noqa: PLC0415
    from PySide6.QtSvg import QSvgRenderer  # noqa: PLC0415

    application = QGuiApplication.instance() or QGuiApplication(sys.argv[:1])
    drawing = _resource("icons/halo.svg")
    _write(folder / "scalable/apps/halo-scheduler.svg", drawing)
    for size in _ICON_SIZES:
        image = QImage(size, size, QImage.Format.Format_ARGB32)
        image.fill(Qt.GlobalColor.transparent)
        painter = QPainter(image)
        QSvgRenderer(drawing.encode()).render(painter, QRectF(0, 0, size, size))
        painter.end()
        path = folder / f"{size}x{size}/apps/halo-scheduler.png"
        path.parent.mkdir(parents=True)
        image.save(str(path))
    del application


def _resource(name: str) -> str:
    return (ROOT / "resources" / name).read_text(encoding="utf-8")


def _write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    lay_out(Path(sys.argv[1]), program=sys.argv[2], epoch=build_time())
