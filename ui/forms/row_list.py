"""A list of rows in a page of the editor, whose names follow their places in it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Generic, Protocol, TypeVar

from PySide6.QtWidgets import QVBoxLayout, QWidget

from .fields import Field, Page


def rename(part: QWidget, before: str, after: str) -> None:
    """Give all controls of a part whose names begin with one stem another stem."""
    if before == after:
        return
    for widget in (part, *part.findChildren(QWidget)):
        name = widget.objectName()
        if name.startswith(before):
            widget.setObjectName(f"{after}{name.removeprefix(before)}")


class ListedRow(Protocol):
    """What stands in such a list."""

    field: Field

    def objectName(self) -> str: ...  # noqa: N802 - Qt's name


RowT = TypeVar("RowT", bound=ListedRow)


class RowList(Generic[RowT]):
    """The rows in their order; the page shows what is wrong with each."""

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
        """What the next row is to be called."""
        return f"{self._stem}{len(self._rows)}"

    def append(self, row: RowT) -> None:
        """Show a row below the others."""
        self._rows.append(row)
        self.layout.addWidget(self._page.watch_field(row.field))
        self._number()

    def drop(self, row: RowT) -> RowT | None:
        """Take a row away for good; return the one that is nearest to its place then."""
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
        """Take all rows away."""
        for row in list(self._rows):
            self.drop(row)

    def _number(self) -> None:
        for index, row in enumerate(self._rows):
            rename(row.field, row.objectName(), f"{self._stem}{index}")
            row.field.paths = (f"{self._path}[{index}]",)
