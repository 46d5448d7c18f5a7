"""Start at login on macOS: the property list."""

from __future__ import annotations

import plistlib
from pathlib import Path

import pytest

from halo_scheduler.errors import SchedulerError
from halo_scheduler.host.autostart.entry_files import LaunchAgent

_COMMAND = ["/Users/me/my venv/python", "-P", "-m", "ui", "<&> \"'$ ∞"]


def test_the_agent_starts_the_command_at_login(tmp_path: Path) -> None:
    LaunchAgent(folder=tmp_path).turn_on(_COMMAND)
    assert plistlib.loads((tmp_path / "io.github.halo-scheduler.plist").read_bytes()) == {
        "Label": "io.github.halo-scheduler",
        "ProgramArguments": _COMMAND,
        "RunAtLoad": True,
        "ProcessType": "Interactive",
        "LimitLoadToSessionType": "Aqua",
    }


def test_the_agent_carries_the_variables(tmp_path: Path) -> None:
    LaunchAgent(folder=tmp_path, variables={"HALO_HOME": "/data"}).turn_on(_COMMAND)
    agent = plistlib.loads((tmp_path / "io.github.halo-scheduler.plist").read_bytes())
    assert agent["EnvironmentVariables"] == {"HALO_HOME": "/data"}


def test_turned_on_it_is_on_and_turned_off_it_is_off(tmp_path: Path) -> None:
    agent = LaunchAgent(folder=tmp_path / "LaunchAgents")
    assert not agent.is_on()
    agent.turn_off()
    agent.turn_on(_COMMAND)
    assert agent.is_on()
    agent.turn_off()
    assert not agent.is_on()


def test_a_stale_command_is_recognised(tmp_path: Path) -> None:
    agent = LaunchAgent(folder=tmp_path)
    assert not agent.is_current(_COMMAND)
    agent.turn_on(_COMMAND)
    assert agent.is_current(_COMMAND)
    assert not agent.is_current(["/elsewhere"])
    assert not LaunchAgent(folder=tmp_path, variables={"HALO_HOME": "/data"}).is_current(_COMMAND)


def test_a_disabled_agent_is_off(tmp_path: Path) -> None:
    agent = LaunchAgent(folder=tmp_path)
    agent.turn_on(_COMMAND)
    path = Path(agent.where())
    path.write_bytes(plistlib.dumps({**plistlib.loads(path.read_bytes()), "Disabled": True}))
    assert not agent.is_on()


@pytest.mark.parametrize(
    "content", [b"", b"nonsense", b"bplist00\x00\x01", b"<?xml version='1.0'?><plist><dict>"]
)
def test_a_damaged_agent_starts_nothing_and_is_off(tmp_path: Path, content: bytes) -> None:
    agent = LaunchAgent(folder=tmp_path)
    Path(agent.where()).write_bytes(content)
    assert not agent.is_on()


def test_a_list_in_place_of_an_agent_is_off(tmp_path: Path) -> None:
    agent = LaunchAgent(folder=tmp_path)
    Path(agent.where()).write_bytes(plistlib.dumps(["no", "agent"]))
    assert not agent.is_on()


def test_a_folder_that_cannot_be_made_is_reported_in_a_sentence(tmp_path: Path) -> None:
    (tmp_path / "LaunchAgents").write_text("a file is in the way")
    with pytest.raises(SchedulerError, match=r"^cannot write .*\.plist: Not a directory; check that"):
        LaunchAgent(folder=tmp_path / "LaunchAgents").turn_on(_COMMAND)


def test_the_agent_is_in_the_users_own_folder(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", "/Users/me")
    assert LaunchAgent().where() == "/Users/me/Library/LaunchAgents/io.github.halo-scheduler.plist"
