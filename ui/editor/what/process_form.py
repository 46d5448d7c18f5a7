"""The fields that commands and prompts share: working directory, work queue, environment, exit codes."""

from __future__ import annotations

from dataclasses import dataclass, replace

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QVBoxLayout, QWidget

from halo_scheduler.model import ProcessAction
from halo_scheduler.model.work_source import WorkSource
from ui.backend.backend import Backend
from ui.forms.fields import Field, Page
from ui.forms.path_edit import DirectoryEdit
from ui.forms.problems import Findings
from ui.style.theme import HALF, MARGIN, Appearance

from .process_extras import Extras, ProcessExtras
from .work_form import WorkForm


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
