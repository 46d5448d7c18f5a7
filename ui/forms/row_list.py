"""A list of rows in a page; object names follow the position."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Generic, Protocol, TypeVar

from PySide6.QtWidgets import QVBoxLayout, QWidget

from .fields import Field, Page


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
