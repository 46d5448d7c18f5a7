"""Write THIRD_PARTY.md: the packages that come with the program, and their licences."""

from __future__ import annotations

import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Iterator
from email.message import Message
from email.parser import Parser
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path

from pins import BROWSER, ROOT, Pin, read_pins

_LONGEST_NAME = 60
# Names that packages give to licences, and the SPDX identifiers that they mean.
_SPDX = {
    "MIT License": "MIT",
    "PSF": "PSF-2.0",
    "Dual License": "Apache-2.0 OR BSD-3-Clause",
    "ZPL 2.1": "ZPL-2.1",
}
_HEAD = """\
# Third-party software

What comes with Halo Scheduler when it is installed, with the version that is tested. `make lock` writes this file from
`requirements/run.txt` and the packages' own metadata. The texts of the licences are in the packages' `licenses`
folders.

| package | version | licence | where |
|---|---|---|---|
"""
_BUNDLED = """
With packages that bring their own Python, and with `pip install 'halo-scheduler[chat,holidays,mcp]'`, also:

| package | version | licence | where |
|---|---|---|---|
"""
_TAIL = """
Inside these packages: Qt 6 in PySide6 (LGPL-3.0-only; its libraries are separate files that you may replace), SQLite in
APSW (public domain), OpenSSL in cryptography (Apache-2.0), libyaml in PyYAML (MIT).

The packages that need no Python on the machine also contain CPython (PSF-2.0) and what it is linked with; the bundles
start with PyInstaller's loader (GPL-2.0-or-later with an exception for programs that are bundled with it). They have
the licences of Qt and CPython in `_internal/licences`.
"""


def main() -> None:
    """Write the file."""
    installed = read_pins("run.txt")
    bundled = [pin for pin in read_pins("bundle.txt") if pin not in installed and BROWSER not in pin.marker]
    text = "".join([_HEAD, *map(_row, installed), _BUNDLED, *map(_row, bundled), _TAIL])
    (ROOT / "THIRD_PARTY.md").write_text(text, encoding="utf-8")


def _row(pin: Pin) -> str:
    about = _metadata(pin)
    where = f"`{pin.marker}`" if pin.marker else "everywhere"
    page = _page(about)
    name = f"[{pin.name}]({page})" if page else pin.name
    return f"| {name} | {pin.version} | {_licence(about)} | {where} |\n"


def _metadata(pin: Pin) -> Message:
    """Return what a package says of itself; one for other systems is downloaded."""
    try:
        return Parser().parsestr(distribution(pin.name).read_text("METADATA") or "")
    except PackageNotFoundError:
        pass
    with tempfile.TemporaryDirectory() as folder:
        command = [sys.executable, "-m", "pip", "download", "-qq", "--no-deps", "--only-binary=:all:"]
        command += ["--python-version=3.12", "--platform=win_amd64", "--platform=any"]
        subprocess.run([*command, "--dest", folder, f"{pin.name}=={pin.version}"], check=True)
        (wheel,) = Path(folder).glob("*.whl")
        with zipfile.ZipFile(wheel) as archive:
            (name,) = (name for name in archive.namelist() if name.endswith(".dist-info/METADATA"))
            return Parser().parsestr(archive.read(name).decode())


def _licence(about: Message) -> str:
    given = about.get("License-Expression") or about.get("License") or ""
    if given and "\n" not in given and len(given) <= _LONGEST_NAME:
        return _SPDX.get(str(given), str(given))
    classifiers = (
        value.split(" :: ")[-1] for value in about.get_all("Classifier", ()) if "License ::" in value
    )
    found = " OR ".join(_SPDX.get(name, name) for name in classifiers)
    if not found:
        sys.exit(f"{about['Name']} does not name its licence: look it up.")
    return found


def _page(about: Message) -> str:
    pages = dict(_labelled_pages(about))
    wanted = ("source", "repository", "source code", "homepage", "home", "github")
    return next((pages[label] for label in wanted if label in pages), about.get("Home-page") or "")


def _labelled_pages(about: Message) -> Iterator[tuple[str, str]]:
    for value in about.get_all("Project-URL", ()):
        label, _, page = value.partition(",")
        yield label.strip().lower(), page.strip()


if __name__ == "__main__":
    main()
