"""The facts of a run, one below the other."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import Qt, QUrl
from PySide6.QtGui import QDesktopServices, QGuiApplication
from PySide6.QtWidgets import QGridLayout, QHBoxLayout, QToolButton, QWidget

from ui.theme import HALF, MARGIN, Look
from ui.widgets.labels import icon_button, label
from ui.widgets.wrapped_text import WrappedText

from .facts import Fact, tr

_NOTHING = Fact("", "")
_MOST_LINES = 3


class FactsGrid(QWidget):
    """Names at the left, values at the right; rows are made as they are needed."""

    def __init__(self, look: Look) -> None:
        super().__init__()
        self._look = look
        self._facts: tuple[Fact, ...] = ()
        self._rows: list[_FactRow] = []
        self._grid = QGridLayout(self)
        self._grid.setContentsMargins(0, 0, 0, 0)
        self._grid.setHorizontalSpacing(MARGIN)
        self._grid.setVerticalSpacing(HALF)
        self._grid.setColumnStretch(1, 1)

    def show_facts(self, facts: Sequence[Fact]) -> None:
        """Show some facts in the place of those that were shown."""
        if tuple(facts) == self._facts:
            return
        self._facts = tuple(facts)
        while len(self._rows) < len(facts):
            self._rows.append(_FactRow(self._look, self._grid, len(self._rows)))
        for index, row in enumerate(self._rows):
            row.show_fact(facts[index] if index < len(facts) else _NOTHING)


class _FactRow:
    """One fact; what can be copied or opened has its buttons from the first time it is needed."""

    def __init__(self, look: Look, grid: QGridLayout, index: int) -> None:
        self._look = look
        self._fact = _NOTHING
        self._name = label("", "muted")
        self._value = WrappedText(look, name="factValue", most_lines=_MOST_LINES)
        self._copy: QToolButton | None = None
        self._open: QToolButton | None = None
        self._box = QHBoxLayout()
        self._box.setSpacing(HALF)
        self._box.addWidget(self._value, 1)
        grid.addWidget(self._name, index, 0, Qt.AlignmentFlag.AlignTop)
        grid.addLayout(self._box, index, 1)

    def show_fact(self, fact: Fact) -> None:
        self._fact = fact
        self._name.setText(fact.name)
        self._name.setVisible(bool(fact.name))
        self._value.set_text(fact.value)
        self._value.setAccessibleName(f"{fact.name}: {fact.value}")
        if fact.copied or self._copy is not None:
            copy, open_button = self._buttons()
            copy.setVisible(bool(fact.copied))
            open_button.setVisible(bool(fact.address))

    def _buttons(self) -> tuple[QToolButton, QToolButton]:
        if self._copy is None or self._open is None:
            self._copy = icon_button(self._look, "copy", tr("Copy the address"), name="copyAddressButton")
            self._open = icon_button(
                self._look, "external", tr("Open it in the browser"), name="openAddressButton"
            )
            self._copy.clicked.connect(lambda: QGuiApplication.clipboard().setText(self._fact.copied))
            self._open.clicked.connect(lambda: QDesktopServices.openUrl(QUrl(self._fact.address)))
            for one in (self._copy, self._open):
                # No higher than a line of text.
                one.setProperty("kind", "inline")
                one.setMaximumHeight(self._value.minimumSizeHint().height() + HALF // 2)
                self._box.addWidget(one, 0, Qt.AlignmentFlag.AlignTop)
        return self._copy, self._open
