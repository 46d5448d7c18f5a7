"""Where the Tab key comes to parts that are made late: Qt puts them last."""

from __future__ import annotations

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QWidget


def put_after(before: QWidget | None, made: QWidget) -> None:
    """Let the Tab key go from one control to those inside a part that was just made."""
    for inner in made.findChildren(QWidget):
        # What takes clicks only may become a stop later; the list of a combo box is a window of its own.
        can_stop = inner.focusPolicy() != Qt.FocusPolicy.NoFocus and inner.window() is made.window()
        if before is not None and can_stop:
            QWidget.setTabOrder(before, inner)
            before = inner


def put_at(place: QWidget, made: QWidget) -> None:
    """Let the Tab key come to a part that was just made from the last control before a place."""
    before = place.previousInFocusChain()
    while before is not None and before is not place and before.focusPolicy() == Qt.FocusPolicy.NoFocus:
        before = before.previousInFocusChain()
    put_after(before, made)
