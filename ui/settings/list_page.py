"""A page of settings whose list can be changed, with a way back from what was removed."""

from __future__ import annotations

from collections.abc import Callable
from typing import Generic, TypeVar

from PySide6.QtCore import Qt, QTimer, Signal
from PySide6.QtGui import QHideEvent
from PySide6.QtWidgets import QFrame, QHBoxLayout, QPushButton, QWidget

from ui.style.theme import GRID, HALF, MARGIN, Appearance
from ui.widgets.labels import button, label, tint
from ui.widgets.tab_order import put_after
from ui.widgets.wrapped_text import WrappedText

from .entry_form import EntryForm
from .entry_row import EntryRow
from .page import Card, Page, Row

RowT = TypeVar("RowT", bound=EntryRow)
FormT = TypeVar("FormT", bound=EntryForm)


class RemovedNote(QFrame):
    """Says what was removed, until it is taken back or something else is done."""

    undo_wanted = Signal()

    def __init__(self, appearance: Appearance) -> None:
        super().__init__()
        self.setProperty("role", "note")
        self.setObjectName("removedNote")
        self._text = WrappedText(appearance, name="removedText")
        self._undo = button(self.tr("Undo"), name="undoRemoveButton", tip=self.tr("Bring it back"))
        tint(self._undo, appearance, "undo")
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


class ListPage(Page, Generic[RowT, FormT]):
    """Lists entries; what is removed can be brought back until something else is done."""

    _new: QPushButton
    """What adds an entry."""

    def __init__(self, appearance: Appearance, form: FormT, *, error_name: str) -> None:
        super().__init__()
        self._appearance = appearance
        self._rows: list[RowT] = []
        self._undo_removal: Callable[[], None] | None = None
        self._form = form
        self._note = RemovedNote(appearance)
        self._card = Card()
        self._error = label("", "error", name=error_name, wrap=True)
        self._error.hide()
        self._note.undo_wanted.connect(self._undo)

    def _add_list(self) -> None:
        """Put the list below what was added so far, and its form above it."""
        self._form.hide()
        for part in (self._form, self._note, self._card):
            self.add(part)

    def _show_rows(self, rows: list[RowT], none: str, none_hint: str) -> None:
        """Show these rows only, or that there are none."""
        focused = next((row.key for row in self._rows if row.has_focus), None)
        self._card.clear()
        self._rows = rows
        for row in rows:
            self._card.add(row)
        put_after(self._note.button, self._card)
        if not rows:
            self._card.add(Row(none, none_hint, None))
        if focused is not None:
            # Somebody else may have changed them meanwhile.
            self._focus(focused)

    def _has_unsaved_entry(self) -> bool:
        """Tell whether something typed is still to be saved; then that is said, and nothing else begins."""
        if not self._form.is_changed:
            return False
        self._form.insist()
        self.ensureWidgetVisible(self._form)
        return True

    def _take_saved(self, key: object, fault: str) -> None:
        self._form.show_error(fault)
        if not fault:
            self._close_form(key)

    def _close_form(self, key: object) -> None:
        """Let the form go, and the keyboard to an entry."""
        self._form.discard()
        self._focus(key)

    def _show_error(self, text: str) -> None:
        self._error.setText(text)
        self._error.setVisible(bool(text))
        if text:
            self._drop_note()

    def _focus(self, key: object) -> None:
        """Give the keyboard to an entry, or to what adds one when it is not there."""
        row = next((row for row in self._rows if row.key == key), None)
        shown: QWidget = row or self._new
        row.focus() if row is not None else self._new.setFocus()
        # What was just added, and what moved up for a form that is gone, has its place only in the next turn.
        QTimer.singleShot(0, shown, lambda: self.ensureWidgetVisible(shown))

    # --- The way back --------------------------------------------------------------------------------

    def _offer_undo(self, text: str, restore: Callable[[], None]) -> None:
        """Say what was removed, and let it be brought back."""
        self._undo_removal = restore
        self._note.offer(text)
        self.verticalScrollBar().setValue(0)

    def _undo(self) -> None:
        restore = self._undo_removal
        self._drop_note()
        if restore is not None:
            restore()

    def _drop_note(self) -> None:
        self._undo_removal = None
        self._note.hide()

    # --- Qt ------------------------------------------------------------------------------------------

    def hideEvent(self, event: QHideEvent) -> None:  # noqa: N802
        super().hideEvent(event)
        if not event.spontaneous():
            self._drop_note()
