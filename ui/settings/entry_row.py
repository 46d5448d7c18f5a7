"""One entry of a list in the settings."""

from __future__ import annotations

from PySide6.QtWidgets import QToolButton, QWidget


class EntryRow(QWidget):
    """Shows an entry, identified by its key."""

    _edit: QToolButton
    """The edit button."""

    def __init__(self, key: object) -> None:
        super().__init__()
        self.key = key

    @property
    def has_focus(self) -> bool:
        """Whether a widget of the row has the focus."""
        return self.isAncestorOf(self.window().focusWidget())

    def focus(self) -> None:
        """Focus the edit button, which is harmless."""
        self._edit.setFocus()
