"""The page that says what a job does: its name, and a command or a request."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import pairwise

from PySide6.QtCore import QCoreApplication
from PySide6.QtWidgets import QFrame, QLineEdit, QPlainTextEdit, QVBoxLayout, QWidget

from halo_scheduler.errors import ScheduleError
from halo_scheduler.model import Action, Callback, Command, HttpRequest, JobSpec, Manual, Prompt
from ui.backend import Backend
from ui.theme import HALF, MARGIN, Look
from ui.widgets.labels import frame, label

from .choices import Choice, Choices
from .command_form import CommandForm
from .fields import Field, Page
from .fold import Fold
from .http_form import HttpForm
from .problems import Findings
from .seen import show_if

_COMMAND = "command"
_HTTP = "http"
_LINES = 3
_PROBE = Manual()


@dataclass(frozen=True, slots=True)
class What:
    """What the page says; None where it is not yet usable."""

    name: str | None
    description: str | None
    action: Action | None


class WhatPage(Page):
    """Name, description and action."""

    def __init__(
        self, backend: Backend, look: Look, is_taken: Callable[[str], bool], parent: QWidget
    ) -> None:
        super().__init__(
            QCoreApplication.translate("WhatPage", "What should run?"), name="whatPage", parent=parent
        )
        self._backend = backend
        self._look = look
        self._is_taken = is_taken
        self._kept: Prompt | Callback | None = None

    def build(self) -> Iterator[None]:
        """Make what is on the page, giving way after each part."""
        look = self._look
        self._build_name(look)
        self._kind = Choices(
            look,
            (
                Choice(_COMMAND, self.tr("Command"), "terminal", self.tr("a program or a script")),
                Choice(_HTTP, self.tr("HTTP request"), "globe", self.tr("call a web address")),
            ),
            name="actionKind",
            title=self.tr("Kind"),
            columns=2,
        )
        forms = QWidget(self.ground)
        yield
        self._command = CommandForm(self._backend, look, self, forms)
        yield
        self._http = HttpForm(self._backend, look, self, forms)
        yield
        self._words = _kept_card()
        self.add(self._kind)
        layout = QVBoxLayout(forms)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.setSpacing(HALF)
        for widget in (self._command, self._http, self._words, self._describe):
            layout.addWidget(widget)
        self.add(forms)
        self.column.addStretch(1)
        self._set_tab_order()
        self._kind.chosen.connect(self._change_kind)
        for signal in (self._command.changed, self._http.changed, self._name.textChanged):
            signal.connect(self.edited)
        self._description.textChanged.connect(self._tell_description)
        self._show_kind()

    def _set_tab_order(self) -> None:
        """Let the Tab key lead from the name straight to the command; how it is written comes after it."""
        stops = [
            self._name,
            *self._command.first_stops(),
            *self._kind.buttons(),
            *self._http.first_stops(),
            *self._command.later_stops(),
        ]
        for before, after in pairwise(stops):
            QWidget.setTabOrder(before, after)

    def _build_name(self, look: Look) -> None:
        self._name = QLineEdit()
        self._name.setObjectName("name")
        self._name.setAccessibleName(self.tr("Name"))
        self._name.setPlaceholderText(self.tr("Back up my photos"))
        self.add_field(Field(self.tr("Name"), self._name, path="name", subject=self.tr("The name")))
        self._description = QPlainTextEdit()
        self._description.setObjectName("description")
        self._description.setAccessibleName(self.tr("Description"))
        self._description.setTabChangesFocus(True)
        self._description.setFixedHeight(self._description.fontMetrics().lineSpacing() * _LINES + MARGIN)
        self._describe = Fold(look, self.tr("Description"), name="descriptionFold")
        field = Field("", self._description, path="description", subject=self.tr("The description"))
        self._describe.add(self.watch_field(field))

    @property
    def name(self) -> str:
        """The name as typed, without blanks around it."""
        return self._name.text().strip()

    def focus_first(self) -> None:
        """Give the keyboard to what a new job needs first."""
        self._name.setFocus()

    def select_name(self, *, is_on: bool) -> None:
        """Select the name, to be overwritten, or leave nothing selected that a stray key would replace."""
        if is_on:
            self._name.selectAll()
        else:
            self._name.deselect()

    def load(self, spec: JobSpec, *, is_empty: bool) -> None:
        """Show a job's name and action; those of an empty one are not meant."""
        self._name.setText("" if is_empty else spec.name)
        self._name.setCursorPosition(0)
        self._description.setPlainText(spec.description)
        action = spec.action
        self._kept = action if isinstance(action, Prompt | Callback) else None
        self._command.load(action if isinstance(action, Command) and not is_empty else None)
        self._http.load(action if isinstance(action, HttpRequest) else None)
        self._kind.choose(_HTTP if isinstance(action, HttpRequest) else _COMMAND)
        if self._kept is not None:
            self._show_kept(self._kept)
        self._show_kind()
        self._show_description()

    def read(self, findings: Findings) -> What:
        """Return what the page says, after noting what is wrong."""
        description = self._description.toPlainText()
        checked = findings.take(
            "", lambda: JobSpec(name="?", schedule=_PROBE, description=description).description
        )
        return What(self._read_name(findings), checked, self._read_action(findings))

    def _read_name(self, findings: Findings) -> str | None:
        if not self.name:
            findings.miss("name", self.tr("Give the job a name."))
            return None

        def checked() -> str:
            if self._is_taken(self.name):
                raise ScheduleError(
                    self.tr("there is already a job of this name; choose another"), path="name"
                )
            return JobSpec(name=self.name, schedule=_PROBE).name

        return findings.take("", checked)

    def _read_action(self, findings: Findings) -> Action | None:
        if self._kept is not None:
            return self._kept
        return (self._http if self._kind.value == _HTTP else self._command).read(findings)

    def _change_kind(self) -> None:
        self._show_kind()
        self.edited.emit()

    def _show_kind(self) -> None:
        is_kept = self._kept is not None
        show_if(self._kind, not is_kept)
        show_if(self._words, is_kept)
        show_if(self._command, not is_kept and self._kind.value == _COMMAND)
        show_if(self._http, not is_kept and self._kind.value == _HTTP)

    def _show_kept(self, action: Prompt | Callback) -> None:
        if isinstance(action, Prompt):
            agent = action.agent or self.tr("the default agent")
            head = self.tr("A prompt for {agent}").format(agent=agent)
            text = action.text
        else:
            head = self.tr("A function of another program")
            text = action.name or self.tr("the default function")
        labels = self._words.findChildren(QWidget)
        titles = {widget.objectName(): widget for widget in labels}
        for name, words in (("keptTitle", head), ("keptText", text)):
            titles[name].setProperty("text", words)

    def _tell_description(self) -> None:
        self._show_description()
        self.edited.emit()

    def _show_description(self) -> None:
        self._describe.set_summary(self._description.toPlainText() or self.tr("none"))


def _kept_card() -> QFrame:
    """Return a card for an action that cannot be edited here."""
    made = frame("card")
    made.setObjectName("keptAction")
    layout = QVBoxLayout(made)
    layout.setContentsMargins(MARGIN, MARGIN, MARGIN, MARGIN)
    layout.setSpacing(HALF)
    layout.addWidget(label("", "strong", name="keptTitle", wrap=True))
    layout.addWidget(label("", name="keptText", wrap=True))
    note = label("", "muted", name="keptNote", wrap=True)
    note.setText(made.tr("This cannot be edited here; it stays as it is."))
    layout.addWidget(note)
    return made
