"""Links that begin where the fields above and below them do."""

from __future__ import annotations

from PySide6.QtWidgets import QPushButton

from ui.widgets.labels import button


def link(text: str, *, name: str) -> QPushButton:
    """Return a button that looks like a link and stands flush with the fields."""
    made = button(text, name=name, kind="link")
    made.setAutoDefault(False)
    made.setStyleSheet("QPushButton { padding-left: 0; }")
    return made
