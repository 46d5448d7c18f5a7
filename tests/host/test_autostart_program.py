"""The program that an entry for the login would start."""

from __future__ import annotations

from pathlib import Path

import pytest

from halo_scheduler.host.autostart.entry_files import LaunchAgent, XdgAutostart
from halo_scheduler.host.autostart.run_key import RunKey

_PROGRAMS = [
    "/usr/bin/python3",
    "/a place/with blanks/py",
    '/signs "$HOME" `id` 100% \\end',
    "/an=equals/sign",
    "/Grüße/東京",
    "halo",
]


class _Registry:
    """A registry that is kept in memory."""

    def __init__(self) -> None:
        self._values: dict[tuple[str, str], object] = {}

    def read(self, key: str, name: str) -> object:
        return self._values.get((key, name))

    def write(self, key: str, name: str, text: str) -> None:
        self._values[key, name] = text

    def delete(self, key: str, name: str) -> None:
        self._values.pop((key, name), None)


@pytest.mark.parametrize("program", _PROGRAMS)
@pytest.mark.parametrize("variables", [{}, {"HALO_HOME": "/a place=mine"}])
def test_a_desktop_entry_names_its_program(tmp_path: Path, program: str, variables: dict[str, str]) -> None:
    entry = XdgAutostart(folder=tmp_path, variables=variables)
    assert entry.program() == ""
    entry.turn_on([program, "-m", "ui", "--hidden"])
    assert entry.program() == program


@pytest.mark.parametrize(
    ("line", "program"),
    [
        ("Exec=", ""),
        ("Exec=env A=b", ""),
        ("Exec=/usr/bin/env A=b halo --hidden", "halo"),
        ('Exec="unclosed', "unclosed"),
    ],
)
def test_an_invalid_entry_causes_no_crash(tmp_path: Path, line: str, program: str) -> None:
    (tmp_path / "halo-scheduler.desktop").write_text(f"[Desktop Entry]\n{line}\n")
    assert XdgAutostart(folder=tmp_path).program() == program


@pytest.mark.parametrize("program", _PROGRAMS)
def test_a_launch_agent_names_its_program(tmp_path: Path, program: str) -> None:
    agent = LaunchAgent(folder=tmp_path)
    assert agent.program() == ""
    agent.turn_on([program, "-m", "ui"])
    assert agent.program() == program


@pytest.mark.parametrize("program", [r"C:\Python\pythonw.exe", r"C:\Program Files\Python\pythonw.exe"])
def test_a_run_key_names_its_program(program: str) -> None:
    key = RunKey(_Registry())
    assert key.program() == ""
    key.turn_on([program, "-m", "ui"])
    assert key.program() == program
