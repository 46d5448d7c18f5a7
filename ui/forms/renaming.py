"""Names of controls in a list, which follow their place in it."""

from __future__ import annotations

from PySide6.QtWidgets import QWidget


def rename(part: QWidget, before: str, after: str) -> None:
    """Give all controls of a part whose names begin with one stem another stem."""
    if before == after:
        return
    for widget in (part, *part.findChildren(QWidget)):
        name = widget.objectName()
        if name.startswith(before):
            widget.setObjectName(f"{after}{name.removeprefix(before)}")
