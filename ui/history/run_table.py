"""The model of the run table: loaded in pages, never counted, and stable while new runs arrive."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum

from PySide6.QtCore import (
    QAbstractTableModel,
    QModelIndex,
    QObject,
    QPersistentModelIndex,
    Qt,
    QTimer,
    Signal,
)

from halo_scheduler.errors import SchedulerError
from halo_scheduler.model import Outcome, Run
from halo_scheduler.model.changes import Change, ChangeKind
from halo_scheduler.service.scheduler import Scheduler
from ui.backend.backend import Asked, Backend

from .choice import Choice, JobName, job_names, run_at
from .run_cells import Column, cell_text, cell_tip, heading

_PAGE = 200
_AHEAD = 150
_SETTLE_MS = 120
# The number of runs that a search reads between two progress reports.
_SEARCHED_AT_ONCE = 50
_RUN_KINDS = (ChangeKind.RUN_STARTED, ChangeKind.RUN_PROGRESS, ChangeKind.RUN_FINISHED)
_NO_PARENT = QModelIndex()
Index = QModelIndex | QPersistentModelIndex


class State(StrEnum):
    """The loading state of the model."""

    LOADING = "loading"
    READY = "ready"
    SEARCHING = "searching"
    FAILED = "failed"


RUN_ROLE = Qt.ItemDataRole.UserRole + 1


@dataclass(frozen=True, slots=True)
class _Page:
    runs: list[Run]
    names: dict[str, JobName]
    is_last: bool
    has_history: bool = True


Hit = tuple[Run, JobName]


class RunTableModel(QAbstractTableModel):
    """The chosen runs, newest first; the next page is loaded before the end is reached."""

    state_changed = Signal()

    def __init__(self, backend: Backend, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._backend = backend
        self._choice = Choice()
        self._runs: list[Run] = []
        self._ids: set[str] = set()
        self._names: dict[str, JobName] = {}
        self._old_names: set[str] = set()
        self._state = State.LOADING
        self._error = ""
        self._is_complete = False
        self._has_history = True
        self._searched = 0
        self._asked: Asked | None = None
        self._live: Asked | None = None
        self._is_watched = False
        self._changed_ids: set[str] = set()
        self._is_all_changed = False
        self._settling = QTimer(self)
        self._settling.setSingleShot(True)
        self._settling.setInterval(_SETTLE_MS)
        self._settling.timeout.connect(self._read_changes)
        backend.changed.connect(self._notice)

    # --- What is there -------------------------------------------------------------------------------

    @property
    def choice(self) -> Choice:
        return self._choice

    @property
    def state(self) -> State:
        return self._state

    @property
    def error(self) -> str:
        """The error message, if loading failed."""
        return self._error

    @property
    def is_complete(self) -> bool:
        """Whether the oldest chosen run is loaded."""
        return self._is_complete

    @property
    def has_history(self) -> bool:
        """Whether there are any runs at all, as far as is known."""
        return self._has_history

    @property
    def searched(self) -> int:
        """About how many runs a search has read."""
        return self._searched

    def run_of(self, row: int) -> Run | None:
        """Return the run of a row."""
        return self._runs[row] if 0 <= row < len(self._runs) else None

    def runs(self) -> Sequence[Run]:
        """Return the runs that are loaded, newest first."""
        return self._runs

    def row_of(self, run_id: str) -> int:
        """Return the row of a run, or -1."""
        if run_id not in self._ids:
            return -1
        return next(row for row, run in enumerate(self._runs) if run.id == run_id)

    def job_name(self, job_id: str) -> JobName:
        """Return the name of a job, which may be in the trash."""
        return self._names.get(job_id, JobName(self.tr("a deleted job"), is_removed=True))

    def text_of(self, run: Run, column: int) -> str:
        """Return the text of a cell."""
        return cell_text(run, self.job_name(run.job_id), column, self._backend.now_ms())

    # --- Choosing and paging -------------------------------------------------------------------------

    def show(self, choice: Choice) -> None:
        """Show other runs; the current ones stay until they are loaded."""
        self._stop_asking()
        self._choice = choice
        self._is_complete = False
        self._searched = 0
        self._changed_ids.clear()
        self._is_all_changed = False
        if choice.text:
            self._search()
        else:
            self._set_state(State.LOADING)
            self._asked = self._ask(self._page_work(None), self._take_first_page)

    def stop_search(self) -> None:
        """Stop searching; the results stay."""
        if self._state is State.SEARCHING:
            self._stop_asking()
            self._set_state(State.READY)

    def reach(self, row: int) -> None:
        """Load the next page if a row is near the end."""
        if row + _AHEAD >= len(self._runs) and self.canFetchMore():
            self.fetchMore()

    def watch(self, is_watched: bool) -> None:  # noqa: FBT001 - says what it is
        """Follow changes, or only remember that there were some."""
        self._is_watched = is_watched
        if is_watched and (self._changed_ids or self._is_all_changed):
            self._settling.start()

    def _ask(self, work: Callable[[Scheduler], _Page], then: Callable[[_Page], object]) -> Asked:
        return self._backend.ask(work, then, self._fail, owner=self)

    def _page_work(self, before: str | None) -> Callable[[Scheduler], _Page]:
        choice, known = self._choice, frozenset(self._names)

        def work(scheduler: Scheduler) -> _Page:
            runs = choice.page(scheduler, _PAGE, before)
            return _Page(
                runs,
                _new_names(scheduler, runs, known),
                is_last=bool(choice.run_ids) or len(runs) < _PAGE,
                has_history=bool(runs) or bool(scheduler.get_run_log(limit=1)),
            )

        return work

    def _take_first_page(self, page: _Page) -> None:
        self._asked = None
        self._names |= page.names
        self._replace(page.runs)
        self._is_complete = page.is_last
        self._has_history = page.has_history
        self._set_state(State.READY)

    def _take_page(self, page: _Page) -> None:
        self._asked = None
        self._names |= page.names
        self._is_complete = page.is_last
        self._append(page.runs)
        self.state_changed.emit()

    def _replace(self, runs: list[Run]) -> None:
        self.beginResetModel()
        self._runs = list(runs)
        self._ids = {run.id for run in runs}
        self.endResetModel()

    def _append(self, runs: Iterable[Run]) -> None:
        new = [run for run in runs if run.id not in self._ids]
        if new:
            self.beginInsertRows(_NO_PARENT, len(self._runs), len(self._runs) + len(new) - 1)
            self._runs += new
            self._ids.update(run.id for run in new)
            self.endInsertRows()

    def _fail(self, error: SchedulerError) -> None:
        self._asked = None
        self._is_complete = True
        self._error = str(error)
        self._set_state(State.FAILED)

    def _set_state(self, state: State) -> None:
        self._state = state
        self.state_changed.emit()

    def _stop_asking(self) -> None:
        for asked in (self._asked, self._live):
            if asked is not None:
                asked.cancel()
        self._asked = self._live = None

    # --- Searching -----------------------------------------------------------------------------------

    def _search(self) -> None:
        choice = self._choice
        self._replace([])
        self._is_complete = True  # Search results arrive by themselves.
        self._set_state(State.SEARCHING)
        self._asked = self._backend.ask_stream(
            lambda scheduler, is_cancelled: _hits(choice, scheduler, is_cancelled),
            self._take_hits,
            self._finish_search,
            self._fail,
            owner=self,
        )

    def _take_hits(self, found: list[Hit | None]) -> None:
        hits = [one for one in found if one is not None]
        self._names |= {run.job_id: name for run, name in hits}
        self._append(run for run, _ in hits)
        self._searched += _SEARCHED_AT_ONCE * found.count(None)
        self.state_changed.emit()

    def _finish_search(self) -> None:
        self._asked = None
        self._set_state(State.READY)

    # --- Following what happens ----------------------------------------------------------------------

    def _notice(self, change: Change) -> None:
        if change.kind is ChangeKind.JOB and change.job_id is not None and change.job_id in self._names:
            # Kept until the new one is loaded.
            self._old_names.add(change.job_id)
            self._is_all_changed = True
        elif change.kind in _RUN_KINDS and change.run_id is not None:
            if change.kind is ChangeKind.RUN_PROGRESS and change.run_id not in self._ids:
                return
            self._changed_ids.add(change.run_id)
        elif change.job_id is None and change.kind is not ChangeKind.SETTINGS:
            self._is_all_changed = True
        else:
            return
        if self._is_watched and not self._settling.isActive():
            self._settling.start()

    def _read_changes(self) -> None:
        if self._live is not None or self._state is State.LOADING:
            self._settling.start()
            return
        ids, is_all = self._changed_ids, self._is_all_changed
        self._changed_ids, self._is_all_changed = set(), False
        if is_all:
            ids |= {run.id for run in self._runs if run.outcome is Outcome.RUNNING}
        choice, known = self._choice, frozenset(self._names.keys() - self._old_names)
        shown_jobs = {run.job_id for run in self._runs} if is_all else set()
        self._old_names.clear()

        def work(scheduler: Scheduler) -> _Page:
            runs = scheduler.runs.get_many(ids)
            if is_all and not choice.text:
                runs |= {run.id: run for run in choice.page(scheduler, _PAGE)}
            names = _new_names(scheduler, runs.values(), known, shown_jobs)
            return _Page(list(runs.values()), names, is_last=False)

        self._live = self._backend.ask(work, self._take_changes, self._fail_live, owner=self)

    def _take_changes(self, page: _Page) -> None:
        self._live = None
        self._names |= page.names
        for run in page.runs:
            self._take_change(run)
        if page.names and self._runs:
            self.dataChanged.emit(self.index(0, Column.JOB), self.index(len(self._runs) - 1, Column.JOB))
        self.state_changed.emit()

    def _take_change(self, run: Run) -> None:
        row = self.row_of(run.id)
        if row >= 0 and self._choice.admits(run):
            self._runs[row] = run
            self.dataChanged.emit(self.index(row, 0), self.index(row, len(Column) - 1))
        elif row >= 0:
            self.beginRemoveRows(_NO_PARENT, row, row)
            del self._runs[row]
            self._ids.discard(run.id)
            self.endRemoveRows()
        elif not self._choice.text and self._choice.admits(run):
            self._insert(run)

    def _insert(self, run: Run) -> None:
        row = bisect_left(self._runs, -run_at(run), key=lambda one: -run_at(one))
        if row == len(self._runs) and not self._is_complete:
            return  # It arrives with its page.
        self.beginInsertRows(_NO_PARENT, row, row)
        self._has_history = True
        self._runs.insert(row, run)
        self._ids.add(run.id)
        self.endInsertRows()

    def _fail_live(self, error: SchedulerError) -> None:
        self._live = None
        self._backend.fault.emit(str(error))

    # --- Qt -----------------------------------------------------------------------------------------

    def rowCount(self, parent: Index = _NO_PARENT) -> int:  # noqa: N802 - Qt's name
        return 0 if parent.isValid() else len(self._runs)

    def columnCount(self, parent: Index = _NO_PARENT) -> int:  # noqa: N802 - Qt's name
        return 0 if parent.isValid() else len(Column)

    def canFetchMore(self, parent: Index = _NO_PARENT) -> bool:  # noqa: N802 - Qt's name
        return not parent.isValid() and self._state is State.READY and not self._is_complete

    def fetchMore(self, parent: Index = _NO_PARENT) -> None:  # noqa: N802 - Qt's name
        if self._asked is None and self._runs and self.canFetchMore(parent):
            self._asked = self._ask(self._page_work(self._runs[-1].id), self._take_page)

    def headerData(  # noqa: N802 - Qt's name
        self, section: int, orientation: Qt.Orientation, role: int = Qt.ItemDataRole.DisplayRole
    ) -> object:
        if orientation is not Qt.Orientation.Horizontal or not 0 <= section < len(Column):
            return None
        if role == Qt.ItemDataRole.DisplayRole:
            return heading(section)
        if role == Qt.ItemDataRole.TextAlignmentRole:
            side = Qt.AlignmentFlag.AlignRight if section == Column.TOOK else Qt.AlignmentFlag.AlignLeft
            return side | Qt.AlignmentFlag.AlignVCenter
        return None

    def data(self, index: Index, role: int = Qt.ItemDataRole.DisplayRole) -> object:
        run = self.run_of(index.row()) if index.isValid() else None
        if run is None:
            return None
        if role == Qt.ItemDataRole.DisplayRole:
            return self.text_of(run, index.column())
        if role == Qt.ItemDataRole.ToolTipRole:
            return cell_tip(run, self.job_name(run.job_id), index.column())
        return run if role == RUN_ROLE else None


def _new_names(
    scheduler: Scheduler, runs: Iterable[Run], known: frozenset[str], also: Iterable[str] = ()
) -> dict[str, JobName]:
    """Return the names of jobs that are not loaded yet."""
    wanted = ({run.job_id for run in runs} | set(also)) - known
    return job_names(scheduler, wanted) if wanted else {}


def _hits(choice: Choice, scheduler: Scheduler, is_cancelled: Callable[[], bool]) -> Iterator[Hit | None]:
    names: dict[str, JobName] = {}
    for run in choice.hits(scheduler, is_cancelled):
        if run is not None and run.job_id not in names:
            names |= job_names(scheduler, [run.job_id])
        yield None if run is None else (run, names.get(run.job_id, JobName("", is_removed=True)))
