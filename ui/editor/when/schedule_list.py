"""The other schedules of a job: those that the form does not show."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import QHBoxLayout, QVBoxLayout, QWidget

from halo_scheduler.model import Entry
from halo_scheduler.wording.jobs import parameter_words
from halo_scheduler.wording.schedules import describe_entry, overlap_words
from ui.forms.fields import CONTENT
from ui.forms.rows import link, tab_before
from ui.style.theme import GRID, HALF, Appearance
from ui.widgets.arrange import show_if
from ui.widgets.labels import icon_button, label, tint


class ScheduleList(QWidget):
    """Lists schedules in words, and offers to edit or remove each and to add another."""

    add_wanted = Signal()
    edit_wanted = Signal(object)
    """The user wants to edit this Entry."""
    changed = Signal()

    def __init__(self, appearance: Appearance, parent: QWidget) -> None:
        super().__init__(parent)
        self.setObjectName("otherSchedules")
        self._appearance = appearance
        self._entries: list[Entry] = []
        self._place = 0
        """How many of them come before those of the form."""
        self._shown: list[_Row] = []
        self._title = label(self.tr("It also runs"), name="otherSchedulesTitle")
        self._rows = QVBoxLayout()
        self._rows.setSpacing(HALF)
        self._add = add = link(self.tr("Add another schedule"), name="addSchedule")
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

    def with_form(self, given: Sequence[Entry]) -> list[Entry]:
        """Return all schedules, with those of the form in their place: where parameters differ, the last one counts."""
        return [*self._entries[: self._place], *given, *self._entries[self._place :]]

    def show_entries(self, entries: Sequence[Entry], place: int = 0) -> None:
        """Show schedules; existing rows are reused, because creating a hundred takes long.

        `place` is the number of schedules before those of the form.
        """
        self._entries, self._place = list(entries), place
        for row in self._shown[len(self._entries) :]:
            self._rows.removeWidget(row)
            row.hide()
            row.setParent(None)
            row.deleteLater()
        del self._shown[len(self._entries) :]
        if len(self._shown) < len(self._entries):
            self._add_rows()
        for row, entry in zip(self._shown, self._entries, strict=True):
            row.words.setText(_words(entry))
        show_if(self._title, bool(self._entries))
        # What the form compares to find changes.
        self.setProperty(CONTENT, str(self._entries))

    def _add_rows(self) -> None:
        for index in range(len(self._shown), len(self._entries)):
            row = _Row(self._appearance, name=f"otherSchedule{index}")
            row.edit.clicked.connect(partial(self._want_edit, index))
            row.remove.clicked.connect(partial(self._remove, index))
            self._shown.append(row)
            self._rows.addWidget(row)
        tab_before(self._add, [stop for row in self._shown for stop in (row.edit, row.remove)])

    def _want_edit(self, index: int) -> None:
        self.edit_wanted.emit(self._entries[index])

    def _remove(self, index: int) -> None:
        rest = self._entries[:index] + self._entries[index + 1 :]
        self.show_entries(rest, self._place - (index < self._place))
        self.changed.emit()


class _Row(QWidget):
    """One schedule in words, with buttons to edit and remove it."""

    def __init__(self, appearance: Appearance, *, name: str) -> None:
        super().__init__()
        self.words = label(name=name, wrap=True)
        self.edit = link(self.tr("Edit"), name=f"{name}Edit")
        self.remove = icon_button(appearance, "close", self.tr("Remove this schedule"), name=f"{name}Remove")
        layout = QHBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.setSpacing(GRID)
        layout.addWidget(self.words, 1)
        layout.addWidget(self.edit)
        layout.addWidget(self.remove)


def _words(entry: Entry) -> str:
    overlap = "" if entry.on_overlap is None else overlap_words(entry.on_overlap)
    parameters = f"with {parameter_words(entry.parameters)}" if entry.parameters else ""
    return " · ".join(filter(None, (describe_entry(entry), overlap, parameters)))
