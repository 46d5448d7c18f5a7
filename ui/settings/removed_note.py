"""A note on what was just removed, with the way back."""

from __future__ import annotations

from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import QFrame, QHBoxLayout, QPushButton

from ui.style.theme import GRID, HALF, MARGIN, Look
from ui.widgets.labels import button, tint
from ui.widgets.wrapped_text import WrappedText


class RemovedNote(QFrame):
    """Says what was removed, until it is taken back or something else is done."""

    undo_wanted = Signal()

    def __init__(self, look: Look) -> None:
        super().__init__()
        self.setProperty("role", "note")
        self.setObjectName("removedNote")
        self._text = WrappedText(look, name="removedText")
        self._undo = button(self.tr("Undo"), name="undoRemoveButton", tip=self.tr("Bring it back"))
        tint(self._undo, look, "undo")
        self._undo.clicked.connect(self.undo_wanted)
        box = QHBoxLayout(self)
        box.setContentsMargins(MARGIN, GRID, GRID, GRID)
        box.setSpacing(GRID + HALF)
        box.addWidget(self._text, 1)
        box.addWidget(self._undo, 0, Qt.AlignmentFlag.AlignVCenter)
        self.hide()

    @property
    def button(self) -> QPushButton:
        """What brings it back."""
        return self._undo

    def offer(self, text: str) -> None:
        """Say what was removed, and wait for a second thought."""
        self._text.set_text(text)
        self.show()
        self._undo.setFocus()
