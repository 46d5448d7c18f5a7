"""The settings of assistants: what they may do here, how they are told of Halo, and what they did."""

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
from PySide6.QtWidgets import QButtonGroup, QFrame, QHBoxLayout, QPushButton, QVBoxLayout, QWidget

from halo_scheduler.model.changes import Change, ChangeKind
from halo_scheduler.model.settings import AssistantAccess, Settings
from halo_scheduler.service.scheduler import Scheduler
from ui.style.theme import GRID, HALF, MARGIN, Appearance, Tone
from ui.style.wording import moment, one_line
from ui.widgets.labels import button, frame, label
from ui.widgets.line_icon import LineIcon

from .copy_field import CopyField
from .link import SettingsLink
from .page import Card, Page, Row

_REQUIREMENT = "mcp>=2.3,<3"
# What decides where the data is; assistants hand on little of their own environment.
_PLACES = ("HALO_HOME", "XDG_DATA_HOME")

_MOST_ACTS = 50
_LONGEST_NAME = 60


def is_installed() -> bool:
    """Tell whether the part that speaks with assistants is there, without loading it."""
    return find_spec("mcp") is not None


def install_command(executable: str = sys.executable) -> str:
    """Return the line that installs it for this very Python."""
    return shlex.join([executable, "-m", "pip", "install", _REQUIREMENT])


def snippet(executable: str = sys.executable, environment: Mapping[str, str] = os.environ) -> str:
    """Return the JSON to paste; the data's place is in it only when it is not the usual one."""
    server: dict[str, Any] = _program(executable)
    chosen = {name: environment[name] for name in _PLACES if environment.get(name)}
    if chosen:
        # Absolute, but as given, with its links.
        server["env"] = {name: os.path.abspath(place) for name, place in chosen.items()}  # noqa: PTH100
    fields = ",\n".join(f"      {_json(name)}: {_json(value)}" for name, value in server.items())
    return f'{{\n  "mcpServers": {{\n    "halo": {{\n{fields}\n    }}\n  }}\n}}'


def _program(executable: str) -> dict[str, Any]:
    """Return what starts this very installation; resolved, a link would leave its virtual environment."""
    halo = Path(executable).with_name("halo.exe" if sys.platform == "win32" else "halo")
    if halo.is_file() and os.access(halo, os.X_OK):
        return {"command": str(halo), "args": ["mcp"]}
    # -P: a folder "halo_scheduler" where the assistant starts us is not taken for the program.
    return {"command": executable, "args": ["-P", "-m", "halo_scheduler", "mcp"]}


def _json(value: object) -> str:
    return json.dumps(value, ensure_ascii=False)


class AssistantsPage(Page):
    """How far assistants may go, what to paste into an assistant's configuration, and a list of what they did."""

    def __init__(self, link: SettingsLink, appearance: Appearance) -> None:
        super().__init__()
        self._link = link
        self._appearance = appearance
        self.add_title(
            self.tr("Assistants"),
            self.tr(
                "An assistant that speaks MCP, the Model Context Protocol, can look at your jobs and what they "
                "printed, and explain them. How far it may go beyond that is up to you. It can never remove a job "
                "or read a secret."
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
        """Look whether what speaks with assistants is installed by now, and what they did."""
        self._missing.setVisible(not is_installed())
        self._load_acts()

    # --- How far they may go -------------------------------------------------------------------------

    def _add_access(self) -> None:
        choices = QWidget()
        choices.setObjectName("assistantsChoice")
        box = QHBoxLayout(choices)
        box.setContentsMargins(0, 0, 0, 0)
        box.setSpacing(HALF)
        self._levels = QButtonGroup(self)
        for access, text in (
            (AssistantAccess.READ, self.tr("&Look only")),
            (AssistantAccess.RUN, self.tr("&Run jobs")),
            (AssistantAccess.EDIT, self.tr("&Edit jobs")),
        ):
            made = button(text, name=f"assistants{access.value.capitalize()}Button")
            made.setCheckable(True)
            made.setProperty("access", access.value)
            self._levels.addButton(made)
            box.addWidget(made)
        self._access_row = Row(
            self.tr("What assistants may do"), " ", choices, buddy=self._levels.buttons()[0]
        )
        self._levels.buttonClicked.connect(self._choose)
        card = Card()
        card.add(self._access_row)
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
                "They see everything but secrets, and can change and start nothing."
            ),
            AssistantAccess.RUN: self.tr(
                "They can also pause, resume and run jobs. What you paused or switched off stays so, and you can "
                "keep single jobs from them in the editor."
            ),
            AssistantAccess.EDIT: self.tr(
                "They can also run, create and change jobs. What they create or change is paused, and does not run "
                "until you have looked at it and resume it."
            ),
        }[access]
        self._access_row.show_hint(words)
        for made in self._levels.buttons():
            made.setAccessibleDescription(words)

    # --- What to paste -------------------------------------------------------------------------------

    def _add_snippet(self) -> None:
        text = CopyField(
            self._appearance,
            snippet(),
            name="snippet",
            title=self.tr("For the assistant's configuration"),
            hint=self.tr("Paste this where it lists its MCP servers."),
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
                self.tr("The part that speaks with assistants is not installed. This installs it:"),
                wrap=True,
                name="mcpMissingText",
            )
        )
        title = self.tr("Command that installs it")
        words.addWidget(CopyField(self._appearance, install_command(), name="install", title=title))
        row.addLayout(words, 1)
        return made

    # --- What they did -------------------------------------------------------------------------------

    def _add_acts(self) -> None:
        self.add(label(self.tr("What assistants did"), "strong"))
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
            self._acts.add(Row(self.tr("Nothing yet"), "", None))


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
            one_line(act.job_name, _LONGEST_NAME), act.words(act.at), one_line(act.assistant), moment(act.at)
        )
        for act in scheduler.jobs.assistant_acts(_MOST_ACTS)
    ]
