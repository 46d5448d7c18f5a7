"""The facts of a run, one below the other."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import pairwise

from PySide6.QtCore import Qt, QUrl, Signal
from PySide6.QtGui import QDesktopServices, QFontMetrics, QGuiApplication
from PySide6.QtWidgets import QGridLayout, QHBoxLayout, QToolButton, QWidget

from ui.style.theme import HALF, MARGIN, Look
from ui.widgets.labels import icon_button, label
from ui.widgets.link_line import ABOVE_LINK, LinkLine
from ui.widgets.wrapped_text import WrappedText

from .facts import Fact

_NOTHING = Fact("", "")
_MOST_LINES = 3


class FactsGrid(QWidget):
    """Names at the left, values at the right; at most one of them can be copied and opened, some lead to a run."""

    run_wanted = Signal(str)

    def __init__(self, look: Look) -> None:
        super().__init__()
        self._look = look
        self._facts: tuple[Fact, ...] = ()
        self._rows: list[_FactRow] = []
        self._linked = _NOTHING
        # Made with everything else, so that the Tab key finds them in their place.
        self._copy = self._new_button("copy", self.tr("Copy the address"), "copyAddressButton")
        self._open = self._new_button("external", self.tr("Open it in the browser"), "openAddressButton")
        self._copy.clicked.connect(lambda: QGuiApplication.clipboard().setText(self._linked.copied))
        self._open.clicked.connect(lambda: QDesktopServices.openUrl(QUrl(self._linked.address)))
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
            self._rows.append(_FactRow(self._look, self._grid, len(self._rows), self.run_wanted.emit))
        for index, row in enumerate(self._rows):
            row.show_fact(facts[index] if index < len(facts) else _NOTHING)
        self._place_buttons()
        # Links are made late; the Tab key visits them where they stand.
        for before, after in pairwise(
            [self._open, *(row.link for row in self._rows if row.link is not None)]
        ):
            QWidget.setTabOrder(before, after)

    def _place_buttons(self) -> None:
        """Put the buttons beside what they are for."""
        index = next((index for index, fact in enumerate(self._facts) if fact.copied), None)
        self._linked = _NOTHING if index is None else self._facts[index]
        if index is not None:
            self._rows[index].take_buttons(self._copy, self._open)
        self._copy.setVisible(bool(self._linked.copied))
        self._open.setVisible(bool(self._linked.address))

    def _new_button(self, icon: str, text: str, name: str) -> QToolButton:
        made = icon_button(self._look, icon, text, name=name)
        made.setParent(self)
        made.setProperty("kind", "inline")
        # No higher than a line of text.
        made.setMaximumHeight(QFontMetrics(self.font()).height() + HALF // 2)
        made.hide()
        return made


class _FactRow:
    """One fact: its name, its value, and room for buttons behind it."""

    def __init__(self, look: Look, grid: QGridLayout, index: int, follow: Callable[[str], None]) -> None:
        self._look = look
        self._follow = follow
        self._fact = _NOTHING
        self._name = label("", "muted")
        self._value = WrappedText(look, name="factValue", most_lines=_MOST_LINES)
        # Few lead anywhere.
        self.link: LinkLine | None = None
        self._box = QHBoxLayout()
        self._box.setSpacing(HALF)
        self._box.addWidget(self._value, 1)
        grid.addWidget(self._name, index, 0, Qt.AlignmentFlag.AlignTop)
        grid.addLayout(self._box, index, 1)

    def show_fact(self, fact: Fact) -> None:
        self._fact = fact
        self._name.setText(fact.name)
        self._name.setVisible(bool(fact.name))
        self._name.setContentsMargins(0, ABOVE_LINK if fact.run_id else 0, 0, 0)
        self._value.set_text("" if fact.run_id else fact.value)
        # One that never said anything would keep its half of the room.
        self._value.setVisible(bool(self._value.text()))
        self._value.setAccessibleName(f"{fact.name}: {fact.value}")
        if fact.run_id or self.link is not None:
            self._show_link(fact)

    def _show_link(self, fact: Fact) -> None:
        if self.link is None:
            self.link = LinkLine(self._look, name="factLink")
            self.link.clicked.connect(lambda: self._follow(self._fact.run_id))
            self._box.insertWidget(0, self.link, 1)
        self.link.setVisible(bool(fact.run_id))
        self.link.show_link(fact.value, fact.aside)

    def take_buttons(self, *buttons: QToolButton) -> None:
        for one in buttons:
            self._box.addWidget(one, 0, Qt.AlignmentFlag.AlignTop)
