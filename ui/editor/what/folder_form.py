"""A folder as work queue: one file per item, moved between subfolders."""

from __future__ import annotations

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QVBoxLayout, QWidget

from halo_scheduler.model.work_source import FolderSource
from ui.backend.backend import Backend
from ui.editor.summary import joined
from ui.forms.fields import Field, Page
from ui.forms.path_edit import DirectoryEdit
from ui.forms.problems import Findings
from ui.forms.rows import explanations
from ui.style.theme import GRID, Appearance

from .missing_folder import MissingFolder

_PATH = "action.work_source.path"


class FolderForm(QWidget):
    """The folder, and an explanation of its subfolders."""

    changed = Signal()
    noticed = Signal()
    """It is now known whether the folder exists."""

    def __init__(self, backend: Backend, appearance: Appearance, page: Page) -> None:
        super().__init__()
        self._folder = DirectoryEdit(
            appearance, name="workFolder", title=self.tr("Work folder"), placeholder="~/tasks"
        )
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.setSpacing(GRID)
        layout.addWidget(
            page.watch_field(
                Field(self.tr("Folder"), self._folder, path=_PATH, subject=self.tr("The folder"))
            )
        )
        self._missing = MissingFolder(backend, name="workFolderMissing")
        layout.addWidget(self._missing)
        layout.addWidget(self._explanation())
        self._folder.changed.connect(self._announce_change)
        self._missing.noticed.connect(self.noticed)
        self._missing.created.connect(self.changed)

    def _explanation(self) -> QWidget:
        return explanations(
            ("ready/", self.tr("waiting items, one file each")),
            ("in-progress/", self.tr("item in progress")),
            ("done/", self.tr("finished items")),
            ("failed/", self.tr("failed items")),
        )

    def load(self, source: FolderSource) -> None:
        """Show a folder."""
        self._folder.line.setText(source.path)
        self._folder.line.setCursorPosition(0)

    def read(self, findings: Findings) -> FolderSource | None:
        """Return the folder, or None after recording the problems."""
        path = self._path
        if not path.strip():
            findings.miss(_PATH, self.tr("Choose a folder."))
            return None
        return findings.take("action.work_source", lambda: FolderSource(path=path))

    def _announce_change(self) -> None:
        self._missing.check(self._path)
        self.changed.emit()

    @property
    def _path(self) -> str:
        return self._folder.line.text().lstrip()

    def words(self) -> str:
        """Return a summary of the folder."""
        path = self._path.rstrip()
        if not path:
            return self.tr("a folder")
        words = self.tr("folder {path}").format(path=path)
        return joined(words, self.tr("doesn't exist yet") if self._missing.is_missing else "")
