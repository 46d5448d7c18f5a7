"""The trash: lists deleted jobs and restores them."""

from __future__ import annotations

from collections.abc import Iterable

from PySide6.QtCore import QObject, QSize, Qt, Signal
from PySide6.QtWidgets import (
    QAbstractItemView,
    QDialog,
    QHBoxLayout,
    QListWidget,
    QListWidgetItem,
    QVBoxLayout,
    QWidget,
)

from halo_scheduler.model import Job
from halo_scheduler.model.changes import Change, ChangeKind
from halo_scheduler.service.scheduler import Scheduler
from ui.backend.backend import Backend
from ui.main_window.table.job_rows import schedule_words
from ui.style.theme import GRID, HALF, MARGIN, ROW, Appearance, Tone
from ui.style.wording import one_line, plain_tooltip
from ui.widgets.labels import button, frame, label, tint

_ID = Qt.ItemDataRole.UserRole


class TrashDialog(QDialog):
    """Lists deleted jobs and emits the ones to restore."""

    restore_wanted = Signal(object)
    """The ids of jobs."""

    def __init__(self, appearance: Appearance, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("trashDialog")
        self.setWindowTitle(self.tr("Trash"))
        self.resize(480, 400)
        column = QVBoxLayout(self)
        column.setContentsMargins(MARGIN, MARGIN, MARGIN, MARGIN)
        column.setSpacing(GRID)
        column.addWidget(label(self.tr("Trash"), "title"))
        column.addWidget(
            label(self.tr("Deleted jobs and their history are kept for 30 days."), "muted", wrap=True)
        )
        self._list = QListWidget()
        self._list.setObjectName("trashList")
        self._list.setAccessibleName(self.tr("Deleted jobs"))
        self._list.setSelectionMode(QAbstractItemView.SelectionMode.ExtendedSelection)
        self._list.setUniformItemSizes(True)
        self._list.itemSelectionChanged.connect(self._fit)
        self._list.itemActivated.connect(lambda _item: self._restore())
        self._card = frame("card")
        inside = QVBoxLayout(self._card)
        inside.setContentsMargins(HALF, HALF, HALF, HALF)
        inside.addWidget(self._list)
        column.addWidget(self._card, 1)
        self._empty = label(self.tr("The trash is empty."), "muted", name="trashEmpty")
        self._empty.setAlignment(Qt.AlignmentFlag.AlignCenter)
        column.addWidget(self._empty, 1)
        column.addLayout(self._buttons(appearance))
        self._fit()

    def _buttons(self, appearance: Appearance) -> QHBoxLayout:
        row = QHBoxLayout()
        row.addStretch(1)
        close = button(self.tr("Close"), name="closeTrashButton", tip=self.tr("Close (Esc)"))
        close.clicked.connect(self.accept)
        row.addWidget(close)
        self._button = button(
            self.tr("Restore"),
            name="restoreButton",
            kind="primary",
            tip=self.tr("Restore the selected jobs (Return)"),
        )
        tint(self._button, appearance, "undo", Tone.ON_ACCENT)
        self._button.clicked.connect(self._restore)
        row.addWidget(self._button)
        return row

    def set_jobs(self, jobs: Iterable[Job]) -> None:
        """List these jobs, the last deleted first."""
        self._list.clear()
        for job in jobs:
            item = QListWidgetItem(f"{one_line(job.name, 60)}   ·   {schedule_words(job.schedule)}")
            item.setData(_ID, job.id)
            item.setToolTip(plain_tooltip(job.name))
            item.setSizeHint(QSize(0, ROW))
            self._list.addItem(item)
        if self._list.count():
            self._list.setCurrentRow(0)
        self._fit()

    def _fit(self) -> None:
        has_jobs = self._list.count() > 0
        self._card.setVisible(has_jobs)
        self._empty.setVisible(not has_jobs)
        self._button.setEnabled(bool(self._list.selectedItems()))

    def _restore(self) -> None:
        chosen = [str(item.data(_ID)) for item in self._list.selectedItems()]
        if chosen:
            self.restore_wanted.emit(chosen)


class Trash(QObject):
    """Opens the trash and keeps its list up to date while it is open."""

    restore_wanted = Signal(object)
    """The ids of jobs."""

    def __init__(self, backend: Backend, appearance: Appearance, window: QWidget) -> None:
        super().__init__(window)
        self._backend = backend
        self._appearance = appearance
        self._window = window
        self._dialog: TrashDialog | None = None
        backend.changed.connect(self._follow)

    def show(self) -> None:
        """Open the trash."""
        if self._dialog is None:
            self._dialog = TrashDialog(self._appearance, self._window)
            self._dialog.restore_wanted.connect(self.restore_wanted)
        self._fill(self._dialog)
        self._dialog.open()

    def _follow(self, change: Change) -> None:
        if change.kind is ChangeKind.JOB and self._dialog is not None and self._dialog.isVisible():
            self._fill(self._dialog)

    def _fill(self, dialog: TrashDialog) -> None:
        self._backend.ask(Scheduler.list_removed, dialog.set_jobs, owner=dialog)
