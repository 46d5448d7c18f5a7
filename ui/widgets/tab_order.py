"""Tab order of widgets created late, which Qt puts last."""

from __future__ import annotations

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QWidget


def put_after(before: QWidget | None, made: QWidget) -> None:
    """Put the widgets of a new part after a control in Tab order."""
    for inner in made.findChildren(QWidget):
        # Widgets that only take clicks may become Tab stops later; the popup of a combo box is a separate window.
        can_stop = inner.focusPolicy() != Qt.FocusPolicy.NoFocus and inner.window() is made.window()
        if before is not None and can_stop:
            QWidget.setTabOrder(before, inner)
            before = inner


def put_at(place: QWidget, made: QWidget) -> None:
    """Put the widgets of a new part before a control in Tab order."""
    before = place.previousInFocusChain()
    while before is not None and before is not place and before.focusPolicy() == Qt.FocusPolicy.NoFocus:
        before = before.previousInFocusChain()
    put_after(before, made)
