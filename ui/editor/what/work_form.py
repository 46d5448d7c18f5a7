"""Where the work of a job comes from: nowhere, a folder, or the issues of a repository."""

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
    """What the form says: a source, or that there is none."""

    source: WorkSource | None


class WorkForm(QWidget):
    """Folded away; what is inside is made when it is first opened, or when a job has a source."""

    changed = Signal()

    def __init__(self, backend: Backend, appearance: Appearance, page: Page, parent: QWidget) -> None:
        super().__init__(parent)
        self._backend = backend
        self._appearance = appearance
        self._page = page
        self._is_prompt = False
        self._choice: _SourceChoice | None = None
        self._fold = Fold(appearance, self.tr("Where its work comes from"), name="workFold")
        self._fold.opened.connect(self._make)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.addWidget(self._fold)
        self._summarise()

    @property
    def has_work(self) -> bool:
        """Whether a source was chosen, be it not yet a complete one."""
        return self._choice is not None and self._choice.has_work

    def show_for(self, *, is_prompt: bool) -> None:
        """Explain to those who write a prompt, or a command, how they get at the item."""
        self._is_prompt = is_prompt
        if self._choice is not None:
            self._choice.show_for(is_prompt=is_prompt)

    def load(self, source: WorkSource | None) -> None:
        """Show the source of a job."""
        if source is not None or self._choice is not None:
            self._make().load(source)
        self._summarise()

    def read(self, findings: Findings) -> Work | None:
        """Return the source, or None after noting what is wrong."""
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
        self._fold.set_summary(words or self.tr("nowhere: every run does the same"))


class _SourceChoice(QWidget):
    """What is inside: the choice, the form of what was chosen, and a look at what is there."""

    changed = Signal()
    noticed = Signal()
    """Its words are others now, though nobody changed anything."""

    def __init__(self, backend: Backend, appearance: Appearance, page: Page) -> None:
        super().__init__()
        self.setObjectName("workSource")
        self._kind = Choices(
            appearance,
            (
                Choice(_NONE, self.tr("Nowhere")),
                Choice(_FOLDER, self.tr("A folder")),
                Choice(_GITHUB, self.tr("GitHub issues")),
            ),
            name="workKind",
            title=self.tr("Where its work comes from"),
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
        """Explain how a prompt, or a command, gets at the item."""
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
        """Return what was chosen, or None after noting what is wrong with it."""
        if self._kind.value == _NONE:
            return Work(None)
        form = self._folder if self._kind.value == _FOLDER else self._github
        source = form.read(findings)
        return None if source is None else Work(source)

    def words(self) -> str:
        """Return what was chosen in a few words; nothing when it is nothing."""
        return {_FOLDER: self._folder.words, _GITHUB: self._github.words}.get(self._kind.value, str)()

    def _announce_change(self) -> None:
        self._items.clear()
        self._show_kind()
        self.changed.emit()

    def _show_kind(self) -> None:
        kind = self._kind.value
        self._about.setText(
            self.tr("With a source, each run takes one item, works on it, and reports what became of it.")
            if kind == _NONE
            else self.tr(
                "Each run takes the first item that is ready; when there is none, the run is skipped."
            )
        )
        self._given.setText(
            self.tr(
                "The item is added at the end of the prompt. Parts of it, like {{work.title}}, can also stand "
                "within: see “Insert variable” above."
            )
            if self._is_prompt
            else self.tr(
                "The command gets HALO_WORK_ID, HALO_WORK_TITLE, HALO_WORK_URL and HALO_WORK_LABELS in its "
                "environment, and in HALO_WORK_FILE the path of a file with the item as Markdown."
            )
        )
        show_if(self._folder, kind == _FOLDER)
        show_if(self._github, kind == _GITHUB)
        show_if(self._given, kind != _NONE)
        show_if(self._items, kind != _NONE)

    def _preview_items(self) -> None:
        """Ask the source what is ready; what is missing in the form is said beside its button."""
        findings = Findings()
        work = self.read(findings)
        if work is not None and work.source is not None:
            self._items.load(work.source)
        elif findings.problems:
            self._items.show_error(findings.problems[0].message)
