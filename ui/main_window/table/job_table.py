"""The model of the job table: holds all jobs, shows those that match the filter, in the chosen order."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any, cast

from PySide6.QtCore import QAbstractTableModel, QModelIndex, QObject, QPersistentModelIndex, Qt, Signal

from halo_scheduler.clock import WallClock
from halo_scheduler.model import Job, Run

from .cells import cell_text, cell_tip, heading, section_words, spoken_text
from .job_rows import SORTABLE, Column, JobFacts, JobFilter, JobRow, Section, in_sections, sort_key

# For more changes than this, a reset is faster than moving single rows.
_MOST_SINGLE_CHANGES = 64
_NO_FACTS = JobFacts()
_COLUMNS = len(Column)
_Index = QModelIndex | QPersistentModelIndex
ID_ROLE = Qt.ItemDataRole.UserRole


class JobTableModel(QAbstractTableModel):
    """Jobs with filtering and sorting built in, because thousands are searched at every keystroke."""

    about_to_change = Signal()
    changed = Signal()
    """Emitted around every change of the shown rows, so that a view can keep its position."""

    def __init__(self, clock: WallClock, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._clock = clock
        self._all: dict[str, JobRow] = {}
        self._sorted: list[JobRow] | None = []
        self._shown: list[JobRow | Section] = []
        self._found_count = 0
        self._has_sections = False
        self._folded: set[str | None] = set()
        self._places: dict[str, int] = {}
        self._keys: list[tuple[Any, ...]] = []
        self._facts: dict[str, JobFacts] = {}
        self._running: dict[str, Run] = {}
        self._filter = JobFilter()
        self._column = Column.NAME
        self._is_descending = False

    # --- What is there ------------------------------------------------------------------------------

    @property
    def job_count(self) -> int:
        """The number of jobs, shown or not."""
        return len(self._all)

    @property
    def filter(self) -> JobFilter:
        return self._filter

    @property
    def order(self) -> tuple[Column, bool]:
        """The column sorted by, and whether in reverse."""
        return self._column, self._is_descending

    def jobs(self) -> Iterator[Job]:
        """Return all jobs, in no order."""
        return (row.job for row in self._all.values())

    def job(self, job_id: str) -> Job | None:
        row = self._all.get(job_id)
        return None if row is None else row.job

    def rows(self) -> Iterator[JobRow]:
        """Return all rows, in no order."""
        return iter(self._all.values())

    def row_at(self, row: int) -> JobRow:
        """Return the job row at an index; it must not be a heading."""
        return cast("JobRow", self._shown[self._place(row)])

    def section_at(self, row: int) -> Section | None:
        """Return the heading in a row, or None."""
        if not 0 <= row < len(self._shown):
            return None
        found = self._shown[self._place(row)]
        return found if isinstance(found, Section) else None

    def id_at(self, row: int) -> str:
        """Return the id of a job or a heading."""
        return self._shown[self._place(row)].id

    def job_at(self, row: int) -> Job:
        return self.row_at(row).job

    def text_at(self, row: int, column: Column) -> str:
        """Return the text of a cell."""
        section = self.section_at(row)
        if section is not None:
            return section_words(section) if column is Column.NAME else ""
        shown = self.row_at(row)
        facts = self._facts.get(shown.id, _NO_FACTS)
        return cell_text(column, shown, facts, self._running.get(shown.id), self._clock.now_ms())

    def rows_between(self, first: int, last: int) -> list[JobRow]:
        """Return the shown rows from first to last; rows that no longer exist are left out."""
        last = min(last, len(self._shown) - 1)
        if last < first:
            return []
        shown = (self._shown[self._place(row)] for row in range(max(first, 0), last + 1))
        return [row for row in shown if isinstance(row, JobRow)]

    def rows_of(self, job_ids: Iterable[str]) -> list[int]:
        """Return the row numbers of some jobs in ascending order, for thousands at once."""
        wanted = set(job_ids)
        if not wanted:
            return []
        return [row for row in range(len(self._shown)) if self.id_at(row) in wanted]

    def row_of(self, job_id: str) -> int:
        """Return the row number of a job, or -1 if it is not shown."""
        if self._has_sections:
            return self._places.get(job_id, -1)
        row = self._all.get(job_id)
        return -1 if row is None else self._find(row)

    def facts(self, job_id: str) -> JobFacts | None:
        """Return the details loaded for a visible job, or None."""
        return self._facts.get(job_id)

    def run_of(self, job_id: str) -> Run | None:
        """Return the job's current run, as far as it is loaded."""
        return self._running.get(job_id)

    # --- What changes -------------------------------------------------------------------------------

    def replace(self, rows: Iterable[JobRow]) -> None:
        """Replace all jobs."""
        self._all = {row.id: row for row in rows}
        self._facts = {job_id: facts for job_id, facts in self._facts.items() if job_id in self._all}
        self._sorted = None
        self._show()

    def update(self, rows: Iterable[JobRow], gone: Iterable[str] = ()) -> None:
        """Add or update jobs, and remove others."""
        rows, gone = list(rows), [job_id for job_id in gone if job_id in self._all]
        if not rows and not gone:
            return
        self._sorted = None
        if len(rows) + len(gone) > _MOST_SINGLE_CHANGES or self._has_sections:
            for job_id in gone:
                self._forget(job_id)
            self._all |= {row.id: row for row in rows}
            self._show()
            return
        with self._changing():
            for job_id in gone:
                self._remove(self._forget(job_id))
            for row in rows:
                self._put(row, is_shown=bool(self._filter.choose([row])))
        self._found_count = len(self._shown)
        self._tell_counts()

    def set_facts(self, facts: Mapping[str, JobFacts]) -> None:
        """Show the details loaded for the visible jobs."""
        changed = {job_id: fact for job_id, fact in facts.items() if self._facts.get(job_id) != fact}
        self._facts |= changed
        for job_id in changed:
            self._tell_row(job_id, Column.NEXT, max(Column))

    def set_running(self, runs: Mapping[str, Run]) -> None:
        """Show the progress of current runs."""
        changed = {
            job_id
            for job_id in runs.keys() | self._running.keys()
            if runs.get(job_id) != self._running.get(job_id)
        }
        self._running = dict(runs)
        for job_id in changed:
            self._tell_row(job_id, Column.NEXT, Column.LAST)

    def set_filter(self, chosen: JobFilter) -> None:
        if chosen != self._filter:
            self._filter = chosen
            self._show()

    @property
    def has_sections(self) -> bool:
        return self._has_sections

    @property
    def folded(self) -> frozenset[str | None]:
        """The collapsed groups."""
        return frozenset(self._folded)

    def set_sections(self, wanted: bool, folded: Iterable[str | None] | None = None) -> None:  # noqa: FBT001 - a slot
        """Show the jobs below the headings of their groups, or all together."""
        with self._resetting():
            self._has_sections = wanted
            self._folded = self._folded if folded is None else set(folded)

    def fold(self, group: str | None) -> None:
        """Collapse or expand a group."""
        self._folded ^= {group}
        self._show()

    def unfold(self, job_ids: Iterable[str]) -> None:
        """Expand the groups of some jobs."""
        wanted = {row.job.group for job_id in job_ids if (row := self._all.get(job_id)) is not None}
        if self._has_sections and self._folded & wanted:
            self._folded -= wanted
            self._show()

    def count_seconds(self, first: int, last: int) -> None:
        """Update the times in some rows."""
        if 0 <= first <= last < len(self._shown):
            self.dataChanged.emit(self.index(first, Column.NEXT), self.index(last, Column.LAST))

    @contextmanager
    def _changing(self) -> Iterator[None]:
        self.about_to_change.emit()
        yield
        self.changed.emit()

    def _forget(self, job_id: str) -> JobRow:
        self._facts.pop(job_id, None)
        self._running.pop(job_id, None)
        return self._all.pop(job_id)

    def _show(self) -> None:
        """Filter and sort again; if the rows stay the same they are only repainted."""
        before = [row.id for row in self._shown]
        shown, keys = self._to_show()
        if [row.id for row in shown] == before:
            self._take(shown, keys)
            if shown:
                self.dataChanged.emit(self.index(0, 0), self.index(len(shown) - 1, _COLUMNS - 1))
        else:
            with self._changing():
                self.beginResetModel()
                self._take(shown, keys)
                self.endResetModel()
        self._tell_counts()

    def _to_show(self) -> tuple[list[JobRow | Section], list[tuple[Any, ...]]]:
        """Return the rows to show and their sort keys; below headings the keys are not needed."""
        key = sort_key(self._column)
        if self._sorted is None:
            self._sorted = sorted(self._all.values(), key=key)
        found = list(self._filter.choose(self._sorted))
        self._found_count = len(found)
        if self._has_sections:
            return in_sections(found[::-1] if self._is_descending else found, self._folded), []
        return [*found], list(map(key, found))

    def _take(self, shown: list[JobRow | Section], keys: list[tuple[Any, ...]]) -> None:
        self._shown, self._keys = shown, keys
        self._places = {row.id: place for place, row in enumerate(shown)} if self._has_sections else {}

    @contextmanager
    def _resetting(self) -> Iterator[None]:
        """Change something that all rows depend on, and rebuild them."""
        with self._changing():
            self.beginResetModel()
            yield
            self._sorted = None
            self._take(*self._to_show())
            self.endResetModel()
        self._tell_counts()

    def _tell_counts(self) -> None:
        self.headerDataChanged.emit(Qt.Orientation.Horizontal, Column.NAME, Column.NAME)

    def _put(self, row: JobRow, *, is_shown: bool) -> None:
        before = self._all.get(row.id)
        at = -1 if before is None else self._find(before)
        self._all[row.id] = row
        if at < 0 or not is_shown:
            if at >= 0:
                self._take_out(at)
            if is_shown:
                self._insert(row)
            return
        self._move(at, row)

    def _remove(self, row: JobRow) -> None:
        at = self._find(row)
        if at >= 0:
            self._take_out(at)

    def _take_out(self, at: int) -> None:
        self.beginRemoveRows(QModelIndex(), at, at)
        place = self._place(at)
        del self._shown[place], self._keys[place]
        self.endRemoveRows()

    def _insert(self, row: JobRow) -> None:
        key = sort_key(self._column)(row)
        place = bisect_left(self._keys, key)
        at = len(self._shown) - place if self._is_descending else place
        self.beginInsertRows(QModelIndex(), at, at)
        self._shown.insert(place, row)
        self._keys.insert(place, key)
        self.endInsertRows()

    def _move(self, at: int, row: JobRow) -> None:
        """Move a changed job to its place."""
        place = self._place(at)
        key = sort_key(self._column)(row)
        target = bisect_left(self._keys, key)
        if target not in (place, place + 1):
            # Qt counts the target row with the moved row still in its old place.
            to = len(self._shown) - target if self._is_descending else target
            self.beginMoveRows(QModelIndex(), at, at, QModelIndex(), to)
            self._shown.insert(target, self._shown[place])
            self._keys.insert(target, self._keys[place])
            old = place + int(target < place)
            del self._shown[old], self._keys[old]
            self.endMoveRows()
            place = target - int(target > place)
        self._shown[place], self._keys[place] = row, key
        shown_at = self._place(place)
        self.dataChanged.emit(self.index(shown_at, 0), self.index(shown_at, _COLUMNS - 1))

    def _find(self, row: JobRow) -> int:
        place = bisect_left(self._keys, sort_key(self._column)(row))
        is_there = place < len(self._shown) and self._shown[place].id == row.id
        return self._place(place) if is_there else -1

    def _place(self, row: int) -> int:
        """Convert a shown row number to its index in the sorted list, or back."""
        return len(self._shown) - 1 - row if self._is_descending and not self._has_sections else row

    def _tell_row(self, job_id: str, first: Column, last: Column) -> None:
        at = self.row_of(job_id)
        if at >= 0:
            self.dataChanged.emit(self.index(at, first), self.index(at, last))

    # --- Qt -----------------------------------------------------------------------------------------

    def rowCount(self, parent: _Index = QModelIndex()) -> int:  # noqa: B008, N802 - Qt's own signature
        return 0 if parent.isValid() else len(self._shown)

    def columnCount(self, parent: _Index = QModelIndex()) -> int:  # noqa: B008, N802
        return 0 if parent.isValid() else _COLUMNS

    def data(self, index: _Index, role: int = Qt.ItemDataRole.DisplayRole) -> Any:
        if not index.isValid() or index.row() >= len(self._shown):
            return None
        if self.section_at(index.row()) is not None:
            is_text = role in (Qt.ItemDataRole.DisplayRole, Qt.ItemDataRole.AccessibleTextRole)
            return self.text_at(index.row(), Column(index.column())) if is_text else None
        row = self.row_at(index.row())
        if role == ID_ROLE:
            return row.id
        words = _WORDS.get(Qt.ItemDataRole(role)) if role < ID_ROLE else None
        if words is None:
            return None
        facts = self._facts.get(row.id, _NO_FACTS)
        run = self._running.get(row.id)
        return words(Column(index.column()), row, facts, run, self._clock.now_ms())

    def flags(self, index: _Index) -> Qt.ItemFlag:
        if self.section_at(index.row()) is not None:
            return Qt.ItemFlag.ItemIsEnabled
        return super().flags(index)

    def headerData(  # noqa: N802
        self, section: int, orientation: Qt.Orientation, role: int = Qt.ItemDataRole.DisplayRole
    ) -> Any:
        if orientation is Qt.Orientation.Horizontal and role == Qt.ItemDataRole.DisplayRole:
            words = heading(Column(section))
            return self._counted(words) if section == Column.NAME else words
        if role == Qt.ItemDataRole.TextAlignmentRole and orientation is Qt.Orientation.Horizontal:
            return int(Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignVCenter)
        return None

    def _counted(self, name: str) -> str:
        """Return a heading with the number of jobs, or of matching jobs."""
        shown, every = self._found_count, len(self._all)
        words = (
            self.tr("{heading} ({count})") if shown == every else self.tr("{heading} ({shown} of {count})")
        )
        return words.format(heading=name, shown=f"{shown:,}", count=f"{every:,}") if every else name

    def sort(self, column: int, order: Qt.SortOrder = Qt.SortOrder.AscendingOrder) -> None:
        if column not in SORTABLE:
            return
        with self._resetting():
            self._column, self._is_descending = Column(column), order is Qt.SortOrder.DescendingOrder


_WORDS = {
    Qt.ItemDataRole.DisplayRole: cell_text,
    Qt.ItemDataRole.ToolTipRole: cell_tip,
    Qt.ItemDataRole.AccessibleTextRole: spoken_text,
}
