"""The prompt of a job: its text, the agent that gets it, and what that agent will read."""

from __future__ import annotations

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QHBoxLayout, QVBoxLayout, QWidget

from halo_scheduler.grammar.templates import NOTHING_TO_SAY
from halo_scheduler.model import JobSpec, Prompt
from halo_scheduler.model.settings import Settings
from halo_scheduler.model.work_source import FolderSource
from ui.backend.backend import Backend
from ui.forms.fields import Field, Page
from ui.forms.problems import Findings
from ui.style.theme import GRID, HALF, MARGIN, Look
from ui.widgets.labels import label

from .agent_picker import AgentPicker
from .prompt_edit import PromptEdit
from .prompt_preview import PromptPreview
from .variable_menu import VariableMenu

# Any source will do to tell that there is one: the one that was chosen may not be complete yet.
_SOME_SOURCE = FolderSource(path="/")


class PromptForm(QWidget):
    """Everything about a prompt that no command has."""

    changed = Signal()

    def __init__(self, backend: Backend, look: Look, settings: Settings, page: Page, parent: QWidget) -> None:
        super().__init__(parent)
        self._has_work = False
        self._text = PromptEdit(look, name="promptText", title=self.tr("Prompt"))
        self._text.setPlaceholderText(
            self.tr(
                "Today is {{date}}. Read the notes in this folder and sum up what is new since yesterday."
            )
        )
        self._variables = VariableMenu(look, self, name="insertVariable")
        self._agent = AgentPicker(backend, settings, name="agent")
        self._preview = PromptPreview(backend, look, name="promptPreview")
        self._text_field = page.watch_field(
            Field("", self._text, path="action.text", subject=self.tr("The prompt"))
        )
        agent_field = page.watch_field(
            Field(
                self.tr("Agent"),
                self._agent,
                path="action.agent",
                subject=self.tr("The agent"),
                target=self._agent.box,
            )
        )
        text = QVBoxLayout()
        text.setSpacing(HALF)
        text.addLayout(self._head())
        text.addWidget(self._text_field)
        text.addWidget(self._preview)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.setSpacing(MARGIN)
        layout.addLayout(text)
        layout.addWidget(agent_field)
        self._variables.picked.connect(self._text.insert_variable)
        self._text.edited.connect(self._tell)
        self._agent.changed.connect(self.changed)
        self._show_hint()

    def _head(self) -> QHBoxLayout:
        row = QHBoxLayout()
        row.setSpacing(GRID)
        heading = label(self.tr("Prompt"))
        heading.setBuddy(self._text)
        row.addWidget(heading)
        row.addStretch(1)
        row.addWidget(self._variables.button)
        return row

    def first_stops(self) -> list[QWidget]:
        """Return what the Tab key visits first."""
        return [self._text, self._variables.button]

    def set_has_work(self, has_work: bool) -> None:  # noqa: FBT001 - like setEnabled
        """Say whether a run has an item to work on."""
        if has_work != self._has_work:
            self._has_work = has_work
            self._variables.has_work = has_work
            self._text.set_has_work(has_work)
            self._show_hint()

    def load(self, prompt: Prompt | None) -> None:
        """Show a prompt; None for a job that has none yet."""
        self._text.set_text("" if prompt is None else prompt.text)
        self._agent.choose("" if prompt is None else prompt.agent)
        self._show_hint()

    def read(self, findings: Findings) -> Prompt | None:
        """Return the prompt without what it shares with commands, or None after noting what is wrong."""
        prompt = findings.take(
            "action",
            lambda: Prompt(
                text=self._text.text,
                agent=self._agent.agent,
                work_source=_SOME_SOURCE if self._has_work else None,
            ),
        )
        agent = findings.take("action", self._agent.read)
        return None if agent is None else prompt

    def look_ahead(self, spec: JobSpec | None, job_id: str | None) -> None:
        """Show what the agent of a job would read; None while that cannot be told."""
        if spec is None:
            self._preview.show_nothing()
        else:
            self._preview.look_ahead(spec, job_id)

    def _tell(self) -> None:
        self._show_hint()
        self.changed.emit()

    def _show_hint(self) -> None:
        is_empty = not self._text.text.strip()
        if self._has_work:
            hint = (
                self.tr("Without a text of its own the agent reads “{words}” and the item.")
                if is_empty
                else self.tr("The item it works on is added at the end.")
            )
            self._text_field.set_hint(hint.format(words=NOTHING_TO_SAY))
        else:
            hint = self.tr("Without a text the agent reads “{words}”").format(words=NOTHING_TO_SAY)
            self._text_field.set_hint(hint if is_empty else "")
