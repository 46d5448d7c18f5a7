"""The trash: lists deleted jobs, restores them or deletes them permanently."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from PySide6.QtCore import QObject, QSize, Qt, Signal
from PySide6.QtWidgets import (
    QAbstractItemView,
    QDialog,
    QHBoxLayout,
    QLineEdit,
    QListWidget,
    QListWidgetItem,
    QVBoxLayout,
    QWidget,
)

from halo_scheduler.grammar.english import counted, short_date
from halo_scheduler.grammar.zone import local_time
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
    deletion_wanted = Signal(object)
    """The ids of jobs to delete permanently; the user has confirmed it."""

    def __init__(self, appearance: Appearance, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("trashDialog")
        self.setWindowTitle(self.tr("Trash"))
        self.resize(560, 440)
        column = QVBoxLayout(self)
        column.setContentsMargins(MARGIN, MARGIN, MARGIN, MARGIN)
        column.setSpacing(GRID)
        column.addWidget(label(self.tr("Trash"), "title"))
        column.addWidget(
            label(self.tr("Deleted jobs and their history are kept for 30 days."), "muted", wrap=True)
        )
        self._search = QLineEdit()
        self._search.setObjectName("trashSearch")
        self._search.setAccessibleName(self.tr("Search the trash"))
        self._search.setPlaceholderText(self.tr("Search"))
        self._search.setClearButtonEnabled(True)
        self._search.textChanged.connect(self._filter)
        self._empty_all = button(self.tr("Empty trash…"), name="emptyTrashButton", kind="quiet")
        self._empty_all.clicked.connect(self._ask_for_all)
        above = QHBoxLayout()
        above.addWidget(self._search)
        above.addWidget(self._empty_all)
        column.addLayout(above)
        self._doomed: list[str] = []
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
        column.addWidget(self._make_question())
        column.addLayout(self._buttons(appearance))
        self._fit()

    def _make_question(self) -> QWidget:
        """Return the inline confirmation for deleting jobs permanently."""
        self._question = frame("note")
        self._question.setObjectName("trashQuestion")
        self._asked = label("", name="trashQuestionText", wrap=True)
        cancel = button(self.tr("Cancel"), name="keepButton")
        cancel.clicked.connect(self._question.hide)
        act = button(self.tr("Delete"), name="confirmDeleteButton", kind="danger")
        act.clicked.connect(self._delete)
        row = QHBoxLayout(self._question)
        row.addWidget(self._asked, 1)
        row.addWidget(cancel)
        row.addWidget(act)
        self._keep = cancel
        self._question.hide()
        return self._question

    def _buttons(self, appearance: Appearance) -> QHBoxLayout:
        row = QHBoxLayout()
        self._delete_some = button(self.tr("Delete permanently…"), name="deleteButton", kind="quiet")
        self._delete_some.clicked.connect(lambda: self._ask(self._chosen()))
        row.addWidget(self._delete_some)
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

    def set_jobs(self, jobs: Iterable[Job], removed_at: Mapping[str, int]) -> None:
        """List these jobs, the last deleted first, with the day of their deletion."""
        self._list.clear()
        self._question.hide()
        for job in jobs:
            parts = [one_line(job.name, 60)]
            if job.id in removed_at:
                day = short_date(local_time(removed_at[job.id]))
                parts.append(self.tr("deleted {day}").format(day=day))
            # Last, because it may be long and would push the day out of sight.
            item = QListWidgetItem("   ·   ".join([*parts, schedule_words(job.schedule)]))
            item.setData(_ID, job.id)
            item.setToolTip(plain_tooltip(job.name))
            item.setSizeHint(QSize(0, ROW))
            self._list.addItem(item)
        if self._list.count():
            self._list.setCurrentRow(0)
        self._filter()

    def _filter(self) -> None:
        sought = self._search.text().strip().casefold()
        for item in self._items():
            item.setHidden(sought not in item.text().casefold())
            if item.isHidden():
                item.setSelected(False)
        self._fit()

    def _items(self) -> list[QListWidgetItem]:
        return [self._list.item(row) for row in range(self._list.count())]

    def _fit(self) -> None:
        has_jobs = self._list.count() > 0
        self._card.setVisible(has_jobs)
        self._search.setVisible(has_jobs)
        self._empty.setVisible(not has_jobs)
        self._empty_all.setVisible(has_jobs)
        self._delete_some.setVisible(has_jobs)
        self._delete_some.setEnabled(bool(self._chosen()))
        self._button.setEnabled(bool(self._chosen()))

    def _chosen(self) -> list[str]:
        return [str(item.data(_ID)) for item in self._list.selectedItems()]

    def _ask_for_all(self) -> None:
        self._ask([str(item.data(_ID)) for item in self._items()])

    def _ask(self, job_ids: list[str]) -> None:
        self._doomed = job_ids
        words = self.tr("This permanently deletes {jobs} with all runs.")
        self._asked.setText(words.format(jobs=counted(len(job_ids), "job")))
        self._question.show()
        self._keep.setFocus()

    def _delete(self) -> None:
        self._question.hide()
        self.deletion_wanted.emit(self._doomed)

    def _restore(self) -> None:
        chosen = self._chosen()
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
            self._dialog.deletion_wanted.connect(self._delete)
        self._fill(self._dialog)
        self._dialog.open()

    def _follow(self, change: Change) -> None:
        if change.kind is ChangeKind.JOB and self._dialog is not None and self._dialog.isVisible():
            self._fill(self._dialog)

    def _delete(self, job_ids: list[str]) -> None:
        self._backend.ask(lambda scheduler: scheduler.jobs.delete_removed(job_ids), owner=self)

    def _fill(self, dialog: TrashDialog) -> None:
        self._backend.ask(_read, lambda found: dialog.set_jobs(*found), owner=dialog)


def _read(scheduler: Scheduler) -> tuple[list[Job], dict[str, int]]:
    times = scheduler.jobs.trash_times()
    return scheduler.list_removed(), {job_id: at for job_id, (at, _kept_until) in times.items()}
