"""The pinned packages: they fit the ranges of pyproject.toml, and nothing in them depends on where they were pinned."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import pytest
from packaging.licenses import canonicalize_license_expression
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from packaging.version import Version

_ROOT = Path(__file__).parents[2]
_PROJECT = tomllib.loads((_ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
_EXTRAS = _PROJECT["optional-dependencies"]
_NEEDED = {
    "run.txt": _PROJECT["dependencies"],
    "ci.txt": [*_PROJECT["dependencies"], *_EXTRAS["dev"]],
    "release.txt": [*_PROJECT["dependencies"], *_EXTRAS["dev"], *_EXTRAS["release"]],
    "bundle.txt": [*_PROJECT["dependencies"], *_EXTRAS["chat"], *_EXTRAS["holidays"], *_EXTRAS["mcp"]],
    "bundler.txt": ["pyinstaller>=6.10"],
    "build.txt": ["pip", "setuptools>=77"],
}


def _text(file: str) -> str:
    return (_ROOT / "requirements" / file).read_text(encoding="utf-8")


def _pinned(file: str) -> list[tuple[str, Version]]:
    found = re.findall(r"^([\w.-]+)==([^\s;]+)", _text(file), re.MULTILINE)
    return [(canonicalize_name(name), Version(version)) for name, version in found]


@pytest.mark.parametrize("file", _NEEDED)
def test_every_requirement_is_pinned_to_a_version_that_fits(file: str) -> None:
    pinned = _pinned(file)
    unfit = [
        needed
        for needed in map(Requirement, _NEEDED[file])
        if not any(
            name == canonicalize_name(needed.name) and needed.specifier.contains(version)
            for name, version in pinned
        )
    ]
    assert unfit == [], "run `make lock`"


@pytest.mark.parametrize("file", _NEEDED)
def test_every_pin_has_hashes_and_no_line_says_where_from(file: str) -> None:
    text = _text(file)
    blocks = re.split(r"^(?=[\w.-]+==)", text, flags=re.MULTILINE)[1:]
    assert len(blocks) == len(_pinned(file))
    assert [block for block in blocks if "--hash=sha256:" not in block] == []
    assert "://" not in text
    assert re.findall(r"^\s*--(?!hash)\S+", text, re.MULTILINE) == []


def test_developers_and_users_get_the_same_versions() -> None:
    assert set(_pinned("run.txt")) <= set(_pinned("ci.txt")) <= set(_pinned("release.txt"))


def test_the_licence_of_every_shipped_package_is_listed() -> None:
    table = (_ROOT / "THIRD_PARTY.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| \[?([\w.-]+)[^|]*\| ([0-9][\w.]*) \| [^|\s][^|]* \|", table, re.MULTILINE)
    listed = [(canonicalize_name(name), Version(version)) for name, version in rows]
    shipped = {*_pinned("run.txt"), *_pinned("bundle.txt")}
    # This one is for Python in a browser.
    assert {name for name, _ in shipped - set(listed)} <= {"httpx2-jsfetch"}, "run `make lock`"
    assert set(listed) <= shipped, "run `make lock`"


def test_every_licence_is_written_as_lists_of_components_want_it() -> None:
    table = (_ROOT / "THIRD_PARTY.md").read_text(encoding="utf-8")
    licences = set(re.findall(r"^\| .+? \| [\d.]+ \| ([^|]+) \|", table, re.MULTILINE))
    assert len(licences) > 8
    assert {str(canonicalize_license_expression(licence)) for licence in licences} == licences
