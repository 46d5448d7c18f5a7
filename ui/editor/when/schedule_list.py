"""The other schedules of a job: those that the form does not show."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import QHBoxLayout, QVBoxLayout, QWidget

from halo_scheduler.model import Entry
from halo_scheduler.wording.schedules import describe
from ui.forms.fields import CONTENT
from ui.forms.rows import link
from ui.style.theme import GRID, HALF, Appearance
from ui.widgets.arrange import show_if
from ui.widgets.labels import icon_button, label, tint


class ScheduleList(QWidget):
    """Lists schedules in words, and offers to edit or remove each and to add another."""

    add_wanted = Signal()
    edit_wanted = Signal(int)
    changed = Signal()

    def __init__(self, appearance: Appearance, parent: QWidget) -> None:
        super().__init__(parent)
        self.setObjectName("otherSchedules")
        self._appearance = appearance
        self._entries: list[Entry] = []
        self._shown: list[QWidget] = []
        self._title = label(self.tr("It also runs"), name="otherSchedulesTitle")
        self._rows = QVBoxLayout()
        self._rows.setSpacing(HALF)
        add = link(self.tr("Add another schedule"), name="addSchedule")
        tint(add, appearance, "add")
        add.clicked.connect(self.add_wanted)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, GRID, 0, 0)
        layout.setSpacing(GRID)
        layout.addWidget(self._title)
        layout.addLayout(self._rows)
        layout.addWidget(add, alignment=Qt.AlignmentFlag.AlignLeft)
        self.show_entries(())

    @property
    def entries(self) -> tuple[Entry, ...]:
        return tuple(self._entries)

    def show_entries(self, entries: Sequence[Entry]) -> None:
        """Show schedules."""
        self._entries = list(entries)
        for row in self._shown:
            self._rows.removeWidget(row)
            row.hide()
            row.setParent(None)
            row.deleteLater()
        self._shown = [self._row(index, entry) for index, entry in enumerate(self._entries)]
        for row in self._shown:
            self._rows.addWidget(row)
        show_if(self._title, bool(self._entries))
        # What the form compares to find changes.
        self.setProperty(CONTENT, str(self._entries))

    def _row(self, index: int, entry: Entry) -> QWidget:
        row = QWidget()
        layout = QHBoxLayout(row)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.setSpacing(GRID)
        layout.addWidget(label(describe(entry.schedule), name=f"otherSchedule{index}", wrap=True), 1)
        edit = link(self.tr("Edit"), name=f"otherSchedule{index}Edit")
        edit.clicked.connect(partial(self.edit_wanted.emit, index))
        remove = icon_button(
            self._appearance, "close", self.tr("Remove this schedule"), name=f"otherSchedule{index}Remove"
        )
        remove.clicked.connect(partial(self._remove, index))
        layout.addWidget(edit)
        layout.addWidget(remove)
        return row

    def _remove(self, index: int) -> None:
        self.show_entries([entry for place, entry in enumerate(self._entries) if place != index])
        self.changed.emit()
