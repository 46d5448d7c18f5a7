"""The agents page: programs that run prompts."""

from __future__ import annotations

import os
from collections.abc import Callable
from functools import partial

from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import QHBoxLayout, QMenu, QVBoxLayout, QWidget

from halo_scheduler.host.login_environment import LoginEnvironment
from halo_scheduler.model.settings import PRESETS, Agent, Delivery, Settings
from halo_scheduler.service.scheduler import Scheduler
from ui.backend.backend import Lane
from ui.forms.command_line import AgentUsers, ArgumentChips, agent_line, missing_programs, read_users
from ui.style.theme import GRID, HALF, MARGIN, Appearance, Tone, small_font, strong_font
from ui.style.wording import one_line, plain_tooltip
from ui.widgets.labels import WrappedText, button, icon_button, label, tint

from .agent_form import AgentForm
from .list_page import EntryRow, ListPage
from .page import SettingsLink

_MOST_JOBS_NAMED = 12
_MOST_NAMED = 3
_LONGEST_NAME = 60


class AgentRow(EntryRow):
    """Shows an agent and its buttons."""

    default_wanted = Signal(str)
    edit_wanted = Signal(str)
    remove_wanted = Signal(str)

    def __init__(self, agent: Agent, appearance: Appearance) -> None:
        super().__init__(agent.name)
        self.setObjectName("agentRow")
        self._agent = agent
        shown = one_line(agent.name)
        self._name = WrappedText(appearance, name="agentName", font=strong_font(self.font()), most_lines=1)
        self._name.set_text(agent.name)
        self._chips = ArgumentChips(appearance, name="agentArguments")
        small = small_font(self.font())
        self._about = WrappedText(appearance, name="agentAbout", font=small, tone=Tone.MUTED, most_lines=1)
        self._missing = label(self.tr("program not found"), "warn", name="agentMissing")
        self._missing.setFont(small)
        program = self.tr("{program} isn't on the PATH of your login shell, where jobs look for programs.")
        self._missing.setToolTip(plain_tooltip(program.format(program=one_line(agent.argv[0], 80))))
        self._missing.hide()
        self._is_default = label(self.tr("Default"), "ok", name="agentIsDefault")
        # Aligned with the button that it replaces.
        self._is_default.setContentsMargins(0, 0, GRID + 1, 0)
        self._make_default = button(
            self.tr("Make default"),
            name="defaultAgentButton",
            kind="quiet",
            tip=self.tr("Use for prompts that don't name an agent"),
            accessible=self.tr("Make {name} the default").format(name=shown),
        )
        self._edit = icon_button(
            appearance, "edit", self.tr("Edit {name}…").format(name=shown), name="editAgentButton"
        )
        self._remove = icon_button(
            appearance, "delete", self.tr("Remove {name}").format(name=shown), name="removeAgentButton"
        )
        self._make_default.clicked.connect(lambda: self.default_wanted.emit(agent.name))
        self._edit.clicked.connect(lambda: self.edit_wanted.emit(agent.name))
        self._remove.clicked.connect(lambda: self.remove_wanted.emit(agent.name))
        self._lay_out()
        # Only after they have a parent: otherwise they would be shown as a window.
        self._chips.show_arguments(agent.argv)
        # Chips hide a single argument, but here it is the whole command line.
        self._chips.show()

    @property
    def agent(self) -> Agent:
        return self._agent

    def show_state(self, users: tuple[str, ...], *, is_default: bool, is_missing: bool) -> None:
        """Show the parts that can change without the agent itself."""
        had_focus = self._make_default.hasFocus()
        self._is_default.setVisible(is_default)
        self._make_default.setVisible(not is_default)
        if had_focus and is_default:
            self._edit.setFocus()
        self._about.set_text(" · ".join(filter(None, [self._delivery_words(), self._user_words(users)])))
        self._about.setToolTip(plain_tooltip(_named(users)))
        self._missing.setVisible(is_missing)

    def _delivery_words(self) -> str:
        return {
            Delivery.STDIN: self.tr("prompt via stdin"),
            Delivery.ARGUMENT: self.tr("prompt as argument"),
            Delivery.FILE: self.tr("prompt in a file"),
        }[self._agent.delivery]

    def _user_words(self, users: tuple[str, ...]) -> str:
        if not users:
            return ""
        return self.tr("1 job") if len(users) == 1 else self.tr("{count} jobs").format(count=len(users))

    def _lay_out(self) -> None:
        words = QVBoxLayout()
        words.setSpacing(HALF)
        words.addWidget(self._name)
        words.addWidget(self._chips)
        last = QHBoxLayout()
        last.setSpacing(GRID + HALF)
        last.addWidget(self._missing)
        last.addWidget(self._about, 1)
        words.addLayout(last)
        box = QHBoxLayout(self)
        box.setContentsMargins(MARGIN, GRID + HALF, GRID, GRID + HALF)
        box.setSpacing(HALF)
        box.addLayout(words, 1)
        box.addSpacing(GRID)
        middle = Qt.AlignmentFlag.AlignVCenter
        for control in (self._is_default, self._make_default, self._edit, self._remove):
            box.addWidget(control, 0, middle)


def _named(users: tuple[str, ...]) -> str:
    shown = [one_line(name, 60) for name in users[:_MOST_JOBS_NAMED]]
    return "\n".join([*shown, "…"] if len(users) > _MOST_JOBS_NAMED else shown)


class AgentsPage(ListPage[AgentRow, AgentForm]):
    """Lists the agents, one of which is the default."""

    def __init__(
        self, link: SettingsLink, appearance: Appearance, environment: LoginEnvironment | None = None
    ) -> None:
        super().__init__(appearance, AgentForm(appearance), error_name="agentsError")
        self._link = link
        self._environment = environment or LoginEnvironment()
        self._agents: tuple[Agent, ...] | None = None
        self._default = ""
        self._edited = ""
        self._users = AgentUsers()
        self._missing: frozenset[str] = frozenset()
        self.add_title(
            self.tr("Agents"),
            self.tr("Programs that run prompts. Jobs use the agent they name, or the default."),
        )
        self._add_bar()
        self._add_list()
        self._form.submitted.connect(self._save)
        self._form.cancelled.connect(self._give_up)
        link.follow(self._show)

    def refresh(self) -> None:
        """Load which jobs use them, and which programs are missing."""
        self._link.backend.ask(read_users, self._take_users, owner=self, lane=Lane.SLOW)
        self._find_missing_programs()

    # --- Showing -------------------------------------------------------------------------------------

    def _show(self, settings: Settings) -> None:
        self._take(settings.agents, settings.default_agent)
        self._form.know_others(self._others(self._edited))

    def _take(self, agents: tuple[Agent, ...], default: str) -> None:
        is_new = agents != self._agents
        self._agents, self._default = agents, default
        if is_new:
            self._fill()
            self._find_missing_programs()
        self._show_states()

    def _fill(self) -> None:
        self._show_rows(
            [self._row(agent) for agent in self._agents or ()],
            self.tr("No agents"),
            self.tr("Jobs with a prompt need an agent to run."),
        )
        self._fill_presets()
        for one in (self._new, self._presets):
            one.setEnabled(True)

    def _row(self, agent: Agent) -> AgentRow:
        row = AgentRow(agent, self._appearance)
        row.default_wanted.connect(self._make_default)
        row.edit_wanted.connect(self._edit)
        row.remove_wanted.connect(self._remove)
        return row

    def _show_states(self) -> None:
        for row in self._rows:
            name = row.agent.name
            row.show_state(
                self._users.of(name, self._default),
                is_default=name == self._default,
                is_missing=row.agent.argv[0] in self._missing,
            )

    def _take_users(self, users: AgentUsers) -> None:
        self._users = users
        self._show_states()

    def _find_missing_programs(self) -> None:
        agents, environment = self._agents or (), self._environment

        def work(_scheduler: Scheduler) -> frozenset[str]:
            return missing_programs(agents, environment.get().get("PATH", os.defpath))

        self._link.backend.ask(work, self._take_missing, owner=self, lane=Lane.SLOW)

    def _take_missing(self, missing: frozenset[str]) -> None:
        self._missing = missing
        self._show_states()

    # --- Editing -------------------------------------------------------------------------------------

    def _add(self) -> None:
        self._open_form(None)

    def _edit(self, name: str) -> None:
        self._open_form(self._find(name))

    def _open_form(self, agent: Agent | None) -> None:
        if self._has_unsaved_entry():
            return
        self._drop_note()
        self._edited = own = "" if agent is None else agent.name
        self._form.edit(agent, self._others(own), self._users.naming(own))
        self.verticalScrollBar().setValue(0)

    def _give_up(self) -> None:
        self._close_form(self._edited)

    def _save(self, agent: Agent) -> None:
        agents, old = self._agents or (), self._edited
        is_there = any(one.name == old for one in agents)
        changed = tuple(agent if one.name == old else one for one in agents)
        # A renamed default stays the default; the first agent becomes it.
        is_default = not agents or (is_there and old == self._default)
        self._apply(
            changed if is_there else (*agents, agent),
            agent.name if is_default else self._default,
            partial(self._take_saved, agent.name),
        )

    def _add_preset(self, preset: Agent) -> None:
        self._drop_note()
        agents = self._agents or ()
        self._apply((*agents, preset), self._default if agents else preset.name, self._show_error)
        self._focus(preset.name)

    def _make_default(self, name: str) -> None:
        self._drop_note()
        self._apply(self._agents or (), name, self._show_error)

    def _remove(self, name: str) -> None:
        agents = self._agents or ()
        place = next((index for index, one in enumerate(agents) if one.name == name), None)
        if place is None or self._has_unsaved_entry():
            return
        self._form.discard()
        was_default = name == self._default
        rest = agents[:place] + agents[place + 1 :]
        default = rest[0].name if rest and was_default else self._default
        self._apply(rest, default, self._show_error)
        words = self._removed_words(name, default, was_default=was_default)
        self._offer_undo(words, partial(self._restore, agents[place], place, was_default=was_default))

    def _restore(self, agent: Agent, place: int, *, was_default: bool) -> None:
        agents = self._agents or ()
        if self._find(agent.name) is not None:
            return
        default = agent.name if was_default else self._default
        self._apply((*agents[:place], agent, *agents[place:]), default, self._show_error)
        self._focus(agent.name)

    def _apply(self, agents: tuple[Agent, ...], default: str, show_error: Callable[[str], None]) -> None:
        """Change the agents and show that at once, so that a second change builds on it."""
        if self._agents is not None:
            self._take(agents, default)
            self._link.change(show_error, agents=agents, default_agent=default)

    # --- Texts ---------------------------------------------------------------------------------------

    def _removed_words(self, name: str, default: str, *, was_default: bool) -> str:
        words = [self.tr("{name} removed.").format(name=one_line(name, _LONGEST_NAME))]
        if was_default and default != name:
            words.append(self.tr("The default is now {name}.").format(name=one_line(default, _LONGEST_NAME)))
        left = self._users.naming(name)
        if left:
            words.append(self.tr("These jobs have no agent anymore: {jobs}.").format(jobs=_listed(left)))
        return " ".join(words)

    # --- Building ------------------------------------------------------------------------------------

    def _add_bar(self) -> None:
        self._new = button(self.tr("&Add an agent…"), name="addAgentButton")
        tint(self._new, self._appearance, "add")
        self._new.clicked.connect(self._add)
        self._presets = button(
            self.tr("Add a &preset"), name="addPresetButton", tip=self.tr("Add a well-known agent")
        )
        tint(self._presets, self._appearance, "chevron-down", Tone.MUTED)
        self._presets.setLayoutDirection(Qt.LayoutDirection.RightToLeft)
        self._menu = QMenu(self._presets)
        self._menu.setObjectName("presetMenu")
        self._menu.setLayoutDirection(Qt.LayoutDirection.LeftToRight)
        self._presets.setMenu(self._menu)
        bar = QWidget()
        box = QHBoxLayout(bar)
        box.setContentsMargins(0, 0, 0, 0)
        box.setSpacing(GRID)
        for one in (self._new, self._presets):
            one.setEnabled(False)
            box.addWidget(one)
        box.addWidget(self._error, 1)
        box.addStretch(0)
        self.add(bar)

    def _fill_presets(self) -> None:
        self._menu.clear()
        missing = [preset for preset in PRESETS if self._find(preset.name) is None]
        for preset in missing:
            action = self._menu.addAction(f"{preset.name}  ({agent_line(preset.argv)})")
            action.setObjectName(f"preset-{preset.name}")
            action.triggered.connect(partial(self._add_preset, preset))
        self._presets.setVisible(bool(missing))

    def _find(self, name: str) -> Agent | None:
        return next((one for one in self._agents or () if one.name == name), None)

    def _others(self, name: str) -> frozenset[str]:
        """Return the names of the other agents."""
        return frozenset(one.name for one in self._agents or ()) - {name}


def _listed(names: tuple[str, ...]) -> str:
    shown = ", ".join(one_line(name, _LONGEST_NAME) for name in names[:_MOST_NAMED])
    return f"{shown}, …" if len(names) > _MOST_NAMED else shown
