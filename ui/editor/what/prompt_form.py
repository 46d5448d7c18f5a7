"""The prompt of a job: its text with highlighted variables, its agent and a preview."""

from __future__ import annotations

from PySide6.QtCore import Signal
from PySide6.QtGui import QColor, QSyntaxHighlighter, QTextCharFormat, QTextDocument
from PySide6.QtWidgets import QHBoxLayout, QMenu, QPushButton, QVBoxLayout, QWidget

from halo_scheduler.errors import SchedulerError
from halo_scheduler.grammar.templates import NEEDS_WORK, NOTHING_TO_SAY, VARIABLES, variable_spans
from halo_scheduler.model import JobSpec, Prompt
from halo_scheduler.model.actions import FolderSource
from halo_scheduler.model.settings import Settings
from ui.backend.backend import Asked, Backend
from ui.forms.fields import Field, Findings, Page, as_sentence
from ui.forms.fold import Fold
from ui.forms.inputs import GrowingText
from ui.style.theme import GRID, HALF, MARGIN, Appearance
from ui.widgets.arrange import show_if
from ui.widgets.labels import button, label, tint

from .agent_picker import AgentPicker

_LEAST_LINES = 6
_MOST_PROMPT_LINES = 14
# Per line: highlighting more takes too long.
_MOST_MARKED = 1_000
_PARAGRAPH_END = "\u2029"
# Aliases of variables that the menu already lists.
_ALIASES = "issue."
# Prefixes that start a new section of the menu.
_PARTS = ("chain", "work")
_MOST_LINES = 10
_LONGEST = 20_000
# A placeholder: the chosen work queue may still be incomplete.
_SOME_SOURCE = FolderSource(path="/")


class PromptEdit(GrowingText):
    """Edits the text; an unchanged text is returned exactly as loaded."""

    edited = Signal()

    def __init__(self, appearance: Appearance, *, name: str, title: str) -> None:
        super().__init__(name=name, title=title, least=_LEAST_LINES, most=_MOST_PROMPT_LINES)
        self._given = ""
        self._given_shape = ""
        self._marks = _Marks(appearance, self.document())
        self._last_shape = ""
        self.textChanged.connect(self._announce_change)

    @property
    def text(self) -> str:
        """The text; Qt's toPlainText would replace non-breaking spaces."""
        return self._given if self._last_shape == self._given_shape else self._last_shape

    def set_text(self, text: str) -> None:
        """Show a text."""
        self.show_text(text)
        self._given, self._given_shape = text, self._last_shape

    def insert_variable(self, name: str) -> None:
        """Insert a variable at the cursor."""
        self.insertPlainText(f"{{{{{name}}}}}")
        self.ensureCursorVisible()
        self.setFocus()

    def set_has_work(self, has_work: bool) -> None:  # noqa: FBT001 - like setEnabled
        """Set whether the variables of work items are valid."""
        self._marks.set_has_work(has_work)

    def _announce_change(self) -> None:
        # Qt also emits textChanged when only the highlighting changed.
        shape = self._shape()
        if shape != self._last_shape:
            self._last_shape = shape
            self.edited.emit()

    def _shape(self) -> str:
        return self.document().toRawText().replace(_PARAGRAPH_END, "\n")


class _Marks(QSyntaxHighlighter):
    """Highlights variables and underlines unknown ones."""

    def __init__(self, appearance: Appearance, document: QTextDocument) -> None:
        super().__init__(document)
        self._appearance = appearance
        self._has_work = False
        self._known = QTextCharFormat()
        self._unknown = QTextCharFormat()
        self._dress()
        appearance.changed.connect(self._dress_anew)

    def set_has_work(self, has_work: bool) -> None:  # noqa: FBT001 - like setEnabled
        if has_work != self._has_work:
            self._has_work = has_work
            self.rehighlight()

    def _dress(self) -> None:
        colours = self._appearance.colours
        self._known.setForeground(QColor(colours.accent))
        self._known.setBackground(QColor(colours.hover))
        self._unknown.setForeground(QColor(colours.error))
        self._unknown.setUnderlineStyle(QTextCharFormat.UnderlineStyle.WaveUnderline)
        self._unknown.setUnderlineColor(QColor(colours.error))

    def _dress_anew(self) -> None:
        self._dress()
        self.rehighlight()

    def highlightBlock(self, text: str) -> None:  # noqa: N802 - Qt's name
        begin, seen = 0, 0
        for start, end, name in variable_spans(text)[:_MOST_MARKED]:
            is_known = name in VARIABLES and (self._has_work or name not in NEEDS_WORK)
            # Qt counts UTF-16 code units.
            begin += _units(text[seen:start])
            length = _units(text[start:end])
            self.setFormat(begin, length, self._known if is_known else self._unknown)
            begin, seen = begin + length, end


def _units(text: str) -> int:
    return len(text.encode("utf-16-le", errors="surrogatepass")) // 2


class VariableMenu(QWidget):
    """Lists the variables with their meanings; those of work items only with a work queue."""

    picked = Signal(str)
    """The name of a variable."""

    def __init__(self, appearance: Appearance, parent: QWidget, *, name: str) -> None:
        super().__init__(parent)
        self.has_work = False
        self.button: QPushButton = button(
            self.tr("Insert variable"),
            name=name,
            kind="quiet",
            tip=self.tr("Insert a variable that is filled in when the run starts"),
        )
        self.button.setAutoDefault(False)
        tint(self.button, appearance, "add")
        self._menu = QMenu(self.button)
        self._menu.setObjectName(f"{name}Menu")
        self.button.clicked.connect(self._pop_up)
        self.hide()

    @property
    def menu(self) -> QMenu:
        return self._menu

    def _pop_up(self) -> None:
        self._menu.clear()
        part = ""
        for variable, explanation in VARIABLES.items():
            if variable.startswith(_ALIASES) or (variable in NEEDS_WORK and not self.has_work):
                continue
            before, part = part, variable.partition(".")[0]
            if part in _PARTS and part != before:
                self._menu.addSeparator()
            added = self._menu.addAction(f"{{{{{variable}}}}}\t{explanation}")
            added.triggered.connect(_Emit(self, variable))
        if not self.has_work:
            self._menu.addSeparator()
            more = self.tr("More with a work queue")
            self._menu.addAction(more).setEnabled(False)
        self._menu.popup(self.button.mapToGlobal(self.button.rect().bottomLeft()))


class _Emit:
    """Emits one name when called."""

    def __init__(self, menu: VariableMenu, variable: str) -> None:
        self._menu = menu
        self._variable = variable

    def __call__(self) -> None:
        self._menu.picked.emit(self._variable)


class PromptPreview(QWidget):
    """Shows the rendered prompt of the edited job; collapsed, its first words."""

    def __init__(self, backend: Backend, appearance: Appearance, *, name: str) -> None:
        super().__init__()
        self.setObjectName(name)
        self._backend = backend
        self._asked: Asked | None = None
        self._fold = Fold(appearance, self.tr("Prompt preview"), name=f"{name}Fold")
        title = self.tr("Prompt preview")
        self._text = GrowingText(name=f"{name}Text", title=title, least=1, most=_MOST_LINES)
        self._text.setReadOnly(True)
        self._text.setProperty("kind", "read")
        self._text.document().setDocumentMargin(0)
        self._words = label("", "muted", wrap=True, name=f"{name}Words")
        self._fold.add(self._text)
        self._fold.add(self._words)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.addWidget(self._fold)
        self.show_nothing()

    def refresh(self, spec: JobSpec, job_id: str | None) -> None:
        """Render the prompt in the background: it may include the output of the last run."""
        self._forget()
        self._asked = self._backend.ask(
            lambda scheduler: scheduler.jobs.preview_prompt(spec, job_id),
            self._show,
            self._refuse,
            owner=self,
        )

    def show_nothing(self) -> None:
        """Show that there is no valid prompt yet; the fields show why."""
        self._forget()
        self._show_message(self.tr("Shown when this page has no errors."))

    def _forget(self) -> None:
        if self._asked is not None:
            self._asked.cancel()

    def _show(self, text: str) -> None:
        shown = text if len(text) <= _LONGEST else f"{text[:_LONGEST]}…"
        if shown != self._text.toPlainText():
            place = self._text.verticalScrollBar().value()
            self._text.show_text(shown)
            self._text.verticalScrollBar().setValue(place)
        self._fold.set_summary(shown)
        show_if(self._words, is_wanted=False)
        show_if(self._text, is_wanted=True)

    def _refuse(self, error: SchedulerError) -> None:
        self._show_message(as_sentence("", str(error)))

    def _show_message(self, sentence: str) -> None:
        self._words.setText(sentence)
        self._fold.set_summary(sentence)
        show_if(self._text, is_wanted=False)
        show_if(self._words, is_wanted=True)


class PromptForm(QWidget):
    """The fields that only prompts have."""

    changed = Signal()

    def __init__(
        self, backend: Backend, appearance: Appearance, settings: Settings, page: Page, parent: QWidget
    ) -> None:
        super().__init__(parent)
        self._has_work = False
        self._text = PromptEdit(appearance, name="promptText", title=self.tr("Prompt"))
        self._text.setPlaceholderText(
            self.tr(
                "Today is {{date}}. Read the notes in this folder and sum up what is new since yesterday."
            )
        )
        self._variables = VariableMenu(appearance, self, name="insertVariable")
        self._agent = AgentPicker(backend, settings, name="agent")
        self._preview = PromptPreview(backend, appearance, name="promptPreview")
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
        self._text.edited.connect(self._announce_change)
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
        """Return the first widgets in Tab order."""
        return [self._text, self._variables.button]

    def set_has_work(self, has_work: bool) -> None:  # noqa: FBT001 - like setEnabled
        """Set whether runs get a work item."""
        if has_work != self._has_work:
            self._has_work = has_work
            self._variables.has_work = has_work
            self._text.set_has_work(has_work)
            self._show_hint()

    def load(self, prompt: Prompt | None) -> None:
        """Show a prompt; None for a job that has none yet."""
        # A stored job keeps an empty prompt.
        self._may_be_empty = prompt is not None and not prompt.text.strip()
        self._text.set_text("" if prompt is None else prompt.text)
        self._agent.choose("" if prompt is None else prompt.agent)
        self._show_hint()

    def read(self, findings: Findings) -> Prompt | None:
        """Return the prompt without the fields shared with commands, or None after recording the problems."""
        if not (self._text.text.strip() or self._has_work or self._may_be_empty):
            findings.miss("action.text", self.tr("Enter a prompt."))
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

    def refresh(self, spec: JobSpec | None, job_id: str | None) -> None:
        """Show the prompt of a job as the agent would receive it; None while it is invalid."""
        if spec is None:
            self._preview.show_nothing()
        else:
            self._preview.refresh(spec, job_id)

    def _announce_change(self) -> None:
        self._show_hint()
        self.changed.emit()

    def _show_hint(self) -> None:
        is_empty = not self._text.text.strip()
        if self._has_work:
            hint = (
                self.tr("If empty, the agent gets “{words}” and the item.")
                if is_empty
                else self.tr("The work item is added at the end.")
            )
            self._text_field.set_hint(hint.format(words=NOTHING_TO_SAY))
        else:
            self._text_field.set_hint("")
