"""Windows as high as their text needs."""

from __future__ import annotations

from PySide6.QtWidgets import QWidget


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
