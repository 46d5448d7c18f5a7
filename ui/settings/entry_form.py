"""The form for one entry of a list in the settings."""

from __future__ import annotations

from PySide6.QtCore import Qt, Signal
from PySide6.QtGui import QKeyEvent
from PySide6.QtWidgets import QFrame, QHBoxLayout, QPushButton, QVBoxLayout

from ui.forms.problems import Findings
from ui.forms.snapshot import snapshot
from ui.style.theme import GRID, MARGIN
from ui.widgets.labels import button, label


class EntryForm(QFrame):
    """Edits one entry; the page saves it."""

    submitted = Signal(object)
    """The entry."""
    cancelled = Signal()

    def __init__(self, *, stem: str) -> None:
        super().__init__()
        self.setProperty("role", "card")
        self.setObjectName(f"{stem}Form")
        self._heading = label("", "strong", name=f"{stem}Heading")
        self._error = label("", "error", name=f"{stem}Error", wrap=True)
        cancel_name = f"cancel{stem.capitalize()}Button"
        self._cancel = button(self.tr("Cancel"), name=cancel_name, tip=self.tr("Cancel (Esc)"))
        self._asked: dict[str, str] = {}
        self._box = QVBoxLayout(self)
        self._box.setContentsMargins(MARGIN, MARGIN, MARGIN, MARGIN)
        self._box.setSpacing(GRID + GRID // 2)
        self._box.addWidget(self._heading)

    @property
    def is_changed(self) -> bool:
        """Whether the form has unsaved changes."""
        return self.isVisible() and snapshot(self) != self._asked

    def insist(self) -> None:
        """Ask the user to save or cancel first."""
        self.show_error(self.tr("Save or cancel this first."))
        self._cancel.setFocus()

    def show_error(self, text: str) -> None:
        """Show why saving was refused."""
        self._error.setText(text)
        self._error.setVisible(bool(text))

    def _open(self) -> None:
        """Show the form and remember its initial contents."""
        self._asked = snapshot(self)
        self.show_error("")
        self.show()

    def discard(self) -> None:
        """Hide the form and drop its changes."""
        self.hide()

    def _read(self, findings: Findings) -> object | None:
        """Return the entry, or None after recording the problems."""
        raise NotImplementedError

    def _submit(self) -> None:
        found = self._read(Findings())
        if found is not None:
            self.submitted.emit(found)

    def _add_buttons(self, save: QPushButton) -> None:
        """Add the Save and Cancel buttons."""
        buttons = QHBoxLayout()
        buttons.setSpacing(GRID)
        buttons.addWidget(self._error, 1)
        buttons.addStretch(0)
        buttons.addWidget(self._cancel, 0, Qt.AlignmentFlag.AlignRight)
        buttons.addWidget(save)
        self._box.addLayout(buttons)
        save.clicked.connect(self._submit)
        self._cancel.clicked.connect(self.cancelled)

    def keyPressEvent(self, event: QKeyEvent) -> None:  # noqa: N802
        if event.key() == Qt.Key.Key_Escape:
            self.cancelled.emit()
        else:
            super().keyPressEvent(event)
