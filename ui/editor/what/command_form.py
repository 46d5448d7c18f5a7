"""The command of a job: a program with arguments, or a shell command."""

from __future__ import annotations

import os
import shlex
from pathlib import Path

from PySide6.QtCore import Signal
from PySide6.QtWidgets import (
    QComboBox,
    QFileDialog,
    QHBoxLayout,
    QLineEdit,
    QVBoxLayout,
    QWidget,
)

from halo_scheduler.model import Command
from ui.forms.choices import Choice, Choices
from ui.forms.command_line import ArgumentChips, shell_signs, split_line
from ui.forms.fields import Field, Findings, Page
from ui.forms.inputs import PlainText
from ui.forms.rows import link, side_by_side
from ui.style.theme import GRID, HALF, MARGIN, Appearance, mono_font
from ui.widgets.arrange import dialog_start, show_if
from ui.widgets.labels import icon_button, label

_PROGRAM = "program"
_SHELL = "shell"
_LINES = 4
_LONGEST_SIGN = 24


class CommandForm(QWidget):
    """The fields that only commands have."""

    changed = Signal()

    def __init__(self, appearance: Appearance, page: Page, parent: QWidget) -> None:
        super().__init__(parent)
        self._mode = Choices(
            appearance,
            (
                Choice(_PROGRAM, self.tr("Program")),
                Choice(_SHELL, self.tr("Shell")),
            ),
            name="commandMode",
            title=self.tr("Command type"),
        )
        self._build_program(appearance)
        self._build_shell(appearance)
        self._add_fields(page)
        self._lay_out()
        self._connect()
        self._show_mode()

    def _add_fields(self, page: Page) -> None:
        """Wrap the controls in fields that show their problems."""
        self._line_field = page.watch_field(
            Field(
                "",
                self._line_row,
                path="action.argv",
                subject=self.tr("The command"),
                target=self._line,
            )
        )
        self._script_field = page.watch_field(
            Field(
                "",
                self._script_row,
                path="action.line",
                subject=self.tr("The command"),
                target=self._script,
            )
        )
        self._shell_field = page.watch_field(
            Field(self.tr("Shell"), self._shell, path="action.shell", subject=self.tr("The shell"))
        )

    def _lay_out(self) -> None:
        command = QVBoxLayout()
        command.setSpacing(GRID)
        command.addLayout(self._head())
        command.addWidget(self._line_field)
        command.addWidget(self._script_field)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.setSpacing(MARGIN)
        layout.addLayout(command)
        layout.addWidget(self._shell_field)

    def _head(self) -> QHBoxLayout:
        row = QHBoxLayout()
        row.addWidget(label(self.tr("Command")))
        row.addStretch(1)
        row.addWidget(self._mode)
        return row

    def _build_program(self, appearance: Appearance) -> None:
        self._line = QLineEdit()
        self._line.setObjectName("commandLine")
        self._line.setAccessibleName(self.tr("Command"))
        self._line.setPlaceholderText("rsync -a /home /mnt/backup")
        self._line.setFont(mono_font(self._line.font()))
        self._chips = ArgumentChips(appearance, name="argumentChips")
        self._signs = label("", "warn", wrap=True, name="shellSigns")
        self._use_shell = link(self.tr("Switch to shell"), name="useShell")
        self._use_shell.clicked.connect(lambda: self._mode.choose(_SHELL))
        self._use_shell_row = side_by_side("useShellRow", self._use_shell)
        for widget in (self._signs, self._use_shell_row):
            widget.hide()
        choose = icon_button(appearance, "file", self.tr("Insert a file path…"), name="commandFile")
        choose.clicked.connect(self._choose_file)
        self._line_row = _with_buttons(
            self._line, [choose], below=[self._chips, self._signs, self._use_shell_row]
        )

    def _build_shell(self, appearance: Appearance) -> None:
        self._script = PlainText(name="shellLine", title=self.tr("Shell command"))
        self._script.setPlaceholderText("cd ~/site && ./build.sh | tee build.log")
        self._script.setFont(mono_font(self._script.font()))
        self._script.setFixedHeight(self._script.fontMetrics().lineSpacing() * _LINES + MARGIN)
        choose = icon_button(appearance, "file", self.tr("Insert a file path…"), name="shellFile")
        choose.clicked.connect(self._choose_file)
        self._script_row = _with_buttons(self._script, [choose])
        self._shell = QComboBox()
        self._shell.setObjectName("shell")
        self._shell.setAccessibleName(self.tr("Shell"))
        self._shell.setEditable(True)
        self._shell.addItems(_known_shells())
        line = self._shell.lineEdit()
        if line is not None:
            line.setAccessibleName(self._shell.accessibleName())

    def _connect(self) -> None:
        self._mode.chosen.connect(self._change_mode)
        self._line.textChanged.connect(self.changed)
        self._line.textChanged.connect(self._show_arguments)
        self._script.textChanged.connect(self.changed)
        self._shell.editTextChanged.connect(self.changed)

    def stops(self) -> list[QWidget]:
        """Return the widgets in Tab order."""
        files = [
            self._line_row.findChild(QWidget, "commandFile"),
            self._script_row.findChild(QWidget, "shellFile"),
        ]
        buttons = [*(one for one in files if one is not None), self._use_shell]
        return [*self._mode.buttons(), self._line, self._script, *buttons, self._shell]

    def load(self, command: Command | None) -> None:
        """Show a command; None for a job that has none yet."""
        if command is not None:
            self._line.setText(shlex.join(command.argv))
            self._line.setCursorPosition(0)
            self._script.show_text(command.line)
            if command.shell:
                self._shell.setEditText(command.shell)
            self._mode.choose(_SHELL if command.line else _PROGRAM)
        self._show_mode()

    def read(self, findings: Findings) -> Command | None:
        """Return the command without the fields shared with prompts, or None after recording the problems."""
        return self._read_shell_line(findings) if self._mode.value == _SHELL else self._read_program(findings)

    def _read_shell_line(self, findings: Findings) -> Command | None:
        line, shell = self._script.toPlainText(), self._shell.currentText().strip()
        if not line.strip():
            findings.miss("action.line", self.tr("Enter a command."))
            return None
        return findings.take("action", lambda: Command(line=line, shell=shell))

    def _read_program(self, findings: Findings) -> Command | None:
        argv = findings.take("action", lambda: split_line(self._line.text()))
        if argv is None:
            return None
        if not argv:
            findings.miss("action.argv", self.tr("Enter a command."))
            return None
        return findings.take("action", lambda: Command(argv=argv))

    def _change_mode(self) -> None:
        if self._mode.value == _SHELL and not self._script.toPlainText().strip():
            self._script.show_text(self._line.text())
        self._show_mode()
        (self._script if self._mode.value == _SHELL else self._line).setFocus()
        self.changed.emit()

    def _show_mode(self) -> None:
        is_shell = self._mode.value == _SHELL
        show_if(self._line_field, not is_shell)
        show_if(self._script_field, is_shell)
        show_if(self._shell_field, is_shell)

    def _show_arguments(self, line: str) -> None:
        findings = Findings()
        self._chips.show_arguments(findings.take("", lambda: split_line(line)) or ())
        signs = shell_signs(line)
        for widget in (self._signs, self._use_shell_row):
            show_if(widget, bool(signs))
        if signs:
            self._signs.setText(
                self.tr("“{sign}” is passed literally. Pipes, wildcards and variables need a shell.").format(
                    sign=signs[0][:_LONGEST_SIGN]
                )
            )

    def _choose_file(self) -> None:
        dialog = QFileDialog(self.window(), self.tr("Choose a file"), dialog_start())
        dialog.setFileMode(QFileDialog.FileMode.ExistingFile)
        dialog.fileSelected.connect(self._insert_path)
        dialog.finished.connect(dialog.deleteLater)
        dialog.open()

    def _insert_path(self, path: str) -> None:
        quoted = shlex.quote(path)
        if self._mode.value == _SHELL:
            self._script.insertPlainText(quoted)
            self._script.setFocus()
            return
        before = self._line.text()[: self._line.cursorPosition()]
        self._line.insert(quoted if not before or before.endswith(" ") else f" {quoted}")
        self._line.setFocus()


def _with_buttons(line: QWidget, buttons: list[QWidget], below: list[QWidget] | None = None) -> QWidget:
    """Return a line with buttons at its right and other widgets below it."""
    made = QWidget()
    made.setObjectName(f"{line.objectName()}Row")
    row = QHBoxLayout()
    row.setSpacing(HALF)
    row.addWidget(line, 1)
    for one in buttons:
        row.addWidget(one)
    layout = QVBoxLayout(made)
    layout.setContentsMargins(0, 0, 0, 0)
    layout.setSpacing(GRID)
    layout.addLayout(row)
    for one in below or []:
        layout.addWidget(one)
    return made


def _known_shells() -> list[str]:
    """Return the installed shells, the user's login shell first."""
    own = os.environ.get("SHELL") or "/bin/sh"
    others = [path for path in ("/bin/sh", "/bin/bash", "/bin/zsh", "/usr/bin/fish") if Path(path).exists()]
    return list(dict.fromkeys([own, *others]))
