"""The job table view: keeps selection and scroll position by job while rows change."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from PySide6.QtCore import (
    QEvent,
    QItemSelection,
    QItemSelectionModel,
    QModelIndex,
    QPoint,
    Qt,
    QTimer,
    Signal,
)
from PySide6.QtGui import QColor, QFontMetrics, QHoverEvent, QKeyEvent, QPainter, QPaintEvent, QResizeEvent
from PySide6.QtWidgets import QAbstractItemView, QTableView, QWidget

from ui.style.theme import GRID, HALF, MARGIN, ROW, Appearance
from ui.widgets.countdown import until_ago_changes, until_next_changes

from .cells import last_at
from .columns import NAME_MARGIN, Columns, order_state, restore_order
from .delegates import DELEGATES, RowDelegate
from .drawings import TREND_WIDTH, Drawings, Letters
from .job_rows import SORTABLE, Column, JobFacts, JobRow
from .job_table import JobTableModel

_NO_FACTS = JobFacts()
_MOST_MEASURED = 500
# Keys on a group heading: True collapses, False expands, None toggles.
_FOLDING = dict.fromkeys((Qt.Key.Key_Space, Qt.Key.Key_Return, Qt.Key.Key_Enter))
_FOLDING |= {Qt.Key.Key_Left: True, Qt.Key.Key_Right: False}
# Details of visible rows are loaded when scrolling stops, not at every step.
_REST_MS = 30


@dataclass(frozen=True, slots=True)
class _Place:
    """What to restore after the rows changed."""

    selected: tuple[str, ...]
    current: str | None
    first_row: int
    top: str | None
    offset: int


def _ground() -> QWidget:
    """Return the viewport; the view fills its background, so that scrolling moves pixels instead of repainting."""
    made = QWidget()
    made.setAttribute(Qt.WidgetAttribute.WA_OpaquePaintEvent)
    made.setAttribute(Qt.WidgetAttribute.WA_Hover)
    return made


class JobView(QTableView):
    """The table of jobs."""

    selection_changed = Signal()
    edit_wanted = Signal()
    menu_wanted = Signal(QPoint, object)
    """The position, and the group heading, or None for the selected jobs."""
    rested = Signal()
    """The visible rows may have changed."""

    def __init__(self, model: JobTableModel, appearance: Appearance, parent: QWidget | None = None) -> None:
        self._is_ready = False
        super().__init__(parent)
        self.setObjectName("jobTable")
        self.setAccessibleName(self.tr("Jobs"))
        self._jobs = model
        self._appearance = appearance
        self._place: _Place | None = None
        self._out_of_sight: tuple[str, ...] = ()
        self._told: tuple[str, ...] = ()
        self._hovered, self._mouse = -1, QPoint()
        # Our own viewport: for Qt's, PySide would search all classes for the right wrapper.
        self.setViewport(_ground())
        self.setModel(model)
        self._rest = QTimer(self, singleShot=True, interval=_REST_MS)
        self._rest.timeout.connect(self.rested)
        self._drawings = Drawings(appearance, self.font(), self)
        self.columns = Columns(self, model)
        self._delegates = [self._delegate(column, model, appearance) for column in Column]
        self._set_up()
        self._connect(model, appearance)
        self._is_ready = True

    def _delegate(self, column: Column, model: JobTableModel, appearance: Appearance) -> RowDelegate:
        made = DELEGATES[column](self, model, appearance, self._drawings)
        self.setItemDelegateForColumn(column, made)
        return made

    def _set_up(self) -> None:
        self.setShowGrid(False)
        self.setWordWrap(False)
        self.setSelectionBehavior(QAbstractItemView.SelectionBehavior.SelectRows)
        self.setSelectionMode(QAbstractItemView.SelectionMode.ExtendedSelection)
        self.setEditTriggers(QAbstractItemView.EditTrigger.NoEditTriggers)
        self.setVerticalScrollMode(QAbstractItemView.ScrollMode.ScrollPerPixel)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.setContextMenuPolicy(Qt.ContextMenuPolicy.CustomContextMenu)
        self.setTabKeyNavigation(False)
        self.setMouseTracking(True)
        rows = self.verticalHeader()
        rows.setVisible(False)
        rows.setSectionResizeMode(rows.ResizeMode.Fixed)
        columns = self.horizontalHeader()
        columns.setHighlightSections(False)
        columns.setSectionsClickable(True)
        columns.setSortIndicatorShown(True)
        self._fit_rows()
        # The first heading is aligned with the marks.
        columns.setStyleSheet(f"QHeaderView::section:first {{ padding-left: {MARGIN}px; }}")
        columns.setSortIndicator(Column.NAME, Qt.SortOrder.AscendingOrder)
        columns.sectionClicked.connect(self._click_header)
        # Headings do not show the selection: with thousands of rows that would be slow.
        columns.setSelectionModel(QItemSelectionModel(self._jobs, self))

    def _fit_rows(self) -> None:
        """Keep rows apart at any system font size."""
        height = max(ROW, QFontMetrics(self.font()).height() + 2 * GRID)
        self.verticalHeader().setMinimumSectionSize(height)
        self.verticalHeader().setDefaultSectionSize(height)
        self.horizontalHeader().setFixedHeight(height - HALF)

    def _connect(self, model: JobTableModel, appearance: Appearance) -> None:
        model.about_to_change.connect(self._remember_place)
        model.changed.connect(self._find_place)
        self.selectionModel().selectionChanged.connect(self._tell_selection)
        self.selectionModel().currentRowChanged.connect(
            lambda now, before: self._repaint_rows(before.row(), now.row())
        )
        self.verticalScrollBar().valueChanged.connect(lambda _value: self._rest.start())
        self.verticalScrollBar().valueChanged.connect(lambda _value: self._hover())
        self.customContextMenuRequested.connect(
            lambda at: self.menu_wanted.emit(
                self.viewport().mapToGlobal(at), self._jobs.section_at(self.rowAt(at.y()))
            )
        )
        self.clicked.connect(lambda index: self._fold(index.row()))
        self.doubleClicked.connect(lambda _index: self.edit_wanted.emit())
        appearance.changed.connect(self.viewport().update)

    # --- Selection and visible rows -----------------------------------------------------------------

    def selected_ids(self) -> list[str]:
        """Return the ids of the selected jobs from top to bottom."""
        return [row.id for row in self.selected_rows()]

    def selected_rows(self) -> list[JobRow]:
        """Return the selected rows from top to bottom."""
        chosen = self.selectionModel().selection()
        ranges = sorted({(one.top(), one.bottom()) for one in map(chosen.at, range(chosen.count()))})
        # Ranges may overlap; thousands of rows are usually one range.
        if any(before[1] >= after[0] for before, after in pairwise(ranges)):
            rows = sorted({row for first, last in ranges for row in range(first, last + 1)})
            ranges = [(row, row) for row in rows]
        return [row for first, last in ranges for row in self._jobs.rows_between(first, last)]

    def select_ids(self, job_ids: Iterable[str]) -> None:
        """Select the jobs that are shown, and scroll to the first."""
        job_ids = tuple(job_ids)
        self._jobs.unfold(job_ids)
        rows = self._jobs.rows_of(job_ids)
        self._select_rows(rows)
        if rows:
            index = self._jobs.index(rows[0], Column.NAME)
            self.selectionModel().setCurrentIndex(index, QItemSelectionModel.SelectionFlag.NoUpdate)
            self.scrollTo(index)

    def focus_rows(self) -> None:
        """Move the keyboard focus to the rows."""
        if self._jobs.rowCount() and not self.selectionModel().hasSelection():
            self.selectRow(max(self.currentIndex().row(), 0))
        self.setFocus(Qt.FocusReason.OtherFocusReason)

    def rows_in_sight(self) -> tuple[int, int]:
        """Return the first and the last visible row; last < first if there is none."""
        count = self._jobs.rowCount()
        first = max(self.rowAt(0), 0)
        last = self.rowAt(self.viewport().height() - 1)
        return (0, -1) if not count else (first, count - 1 if last < 0 else last)

    def ids_in_sight(self) -> list[str]:
        return [row.id for row in self._jobs.rows_between(*self.rows_in_sight())]

    def waits(self, now_ms: int) -> Iterator[int | None]:
        """Yield how long each visible time stays valid."""
        first, last = self.rows_in_sight()
        for one in self._jobs.rows_between(first, last):
            job = one.job
            if job.next_run_at is not None:
                yield until_next_changes(job.next_run_at, now_ms)
            at = last_at(job, self._jobs.facts(job.id) or _NO_FACTS)
            if at is not None:
                yield until_ago_changes(at, now_ms)

    def count_seconds(self) -> None:
        """Update the visible times."""
        self._jobs.count_seconds(*self.rows_in_sight())

    def sort_by(self, column: Column, order: Qt.SortOrder) -> None:
        self.horizontalHeader().setSortIndicator(column, order)
        self._jobs.sort(column, order)

    def _select_rows(self, rows: Sequence[int]) -> None:
        """Select these rows, given in ascending order; neighbours become one range."""
        chosen = QItemSelection()
        row_set = set(rows)
        firsts = [row for row in rows if row - 1 not in row_set]
        lasts = [row for row in rows if row + 1 not in row_set]
        for first, last in zip(firsts, lasts, strict=True):
            chosen.select(self._jobs.index(first, 0), self._jobs.index(last, len(Column) - 1))
        self.selectionModel().select(chosen, QItemSelectionModel.SelectionFlag.ClearAndSelect)

    # --- Keeping the place --------------------------------------------------------------------------

    def _remember_place(self) -> None:
        current = self.currentIndex()
        selected = tuple(self.selected_ids())
        top = self.rowAt(0) if self.verticalScrollBar().value() else -1
        self._place = _Place(
            selected=selected or self._out_of_sight,
            current=self._jobs.id_at(current.row()) if current.isValid() else None,
            first_row=self._jobs.row_of(selected[0]) if selected else -1,
            top=self._jobs.id_at(top) if top >= 0 else None,
            offset=self.rowViewportPosition(top) if top >= 0 else 0,
        )

    def _find_place(self) -> None:
        place, self._place = self._place, None
        if place is not None:
            self._find_selection(place)
            self._find_top(place)
        self._tell_selection()
        self._rest.start()

    def _find_selection(self, place: _Place) -> None:
        row = -1
        is_lost = not self.selectionModel().hasSelection() and bool(place.selected)
        if is_lost:
            self._select_rows(self._jobs.rows_of(place.selected))
        still_there = tuple(job_id for job_id in place.selected if self._jobs.job(job_id) is not None)
        # Jobs hidden by a search are selected again when it ends; after a deletion the neighbour is selected.
        self._out_of_sight = () if self.selectionModel().hasSelection() else still_there
        if is_lost and not still_there and self._jobs.rowCount() and place.first_row >= 0:
            row = min(place.first_row, self._jobs.rowCount() - 1)
            self._select_rows([row])
        elif place.current is not None:
            row = self._jobs.row_of(place.current)
        if row >= 0 and self.currentIndex().row() != row:
            index = self._jobs.index(row, Column.NAME)
            self.selectionModel().setCurrentIndex(index, QItemSelectionModel.SelectionFlag.NoUpdate)

    def _find_top(self, place: _Place) -> None:
        if place.top is None:
            self.verticalScrollBar().setValue(0)
            return
        row = self._jobs.row_of(place.top)
        if row >= 0:
            height = self.verticalHeader().defaultSectionSize()
            most = max(0, self._jobs.rowCount() * height - self.viewport().height())
            self.verticalScrollBar().setMaximum(most)
            self.verticalScrollBar().setValue(row * height - place.offset)

    def _tell_selection(self) -> None:
        if self._place is not None:
            return
        selected = tuple(self.selected_ids())
        if selected != self._told:
            self._told = selected
            self.selection_changed.emit()

    # --- Columns ------------------------------------------------------------------------------------

    def _fold(self, row: int) -> bool:
        """Collapse or expand a group; return False if the row is not a heading."""
        section = self._jobs.section_at(row)
        if section is not None:
            self._jobs.fold(section.group)
        return section is not None

    def _click_header(self, section: int) -> None:
        column, is_descending = self._jobs.order
        if section not in SORTABLE:
            order = Qt.SortOrder.DescendingOrder if is_descending else Qt.SortOrder.AscendingOrder
            self.horizontalHeader().setSortIndicator(column, order)
            return
        is_turned = section == column and not is_descending
        self.sort_by(
            Column(section), Qt.SortOrder.DescendingOrder if is_turned else Qt.SortOrder.AscendingOrder
        )

    def arrangement(self) -> dict[str, Any]:
        """Return how the user arranged columns, order and groups, as JSON data."""
        return {"columns": self.columns.state()} | order_state(self._jobs)

    def arrange(self, state: Mapping[str, Any]) -> None:
        """Restore an arrangement; invalid values are ignored."""
        columns = state.get("columns")
        if isinstance(columns, dict):
            self.columns.restore(columns)
        restore_order(state, self._jobs, self.sort_by)

    def sizeHintForColumn(self, column: int) -> int:  # noqa: N802
        """Return the width of the longest text of a column, for a double click on its edge."""
        if column == Column.TREND:
            return TREND_WIDTH + 2 * GRID
        letters = Letters.STRONG if column == Column.NAME else Letters.PLAIN
        margin = {Column.NAME: NAME_MARGIN, Column.LAST: 5 * GRID}.get(Column(column), 2 * GRID) + 1
        rows = range(min(self._jobs.rowCount(), _MOST_MEASURED))
        texts = (self._jobs.text_at(row, Column(column)) for row in rows)
        return max((self._drawings.width(text, letters) for text in texts), default=0) + margin

    def _hover(self) -> None:
        row = -1 if self._mouse.isNull() else self.rowAt(self.viewport().mapFromGlobal(self._mouse).y())
        if row != self._hovered:
            before, self._hovered = self._hovered, row
            for delegate in self._delegates:
                delegate.set_hovered(row)
            self._repaint_rows(before, row)

    def _repaint_rows(self, *rows: int) -> None:
        for one in rows:
            if one >= 0:
                top = self.rowViewportPosition(one)
                self.viewport().update(0, top, self.viewport().width(), self.rowHeight(one))

    # --- Qt -----------------------------------------------------------------------------------------

    def keyPressEvent(self, event: QKeyEvent) -> None:  # noqa: N802
        section = self._jobs.section_at(self.currentIndex().row())
        if section is not None and event.key() in _FOLDING:
            if _FOLDING[Qt.Key(event.key())] in (None, not section.is_folded):
                self._jobs.fold(section.group)
            return
        if event.key() in (Qt.Key.Key_Return, Qt.Key.Key_Enter) and not event.modifiers() & (
            Qt.KeyboardModifier.ControlModifier | Qt.KeyboardModifier.AltModifier
        ):
            self.edit_wanted.emit()
            return
        if event.key() in (Qt.Key.Key_Home, Qt.Key.Key_End):
            # With Ctrl, Qt would move the focus alone, and the details would show another job.
            plain = event.modifiers() & ~Qt.KeyboardModifier.ControlModifier
            event = QKeyEvent(event.type(), event.key(), plain)
        super().keyPressEvent(event)

    def keyboardSearch(self, search: str) -> None:  # noqa: N802
        # Whatever cell was clicked, typing finds names.
        current = self.currentIndex()
        if current.isValid() and current.column() != Column.NAME:
            index = self._jobs.index(current.row(), Column.NAME)
            self.selectionModel().setCurrentIndex(index, QItemSelectionModel.SelectionFlag.NoUpdate)
        super().keyboardSearch(search)

    def viewportEvent(self, event: QEvent) -> bool:  # noqa: N802
        # Qt highlights the cell under the mouse; here it is the whole row.
        if isinstance(event, QHoverEvent):
            is_over, at = event.type() is not QEvent.Type.HoverLeave, event.position().toPoint()
            self._mouse = self.viewport().mapToGlobal(at) if is_over else QPoint()
            self._hover()
            return True
        return super().viewportEvent(event)

    def paintEvent(self, event: QPaintEvent) -> None:  # noqa: N802
        painter = QPainter(self.viewport())
        painter.fillRect(event.rect(), QColor(self._appearance.colours.raised))
        painter.end()
        super().paintEvent(event)

    def changeEvent(self, event: QEvent) -> None:  # noqa: N802
        super().changeEvent(event)
        if event.type() is QEvent.Type.FontChange and self._is_ready:
            self._drawings.set_font(self.font())
            self._fit_rows()
            self.columns.fit()

    def resizeEvent(self, event: QResizeEvent) -> None:  # noqa: N802
        super().resizeEvent(event)
        self.columns.fit()
        self._hover()
        self._rest.start()

    def moveCursor(  # noqa: N802
        self, action: QAbstractItemView.CursorAction, modifiers: Qt.KeyboardModifier
    ) -> QModelIndex:
        # Left and right do not move between the cells of a row.
        if action in (QAbstractItemView.CursorAction.MoveLeft, QAbstractItemView.CursorAction.MoveRight):
            return self.currentIndex()
        if action is QAbstractItemView.CursorAction.MoveHome:
            return self._jobs.index(0, Column.NAME)
        if action is QAbstractItemView.CursorAction.MoveEnd:
            return self._jobs.index(self._jobs.rowCount() - 1, Column.NAME)
        return super().moveCursor(action, modifiers)
