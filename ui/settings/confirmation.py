"""An inline question before an action."""

from __future__ import annotations

from PySide6.QtCore import Qt, Signal
from PySide6.QtGui import QKeyEvent
from PySide6.QtWidgets import QFrame, QHBoxLayout, QVBoxLayout

from ui.style.theme import GRID, MARGIN
from ui.widgets.labels import button, label


class Confirmation(QFrame):
    """Explains an action, with buttons to confirm or cancel it."""

    confirmed = Signal()
    cancelled = Signal()

    def __init__(self, text: str, act: str) -> None:
        super().__init__()
        self.setProperty("role", "note")
        self.setObjectName("confirmation")
        self._text = label(text, name="confirmationText", wrap=True)
        self._act = button(act, name="confirmButton", kind="danger")
        self._cancel = button(self.tr("Cancel"), name="cancelButton", tip=self.tr("Cancel (Esc)"))
        self._act.clicked.connect(self.confirmed)
        self._cancel.clicked.connect(self.cancelled)
        buttons = QHBoxLayout()
        buttons.setSpacing(GRID)
        buttons.addStretch(1)
        buttons.addWidget(self._cancel)
        buttons.addWidget(self._act)
        box = QVBoxLayout(self)
        box.setContentsMargins(MARGIN, GRID + 4, MARGIN, GRID + 4)
        box.setSpacing(GRID)
        box.addWidget(self._text)
        box.addLayout(buttons)

    def take_focus(self) -> None:
        """Focus Cancel, the harmless answer."""
        self._cancel.setFocus()

    def show_busy(self, text: str) -> None:
        """Show progress and disable the buttons."""
        self._text.setText(text)
        self._act.setEnabled(False)
        self._cancel.setEnabled(False)

    def keyPressEvent(self, event: QKeyEvent) -> None:  # noqa: N802
        if event.key() == Qt.Key.Key_Escape:
            self.cancelled.emit()
        else:
            super().keyPressEvent(event)
