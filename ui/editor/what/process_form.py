"""The fields that commands and prompts share: working directory, work queue, environment, exit codes."""

from __future__ import annotations

from dataclasses import dataclass, replace

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QHBoxLayout, QLineEdit, QVBoxLayout, QWidget

from halo_scheduler.errors import ScheduleError
from halo_scheduler.grammar.english import counted
from halo_scheduler.model import Command, ProcessAction
from halo_scheduler.model.actions import WorkSource
from ui.backend.backend import Backend
from ui.editor.summary import joined, short_interval
from ui.forms.fields import Field, Findings, Page
from ui.forms.fold import Fold
from ui.forms.inputs import DirectoryEdit, IntervalEdit, PlainText, SecretPicker, read_numbers, write_numbers
from ui.forms.rows import PairsEdit
from ui.style.theme import HALF, MARGIN, Appearance, mono_font
from ui.widgets.arrange import show_if

from .work_form import WorkForm

_LINES = 4
_DEFAULT_GRACE = "10s"


@dataclass(frozen=True, slots=True, kw_only=True)
class Extras:
    """Rarely needed fields; a prompt has no standard input."""

    environment: dict[str, str]
    stdin: str
    success_codes: tuple[int, ...]
    no_work_code: int | None
    needs_input_code: int | None
    grace: str

    def added_to(self, action: ProcessAction) -> ProcessAction:
        """Return a command or a prompt with these fields."""
        made = replace(
            action,
            environment=self.environment,
            success_codes=self.success_codes,
            no_work_code=self.no_work_code,
            needs_input_code=self.needs_input_code,
            grace=self.grace,
        )
        return replace(made, stdin=self.stdin) if isinstance(made, Command) else made


class ProcessExtras(QWidget):
    """Two collapsed parts: the input of the program, and how its exit is interpreted."""

    changed = Signal()

    def __init__(self, backend: Backend, appearance: Appearance, page: Page, parent: QWidget) -> None:
        super().__init__(parent)
        self._has_stdin = True
        self._given = Fold(appearance, self.tr("Environment and input"), name="givenFold")
        self._ends = Fold(appearance, self.tr("Exit codes and stopping"), name="endsFold")
        self._environment = PairsEdit(
            backend,
            appearance,
            name="environment",
            key_title=self.tr("Variable"),
            add_title=self.tr("Add a variable"),
            examples=("NAME", self.tr("value, or a secret")),
        )
        self._stdin = PlainText(name="stdin", title=self.tr("Standard input"))
        self._stdin.setFont(mono_font(self._stdin.font()))
        self._stdin.setFixedHeight(self._stdin.fontMetrics().lineSpacing() * _LINES)
        self._build_given(backend, appearance, page)
        self._success = _code_line("successCodes", self.tr("Success exit codes"), "0")
        self._no_work = _code_line("noWorkCode", self.tr("Exit code for “nothing to do”"), self.tr("none"))
        self._needs_input = _code_line(
            "needsInputCode", self.tr("Exit code for “needs input”"), self.tr("none")
        )
        self._grace = IntervalEdit(self.tr("Grace period"), name="grace")
        self._build_ends(page)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.setSpacing(0)
        layout.addWidget(self._given)
        layout.addWidget(self._ends)
        for signal in (
            self._environment.changed,
            self._stdin.textChanged,
            self._success.textChanged,
            self._no_work.textChanged,
            self._needs_input.textChanged,
            self._grace.changed,
        ):
            signal.connect(self._announce_change)

    def _build_given(self, backend: Backend, appearance: Appearance, page: Page) -> None:
        self._given.add(
            page.watch_field(
                Field(
                    self.tr("Environment variables"),
                    self._environment,
                    path="action.environment",
                    subject=self.tr("The environment"),
                    hint=self.tr("Added to your login shell's environment. Use the key to insert a secret."),
                )
            )
        )
        picker = SecretPicker(backend, appearance, self, name="stdinSecret")
        picker.picked.connect(self._stdin.insertPlainText)
        for signal in (picker.new_wanted, self._environment.secret_wanted):
            signal.connect(page.secret_wanted)
        row = QWidget()
        row.setObjectName("stdinRow")
        layout = QHBoxLayout(row)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.setSpacing(HALF)
        layout.addWidget(self._stdin, 1)
        layout.addWidget(picker.button)
        self._stdin_field = page.watch_field(
            Field(
                self.tr("Standard input"),
                row,
                path="action.stdin",
                subject=self.tr("The standard input"),
                target=self._stdin,
            )
        )
        self._given.add(self._stdin_field)

    def _build_ends(self, page: Page) -> None:
        self._ends.add(
            page.watch_field(
                Field(
                    self.tr("Success exit codes"),
                    self._success,
                    path="action.success_codes",
                    subject=self.tr("The list of exit codes"),
                )
            )
        )
        self._ends.add(
            page.watch_field(
                Field(
                    self.tr("Exit code for “nothing to do”"),
                    self._no_work,
                    path="action.no_work_code",
                    subject=self.tr("The exit code"),
                    hint=self.tr("The run counts as skipped, neither as success nor as failure."),
                )
            )
        )
        self._ends.add(
            page.watch_field(
                Field(
                    self.tr("Exit code for “needs input”"),
                    self._needs_input,
                    path="action.needs_input_code",
                    subject=self.tr("The exit code"),
                    hint=self.tr("The run leaves a question; the job is on hold until you answer."),
                )
            )
        )
        self._ends.add(
            page.watch_field(
                Field(
                    self.tr("Grace period"),
                    self._grace,
                    path="action.grace",
                    subject=self.tr("The grace period"),
                    hint=self.tr("Time to exit before it's killed."),
                )
            )
        )

    def set_has_stdin(self, has_stdin: bool) -> None:  # noqa: FBT001 - like setEnabled
        """Show or hide the standard input: a prompt has none."""
        self._has_stdin = has_stdin
        self._given.set_title(self.tr("Environment and input") if has_stdin else self.tr("Environment"))
        show_if(self._stdin_field, has_stdin)
        self._summarise()

    def load(self, action: ProcessAction | None) -> None:
        """Show these fields of a command or a prompt."""
        self._environment.set_pairs({} if action is None else action.environment)
        self._stdin.show_text(action.stdin if isinstance(action, Command) else "")
        self._success.setText("0" if action is None else write_numbers(action.success_codes))
        self._no_work.setText(_code_text(None if action is None else action.no_work_code))
        self._needs_input.setText(_code_text(None if action is None else action.needs_input_code))
        self._grace.set_text(_DEFAULT_GRACE if action is None else action.grace)
        self._summarise()

    def read(self, findings: Findings) -> Extras | None:
        """Return the fields, or None after recording the problems."""
        environment = findings.take("action.environment", self._environment.pairs)
        codes = findings.take("action.success_codes", lambda: read_numbers(self._success.text()))
        no_work = findings.take("action.no_work_code", lambda: self._read_code(self._no_work))
        needs_input = findings.take("action.needs_input_code", lambda: self._read_code(self._needs_input))
        if environment is None or codes is None or no_work is None or needs_input is None:
            return None
        return Extras(
            environment=environment,
            stdin=self._stdin.toPlainText(),
            success_codes=codes,
            no_work_code=no_work[0] if no_work else None,
            needs_input_code=needs_input[0] if needs_input else None,
            grace=self._grace.text,
        )

    def _read_code(self, line: QLineEdit) -> tuple[int, ...]:
        codes = read_numbers(line.text())
        if len(codes) > 1:
            raise ScheduleError(self.tr("enter one number or leave it empty"))
        return codes

    def _announce_change(self) -> None:
        self._summarise()
        self.changed.emit()

    def _summarise(self) -> None:
        count = sum(bool(row.key.text()) for row in self._environment.rows())
        has_input = self._has_stdin and bool(self._stdin.toPlainText())
        self._given.set_summary(
            joined(
                counted(count, "variable") if count else "",
                self.tr("has input") if has_input else "",
                "" if count or has_input else self.tr("as in your terminal"),
            )
        )
        self._ends.set_summary(
            joined(
                self.tr("Success: {codes}").format(codes=self._success.text().strip() or "0"),
                self.tr("needs input: {code}").format(code=self._needs_input.text().strip())
                if self._needs_input.text().strip()
                else "",
                self.tr("{time} grace period").format(time=short_interval(self._grace.milliseconds)),
            )
        )


def _code_text(code: int | None) -> str:
    return "" if code is None else str(code)


def _code_line(name: str, title: str, placeholder: str) -> QLineEdit:
    made = QLineEdit()
    made.setObjectName(name)
    made.setAccessibleName(title)
    made.setPlaceholderText(placeholder)
    made.setMaximumWidth(200)
    return made


@dataclass(frozen=True, slots=True, kw_only=True)
class Process:
    """The values of the form."""

    directory: str | None
    extras: Extras
    source: WorkSource | None

    def added_to(self, action: ProcessAction) -> ProcessAction:
        """Return a command or a prompt with these values."""
        return replace(self.extras.added_to(action), directory=self.directory, work_source=self.source)


class ProcessForm(QWidget):
    """One form for both kinds, so that its values survive a change of the kind."""

    changed = Signal()

    def __init__(self, backend: Backend, appearance: Appearance, page: Page, parent: QWidget) -> None:
        super().__init__(parent)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, MARGIN, 0, 0)
        layout.setSpacing(0)
        self._directory = DirectoryEdit(
            appearance,
            name="directory",
            title=self.tr("Working directory"),
            placeholder=self.tr("your home directory"),
        )
        # Added in this order, which is the Tab order.
        layout.addWidget(
            page.watch_field(
                Field(
                    self.tr("Working directory"),
                    self._directory,
                    path="action.directory",
                    subject=self.tr("The working directory"),
                )
            )
        )
        layout.addSpacing(HALF)
        self._work = WorkForm(backend, appearance, page, self)
        layout.addWidget(self._work)
        self._extras = ProcessExtras(backend, appearance, page, self)
        layout.addWidget(self._extras)
        for signal in (self._directory.changed, self._extras.changed, self._work.changed):
            signal.connect(self.changed)

    @property
    def has_work(self) -> bool:
        """Whether a work queue is chosen, even an incomplete one."""
        return self._work.has_work

    def show_for(self, *, is_prompt: bool) -> None:
        """Show the fields of a prompt or of a command."""
        self._extras.set_has_stdin(not is_prompt)
        self._work.show_for(is_prompt=is_prompt)

    def load(self, action: ProcessAction | None) -> None:
        """Show these fields of a command or a prompt; None for a job that has neither."""
        directory = None if action is None else action.directory
        self._directory.line.setText(directory or "")
        self._directory.line.setCursorPosition(0)
        self._extras.load(action)
        self._work.load(None if action is None else action.work_source)

    def read(self, findings: Findings) -> Process | None:
        """Return the values, or None after recording the problems."""
        extras = self._extras.read(findings)
        work = self._work.read(findings)
        if extras is None or work is None:
            return None
        directory = self._directory.line.text().strip() or None
        return Process(directory=directory, extras=extras, source=work.source)
