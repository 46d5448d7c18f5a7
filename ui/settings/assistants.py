"""The assistants page: their access, their configuration and their activity."""

from __future__ import annotations

import json
import os
import shlex
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from PySide6.QtCore import Qt
from PySide6.QtWidgets import (
    QButtonGroup,
    QFrame,
    QHBoxLayout,
    QPushButton,
    QVBoxLayout,
    QWidget,
)

from halo_scheduler.model.changes import Change, ChangeKind
from halo_scheduler.model.settings import AssistantAccess, Settings
from halo_scheduler.service.scheduler import Scheduler
from halo_scheduler.wording.measures import full_moment
from ui.style.theme import GRID, HALF, MARGIN, Appearance, Tone
from ui.style.wording import one_line
from ui.widgets.labels import button, frame, label
from ui.widgets.signs import LineIcon

from .page import Card, CopyField, Page, Row, SettingsLink

_REQUIREMENT = "mcp>=2.3,<3"
# Variables that locate the data; assistants pass on little of their environment.
_PLACES = ("HALO_HOME", "XDG_DATA_HOME")
_MOST_ACTS = 50
_LONGEST_NAME = 60


def is_installed() -> bool:
    """Return whether the mcp package is installed, without importing it."""
    return find_spec("mcp") is not None


def install_command(executable: str = sys.executable) -> str:
    """Return the command that installs it for this Python."""
    return shlex.join([executable, "-m", "pip", "install", _REQUIREMENT])


def snippet(executable: str = sys.executable, environment: Mapping[str, str] = os.environ) -> str:
    """Return the JSON to paste; it names the data folder only if it is not the default."""
    server: dict[str, Any] = _program(executable)
    chosen = {name: environment[name] for name in _PLACES if environment.get(name)}
    if chosen:
        # Absolute, but without resolving symbolic links.
        server["env"] = {name: os.path.abspath(place) for name, place in chosen.items()}  # noqa: PTH100
    fields = ",\n".join(f"      {_json(name)}: {_json(value)}" for name, value in server.items())
    return f'{{\n  "mcpServers": {{\n    "halo": {{\n{fields}\n    }}\n  }}\n}}'


def _program(executable: str) -> dict[str, Any]:
    """Return the command of this installation; resolving symbolic links would leave the virtual environment."""
    halo = Path(executable).with_name("halo.exe" if sys.platform == "win32" else "halo")
    if halo.is_file() and os.access(halo, os.X_OK):
        return {"command": str(halo), "args": ["mcp"]}
    # -P: ignore a folder "halo_scheduler" in the current directory.
    return {"command": executable, "args": ["-P", "-m", "halo_scheduler", "mcp"]}


def _json(value: object) -> str:
    return json.dumps(value, ensure_ascii=False)


class AssistantsPage(Page):
    """The access of assistants, the configuration to paste, and what they did."""

    def __init__(self, link: SettingsLink, appearance: Appearance) -> None:
        super().__init__()
        self._link = link
        self._appearance = appearance
        self.add_title(
            self.tr("Assistants"),
            self.tr(
                "AI assistants that support MCP (Model Context Protocol) can view and explain your jobs and "
                "their output. You choose what else they may do. They can never remove a job or read a "
                "secret."
            ),
        )
        self._missing = self._new_missing()
        self.add(self._missing)
        self._add_access()
        self._add_snippet()
        self._add_acts()
        link.follow(self._show)
        link.backend.changed.connect(self._notice)

    def refresh(self) -> None:
        """Check whether MCP support is installed, and load what assistants did."""
        self._missing.setVisible(not is_installed())
        self._load_acts()

    # --- Access --------------------------------------------------------------------------------------

    def _add_access(self) -> None:
        choices = QWidget()
        choices.setObjectName("assistantsChoice")
        box = QHBoxLayout(choices)
        box.setContentsMargins(MARGIN, 0, MARGIN, GRID + HALF)
        box.setSpacing(HALF)
        self._levels = QButtonGroup(self)
        for access, text in (
            (AssistantAccess.READ, self.tr("&View only")),
            (AssistantAccess.RUN, self.tr("&Run jobs")),
            (AssistantAccess.EDIT, self.tr("&Edit jobs")),
        ):
            made = button(text, name=f"assistants{access.value.capitalize()}Button")
            made.setCheckable(True)
            made.setProperty("access", access.value)
            self._levels.addButton(made)
            box.addWidget(made)
        box.addStretch(1)
        self._access_row = Row(self.tr("Access"), " ", None, buddy=self._levels.buttons()[0])
        self._levels.buttonClicked.connect(self._choose)
        card = Card()
        card.add(self._access_row)
        card.insert_below(self._access_row, choices)
        self.add(card)

    def _choose(self, chosen: QPushButton) -> None:
        access = AssistantAccess(str(chosen.property("access")))
        self._explain(access)
        self._link.change(self._access_row.show_error, assistants=access)

    def _show(self, settings: Settings) -> None:
        for made in self._levels.buttons():
            made.setChecked(made.property("access") == settings.assistants.value)
        self._explain(settings.assistants)

    def _explain(self, access: AssistantAccess) -> None:
        words = {
            AssistantAccess.READ: self.tr(
                "They can view everything except secrets, but not change or start anything."
            ),
            AssistantAccess.RUN: self.tr(
                "They can also run, pause and resume jobs, but not resume what you paused or disabled. You "
                "can exclude a job in its Options."
            ),
            AssistantAccess.EDIT: self.tr(
                "They can also run, create and edit jobs. What they create or edit is paused until you "
                "review and resume it."
            ),
        }[access]
        self._access_row.show_hint(words)
        for made in self._levels.buttons():
            made.setAccessibleDescription(words)

    # --- Configuration -------------------------------------------------------------------------------

    def _add_snippet(self) -> None:
        text = CopyField(
            self._appearance,
            snippet(),
            name="snippet",
            title=self.tr("Assistant configuration"),
            hint=self.tr("Paste this into the assistant's list of MCP servers."),
        )
        text.setContentsMargins(MARGIN, GRID + HALF, MARGIN, MARGIN)
        card = Card()
        card.add(text)
        self.add(card)

    def _new_missing(self) -> QFrame:
        made = frame("note")
        made.setObjectName("mcpMissing")
        row = QHBoxLayout(made)
        row.setContentsMargins(MARGIN, GRID + HALF, MARGIN, GRID + HALF)
        row.setSpacing(GRID)
        row.addWidget(LineIcon(self._appearance, "warning", Tone.WARN), 0, Qt.AlignmentFlag.AlignTop)
        words = QVBoxLayout()
        words.setSpacing(GRID)
        words.addWidget(
            label(
                self.tr("MCP support isn't installed. Install it with:"),
                wrap=True,
                name="mcpMissingText",
            )
        )
        title = self.tr("Install command")
        words.addWidget(CopyField(self._appearance, install_command(), name="install", title=title))
        row.addLayout(words, 1)
        return made

    # --- Activity ------------------------------------------------------------------------------------

    def _add_acts(self) -> None:
        self.add(label(self.tr("Assistant activity"), "strong"))
        self._acts = Card()
        self._acts.setObjectName("assistantActs")
        self.add(self._acts)
        self._rows: list[_Act] | None = None

    def _notice(self, change: Change) -> None:
        if change.kind is ChangeKind.JOB and self.isVisible():
            self._load_acts()

    def _load_acts(self) -> None:
        self._link.backend.ask(_acts, self._show_acts, lambda _error: None, owner=self)

    def _show_acts(self, acts: list[_Act]) -> None:
        if acts == self._rows:
            return
        self._rows = acts
        self._acts.clear()
        for act in acts:
            self._acts.add(Row(f"{act.job}: {act.what}", f"{act.assistant} · {act.when}", None))
        if not acts:
            self._acts.add(Row(self.tr("No activity yet"), "", None))


@dataclass(frozen=True, slots=True)
class _Act:
    """A line of the list, in words."""

    job: str
    what: str
    assistant: str
    when: str


def _acts(scheduler: Scheduler) -> list[_Act]:
    return [
        _Act(
            one_line(act.job_name, _LONGEST_NAME),
            act.words(act.at),
            one_line(act.assistant),
            full_moment(act.at),
        )
        for act in scheduler.jobs.assistant_acts(_MOST_ACTS)
    ]
