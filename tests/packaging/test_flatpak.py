"""The Flatpak: what its manifest lets the program reach."""

from __future__ import annotations

import re
from pathlib import Path

import yaml

_ROOT = Path(__file__).parents[2]
_MANIFEST = _ROOT / "packaging" / "flatpak" / "io.github.halo_scheduler.yml"
# The bus itself, and portals: every Flatpak may talk to them.
_ALWAYS = ("org.freedesktop.DBus", "org.freedesktop.portal")


def test_every_service_on_d_bus_that_the_program_talks_to_is_within_reach() -> None:
    manifest = yaml.safe_load(_MANIFEST.read_text(encoding="utf-8"))
    allowed = tuple(option.partition("=")[2] for option in manifest["finish-args"] if "talk-name=" in option)
    program = "".join(
        path.read_text(encoding="utf-8")
        for package in ("halo_scheduler", "ui")
        for path in (_ROOT / package).rglob("*.py")
    )
    names = set(re.findall(r'"(org\.(?:freedesktop|gnome|kde|cinnamon|mate)\.[\w.]+)"', program))
    assert len(names) > 10
    assert {
        name for name in names if not f"{name}.".startswith(tuple(f"{one}." for one in (*allowed, *_ALWAYS)))
    } == set()


def test_every_command_is_one_line_of_shell() -> None:
    for module in yaml.safe_load(_MANIFEST.read_text(encoding="utf-8"))["modules"]:
        for command in module["build-commands"]:
            assert isinstance(command, str), command
