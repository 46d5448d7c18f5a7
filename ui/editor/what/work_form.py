"""The work queue of a job: none, a folder, or GitHub issues; with a preview of its ready items."""

from __future__ import annotations

from dataclasses import dataclass

from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import QHBoxLayout, QLabel, QSizePolicy, QVBoxLayout, QWidget

from halo_scheduler.errors import SchedulerError
from halo_scheduler.grammar.english import counted
from halo_scheduler.model.actions import FolderSource, GithubSource, WorkSource
from halo_scheduler.work_sources.item import Item
from ui.backend.backend import Asked, Backend, Lane
from ui.forms.choices import Choice, Choices
from ui.forms.fields import Findings, Page, as_sentence
from ui.forms.fold import Fold
from ui.style.theme import GRID, HALF, MARGIN, Appearance
from ui.style.wording import one_line, plain_tooltip
from ui.widgets.arrange import put_after, show_if
from ui.widgets.labels import button, label, set_role, tint

from .queue_forms import FolderForm, GithubForm

_SHOWN = 6
_LONGEST_TITLE = 90
_LONGEST_ID = 30
_NONE = "none"
_FOLDER = "folder"
_GITHUB = "github"


class ReadyItems(QWidget):
    """Loads the items only on request: the queue may be remote."""

    wanted = Signal()
    """The user wants a preview; answer with `load` or `show_error`."""

    def __init__(self, backend: Backend, appearance: Appearance, *, name: str) -> None:
        super().__init__()
        self.setObjectName(name)
        self._backend = backend
        self._asked: Asked | None = None
        self._is_loading = False
        self._button = button(self.tr("Preview"), name=f"{name}Look", tip=self.tr("Preview ready items"))
        self._button.setAutoDefault(False)
        tint(self._button, appearance, "search")
        self._words = label("", "muted", wrap=True, name=f"{name}Words")
        self._words.setMinimumWidth(GRID)
        self._rows = QVBoxLayout()
        self._rows.setContentsMargins(0, 0, 0, 0)
        self._rows.setSpacing(HALF)
        self._shown: list[QWidget] = []
        head = QHBoxLayout()
        head.setSpacing(GRID)
        head.addWidget(self._button, alignment=Qt.AlignmentFlag.AlignTop | Qt.AlignmentFlag.AlignLeft)
        head.addWidget(self._words, 1)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.setSpacing(GRID)
        layout.addLayout(head)
        layout.addLayout(self._rows)
        self._button.clicked.connect(self._want)

    def _want(self) -> None:
        # Disabling the button meanwhile would move the focus away.
        if not self._is_loading:
            self.wanted.emit()

    def load(self, source: WorkSource) -> None:
        """Load the ready items of a source."""
        self.clear()
        self._show_message(self.tr("Loading…"), "muted")
        self._is_loading = True
        self._asked = self._backend.ask(
            lambda scheduler: scheduler.jobs.ready_items(source),
            self._show,
            self._refuse,
            owner=self,
            lane=Lane.SLOW,
        )

    def show_error(self, message: str) -> None:
        """Show why the items cannot be loaded."""
        self.clear()
        self._show_message(as_sentence("", message), "error")

    def clear(self) -> None:
        """Clear the list, which may be out of date."""
        if self._asked is not None:
            self._asked.cancel()
        self._is_loading = False
        self._show_message("", "muted")
        for row in self._shown:
            self._rows.removeWidget(row)
            row.hide()
            row.deleteLater()
        self._shown = []

    def _show(self, items: list[Item]) -> None:
        self.clear()
        if not items:
            self._show_message(self.tr("No items ready."), "muted")
            return
        self._show_message(self.tr("{items} ready:").format(items=counted(len(items), "item")), "ok")
        rest = len(items) - _SHOWN
        for index, item in enumerate(items[:_SHOWN]):
            self._add_row(_item_row(item, index))
        if rest > 0:
            self._add_row(label(self.tr("and {count} more").format(count=rest), "muted"))

    def _add_row(self, row: QWidget) -> None:
        self._rows.addWidget(row)
        self._shown.append(row)

    def _refuse(self, error: SchedulerError) -> None:
        self.show_error(str(error))

    def _show_message(self, text: str, role: str) -> None:
        self._words.setText(one_line(text))
        set_role(self._words, role)
        show_if(self._words, bool(text))


def _item_row(item: Item, index: int) -> QWidget:
    made = QWidget()
    made.setObjectName(f"readyItem{index}")
    title = one_line(item.title, _LONGEST_TITLE)
    known_as = one_line(item.id, _LONGEST_ID)
    words = label(title or known_as)
    words.setSizePolicy(QSizePolicy.Policy.Ignored, QSizePolicy.Policy.Preferred)
    row = QHBoxLayout(made)
    row.setContentsMargins(0, 0, 0, 0)
    row.setSpacing(GRID)
    if title and known_as not in ("", title):
        row.addWidget(_muted(known_as))
    row.addWidget(words, 1)
    labels = one_line(", ".join(item.labels), _LONGEST_ID)
    if labels:
        row.addWidget(_muted(labels))
    made.setToolTip(plain_tooltip("\n".join(filter(None, (item.title, item.url, item.note)))))
    made.setAccessibleName(" ".join(filter(None, (known_as, title, labels))))
    return made


def _muted(text: str) -> QLabel:
    return label(text, "muted")


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
