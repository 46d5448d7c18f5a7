"""One entry of a list in the settings."""

from __future__ import annotations

from PySide6.QtWidgets import QToolButton, QWidget


class EntryRow(QWidget):
    """Shows an entry, which is found again by its key."""

    _edit: QToolButton
    """What changes the entry."""

    def __init__(self, key: object) -> None:
        super().__init__()
        self.key = key

    @property
    def has_focus(self) -> bool:
        """Whether the keyboard is here."""
        return self.isAncestorOf(self.window().focusWidget())

    def focus(self) -> None:
        """Give the keyboard to what is harmless."""
        self._edit.setFocus()
