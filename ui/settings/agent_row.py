"""One agent in the list of agents."""

from __future__ import annotations

from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import QHBoxLayout, QVBoxLayout

from halo_scheduler.model.agents import Agent, Delivery
from ui.forms.argument_chips import ArgumentChips
from ui.style.theme import GRID, HALF, MARGIN, Appearance, Tone, small_font, strong_font
from ui.style.wording import one_line, plain_tooltip
from ui.widgets.labels import button, icon_button, label
from ui.widgets.wrapped_text import WrappedText

from .entry_row import EntryRow

_MOST_NAMED = 12


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
    shown = [one_line(name, 60) for name in users[:_MOST_NAMED]]
    return "\n".join([*shown, "…"] if len(users) > _MOST_NAMED else shown)
