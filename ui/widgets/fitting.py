"""Windows that are just as high as their words need at their width."""

from __future__ import annotations

from PySide6.QtWidgets import QWidget


def fit_height(window: QWidget, width: int) -> None:
    """Give a window for good a width and the height that its wrapped texts then have."""
    layout = window.layout()
    if layout is not None:
        # The height of a card is remembered outside of it: a text that was just changed inside is not in it yet.
        for inner in window.findChildren(QWidget):
            inner.updateGeometry()
        layout.activate()
        # Set on the window itself: a layout would keep room for lines that are not there.
        window.setFixedSize(width, layout.totalHeightForWidth(width))
