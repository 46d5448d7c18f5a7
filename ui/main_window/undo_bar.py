"""The bar that offers to take back what was just done, for ten seconds."""

from __future__ import annotations

from collections.abc import Callable

from PySide6.QtCore import QTimer
from PySide6.QtWidgets import QHBoxLayout, QSizePolicy, QWidget

from ui.style.theme import GRID, HALF, MARGIN, Look, Tone
from ui.widgets.labels import button, frame, icon_button, tint
from ui.widgets.line_icon import LineIcon
from ui.widgets.wrapped_text import WrappedText

UNDO_MS = 10_000


class UndoBar(QWidget):
    """Says what was done and undoes it while it is shown."""

    def __init__(self, look: Look) -> None:
        super().__init__()
        self.setObjectName("undoBar")
        self._undo_it: Callable[[], object] | None = None
        row = QHBoxLayout(self)
        row.setContentsMargins(0, 0, 0, 0)
        box = frame("bar")
        row.addWidget(box)
        inner = QHBoxLayout(box)
        inner.setContentsMargins(MARGIN, HALF, GRID, HALF)
        inner.setSpacing(GRID)
        self._icon = LineIcon(look, "trash", Tone.MUTED)
        inner.addWidget(self._icon)
        self._text = WrappedText(look, name="undoText", most_lines=1)
        inner.addWidget(self._text, 1)
        self._undo = button(self.tr("Undo"), name="undoButton", shortcut="Ctrl+Z")
        tint(self._undo, look, "undo")
        self._undo.clicked.connect(self._take_back)
        inner.addWidget(self._undo)
        close = icon_button(look, "close", self.tr("Close"), name="undoClose")
        close.clicked.connect(self.close_bar)
        inner.addWidget(close)
        self.setSizePolicy(QSizePolicy.Policy.Preferred, QSizePolicy.Policy.Fixed)
        self._timer = QTimer(self)
        self._timer.setSingleShot(True)
        self._timer.setInterval(UNDO_MS)
        self._timer.timeout.connect(self.close_bar)
        self.setVisible(False)

    def offer(self, text: str, undo: Callable[[], object], icon: str = "trash") -> None:
        """Say what was done and offer to take it back."""
        self._undo_it = undo
        self._icon.set_icon(icon, Tone.MUTED)
        self._text.set_text(text)
        self.setVisible(True)
        self._timer.start()

    def close_bar(self) -> None:
        """Offer it no longer; what was done stays so."""
        self._timer.stop()
        self._undo_it = None
        self.setVisible(False)

    def _take_back(self) -> None:
        undo = self._undo_it
        self.close_bar()
        if undo is not None:
            undo()
