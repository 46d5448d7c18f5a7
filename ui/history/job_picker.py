"""A combo box for one job among many, including jobs in the trash, with search by name."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from PySide6.QtCore import QAbstractListModel, QModelIndex, QObject, QPersistentModelIndex, Qt, Signal
from PySide6.QtGui import QFocusEvent
from PySide6.QtWidgets import QComboBox, QCompleter, QWidget

from halo_scheduler.model.changes import Change, ChangeKind
from halo_scheduler.service.scheduler import Scheduler
from ui.backend.backend import Backend, Lane
from ui.widgets.popup_rows import give_room

from .choice import JobName, job_names
from .run_cells import job_words

_ID_ROLE = Qt.ItemDataRole.UserRole
_NO_PARENT = QModelIndex()
Index = QModelIndex | QPersistentModelIndex


@dataclass(frozen=True, slots=True)
class JobEntry:
    """A job to pick; without an id, all jobs."""

    job_id: str | None
    text: str


class JobChoices(QAbstractListModel):
    """The list: all jobs, then each job by name, then jobs in the trash."""

    def __init__(self, entries: list[JobEntry], parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._entries = entries

    def replace(self, entries: list[JobEntry]) -> None:
        """Replace the list."""
        self.beginResetModel()
        self._entries = entries
        self.endResetModel()

    def row_of(self, job_id: str | None) -> int:
        """Return the row of a job, or -1."""
        return next((row for row, entry in enumerate(self._entries) if entry.job_id == job_id), -1)

    def entry(self, row: int) -> JobEntry | None:
        """Return the entry of a row."""
        return self._entries[row] if 0 <= row < len(self._entries) else None

    def with_text(self, text: str) -> JobEntry | None:
        """Return the job with this name."""
        wanted = text.strip().casefold()
        return next((entry for entry in self._entries if entry.text.casefold() == wanted), None)

    # --- Qt's own ------------------------------------------------------------------------------------

    def rowCount(self, parent: Index = _NO_PARENT) -> int:  # noqa: N802 - Qt's name
        return 0 if parent.isValid() else len(self._entries)

    def data(self, index: Index, role: int = Qt.ItemDataRole.DisplayRole) -> object:
        entry = self.entry(index.row()) if index.isValid() else None
        if entry is None:
            return None
        if role in (Qt.ItemDataRole.DisplayRole, Qt.ItemDataRole.EditRole):
            return entry.text
        return entry.job_id if role == _ID_ROLE else None


class JobPicker(QComboBox):
    """Picks one job or all; the names are read when first needed."""

    chosen = Signal()

    def __init__(self, backend: Backend, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("jobPicker")
        self.setAccessibleName(self.tr("Job"))
        self.setToolTip(self.tr("Filter by job"))
        self._backend = backend
        self._all = JobEntry(None, self.tr("All jobs"))
        self._job_id: str | None = None
        self._is_loaded = False
        self._choices = JobChoices([self._all], self)
        self.setModel(self._choices)
        self.setEditable(True)
        self.setInsertPolicy(QComboBox.InsertPolicy.NoInsert)
        self.setMaxVisibleItems(16)
        self.setMinimumContentsLength(14)
        self.setSizeAdjustPolicy(QComboBox.SizeAdjustPolicy.AdjustToMinimumContentsLengthWithIcon)
        completer = QCompleter(self._choices, self)
        completer.setFilterMode(Qt.MatchFlag.MatchContains)
        completer.setCaseSensitivity(Qt.CaseSensitivity.CaseInsensitive)
        completer.setCompletionMode(QCompleter.CompletionMode.PopupCompletion)
        self.setCompleter(completer)
        give_room(self.view())
        popup = completer.popup()
        if popup is not None:
            give_room(popup)
            popup.setStyleSheet("QListView { border: 1px solid palette(mid); padding: 4px; }")
        self.activated.connect(self._choose)
        field = self.lineEdit()
        if field is not None:
            field.setAccessibleName(self.tr("Job"))
            field.editingFinished.connect(self._settle)
        backend.changed.connect(self._notice)

    @property
    def job_id(self) -> str | None:
        """The chosen job; None for all."""
        return self._job_id

    def set_job(self, job_id: str | None) -> None:
        """Choose a job without a signal."""
        self._job_id = job_id
        if self._choices.row_of(job_id) < 0 and job_id is not None:
            wanted = job_id
            self._backend.ask(lambda scheduler: job_names(scheduler, [wanted]), self._take_names, owner=self)
        self._show_job()

    def _take_names(self, names: dict[str, JobName]) -> None:
        job_id = self._job_id
        if job_id is not None and job_id in names and self._choices.row_of(job_id) < 0:
            self._choices.replace([self._all, JobEntry(job_id, job_words(names[job_id]))])
            self._is_loaded = False
            self._show_job()

    def _show_job(self) -> None:
        row = self._choices.row_of(self._job_id)
        self.setCurrentIndex(row)
        if row < 0:
            self.setEditText("")
        field = self.lineEdit()
        if field is not None:
            field.setCursorPosition(0)

    def _load(self) -> None:
        if not self._is_loaded:
            self._is_loaded = True
            self._loaded: list[JobEntry] = []
            self._backend.ask_stream(
                _entries, self._loaded.extend, self._take_entries, owner=self, lane=Lane.SLOW
            )

    def _take_entries(self) -> None:
        typed = self.currentText() if self.hasFocus() else None
        self._choices.replace([self._all, *self._loaded])
        self._show_job()
        if typed is not None and self._choices.with_text(typed) is None:
            self.setEditText(typed)

    def _choose(self, row: int) -> None:
        entry = self._choices.entry(row)
        if entry is not None and entry.job_id != self._job_id:
            self._job_id = entry.job_id
            self.chosen.emit()
        self._show_job()

    def _settle(self) -> None:
        """Accept the text if it is a job's name; otherwise restore the choice."""
        entry = self._choices.with_text(self.currentText())
        if entry is not None or not self.currentText().strip():
            self._choose(self._choices.row_of(entry.job_id if entry is not None else None))
        else:
            self._show_job()

    def _notice(self, change: Change) -> None:
        if change.kind is ChangeKind.JOB:
            self._is_loaded = False

    # --- Qt's own ------------------------------------------------------------------------------------

    def focusInEvent(self, event: QFocusEvent) -> None:  # noqa: N802 - Qt's name
        self._load()
        super().focusInEvent(event)
        field = self.lineEdit()
        if field is not None:
            field.selectAll()

    def showPopup(self) -> None:  # noqa: N802 - Qt's name
        self._load()
        super().showPopup()


def _entries(scheduler: Scheduler, is_cancelled: Callable[[], bool]) -> Iterator[JobEntry]:
    jobs = [
        JobEntry(job.id, job_words(JobName(job.name))) for page in scheduler.jobs.in_pages() for job in page
    ]
    removed = [
        JobEntry(job.id, job_words(JobName(job.name, is_removed=True))) for job in scheduler.list_removed()
    ]
    if not is_cancelled():
        yield from sorted(jobs, key=_order)
        yield from sorted(removed, key=_order)


def _order(entry: JobEntry) -> str:
    return entry.text.casefold()
