"""Links aligned with the fields of a form."""

from __future__ import annotations

from PySide6.QtWidgets import QPushButton

from ui.widgets.labels import button


def link(text: str, *, name: str) -> QPushButton:
    """Return a link button without left padding."""
    made = button(text, name=name, kind="link")
    made.setAutoDefault(False)
    made.setStyleSheet("QPushButton { padding-left: 0; }")
    return made
