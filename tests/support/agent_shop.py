"""A scheduler that gives prompts to the fake agent, and folders with items for it."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import pytest
from commands import Workshop
from process_probe import end_all, pids_in
from pytestqt.qtbot import QtBot

from halo_scheduler import Prompt, SchedulerShutdownError
from halo_scheduler.model.actions import FolderSource
from halo_scheduler.model.settings import Agent
from halo_scheduler.service.scheduler import Scheduler

_PROGRAM = (sys.executable, str(Path(__file__).with_name("fake_agent.py")))
AGENTS = (
    Agent(name="stdin", argv=_PROGRAM),
    Agent(name="argument", argv=(*_PROGRAM, "--prompt", "{prompt}")),
    Agent(name="file", argv=(*_PROGRAM, "--file", "{prompt_file}")),
    Agent(name="missing", argv=("no-such-agent", "-p")),
)


class AgentShop(Workshop):
    """Runs prompts in a folder, and reads what the agent noted there."""

    def __init__(self, scheduler: Scheduler, folder: Path, qtbot: QtBot) -> None:
        super().__init__(scheduler, folder, qtbot)
        scheduler.settings.change(agents=AGENTS, default_agent="stdin")
        self.note_path = folder / "note.json"

    def prompt(self, text: str, *steps: list[Any], agent: str = "stdin", **rest: Any) -> Prompt:
        """Return a prompt whose agent notes what it got and then takes some steps."""
        script = json.dumps([["note", str(self.note_path)], *steps])
        environment = {"FAKE_AGENT": script, **rest.pop("environment", {})}
        return Prompt(text=text, agent=agent, environment=environment, **rest)

    def note(self) -> dict[str, Any]:
        """Return what the agent wrote down, waiting for it."""
        self.until(self.note_path.exists)
        found: dict[str, Any] = json.loads(self.note_path.read_text(encoding="utf-8"))
        return found

    def items(self, **contents: str | bytes) -> FolderSource:
        """Put files into a folder of items, and return it as a source."""
        ready = self.folder / "items" / "ready"
        ready.mkdir(parents=True, exist_ok=True)
        for name, content in contents.items():
            data = content.encode() if isinstance(content, str) else content
            (ready / f"{name}.md").write_bytes(data)
        return FolderSource(path=str(self.folder / "items"))

    def places(self) -> dict[str, list[str]]:
        """Return which items lie where."""
        found = {
            folder.name: sorted(path.name for path in folder.iterdir())
            for folder in (self.folder / "items").iterdir()
        }
        return {name: names for name, names in found.items() if names}


@contextmanager
def quiet_machine(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Have a home and a login shell of one's own, and end in the end what was left running."""
    for name in ("run", "home"):
        (folder / name).mkdir(mode=0o700)
    for name in [name for name in os.environ if name.startswith("HALO_")]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(folder / "run"))
    monkeypatch.setenv("DBUS_SYSTEM_BUS_ADDRESS", "unix:path=/nonexistent")
    monkeypatch.setenv("HOME", str(folder / "home"))
    monkeypatch.setenv("SHELL", "/bin/sh")
    yield
    end_all(pids_in(folder))


@contextmanager
def open_agent_shop(folder: Path, qtbot: QtBot) -> Iterator[AgentShop]:
    """Run the jobs of a database in a folder."""
    (folder / "data").mkdir(mode=0o700)
    scheduler = Scheduler.open(folder / "data" / "halo.db")
    scheduler.start()
    yield AgentShop(scheduler, folder, qtbot)
    with suppress(SchedulerShutdownError):
        scheduler.stop(timeout_ms=0, end_runs=True)
    scheduler.close()
