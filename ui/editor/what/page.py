"""The page with the name of a job and its action: a command, a request, a prompt or a reminder."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum
from itertools import pairwise

from PySide6.QtCore import QCoreApplication, Signal
from PySide6.QtWidgets import QFrame, QLineEdit, QVBoxLayout, QWidget

from halo_scheduler.errors import ScheduleError
from halo_scheduler.grammar.templates import parameters_in
from halo_scheduler.model import Action, Callback, Command, HttpRequest, JobSpec, Manual, Prompt, Reminder
from halo_scheduler.model.settings import Settings
from ui.backend.backend import Backend
from ui.forms.choices import Choice, Choices
from ui.forms.fields import Field, Findings, Page
from ui.forms.fold import Fold
from ui.forms.inputs import PlainText
from ui.style.theme import GRID, HALF, MARGIN, Appearance
from ui.widgets.arrange import put_after, show_if
from ui.widgets.labels import frame, label

from .command_form import CommandForm
from .http_form import HttpForm
from .process_form import ProcessForm
from .prompt_form import PromptForm

_LINES = 3
_REMINDER_LINES = 4
_PROBE = Manual()


class _Kind(StrEnum):
    COMMAND = "command"
    HTTP = "http"
    PROMPT = "prompt"
    REMINDER = "reminder"


_FORMS = {_Kind.HTTP: HttpRequest, _Kind.PROMPT: Prompt, _Kind.REMINDER: Reminder}
_OF_PROCESSES = (_Kind.COMMAND, _Kind.PROMPT)


@dataclass(frozen=True, slots=True)
class What:
    """The values of the page; None where they have problems."""

    name: str | None
    description: str | None
    action: Action | None


class WhatPage(Page):
    """Name, description and action.

    Most jobs are commands: the forms of the other kinds are created on first use.
    """

    kind_changed = Signal()

    def __init__(
        self,
        backend: Backend,
        appearance: Appearance,
        settings: Settings,
        is_taken: Callable[[str], bool],
        parent: QWidget,
    ) -> None:
        super().__init__(
            QCoreApplication.translate("WhatPage", "What should run?"), name="whatPage", parent=parent
        )
        self._backend = backend
        self._appearance = appearance
        self._settings = settings
        self._is_taken = is_taken
        self._kept: Callback | None = None
        self._parameters: Mapping[str, str] = {}
        self._made: dict[str, _Form] = {}

    def begin(self, name: str) -> None:
        """Build the name field, which gets the focus as soon as the window appears."""
        self._name = QLineEdit()
        self._name.setObjectName("name")
        self._name.setAccessibleName(self.tr("Name"))
        self._name.setPlaceholderText(self.tr("Back up my photos"))
        self._name.setText(name)
        self._name.setCursorPosition(0)
        self.add_field(Field(self.tr("Name"), self._name, path="name", subject=self.tr("The name")))
        self._name.textChanged.connect(self.edited)

    def build(self) -> Iterator[None]:
        """Build the rest of the page; yields after each part so that the event loop can run."""
        appearance = self._appearance
        self._build_description(appearance)
        self._kind = Choices(
            appearance,
            (
                Choice(_Kind.COMMAND, self.tr("Command"), "terminal", self.tr("run a program")),
                Choice(_Kind.HTTP, self.tr("HTTP request"), "globe", self.tr("call a URL")),
                Choice(_Kind.PROMPT, self.tr("Prompt"), "prompt", self.tr("ask an AI agent")),
                Choice(_Kind.REMINDER, self.tr("Reminder"), "bell", self.tr("notify me")),
            ),
            name="actionKind",
            title=self.tr("Kind"),
            columns=2,
        )
        forms = self._stage = QWidget(self.ground)
        yield
        self._command = CommandForm(appearance, self, forms)
        yield
        self._process = ProcessForm(self._backend, appearance, self, forms)
        yield
        self._words = _kept_card()
        self.add(self._kind)
        layout = self._forms = QVBoxLayout(forms)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.setSpacing(0)
        for widget in (self._command, self._words, self._process, self._describe):
            layout.addWidget(widget)
        self.add(forms)
        self.column.addStretch(1)
        self._set_tab_order()
        self._kind.chosen.connect(self._change_kind)
        self._command.changed.connect(self.edited)
        self._process.changed.connect(self._follow_work)
        self._process.changed.connect(self.edited)
        self._description.textChanged.connect(self._announce_description)
        self._show_kind()
        # In a visible window Qt would show it later, and Tab would skip its widgets until then.
        forms.show()

    def _set_tab_order(self) -> None:
        """Set the Tab order from top to bottom: the name, the kind, then the kind's form."""
        prompt = [] if self._prompt is None else self._prompt.first_stops()
        stops = [self._name, *self._kind.buttons(), *prompt, *self._command.stops()]
        for before, after in pairwise(stops):
            QWidget.setTabOrder(before, after)

    def _build_description(self, appearance: Appearance) -> None:
        self._description = PlainText(name="description", title=self.tr("Description"))
        self._description.setFixedHeight(self._description.fontMetrics().lineSpacing() * _LINES + MARGIN)
        self._describe = Fold(appearance, self.tr("Description"), name="descriptionFold")
        field = Field("", self._description, path="description", subject=self.tr("The description"))
        self._describe.add(self.watch_field(field))

    # --- Forms created on first use -------------------------------------------------------------------

    def _form(self, kind: str) -> _Form:
        made = self._made.get(kind)
        if made is None:
            made = self._made[kind] = self._make_form(kind)
            self._insert_form(made)
            made.changed.connect(self.edited)
            self._follow_work()
        return made

    def _make_form(self, kind: str) -> _Form:
        match kind:
            case _Kind.HTTP:
                return HttpForm(self._backend, self._appearance, self, self._stage)
            case _Kind.PROMPT:
                return PromptForm(self._backend, self._appearance, self._settings, self, self._stage)
            case _:
                return _ReminderForm(self, self._stage)

    @property
    def _prompt(self) -> PromptForm | None:
        """The form of prompts, if it was created."""
        made = self._made.get(_Kind.PROMPT)
        return made if isinstance(made, PromptForm) else None

    def _insert_form(self, form: _Form) -> None:
        self._forms.insertWidget(0, form)
        form.load(None)
        put_after(self._kind.buttons()[-1], form)
        self._set_tab_order()
        self.part_made.emit(form)

    # --- For the editor -------------------------------------------------------------------------------

    @property
    def name(self) -> str:
        """The name without surrounding blanks."""
        return self._name.text().strip()

    @property
    def is_prompt(self) -> bool:
        """Whether the action is a prompt."""
        return self._kept is None and self._kind.value == _Kind.PROMPT

    @property
    def is_http(self) -> bool:
        """Whether the action is a request."""
        return self._kept is None and self._kind.value == _Kind.HTTP

    def focus_first(self) -> None:
        """Focus the name."""
        self._name.setFocus()

    def select_name(self, *, is_on: bool) -> None:
        """Select the name for overwriting, or deselect it so that a stray key does not replace it."""
        if is_on:
            self._name.selectAll()
        else:
            self._name.deselect()

    def load(self, spec: JobSpec, *, is_empty: bool) -> None:
        """Show a job's action and description; the action of an empty job is a placeholder.

        The name field is not loaded again, because the user may be typing into it.
        """
        self._description.show_text(spec.description)
        self._parameters = spec.parameters
        action = spec.action
        self._kept = action if isinstance(action, Callback) else None
        self._command.load(action if isinstance(action, Command) and not is_empty else None)
        self._process.load(action if isinstance(action, Command | Prompt) and not is_empty else None)
        kind = next((kind for kind, form in _FORMS.items() if isinstance(action, form)), _Kind.COMMAND)
        match action, self._form(kind) if kind in _FORMS else None:
            case HttpRequest(), HttpForm() as form:
                form.load(action)
            case Prompt(), PromptForm() as form:
                form.load(action)
            case Reminder(), _ReminderForm() as form:
                form.load(action)
            case Callback(), _:
                self._show_kept(action)
        self._kind.choose(kind)
        self._show_kind()
        self._follow_work()
        self._show_description()

    def read(self, findings: Findings) -> What:
        """Return the values, and record the problems."""
        description = self._description.toPlainText()
        checked = findings.take(
            "", lambda: JobSpec(name="?", schedule=_PROBE, description=description).description
        )
        return What(self._read_name(findings), checked, self._read_action(findings))

    def preview_prompt(self, what: What, job_id: str | None) -> None:
        """Show the prompt as the agent would receive it, if the action is a prompt."""
        if self._prompt is None or not self.is_prompt:
            return
        spec = None
        if isinstance(what.action, Prompt):
            undeclared = dict.fromkeys(parameters_in(what.action.text), "")
            spec = JobSpec(
                name=what.name or self.tr("New job"),
                schedule=_PROBE,
                action=what.action,
                parameters={**undeclared, **self._parameters},
            )
        self._prompt.refresh(spec, job_id)

    def _read_name(self, findings: Findings) -> str | None:
        if not self.name:
            findings.miss("name", self.tr("Enter a name."))
            return None

        def checked() -> str:
            if self._is_taken(self.name):
                raise ScheduleError(self.tr("another job already has this name"), path="name")
            return JobSpec(name=self.name, schedule=_PROBE).name

        return findings.take("", checked)

    def _read_action(self, findings: Findings) -> Action | None:
        if self._kept is not None:
            return self._kept
        kind = self._kind.value
        if kind not in _OF_PROCESSES:
            return self._form(kind).read(findings)
        form = self._prompt or self._command if kind == _Kind.PROMPT else self._command
        action = form.read(findings)
        process = self._process.read(findings)
        if action is None or process is None:
            return None
        return findings.take("action", lambda: process.added_to(action))

    # --- Showing --------------------------------------------------------------------------------------

    def _change_kind(self) -> None:
        self._show_kind()
        self.kind_changed.emit()
        self.edited.emit()

    def _show_kind(self) -> None:
        is_kept = self._kept is not None
        kind = None if is_kept else self._kind.value
        show_if(self._kind, not is_kept)
        show_if(self._words, is_kept)
        show_if(self._command, kind == _Kind.COMMAND)
        if kind in _FORMS:
            self._form(kind)
        for name, form in self._made.items():
            show_if(form, name == kind)
        show_if(self._process, kind in _OF_PROCESSES)
        self._process.show_for(is_prompt=kind == _Kind.PROMPT)

    def _follow_work(self) -> None:
        if self._prompt is not None:
            self._prompt.set_has_work(self._process.has_work)

    def _show_kept(self, action: Callback) -> None:
        head = self.tr("A function in another program")
        text = action.name or self.tr("the default function")
        labels = self._words.findChildren(QWidget)
        titles = {widget.objectName(): widget for widget in labels}
        for name, words in (("keptTitle", head), ("keptText", text)):
            titles[name].setProperty("text", words)

    def _announce_description(self) -> None:
        self._show_description()
        self.edited.emit()

    def _show_description(self) -> None:
        self._describe.set_summary(self._description.toPlainText() or self.tr("none"))


def _kept_card() -> QFrame:
    """Return a card for an action that the editor cannot change."""
    made = frame("card")
    made.setObjectName("keptAction")
    layout = QVBoxLayout(made)
    layout.setContentsMargins(MARGIN, MARGIN, MARGIN, MARGIN)
    layout.setSpacing(HALF)
    layout.addWidget(label("", "strong", name="keptTitle", wrap=True))
    layout.addWidget(label("", name="keptText", wrap=True))
    note = label("", "muted", name="keptNote", wrap=True)
    note.setText(made.tr("This can't be edited here and stays as it is."))
    layout.addWidget(note)
    return made


class _ReminderForm(QWidget):
    """What the notification says."""

    changed = Signal()

    def __init__(self, page: Page, parent: QWidget) -> None:
        super().__init__(parent)
        self._title = QLineEdit()
        self._title.setObjectName("reminderTitle")
        self._title.setAccessibleName(self.tr("Title"))
        self._title.setPlaceholderText(self.tr("Time to stand up and stretch"))
        self._text = PlainText(name="reminderText", title=self.tr("Text"))
        self._text.setFixedHeight(self._text.fontMetrics().lineSpacing() * _REMINDER_LINES + GRID)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.setSpacing(MARGIN)
        for field in (
            Field(self.tr("Title"), self._title, path="action.title", subject=self.tr("The title")),
            Field(
                self.tr("Text"),
                self._text,
                path="action.text",
                subject=self.tr("The text"),
                hint=self.tr(
                    "Shown as a desktop notification. The run fails if the desktop doesn't accept it."
                ),
            ),
        ):
            page.watch_field(field)
            layout.addWidget(field)
        self._title.textChanged.connect(self.changed)
        self._text.textChanged.connect(self.changed)

    def load(self, reminder: Reminder | None) -> None:
        """Show a reminder."""
        if reminder is not None:
            self._title.setText(reminder.title)
            self._title.setCursorPosition(0)
            self._text.show_text(reminder.text)

    def read(self, findings: Findings) -> Reminder | None:
        """Return the reminder, or None after recording the problems."""
        title = self._title.text().strip()
        if not title:
            findings.miss("action.title", self.tr("Enter a title."))
            return None
        return findings.take("action", lambda: Reminder(title=title, text=self._text.toPlainText().strip()))


_Form = HttpForm | PromptForm | _ReminderForm
