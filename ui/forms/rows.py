"""Rows of controls in a page, lists of them, and lists of names with values."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Generic, Protocol, TypeVar

from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import (
    QCheckBox,
    QGridLayout,
    QHBoxLayout,
    QLineEdit,
    QPushButton,
    QVBoxLayout,
    QWidget,
)

from halo_scheduler.errors import ScheduleError
from halo_scheduler.grammar.english import shown
from ui.backend.backend import Backend
from ui.style.theme import GRID, HALF, Appearance, mono_font
from ui.widgets.labels import button, icon_button, label, tint

from .fields import Field, Page
from .inputs import IntervalEdit, SecretPicker


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


def optional_interval(name: str, has: QCheckBox, edit: IntervalEdit) -> QWidget:
    """Return an interval with a check box."""
    has.toggled.connect(edit.setEnabled)
    return side_by_side(name, has, edit)


def set_optional(has: QCheckBox, edit: IntervalEdit, *, is_on: bool) -> None:
    """Check or clear the box of an interval."""
    has.setChecked(is_on)
    edit.setEnabled(is_on)


def link(text: str, *, name: str) -> QPushButton:
    """Return a link button without left padding."""
    made = button(text, name=name, kind="link")
    made.setAutoDefault(False)
    made.setStyleSheet("QPushButton { padding-left: 0; }")
    return made


def rename(part: QWidget, before: str, after: str) -> None:
    """Replace the prefix of the object names in a part."""
    if before == after:
        return
    for widget in (part, *part.findChildren(QWidget)):
        name = widget.objectName()
        if name.startswith(before):
            widget.setObjectName(f"{after}{name.removeprefix(before)}")


class ListedRow(Protocol):
    """A row of the list."""

    field: Field

    def objectName(self) -> str: ...  # noqa: N802 - Qt's name


RowT = TypeVar("RowT", bound=ListedRow)


class RowList(Generic[RowT]):
    """The rows in order; the page shows their problems."""

    def __init__(self, page: Page, *, stem: str, path: str, spacing: int) -> None:
        self._page = page
        self._stem = stem
        self._path = path
        self._rows: list[RowT] = []
        self.layout = QVBoxLayout()
        self.layout.setContentsMargins(0, 0, 0, 0)
        self.layout.setSpacing(spacing)

    def __iter__(self) -> Iterator[RowT]:
        return iter(self._rows)

    def __len__(self) -> int:
        return len(self._rows)

    @property
    def next_name(self) -> str:
        """The object name of the next row."""
        return f"{self._stem}{len(self._rows)}"

    def append(self, row: RowT) -> None:
        """Add a row at the end."""
        self._rows.append(row)
        self.layout.addWidget(self._page.watch_field(row.field))
        self._number()

    def drop(self, row: RowT) -> RowT | None:
        """Delete a row; return the row now nearest to its position."""
        index = self._rows.index(row)
        self._rows.remove(row)
        self._page.forget_field(row.field)
        self.layout.removeWidget(row.field)
        row.field.hide()
        row.field.setParent(None)
        row.field.deleteLater()
        self._number()
        return self._rows[min(index, len(self._rows) - 1)] if self._rows else None

    def clear(self) -> None:
        """Delete all rows."""
        for row in list(self._rows):
            self.drop(row)

    def _number(self) -> None:
        for index, row in enumerate(self._rows):
            rename(row.field, row.objectName(), f"{self._stem}{index}")
            row.field.paths = (f"{self._path}[{index}]",)


class PairsEdit(QWidget):
    """One pair per row; empty rows are ignored."""

    changed = Signal()
    secret_wanted = Signal()
    """The user wants to add a secret."""

    def __init__(
        self,
        backend: Backend,
        appearance: Appearance,
        *,
        name: str,
        key_title: str,
        add_title: str,
        examples: tuple[str, str],
        ignore_case: bool = False,
        has_secrets: bool = True,
    ) -> None:
        super().__init__()
        self.setObjectName(name)
        self._has_secrets = has_secrets
        self._backend = backend
        self._appearance = appearance
        self._key_title = key_title
        self._examples = examples
        self._ignore_case = ignore_case
        self._rows: list[PairRow] = []
        self._list = QVBoxLayout()
        self._list.setContentsMargins(0, 0, 0, 0)
        self._list.setSpacing(HALF)
        self._add = link(add_title, name=f"{name}Add")
        tint(self._add, appearance, "add")
        self._add.clicked.connect(self._add_and_focus)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.setSpacing(HALF)
        layout.addLayout(self._list)
        layout.addWidget(self._add, alignment=Qt.AlignmentFlag.AlignLeft)

    def set_pairs(self, pairs: Mapping[str, str]) -> None:
        """Show these pairs."""
        for row in list(self._rows):
            self._drop(row)
        for key, value in pairs.items():
            self.add_row(key, value)

    def pairs(self) -> dict[str, str]:
        """Return the pairs; a name given twice, or a value without a name, raises ScheduleError."""
        found: dict[str, str] = {}
        seen: set[str] = set()
        for row in self._rows:
            key, value = row.key.text().strip(), row.value.text()
            if not key and not value:
                continue
            if not key:
                raise ScheduleError(f"the value {shown(value)} has no name")
            folded = key.lower() if self._ignore_case else key
            if folded in seen:
                raise ScheduleError(f"{shown(key)} is given twice")
            seen.add(folded)
            found[key] = value
        return found

    def rows(self) -> list[PairRow]:
        return list(self._rows)

    def add_row(self, key: str = "", value: str = "") -> PairRow:
        """Add a row at the end."""
        row = PairRow(
            self._backend,
            self._appearance,
            f"{self.objectName()}{len(self._rows)}",
            self._key_title,
            self._examples,
        )
        for line, text in ((row.key, key), (row.value, value)):
            line.setText(text)
            line.setCursorPosition(0)
        self._rows.append(row)
        self._list.addWidget(row)
        tab_before(self._add, [stop for one in self._rows for stop in one.stops])
        row.changed.connect(self.changed)
        row.removal_wanted.connect(self._remove)
        row.finished.connect(self._go_on)
        row.picker.new_wanted.connect(self.secret_wanted)
        if not self._has_secrets:
            row.picker.button.hide()
        return row

    def _add_and_focus(self) -> None:
        self.add_row().key.setFocus()
        self.changed.emit()

    def _go_on(self, row: PairRow) -> None:
        """On Enter, go to the next row; after the last, add one."""
        index = self._rows.index(row) + 1
        if index < len(self._rows):
            self._rows[index].key.setFocus()
        elif row.key.text():
            self._add_and_focus()

    def _remove(self, row: PairRow) -> None:
        index = self._rows.index(row)
        self._drop(row)
        neighbour = self._rows[min(index, len(self._rows) - 1)].key if self._rows else self._add
        neighbour.setFocus()
        self.changed.emit()

    def _drop(self, row: PairRow) -> None:
        self._rows.remove(row)
        self._list.removeWidget(row)
        row.hide()
        row.setParent(None)
        row.deleteLater()
        for index, other in enumerate(self._rows):
            other.rename(f"{self.objectName()}{index}")


class PairRow(QWidget):
    """A name, a value, a secret picker and a button that removes the row."""

    changed = Signal()
    finished = Signal(object)
    removal_wanted = Signal(object)

    def __init__(
        self, backend: Backend, appearance: Appearance, name: str, key_title: str, examples: tuple[str, str]
    ) -> None:
        super().__init__()
        self.key = QLineEdit()
        self.key.setObjectName(f"{name}Key")
        self.key.setAccessibleName(key_title)
        self.key.setPlaceholderText(examples[0])
        self.key.setFont(mono_font(self.key.font()))
        self.value = QLineEdit()
        self.value.setObjectName(f"{name}Value")
        self.value.setAccessibleName(self.tr("Value"))
        self.value.setPlaceholderText(examples[1])
        self.value.setFont(mono_font(self.value.font()))
        self.picker = SecretPicker(backend, appearance, self, name=f"{name}Secret")
        self.picker.picked.connect(self.value.insert)
        self._remove = icon_button(appearance, "close", self.tr("Remove"), name=f"{name}Remove")
        layout = QHBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.setSpacing(HALF)
        layout.addWidget(self.key, 2)
        layout.addWidget(self.value, 3)
        layout.addSpacing(GRID - HALF)
        layout.addWidget(self.picker.button)
        layout.addWidget(self._remove)
        for line in (self.key, self.value):
            line.textChanged.connect(self.changed)
            line.returnPressed.connect(self._announce_finished)
        self._remove.clicked.connect(self._request_removal)

    @property
    def stops(self) -> list[QWidget]:
        """The widgets in Tab order."""
        return [self.key, self.value, self.picker.button, self._remove]

    def rename(self, name: str) -> None:
        """Rename the widgets after their position."""
        for widget, suffix in (
            (self.key, "Key"),
            (self.value, "Value"),
            (self.picker.button, "Secret"),
            (self._remove, "Remove"),
        ):
            widget.setObjectName(f"{name}{suffix}")

    def _announce_finished(self) -> None:
        self.finished.emit(self)

    def _request_removal(self) -> None:
        self.removal_wanted.emit(self)
