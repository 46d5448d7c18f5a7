"""The form for an agent: name, command line, and how it receives the prompt."""

from __future__ import annotations

from functools import partial

from PySide6.QtWidgets import QLineEdit, QVBoxLayout, QWidget

from halo_scheduler.grammar.checks import LONGEST_NAME
from halo_scheduler.model.settings import LONGEST_ARGUMENT_BYTES, PROMPT, PROMPT_FILE, Agent, Delivery
from ui.forms.choices import Choice, Choices
from ui.forms.command_line import (
    ArgumentChips,
    agent_line,
    delivery_of,
    shell_signs,
    split_line,
    with_delivery,
)
from ui.forms.fields import Field, Findings, is_under
from ui.style.theme import GRID, Appearance, mono_font
from ui.style.wording import one_line, size_words
from ui.widgets.labels import button, label

from .list_page import EntryForm

_LONGEST_SIGN = 40


class AgentForm(EntryForm):
    """Edits an agent; shows problems at the fields while typing."""

    def __init__(self, appearance: Appearance) -> None:
        super().__init__(stem="agent")
        self._old_name = ""
        self._taken: frozenset[str] = frozenset()
        self._users: tuple[str, ...] = ()
        self._build_fields(appearance)
        self._save = button(
            self.tr("Save agent"), name="saveAgentButton", kind="primary", tip=self.tr("Save agent (Enter)")
        )
        self._lay_out()
        self._connect()

    def edit(self, agent: Agent | None, taken: frozenset[str], users: tuple[str, ...] = ()) -> None:
        """Open the form for a new agent, or for one that `users` name; `taken` are the names of the others."""
        self._old_name = "" if agent is None else agent.name
        self._taken, self._users = taken, users
        name = one_line(self._old_name, _LONGEST_SIGN)
        self._heading.setText(self.tr("Edit {name}").format(name=name) if agent else self.tr("New agent"))
        for field in (self._name_field, self._line_field):
            field.is_touched = agent is not None
        self._name.setText(self._old_name)
        self._line.setText("" if agent is None else agent_line(agent.argv))
        self._line.setCursorPosition(0)
        self._follow()
        self._open()
        self._name.setFocus()

    def know_others(self, taken: frozenset[str]) -> None:
        """Update the names of the other agents; typed text stays."""
        if taken != self._taken:
            self._taken = taken
            self._follow()

    # --- Reading -------------------------------------------------------------------------------------

    def _read(self, findings: Findings) -> Agent | None:
        name = self._name.text().strip()
        argv = findings.take("", lambda: split_line(self._line.text()))
        if not name:
            findings.miss("name", self.tr("Enter a name."))
        elif name in self._taken:
            findings.refuse("name", self.tr("Another agent has this name."))
        if argv == ():
            findings.miss("argv", self.tr("Enter a program."))
        if findings.problems or argv is None:
            return None
        return findings.take("", lambda: Agent(name=name, argv=argv))

    def _follow(self) -> None:
        """Update problems and hints after each edit."""
        self.show_error("")
        findings = Findings()
        agent = self._read(findings)
        for field in (self._name_field, self._line_field):
            sentences = [
                field.sentence(problem)
                for problem in findings.problems
                if is_under(problem.path, field.paths[0]) and (field.is_touched or not problem.is_missing)
            ]
            field.show_error(sentences[0] if sentences else "")
        self._save.setEnabled(agent is not None)
        argv = Findings().take("", lambda: split_line(self._line.text())) or ()
        self._chips.show_arguments(argv)
        self._show_signs()
        self._show_delivery(argv)
        self._show_renaming()

    def _show_signs(self) -> None:
        signs = [
            sign for sign in shell_signs(self._line.text()) if PROMPT not in sign and PROMPT_FILE not in sign
        ]
        self._signs.setVisible(bool(signs))
        if signs:
            self._signs.setText(
                self.tr("“{sign}” is passed literally: no shell is used.").format(
                    sign=signs[0][:_LONGEST_SIGN]
                )
            )

    def _show_delivery(self, argv: tuple[str, ...]) -> None:
        self._delivery.setEnabled(bool(argv))
        delivery = delivery_of(argv)
        self._delivery.blockSignals(True)
        self._delivery.choose(delivery)
        self._delivery.blockSignals(False)
        self._delivery_field.set_hint(self._delivery_hint(delivery))

    def _delivery_hint(self, delivery: Delivery) -> str:
        return {
            Delivery.STDIN: self.tr("The program reads the prompt from standard input, of any length."),
            Delivery.ARGUMENT: self.tr(
                "{sign} is replaced by the prompt, up to {size}. Other users of this computer can read it "
                "while the agent runs."
            ).format(sign=PROMPT, size=size_words(LONGEST_ARGUMENT_BYTES)),
            Delivery.FILE: self.tr(
                "{sign} is replaced by the path of a private file with the prompt, deleted after the run."
            ).format(sign=PROMPT_FILE),
        }[delivery]

    def _show_renaming(self) -> None:
        """Warn about jobs that use the old name."""
        is_renamed = bool(self._old_name) and self._name.text().strip() != self._old_name
        count = len(self._users)
        if not is_renamed or not count:
            self._name_field.set_hint("")
            return
        self._name_field.set_hint(
            self.tr("1 job uses the name “{name}” and won't find this agent anymore.").format(
                name=self._old_name
            )
            if count == 1
            else self.tr("{count} jobs use the name “{name}” and won't find this agent anymore.").format(
                count=count, name=self._old_name
            )
        )

    def _change_delivery(self, value: str) -> None:
        argv = Findings().take("", lambda: split_line(self._line.text()))
        if argv:
            self._line.setText(agent_line(with_delivery(argv, Delivery(value))))

    # --- Building ------------------------------------------------------------------------------------

    def _build_fields(self, appearance: Appearance) -> None:
        self._name = QLineEdit()
        self._name.setObjectName("agentNameEdit")
        self._name.setAccessibleName(self.tr("Name"))
        self._name.setPlaceholderText("claude")
        self._name.setMaxLength(LONGEST_NAME)
        self._line = QLineEdit()
        self._line.setObjectName("agentLineEdit")
        self._line.setAccessibleName(self.tr("Command line"))
        self._line.setPlaceholderText("claude -p --model sonnet")
        self._line.setFont(mono_font(self._line.font()))
        self._chips = ArgumentChips(appearance, name="agentChips")
        self._signs = label("", "warn", wrap=True, name="agentSigns")
        self._delivery = Choices(
            appearance,
            (
                Choice(Delivery.STDIN, self.tr("Standard input")),
                Choice(Delivery.ARGUMENT, self.tr("Argument")),
                Choice(Delivery.FILE, self.tr("File")),
            ),
            name="agentDelivery",
            title=self.tr("Pass the prompt via"),
        )
        self._name_field = Field(self.tr("&Name"), self._name, path="name", subject=self.tr("The name"))
        self._line_field = Field(
            self.tr("&Command line"),
            _under_each_other(self._line, self._chips, self._signs, name="agentLine"),
            path="argv",
            subject=self.tr("The command line"),
            target=self._line,
        )
        self._delivery_field = Field(self.tr("Pass the prompt via"), self._delivery)

    def _lay_out(self) -> None:
        for field in (self._name_field, self._line_field, self._delivery_field):
            self._box.addWidget(field)
        self._add_buttons(self._save)

    def _connect(self) -> None:
        for edit, field in ((self._name, self._name_field), (self._line, self._line_field)):
            edit.textEdited.connect(partial(self._touch, field))
            edit.editingFinished.connect(partial(self._touch, field))
            edit.textChanged.connect(self._follow)
            edit.returnPressed.connect(self._submit)
        self._delivery.chosen.connect(self._change_delivery)

    def _touch(self, field: Field, _text: str = "") -> None:
        field.is_touched = True
        self._follow()


def _under_each_other(*widgets: QWidget, name: str) -> QWidget:
    holder = QWidget()
    holder.setObjectName(name)
    column = QVBoxLayout(holder)
    column.setContentsMargins(0, 0, 0, 0)
    column.setSpacing(GRID // 2)
    for widget in widgets:
        column.addWidget(widget)
    return holder
