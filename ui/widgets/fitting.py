"""Windows that are just as high as their words need at their width."""

from __future__ import annotations

from PySide6.QtWidgets import QLayout, QWidget


def fit_height(window: QWidget, width: int) -> None:
    """Give a window for good a width and the height that its wrapped texts then have."""
    layout = window.layout()
    if layout is not None:
        # A text that was just changed inside a card is known to the card's own layout only.
        for inner in window.findChildren(QLayout):
            inner.invalidate()
        layout.activate()
        # Set on the window itself: a layout would keep room for lines that are not there.
        window.setFixedSize(width, layout.totalHeightForWidth(width))
