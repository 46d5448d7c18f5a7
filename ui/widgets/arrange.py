"""Arranges widgets: shows them, fits windows to their text, and puts late widgets into Tab order.

Also returns the initial folders of file dialogs.
"""

from __future__ import annotations

import os

from PySide6.QtCore import QDir, QStandardPaths, Qt
from PySide6.QtWidgets import QWidget


def documents() -> str:
    """Return the default folder for saving files."""
    return QStandardPaths.writableLocation(QStandardPaths.StandardLocation.DocumentsLocation)


def dialog_start(path: str = "") -> str:
    """Return the initial path of a file dialog: that of its field, else the home folder."""
    # Path.expanduser raises for the home of an unknown user.
    return os.path.expanduser(path) or QDir.homePath()  # noqa: PTH111 - see above


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


def fit_height(window: QWidget, width: int) -> None:
    """Fix the size of a window to a width and the height of its wrapped text."""
    layout = window.layout()
    if layout is not None:
        # Qt caches the height of nested layouts, which may predate a change of text.
        for inner in window.findChildren(QWidget):
            inner.updateGeometry()
        layout.activate()
        # Set on the window: a layout would reserve space for lines that are not there.
        window.setFixedSize(width, layout.totalHeightForWidth(width))


def show_if(widget: QWidget, is_wanted: bool) -> None:  # noqa: FBT001 - like setVisible
    """Show or hide a widget; Qt would restyle and lay it out even without a change."""
    if widget.parentWidget() is None:
        raise ValueError("a widget without a parent would become a window")
    if widget.isHidden() == is_wanted:
        widget.setVisible(is_wanted)
