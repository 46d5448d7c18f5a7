"""Where the Tab key comes to parts that are made late: Qt puts them last."""

from __future__ import annotations

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QWidget


def put_after(before: QWidget | None, made: QWidget) -> None:
    """Let the Tab key go from one control to those inside a part that was just made."""
    for inner in made.findChildren(QWidget):
        if before is not None and inner.focusPolicy() & Qt.FocusPolicy.TabFocus:
            QWidget.setTabOrder(before, inner)
            before = inner
