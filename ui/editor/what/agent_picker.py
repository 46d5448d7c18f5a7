"""The choice of the agent that receives a prompt."""

from __future__ import annotations

import os
from pathlib import Path

from PySide6.QtCore import QSignalBlocker, Signal
from PySide6.QtWidgets import QComboBox, QVBoxLayout, QWidget

from halo_scheduler.errors import ScheduleError
from halo_scheduler.model.changes import Change, ChangeKind
from halo_scheduler.model.settings import Agent, Delivery, Settings
from ui.backend.backend import Asked, Backend, Lane
from ui.forms.command_line import agent_line, missing_programs
from ui.style.theme import HALF
from ui.style.wording import one_line
from ui.widgets.arrange import show_if
from ui.widgets.labels import label

_LONGEST_NAME = 60
_LONGEST_LINE = 120
# Common install folders that may be missing from the PATH of a desktop session.
_USUAL_PLACES = ("~/.local/bin", "~/bin", "~/.npm-global/bin", "/usr/local/bin", "/opt/homebrew/bin")


class AgentPicker(QWidget):
    """Lists the agents of the settings, the default first; keeps an agent that was removed there."""

    changed = Signal()

    def __init__(self, backend: Backend, settings: Settings, *, name: str) -> None:
        super().__init__()
        self.setObjectName(name)
        self._backend = backend
        self._settings = settings
        self._given = ""
        self._asked: Asked | None = None
        self._box = QComboBox()
        self._box.setObjectName(f"{name}Box")
        self._box.setAccessibleName(self.tr("Agent"))
        self._box.setMinimumContentsLength(16)
        self._how = label("", "small", wrap=True, name=f"{name}How")
        self._missing = label("", "warn", wrap=True, name=f"{name}Missing")
        self._missing.hide()
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.setSpacing(HALF)
        for widget in (self._box, self._how, self._missing):
            layout.addWidget(widget)
        self._fill("")
        self._box.currentIndexChanged.connect(self._announce_change)
        backend.changed.connect(self._notice)

    @property
    def box(self) -> QComboBox:
        """The widget to focus."""
        return self._box

    @property
    def agent(self) -> str:
        """The name of the agent; empty for the default."""
        return str(self._box.currentData() or "")

    def choose(self, agent: str) -> None:
        """Show the agent of a job."""
        self._given = agent
        self._fill(agent)
        self._show_how()

    def read(self) -> str:
        """Return the name, or raise ScheduleError if the settings have no such agent."""
        if not self._settings.agents:
            raise ScheduleError(self.tr("no agents yet; add one in the settings"), path="agent")
        if not self.agent and not self._settings.default_agent:
            raise ScheduleError(
                self.tr("choose an agent here or set a default in the settings"), path="agent"
            )
        self._settings.find_agent(self.agent)
        return self.agent

    def _fill(self, chosen: str) -> None:
        """Fill the list without emitting `changed`."""
        quiet = QSignalBlocker(self._box)
        self._box.clear()
        default = self._settings.default_agent
        words = self.tr("Default ({agent})").format(agent=one_line(default, _LONGEST_NAME))
        self._box.addItem(words if default else self.tr("Default (none)"), "")
        known = [agent.name for agent in self._settings.agents]
        for name in known:
            self._box.addItem(one_line(name, _LONGEST_NAME), name)
        for name in dict.fromkeys((self._given, chosen)):
            if name and name not in known:
                self._box.addItem(
                    self.tr("{agent} (not in the settings)").format(agent=one_line(name, _LONGEST_NAME)), name
                )
        self._box.setCurrentIndex(self._box.findData(chosen))
        quiet.unblock()

    def _notice(self, change: Change) -> None:
        if change.kind is ChangeKind.SETTINGS:
            self._backend.ask(lambda scheduler: scheduler.settings.read(), self._take, owner=self)

    def _take(self, settings: Settings) -> None:
        if (settings.agents, settings.default_agent) != (self._settings.agents, self._settings.default_agent):
            self._settings = settings
            self._fill(self.agent)
            self._announce_change()

    def _announce_change(self) -> None:
        self._show_how()
        self.changed.emit()

    def _show_how(self) -> None:
        agent = self._found()
        self._how.setText("" if agent is None else self._words(agent))
        show_if(self._how, agent is not None)
        self._show_missing(frozenset())
        if self._asked is not None:
            self._asked.cancel()
        if agent is not None:
            wanted = agent
            self._asked = self._backend.ask(
                lambda _scheduler: missing_programs([wanted], _search_path()),
                self._show_missing,
                lambda _error: None,
                owner=self,
                lane=Lane.SLOW,
            )

    def _found(self) -> Agent | None:
        try:
            return self._settings.find_agent(self.agent)
        except ScheduleError:
            return None

    def _words(self, agent: Agent) -> str:
        words = {
            Delivery.STDIN: self.tr("Runs {line} with the prompt on standard input."),
            Delivery.ARGUMENT: self.tr("Runs {line}; {sign} is replaced by the prompt, up to 100 KiB."),
            Delivery.FILE: self.tr("Runs {line}; {sign} is replaced by the path of a file with the prompt."),
        }[agent.delivery]
        sign = {Delivery.ARGUMENT: "{prompt}", Delivery.FILE: "{prompt_file}"}.get(agent.delivery, "")
        return words.format(line=one_line(agent_line(agent.argv), _LONGEST_LINE), sign=sign)

    def _show_missing(self, programs: frozenset[str]) -> None:
        show_if(self._missing, bool(programs))
        for program in programs:
            self._missing.setText(
                self.tr(
                    "{program} isn't installed or isn't on your PATH. Install it or choose another agent."
                ).format(program=one_line(program, _LONGEST_NAME))
            )


def _search_path() -> str:
    """Return the PATH of this process plus the common install folders."""
    places = [str(Path(place).expanduser()) for place in _USUAL_PLACES]
    return os.pathsep.join([os.environ.get("PATH") or os.defpath, *places])
