"""The columns of the job table: their widths, which are visible, and what the user chose."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

from PySide6.QtCore import QObject, Qt
from PySide6.QtGui import QFontMetrics
from PySide6.QtWidgets import QHeaderView, QMenu, QTableView

from ui.style.theme import GRID, MARGIN, number_font, strong_font

from .cells import heading, usual_text
from .drawings import TREND_WIDTH
from .job_rows import SORTABLE, Column
from .job_table import JobTableModel

NARROWEST = 6 * GRID
# Minimum width of the names, and the width beyond which other columns may grow although names are longer.
_LEAST_LETTERS, _PLENTY_OF_LETTERS = 20, 34
# With fewer letters of the names even the next run is hidden; the details show it.
_FEWEST_LETTERS = 10
# A longer next run gets only what the other columns leave.
_NEXT_LETTERS = 34
# Longer texts of the next run are elided before another column is hidden.
_LEAST_NEXT = "tomorrow at 00:00 · quiet"
# Names give up spare width before the time of a `once` is elided.
_DATED = "24 Dec 2026 00:00"
NAME_MARGIN = 5 * GRID
"""The width of the mark in a name's cell, with its margins."""
# Columns are hidden from the right when the names need the space; these two are not.
_KEPT = (Column.NAME, Column.NEXT)
_YIELDING = tuple(column for column in reversed(Column) if column not in _KEPT)
_WIDEST = 4_000
_MOST_MEASURED = 100


class Columns(QObject):
    """Divides the width of a table; widths that the user drags stay, the names take the rest."""

    def __init__(self, view: QTableView, model: JobTableModel) -> None:
        super().__init__(view)
        self._view = view
        self._model = model
        self._chosen: dict[Column, int] = {}
        self._left_out: frozenset[Column] = frozenset()
        self._is_fitting = False
        self._fitted_next = self._fitted_names = 0
        header = self.header
        header.setSectionResizeMode(QHeaderView.ResizeMode.Interactive)
        header.setMinimumSectionSize(NARROWEST)
        header.setContextMenuPolicy(Qt.ContextMenuPolicy.CustomContextMenu)
        header.customContextMenuRequested.connect(
            lambda at: self.menu(view).popup(header.viewport().mapToGlobal(at))
        )
        header.sectionResized.connect(self._drag)
        model.dataChanged.connect(self._widen)
        model.changed.connect(self._widen)
        view.verticalScrollBar().valueChanged.connect(self._widen)

    @property
    def header(self) -> QHeaderView:
        return self._view.horizontalHeader()

    # --- Widths -------------------------------------------------------------------------------------

    def fit(self) -> None:
        """Divide the width among the columns; those without space are hidden."""
        self._fitted_next, self._fitted_names = self._next_width(), self._names_width()
        widths = self._share(self._view.viewport().width())
        self._set(widths)
        for column in Column:
            self._view.setColumnHidden(column, column not in widths)

    def _widen(self) -> None:
        """Share the width out again if a name or a next run in sight is longer than those before."""
        is_shown = self._view.columnWidth(Column.NEXT) > 0
        is_longer = Column.NEXT not in self._chosen and self._next_width() > self._fitted_next
        if is_shown and (is_longer or self._names_width() > self._fitted_names):
            self.fit()

    def _next_width(self) -> int:
        """Return the width of the longest next run in sight."""
        texts = {self._model.text_at(row, Column.NEXT) for row in self._in_sight()}
        return max(map(self._text, texts), default=0) + 2 * GRID

    def _names_width(self) -> int:
        """Return the width of the longest name in sight with its group, but at most that of many letters."""
        letters = QFontMetrics(strong_font(self._view.font())).horizontalAdvance
        rows = [row for row in self._in_sight() if self._model.section_at(row) is None]
        jobs = map(self._model.job_at, rows)
        texts = {(job.name[:_MOST_MEASURED], (job.group or "")[:_MOST_MEASURED]) for job in jobs}
        found = max((letters(name) + self._text(group) for name, group in texts), default=0)
        return NAME_MARGIN + min(found + 4 * GRID, _PLENTY_OF_LETTERS * self._letter())

    def _in_sight(self) -> range:
        first, last = self._view.rowAt(0), self._view.rowAt(self._view.viewport().height() - 1)
        return range(max(first, 0), (self._model.rowCount() - 1 if last < 0 else last) + 1)

    def _share(self, room: int) -> dict[Column, int]:
        usual, letter = self._usual(), self._letter()
        least = NAME_MARGIN + _LEAST_LETTERS * letter
        plenty = max(least, self._fitted_names)
        widths = {
            column: self._chosen.get(column, width)
            for column, width in usual.items()
            if column not in self._left_out
        }

        def rest() -> int:
            return room - sum(widths.values())

        short_last = self._text("yesterday 00:00") + 5 * GRID
        if rest() < least and Column.LAST in widths:
            widths[Column.LAST] = min(widths[Column.LAST], short_last)
        if Column.NEXT in widths and Column.NEXT not in self._chosen:
            # Rather than a long next run, show the time of a `once`.
            dated = self._text(_DATED) + 2 * GRID
            dated -= min(widths.get(Column.SCHEDULE, dated), dated)
            narrower = (widths[Column.NEXT] + rest() - names for names in (least + dated, least))
            fitting = (width for width in narrower if width >= self._text(_LEAST_NEXT) + 2 * GRID)
            widths[Column.NEXT] = min(widths[Column.NEXT], next(fitting, widths[Column.NEXT]))
        for column in _YIELDING:
            if rest() < least:
                widths.pop(column, None)
        if rest() < least and Column.NEXT in widths:
            self._narrow_next(widths, room, least)
        for column, longest, names in self._long(least, plenty):
            if column in widths and column not in self._chosen:
                widths[column] += max(min(longest - widths[column], rest() - names), 0)
        return widths | {Column.NAME: max(rest(), NARROWEST)}

    def _narrow_next(self, widths: dict[Column, int], room: int, least: int) -> None:
        """Narrow the next run to half of the room; remove it if the names would have few letters even then."""
        widths[Column.NEXT] = min(widths[Column.NEXT], max(room - least, room // 2))
        if room - sum(widths.values()) < NAME_MARGIN + _FEWEST_LETTERS * self._letter():
            del widths[Column.NEXT]

    def _usual(self) -> dict[Column, int]:
        most = _NEXT_LETTERS * self._letter()
        usual: dict[Column, int] = {
            column: self._text(usual_text(column)) + 2 * GRID
            for column in Column
            if column is not Column.NAME
        }
        return {
            **usual,
            Column.NEXT: max(usual[Column.NEXT], min(self._fitted_next, most)),
            Column.LAST: usual[Column.LAST] + 3 * GRID,
            Column.TREND: TREND_WIDTH + 2 * GRID + MARGIN,
        }

    def _long(self, least: int, plenty: int) -> list[tuple[Column, int, int]]:
        """Return the preferred widths of the columns: those of typical long texts; the names get the rest."""
        nexts = ("waiting: limit reached (2 of 2)", _LEAST_NEXT)
        return [
            (Column.SCHEDULE, self._text(_DATED) + 2 * GRID, least),
            (Column.SCHEDULE, self._text("Mon–Fri 06–18, every 2 h") + 2 * GRID, plenty),
            (Column.NEXT, max(*(self._text(text) + 2 * GRID for text in nexts), self._fitted_next), plenty),
        ]

    def _text(self, text: str) -> int:
        # Qt rounds the width down, and elides a text that lacks a fraction of a pixel.
        return QFontMetrics(number_font(self._view.font())).horizontalAdvance(text) + 1

    def _letter(self) -> int:
        return QFontMetrics(strong_font(self._view.font())).averageCharWidth()

    def _set(self, widths: Mapping[Column, int]) -> None:
        self._is_fitting = True
        for column, width in widths.items():
            self._view.setColumnWidth(column, width)
        self._is_fitting = False

    def _drag(self, section: int, before: int, now: int) -> None:
        """Resize a column at the expense of those to its right."""
        if self._is_fitting or not now or not before:
            return
        others = [column for column in Column if column > section and not self._view.isColumnHidden(column)]
        widths = {column: self._view.columnWidth(column) for column in others}
        wanted = now - before
        for column in others:
            given = min(wanted, widths[column] - NARROWEST)
            widths[column] -= given
            wanted -= given
        self._set({Column(section): now - wanted, **widths})
        shown = (column for column in Column if not self._view.isColumnHidden(column))
        self._chosen |= {
            column: self._view.columnWidth(column) for column in shown if column is not Column.NAME
        }

    # --- Menu ---------------------------------------------------------------------------------------

    def menu(self, parent: QTableView) -> QMenu:
        """Return a menu of the columns, deleted when it closes."""
        made = QMenu(parent)
        made.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        self.fill(made)
        return made

    def fill(self, menu: QMenu) -> None:
        """Add entries to show or hide each column except the names, and to reset all of them."""
        menu.clear()
        menu.setObjectName("columnMenu")
        for column in Column:
            if column is not Column.NAME:
                choice = menu.addAction(heading(column))
                choice.setObjectName(f"column-{column.name.lower()}")
                choice.setCheckable(True)
                choice.setChecked(column not in self._left_out)
                choice.toggled.connect(partial(self._turn, column))
        menu.addSeparator()
        reset = menu.addAction(self.tr("Reset columns"))
        reset.setObjectName("resetColumns")
        reset.setEnabled(bool(self._chosen or self._left_out))
        reset.triggered.connect(self._reset)

    def _turn(self, column: Column, is_shown: bool) -> None:  # noqa: FBT001 - a slot
        self._left_out = self._left_out - {column} if is_shown else self._left_out | {column}
        self.fit()

    def _reset(self) -> None:
        self._chosen, self._left_out = {}, frozenset()
        self.fit()

    # --- Memory -------------------------------------------------------------------------------------

    def state(self) -> dict[str, Any]:
        """Return what the user chose, as JSON data."""
        return {
            "widths": {column.name: width for column, width in self._chosen.items()},
            "hidden": sorted(column.name for column in self._left_out),
        }

    def restore(self, state: Mapping[str, Any]) -> None:
        """Restore the user's choices; invalid ones are ignored."""
        widths, hidden = state.get("widths"), state.get("hidden")
        if isinstance(widths, dict):
            self._chosen = {
                Column[name]: width
                for name, width in widths.items()
                if name in Column.__members__ and isinstance(width, int) and NARROWEST <= width <= _WIDEST
            }
        if isinstance(hidden, list):
            self._left_out = frozenset(column for column in Column if column and column.name in hidden)
        self.fit()


def order_state(model: JobTableModel) -> dict[str, Any]:
    """Return the order and the groups of a table, as JSON data."""
    column, is_descending = model.order
    return {
        "sort": column.name,
        "descending": is_descending,
        "sections": model.has_sections,
        "folded": sorted(group or "" for group in model.folded),
    }


def restore_order(
    state: Mapping[str, Any], model: JobTableModel, sort_by: Callable[[Column, Qt.SortOrder], None]
) -> None:
    """Restore the order and the groups; invalid values are ignored."""
    sort, folded = state.get("sort"), state.get("folded")
    if sort in [column.name for column in SORTABLE]:
        is_descending = state.get("descending") is True
        order = Qt.SortOrder.DescendingOrder if is_descending else Qt.SortOrder.AscendingOrder
        sort_by(Column[str(sort)], order)
    if state.get("sections") is True:
        groups = folded if isinstance(folded, list) else []
        model.set_sections(True, [str(group) or None for group in groups])
