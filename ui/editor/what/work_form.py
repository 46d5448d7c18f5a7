"""The work queue of a job: none, a folder, or GitHub issues."""

from __future__ import annotations

from dataclasses import dataclass

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QVBoxLayout, QWidget

from halo_scheduler.model.work_source import FolderSource, GithubSource, WorkSource
from ui.backend.backend import Backend
from ui.forms.choices import Choice, Choices
from ui.forms.fields import Page
from ui.forms.fold import Fold
from ui.forms.problems import Findings
from ui.forms.seen import show_if
from ui.style.theme import GRID, MARGIN, Appearance
from ui.widgets.labels import label
from ui.widgets.tab_order import put_after

from .folder_form import FolderForm
from .github_form import GithubForm
from .ready_items import ReadyItems

_NONE = "none"
_FOLDER = "folder"
_GITHUB = "github"


@dataclass(frozen=True, slots=True)
class Work:
    """The chosen work queue, or none."""

    source: WorkSource | None


class WorkForm(QWidget):
    """Collapsed; its contents are created when it is opened, or when a job has a work queue."""

    changed = Signal()

    def __init__(self, backend: Backend, appearance: Appearance, page: Page, parent: QWidget) -> None:
        super().__init__(parent)
        self._backend = backend
        self._appearance = appearance
        self._page = page
        self._is_prompt = False
        self._choice: _SourceChoice | None = None
        self._fold = Fold(appearance, self.tr("Work queue"), name="workFold")
        self._fold.opened.connect(self._make)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.addWidget(self._fold)
        self._summarise()

    @property
    def has_work(self) -> bool:
        """Whether a work queue is chosen, even an incomplete one."""
        return self._choice is not None and self._choice.has_work

    def show_for(self, *, is_prompt: bool) -> None:
        """Explain how a prompt or a command receives the item."""
        self._is_prompt = is_prompt
        if self._choice is not None:
            self._choice.show_for(is_prompt=is_prompt)

    def load(self, source: WorkSource | None) -> None:
        """Show the work queue of a job."""
        if source is not None or self._choice is not None:
            self._make().load(source)
        self._summarise()

    def read(self, findings: Findings) -> Work | None:
        """Return the work queue, or None after recording the problems."""
        return Work(None) if self._choice is None else self._choice.read(findings)

    def _make(self) -> _SourceChoice:
        if self._choice is None:
            made = self._choice = _SourceChoice(self._backend, self._appearance, self._page)
            self._fold.add(made)
            made.show_for(is_prompt=self._is_prompt)
            put_after(self._fold.head, made)
            self._page.part_made.emit(made)
            made.changed.connect(self._announce_change)
            made.noticed.connect(self._summarise)
        return self._choice

    def _announce_change(self) -> None:
        self._summarise()
        self.changed.emit()

    def _summarise(self) -> None:
        words = "" if self._choice is None else self._choice.words()
        self._fold.set_summary(words or self.tr("none"))


class _SourceChoice(QWidget):
    """The choice, the form of the chosen source and a preview of its items."""

    changed = Signal()
    noticed = Signal()
    """The summary has changed without an edit."""

    def __init__(self, backend: Backend, appearance: Appearance, page: Page) -> None:
        super().__init__()
        self.setObjectName("workSource")
        self._kind = Choices(
            appearance,
            (
                Choice(_NONE, self.tr("None")),
                Choice(_FOLDER, self.tr("Folder")),
                Choice(_GITHUB, self.tr("GitHub issues")),
            ),
            name="workKind",
            title=self.tr("Work queue"),
        )
        self._about = label("", "small", wrap=True, name="workAbout")
        self._folder = FolderForm(backend, appearance, page)
        self._github = GithubForm(backend, appearance, page)
        self._given = label("", "small", wrap=True, name="workGiven")
        self._items = ReadyItems(backend, appearance, name="readyItems")
        self._is_prompt = False
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.setSpacing(MARGIN)
        head = QVBoxLayout()
        head.setSpacing(GRID)
        head.addWidget(self._kind)
        head.addWidget(self._about)
        layout.addLayout(head)
        for widget in (self._folder, self._github, self._given, self._items):
            layout.addWidget(widget)
        self._kind.chosen.connect(self._announce_change)
        self._folder.changed.connect(self._announce_change)
        self._folder.noticed.connect(self.noticed)
        self._github.changed.connect(self._announce_change)
        self._items.wanted.connect(self._preview_items)
        self._show_kind()

    @property
    def has_work(self) -> bool:
        return self._kind.value != _NONE

    def show_for(self, *, is_prompt: bool) -> None:
        """Explain how a prompt or a command receives the item."""
        self._is_prompt = is_prompt
        self._show_kind()

    def load(self, source: WorkSource | None) -> None:
        """Show a source."""
        match source:
            case None:
                self._kind.choose(_NONE)
            case FolderSource():
                self._folder.load(source)
                self._kind.choose(_FOLDER)
            case GithubSource():
                self._github.load(source)
                self._kind.choose(_GITHUB)
        self._show_kind()

    def read(self, findings: Findings) -> Work | None:
        """Return the choice, or None after recording the problems."""
        if self._kind.value == _NONE:
            return Work(None)
        form = self._folder if self._kind.value == _FOLDER else self._github
        source = form.read(findings)
        return None if source is None else Work(source)

    def words(self) -> str:
        """Return a summary of the choice; empty for none."""
        return {_FOLDER: self._folder.words, _GITHUB: self._github.words}.get(self._kind.value, str)()

    def _announce_change(self) -> None:
        self._items.clear()
        self._show_kind()
        self.changed.emit()

    def _show_kind(self) -> None:
        kind = self._kind.value
        self._about.setText(
            self.tr("Each run takes one item from the queue and reports the result.")
            if kind == _NONE
            else self.tr("Each run takes the first ready item. If there is none, the run is skipped.")
        )
        self._given.setText(
            self.tr(
                "The item is added at the end of the prompt. Use “Insert variable” above for parts of it, "
                "like {{work.title}}."
            )
            if self._is_prompt
            else self.tr(
                "The command gets the environment variables HALO_WORK_ID, HALO_WORK_TITLE, HALO_WORK_URL, "
                "HALO_WORK_LABELS and HALO_WORK_FILE, the path of a Markdown file with the item."
            )
        )
        show_if(self._folder, kind == _FOLDER)
        show_if(self._github, kind == _GITHUB)
        show_if(self._given, kind != _NONE)
        show_if(self._items, kind != _NONE)

    def _preview_items(self) -> None:
        """Preview the ready items; an incomplete form is reported beside the button."""
        findings = Findings()
        work = self.read(findings)
        if work is not None and work.source is not None:
            self._items.load(work.source)
        elif findings.problems:
            self._items.show_error(findings.problems[0].message)
