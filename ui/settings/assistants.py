"""The settings of assistants: what they may do here, and how they are told of Halo."""

from __future__ import annotations

from PySide6.QtCore import QSignalBlocker, Qt
from PySide6.QtWidgets import QFrame, QHBoxLayout, QVBoxLayout

from halo_scheduler.settings import Settings
from ui.settings.copy_field import CopyField
from ui.settings.link import SettingsLink
from ui.settings.page import Card, Page, Row
from ui.settings.snippet import install_command, is_installed, snippet
from ui.settings.switch import Switch
from ui.theme import GRID, HALF, MARGIN, Look, Tone
from ui.widgets.labels import frame, label
from ui.widgets.line_icon import LineIcon


class AssistantsPage(Page):
    """The switch for creating and editing, and what to paste into an assistant's configuration."""

    def __init__(self, link: SettingsLink, look: Look) -> None:
        super().__init__()
        self._link = link
        self._look = look
        self.add_title(
            self.tr("Assistants"),
            self.tr(
                "An assistant that speaks MCP, the Model Context Protocol, can look at your jobs and what they "
                "printed, explain them, and pause, resume or run them. It can never remove a job or read a secret."
            ),
        )
        self._missing = self._new_missing()
        self.add(self._missing)
        self._add_switch()
        self._add_snippet()
        link.follow(self._show)

    def come_up(self) -> None:
        """Look whether what speaks with assistants is installed by now."""
        self._missing.setVisible(not is_installed())

    def _add_switch(self) -> None:
        title = self.tr("Assistants may create and edit jobs")
        self._switch = Switch(self._look, "assistantsEditSwitch", title)
        self._switch_row = Row(
            self.tr("Assistants may &create and edit jobs"),
            self.tr(
                "What they create or change is paused, and does not run until you have looked at it and resume it."
            ),
            self._switch,
        )
        self._switch.toggled.connect(
            lambda is_on: self._link.change(self._switch_row.show_error, assistants_may_edit=is_on)
        )
        card = Card()
        card.add(self._switch_row)
        self.add(card)

    def _show(self, settings: Settings) -> None:
        with QSignalBlocker(self._switch):
            self._switch.setChecked(settings.assistants_may_edit)

    # --- What to paste -------------------------------------------------------------------------------

    def _add_snippet(self) -> None:
        text = CopyField(
            self._look,
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
        row.addWidget(LineIcon(self._look, "warning", Tone.WARN), 0, Qt.AlignmentFlag.AlignTop)
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
        words.addWidget(CopyField(self._look, install_command(), name="install", title=title))
        row.addLayout(words, 1)
        return made
