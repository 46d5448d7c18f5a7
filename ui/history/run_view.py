"""The view of the run table: painting and keyboard navigation."""

from __future__ import annotations

from PySide6.QtCore import QEvent, QModelIndex, QPersistentModelIndex, QRect, QRectF, QSize, Qt
from PySide6.QtGui import (
    QColor,
    QCursor,
    QFontMetrics,
    QHoverEvent,
    QKeyEvent,
    QMouseEvent,
    QPainter,
    QResizeEvent,
)
from PySide6.QtWidgets import (
    QAbstractItemView,
    QHeaderView,
    QStyle,
    QStyledItemDelegate,
    QStyleOptionViewItem,
    QTableView,
)

from halo_scheduler.model import Run
from ui.style.marks import outcome_mark, paint_mark
from ui.style.theme import GRID, ROW, Appearance, Tone, number_font, strong_font

from .run_cells import Column
from .run_table import RunTableModel

_MARK = 10
# The longest usual text of each column, and the space around it.
_USUAL = {
    Column.OUTCOME: ("Running 100%", 5 * GRID),
    Column.WHEN: ("yesterday 00:00", 2 * GRID),
    Column.TOOK: ("59 min 59 s", 2 * GRID),
    Column.HOW: ("after another job", 2 * GRID),
}
_LEAST_LETTERS = 18
_MOST_FITTED = 2_000
_SELECTED = QStyle.StateFlag.State_Selected
_LINE = Qt.AlignmentFlag.AlignVCenter.value | Qt.TextFlag.TextSingleLine.value
_LEFT = Qt.AlignmentFlag.AlignLeft.value | _LINE
_RIGHT = Qt.AlignmentFlag.AlignRight.value | _LINE
Index = QModelIndex | QPersistentModelIndex


class RunDelegate(QStyledItemDelegate):
    """Paints a run's row: the mark, one strong column, the rest muted."""

    def __init__(self, view: QTableView, model: RunTableModel, appearance: Appearance) -> None:
        super().__init__(view)
        self._view = view
        self._model = model
        self._appearance = appearance
        self.hovered = -1
        self.fit_fonts()

    def fit_fonts(self) -> None:
        """Use the view's font."""
        font = self._view.font()
        self._plain, self._strong = number_font(font), strong_font(font)
        self._plain_metrics, self._strong_metrics = QFontMetrics(self._plain), QFontMetrics(self._strong)
        self._fitted: dict[tuple[str, int, bool], str] = {}

    def _ground(self, painter: QPainter, rect: QRect, row: int, *, is_selected: bool) -> None:
        colours = self._appearance.colours
        if is_selected:
            painter.fillRect(rect, QColor(colours.selected))
        elif row == self.hovered:
            painter.fillRect(rect, QColor(colours.hover))

    def _area(self, painter: QPainter, rect: QRect, run: Run, column: int) -> QRect:
        """Paint the mark and return the rectangle of the text."""
        area = rect.adjusted(GRID, 0, -GRID, 0)
        if column != Column.OUTCOME:
            return area
        mark = outcome_mark(run.outcome)
        place = QRectF(area.left() + GRID, area.center().y() - _MARK / 2 + 0.5, _MARK, _MARK)
        paint_mark(painter, place, mark.shape, self._appearance.colour(mark.tone))
        return area.adjusted(GRID + _MARK + GRID, 0, 0, 0)

    def _fit(self, text: str, width: int, *, is_strong: bool) -> str:
        """Return a text elided to fit; cached, because most rows repeat a few texts."""
        key = (text, width, is_strong)
        fitted = self._fitted.get(key)
        if fitted is None:
            if len(self._fitted) >= _MOST_FITTED:
                self._fitted.clear()
            metrics = self._strong_metrics if is_strong else self._plain_metrics
            fitted = metrics.elidedText(text, Qt.TextElideMode.ElideRight, width)
            self._fitted[key] = fitted
        return fitted

    def _tone(self, run: Run, column: int) -> Tone:
        if column == Column.OUTCOME:
            return outcome_mark(run.outcome).tone
        if column == Column.HOW and (run.is_late or run.attempt > 1):
            return Tone.WARN
        return Tone.TEXT if column == Column.JOB else Tone.MUTED

    # --- Qt -----------------------------------------------------------------------------------------

    def paint(self, painter: QPainter, option: QStyleOptionViewItem, index: Index) -> None:
        row, column = index.row(), index.column()
        run = self._model.run_of(row)
        if run is None:
            return
        rect: QRect = option.rect
        state: QStyle.StateFlag = option.state
        self._ground(painter, rect, row, is_selected=bool(state & _SELECTED))
        area = self._area(painter, rect, run, column)
        is_strong = column == Column.JOB
        # Each cell sets whatever it uses, so nothing has to be restored.
        painter.setFont(self._strong if is_strong else self._plain)
        painter.setPen(self._appearance.colour(self._tone(run, column)))
        text = self._fit(self._model.text_of(run, column), area.width(), is_strong=is_strong)
        painter.drawText(area, _RIGHT if column == Column.TOOK else _LEFT, text)

    def sizeHint(self, _option: QStyleOptionViewItem, _index: Index) -> QSize:  # noqa: N802 - Qt's name
        return QSize(ROW, ROW)


class RunTable(QTableView):
    """A table without grid lines that selects whole rows and loads more before its end."""

    def __init__(self, model: RunTableModel, appearance: Appearance) -> None:
        super().__init__()
        self._delegate = RunDelegate(self, model, appearance)
        self.setObjectName("runTable")
        self.setAccessibleName(self.tr("Runs, newest first"))
        self._runs = model
        self.setModel(model)
        self.setItemDelegate(self._delegate)
        self.setShowGrid(False)
        self.setWordWrap(False)
        self.setMouseTracking(True)
        self.setTabKeyNavigation(False)
        self.setSelectionBehavior(QAbstractItemView.SelectionBehavior.SelectRows)
        self.setSelectionMode(QAbstractItemView.SelectionMode.SingleSelection)
        self.setVerticalScrollMode(QAbstractItemView.ScrollMode.ScrollPerPixel)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.verticalHeader().hide()
        self.verticalHeader().setSectionResizeMode(QHeaderView.ResizeMode.Fixed)
        self.verticalHeader().setDefaultSectionSize(ROW)
        self._set_columns()
        self.verticalScrollBar().valueChanged.connect(self._reach)
        self.verticalScrollBar().valueChanged.connect(self._hover_what_moved)
        model.rowsInserted.connect(self._keep_place)
        appearance.changed.connect(self.viewport().update)

    def select_run(self, run_id: str) -> bool:
        """Select a run, if it is loaded."""
        row = self._runs.row_of(run_id)
        if row < 0:
            return False
        self.setCurrentIndex(self._runs.index(row, 0))
        return True

    def _set_columns(self) -> None:
        header = self.horizontalHeader()
        header.setHighlightSections(False)
        header.setSectionsClickable(False)
        header.setSectionResizeMode(QHeaderView.ResizeMode.Fixed)
        header.setSectionResizeMode(Column.JOB, QHeaderView.ResizeMode.Stretch)
        header.setMinimumSectionSize(ROW)
        self._fit_columns()

    def _fit_columns(self) -> None:
        """Give each column what its usual texts need; the jobs take the rest, and the last columns yield to them."""
        metrics = QFontMetrics(number_font(self.font()))
        # Qt rounds the width down, and elides a text that lacks a fraction of a pixel.
        widths = {
            column: metrics.horizontalAdvance(text) + space + 1 for column, (text, space) in _USUAL.items()
        }
        room = self.viewport().width() - _LEAST_LETTERS * metrics.averageCharWidth()
        for column in (Column.HOW, Column.TOOK):
            self.setColumnHidden(column, sum(widths.values()) > room)
            if sum(widths.values()) > room:
                del widths[column]
        for column, width in widths.items():
            self.horizontalHeader().resizeSection(column, width)

    def _hover_what_moved(self) -> None:
        """Highlight the row that moved under the mouse."""
        if self.underMouse():
            self._hover(self.rowAt(self.viewport().mapFromGlobal(QCursor.pos()).y()))

    def _reach(self) -> None:
        last = self.rowAt(self.viewport().height() - 1)
        self._runs.reach(last if last >= 0 else self._runs.rowCount())

    def _keep_place(self, _parent: QModelIndex, first: int, last: int) -> None:
        """Keep the visible rows in place when new ones are inserted above."""
        bar = self.verticalScrollBar()
        if bar.value() > 0 and first * ROW <= bar.value():
            moved = bar.value() + (last - first + 1) * ROW
            # The scroll bar learns of new rows only at the next layout.
            self.updateGeometries()
            bar.setValue(moved)

    def _hover(self, row: int) -> None:
        if row != self._delegate.hovered:
            self._delegate.hovered = row
            self.viewport().update()

    # --- Qt -----------------------------------------------------------------------------------------

    def resizeEvent(self, event: QResizeEvent) -> None:  # noqa: N802 - Qt's name
        self._fit_columns()
        super().resizeEvent(event)

    def changeEvent(self, event: QEvent) -> None:  # noqa: N802 - Qt's name
        if event.type() == QEvent.Type.FontChange:
            self._delegate.fit_fonts()
            self._fit_columns()
        super().changeEvent(event)

    def viewportEvent(self, event: QEvent) -> bool:  # noqa: N802 - Qt's name
        if isinstance(event, QHoverEvent):
            # Qt would highlight one cell; here it is the row.
            is_over = event.type() != QEvent.Type.HoverLeave
            self._hover(self.rowAt(round(event.position().y())) if is_over else -1)
            return True
        return super().viewportEvent(event)

    def mouseMoveEvent(self, event: QMouseEvent) -> None:  # noqa: N802 - Qt's name
        self._hover(self.rowAt(round(event.position().y())))
        super().mouseMoveEvent(event)

    def leaveEvent(self, event: QEvent) -> None:  # noqa: N802 - Qt's name
        self._hover(-1)
        super().leaveEvent(event)

    def keyPressEvent(self, event: QKeyEvent) -> None:  # noqa: N802 - Qt's name
        # Rows are selected as a whole: Home and End go to the first and last row, not to a cell.
        ends = {Qt.Key.Key_Home: 0, Qt.Key.Key_End: self._runs.rowCount() - 1}
        if event.key() in ends:
            self.setCurrentIndex(self._runs.index(ends[Qt.Key(event.key())], 0))
        else:
            super().keyPressEvent(event)
        self._reach()
