"""Quiet notes above the content: a sentence, perhaps a way out, and a button that closes them."""

from __future__ import annotations

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QHBoxLayout, QVBoxLayout, QWidget

from ui.theme import GRID, HALF, MARGIN, Look, Tone
from ui.widgets.labels import button, frame, icon_button
from ui.widgets.line_icon import LineIcon
from ui.widgets.wrapped_text import WrappedText


class Note(QWidget):
    """One sentence on a quiet ground; hidden until there is something to say."""

    acted = Signal()
    closed = Signal()

    def __init__(self, look: Look, *, name: str, icon: str, tone: Tone, act: str = "") -> None:
        super().__init__()
        self.setObjectName(name)
        outer = QVBoxLayout(self)
        outer.setContentsMargins(MARGIN, 0, MARGIN, GRID)
        box = frame("note")
        outer.addWidget(box)
        row = QHBoxLayout(box)
        row.setContentsMargins(GRID + HALF, HALF, HALF, HALF)
        row.setSpacing(GRID)
        row.addWidget(LineIcon(look, icon, tone))
        self._text = WrappedText(look, name=f"{name}Text")
        row.addWidget(self._text, 1)
        if act:
            way_out = button(act, name=f"{name}Action", kind="link")
            way_out.clicked.connect(self.acted)
            row.addWidget(way_out)
        close = icon_button(look, "close", self.tr("Close this note"), name=f"{name}Close")
        close.clicked.connect(self._close)
        row.addWidget(close)
        self.setVisible(False)

    def text(self) -> str:
        return self._text.text()

    def show_text(self, text: str) -> None:
        """Say something, or nothing any more."""
        self._text.set_text(text)
        self.setVisible(bool(text))

    def _close(self) -> None:
        self.setVisible(False)
        self.closed.emit()
