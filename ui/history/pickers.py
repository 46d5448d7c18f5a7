"""The filters of the history by job and by outcome."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import cast

from PySide6.QtCore import QAbstractListModel, QModelIndex, QObject, QPersistentModelIndex, Qt, Signal
from PySide6.QtGui import QAction, QFocusEvent, QIcon, QKeyEvent, QMouseEvent
from PySide6.QtWidgets import QComboBox, QCompleter, QMenu, QPushButton, QWidget

from halo_scheduler.model import Outcome
from halo_scheduler.model.changes import Change, ChangeKind
from halo_scheduler.model.words import PROBLEMS
from halo_scheduler.service.scheduler import Scheduler
from ui.backend.backend import Backend, Lane
from ui.style.marks import Shape, outcome_mark
from ui.style.theme import Appearance, Tone
from ui.style.wording import natural_key, outcome_words
from ui.widgets.boxes import dress_suggestions, elide, give_room
from ui.widgets.labels import tint

from .choice import JobName, job_names
from .run_cells import job_words

_ID_ROLE = Qt.ItemDataRole.UserRole
_NO_PARENT = QModelIndex()
Index = QModelIndex | QPersistentModelIndex
_SIGNS = {
    Shape.PLAY: "▶",
    Shape.CIRCLE: "●",
    Shape.SQUARE: "■",
    Shape.DOTTED: "◌",
    Shape.TRIANGLE: "▲",
}


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

    # --- Qt -----------------------------------------------------------------------------------------

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
        self.setMinimumContentsLength(10)
        self.setSizeAdjustPolicy(QComboBox.SizeAdjustPolicy.AdjustToMinimumContentsLengthWithIcon)
        completer = QCompleter(self._choices, self)
        completer.setFilterMode(Qt.MatchFlag.MatchContains)
        completer.setCaseSensitivity(Qt.CaseSensitivity.CaseInsensitive)
        completer.setCompletionMode(QCompleter.CompletionMode.PopupCompletion)
        self.setCompleter(completer)
        give_room(self.view())
        dress_suggestions(completer, self)
        self.activated.connect(self._choose)
        field = self.lineEdit()
        if field is not None:
            field.setAccessibleName(self.tr("Job"))
            elide(field)
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

    # --- Qt -----------------------------------------------------------------------------------------

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


def _order(entry: JobEntry) -> tuple[str | int, ...]:
    return natural_key(entry.text)


class OutcomePicker(QPushButton):
    """A button that shows the chosen outcomes, with a menu to choose them."""

    chosen = Signal()

    def __init__(self, appearance: Appearance, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._appearance = appearance
        appearance.changed.connect(self._tell)
        self._menu = _StayingMenu(self)
        self._menu.setObjectName("outcomeMenu")
        self._menu.setLayoutDirection(Qt.LayoutDirection.LeftToRight)
        self._choices: dict[Outcome, QAction] = {}
        self._add_wholes()
        for outcome in Outcome:
            self._add(outcome)
        self.setObjectName("outcomeButton")
        self.setToolTip(self.tr("Filter by outcome"))
        self.setMenu(self._menu)
        # The icon is behind the text, like the arrow of a combo box.
        self.setLayoutDirection(Qt.LayoutDirection.RightToLeft)
        tint(self, appearance, "chevron-down", Tone.MUTED)
        self._tell()

    @property
    def outcomes(self) -> frozenset[Outcome] | None:
        """The outcomes to show; None for all."""
        found = frozenset(outcome for outcome, action in self._choices.items() if action.isChecked())
        return None if not found or len(found) == len(Outcome) else found

    def set_outcomes(self, outcomes: frozenset[Outcome] | None) -> None:
        """Choose outcomes without a signal."""
        for outcome, action in self._choices.items():
            action.blockSignals(True)
            action.setChecked(outcomes is not None and outcome in outcomes)
            action.blockSignals(False)
        self._tell()

    def _add_wholes(self) -> None:
        for name, text, outcomes in (
            ("outcomeAll", self.tr("All outcomes"), None),
            ("outcomeProblems", self.tr("Problems only"), frozenset(PROBLEMS)),
        ):
            action = self._menu.addAction(text)
            action.setObjectName(name)
            action.setData(outcomes)
            action.triggered.connect(self._take_whole)
        self._menu.addSeparator()

    def _add(self, outcome: Outcome) -> None:
        sign = _SIGNS[outcome_mark(outcome).shape]
        action = self._menu.addAction(f"{sign}  {outcome_words(outcome)}")
        action.setObjectName(f"outcome-{outcome}")
        action.setCheckable(True)
        action.toggled.connect(self._take)
        self._choices[outcome] = action

    def _take_whole(self) -> None:
        action = self.sender()
        if isinstance(action, QAction):
            self.set_outcomes(action.data())
            self.chosen.emit()

    def _take(self) -> None:
        self._tell()
        self.chosen.emit()

    def _tell(self) -> None:
        found = self.outcomes
        if found is None:
            text = self.tr("All outcomes")
        elif found == frozenset(PROBLEMS):
            text = self.tr("Problems only")
        elif len(found) == 1:
            text = outcome_words(next(iter(found)))
        else:
            text = self.tr("{count} outcomes").format(count=len(found))
        for action in self._choices.values():
            # With a style sheet Qt draws no check mark.
            action.setIcon(self._appearance.icon("check", Tone.ACCENT) if action.isChecked() else QIcon())
        self.setText(text)
        self.setAccessibleName(self.tr("Outcome: {which}").format(which=text))


class _StayingMenu(QMenu):
    """A menu that stays open while several items are checked."""

    def _check(self) -> bool:
        """Toggle the current item, if it is checkable."""
        action = cast("QAction | None", self.activeAction())
        if action is None or not action.isCheckable():
            return False
        action.trigger()
        return True

    def mouseReleaseEvent(self, event: QMouseEvent) -> None:  # noqa: N802 - Qt's name
        if not self._check():
            super().mouseReleaseEvent(event)

    def keyPressEvent(self, event: QKeyEvent) -> None:  # noqa: N802 - Qt's name
        if event.key() != Qt.Key.Key_Space or not self._check():
            super().keyPressEvent(event)
