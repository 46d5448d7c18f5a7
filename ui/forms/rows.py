"""Rows of controls and labels, in Tab order."""

from __future__ import annotations

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QCheckBox, QGridLayout, QHBoxLayout, QWidget

from ui.style.theme import GRID, HALF, mono_font
from ui.widgets.labels import label

from .interval_edit import IntervalEdit


def side_by_side(name: str, *widgets: QWidget) -> QWidget:
    """Return a row of controls; the first takes the focus."""
    made = QWidget()
    made.setObjectName(name)
    layout = QHBoxLayout(made)
    layout.setContentsMargins(0, 0, 0, 0)
    layout.setSpacing(GRID)
    for widget in widgets:
        layout.addWidget(widget)
    layout.addStretch(1)
    made.setFocusProxy(widgets[0])
    return made


def explanations(*pairs: tuple[str, str]) -> QWidget:
    """Return a two-column list: what to type, and what it means."""
    made = QWidget()
    grid = QGridLayout(made)
    grid.setContentsMargins(0, 0, 0, 0)
    grid.setHorizontalSpacing(GRID * 2)
    grid.setVerticalSpacing(HALF)
    grid.setColumnStretch(1, 1)
    for row, (typed, words) in enumerate(pairs):
        shown = label(typed, "small")
        shown.setFont(mono_font(shown.font()))
        grid.addWidget(shown, row, 0, Qt.AlignmentFlag.AlignTop)
        grid.addWidget(label(words, "small", wrap=True), row, 1)
    return made


def tab_before(anchor: QWidget, stops: list[QWidget]) -> None:
    """Put widgets right before another in Tab order; Qt puts new ones at the end."""
    before = anchor.previousInFocusChain()
    while before is not None and before is not anchor and (before in stops or not _takes_tab(before)):
        before = before.previousInFocusChain()
    for stop in (*stops, anchor):
        if before is not None:
            QWidget.setTabOrder(before, stop)
        before = stop


def _takes_tab(widget: QWidget) -> bool:
    return bool(widget.focusPolicy() & Qt.FocusPolicy.TabFocus)


def optional_interval(name: str, has: QCheckBox, edit: IntervalEdit, rest: str = "") -> QWidget:
    """Return an interval with a check box; `rest` is the text after it."""
    has.toggled.connect(edit.setEnabled)
    return side_by_side(name, has, edit, *([label(rest)] if rest else []))


def set_optional(has: QCheckBox, edit: IntervalEdit, *, is_on: bool) -> None:
    """Check or clear the box of an interval."""
    has.setChecked(is_on)
    edit.setEnabled(is_on)
