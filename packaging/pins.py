"""The pinned packages of requirements/*.txt."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[1]
# Packages for Python in a browser, where we do not run.
BROWSER = "sys_platform == 'emscripten'"
_PIN = re.compile(r"(?P<name>[\w.-]+)==(?P<version>[^\s;]+)(?: ; (?P<marker>.+?))? *\\?")
_HASH = re.compile(r"\s+--hash=sha256:([0-9a-f]{64})")


@dataclass(frozen=True, slots=True)
class Pin:
    """One version of a package, where it is installed, and the hashes of its files."""

    name: str
    version: str
    marker: str
    hashes: tuple[str, ...]


def read_pins(name: str) -> list[Pin]:
    """Read one of the files in requirements/; a line that is none of ours is an error."""
    pins: list[Pin] = []
    for line in (ROOT / "requirements" / name).read_text(encoding="utf-8").splitlines():
        if match := _PIN.fullmatch(line):
            pins.append(Pin(match["name"], match["version"], match["marker"] or "", ()))
        elif match := _HASH.match(line):
            last = pins.pop()
            pins.append(Pin(last.name, last.version, last.marker, (*last.hashes, match[1])))
        elif not line.startswith("#"):
            raise ValueError(f"requirements/{name} has a line that pins nothing: {line}")
    return pins


def licences() -> Mapping[str, str]:
    """Return the licence of each package that THIRD_PARTY.md lists."""
    table = (ROOT / "THIRD_PARTY.md").read_text(encoding="utf-8")
    return dict(re.findall(r"^\| \[?([\w.-]+)[^|]* \| [\w.]+ \| ([^|]+) \|", table, re.MULTILINE))
