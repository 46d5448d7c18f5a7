"""A settings page with an editable list: its rows, the form for one entry, and undo of removals."""

from __future__ import annotations

from collections.abc import Callable
from typing import Generic, TypeVar

from PySide6.QtCore import Qt, QTimer, Signal
from PySide6.QtGui import QHideEvent, QKeyEvent
from PySide6.QtWidgets import QFrame, QHBoxLayout, QPushButton, QToolButton, QVBoxLayout, QWidget

from ui.forms.fields import Findings, snapshot
from ui.style.theme import GRID, HALF, MARGIN, Appearance
from ui.widgets.arrange import put_after
from ui.widgets.labels import WrappedText, button, label, tint

from .page import Card, Page, Row


class EntryRow(QWidget):
    """Shows an entry, identified by its key."""

    _edit: QToolButton
    """The edit button."""

    def __init__(self, key: object) -> None:
        super().__init__()
        self.key = key

    @property
    def has_focus(self) -> bool:
        """Whether a widget of the row has the focus."""
        return self.isAncestorOf(self.window().focusWidget())

    def focus(self) -> None:
        """Focus the edit button, which is harmless."""
        self._edit.setFocus()


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


RowT = TypeVar("RowT", bound=EntryRow)
FormT = TypeVar("FormT", bound=EntryForm)


class RemovedNote(QFrame):
    """Shows what was removed and an Undo button, until the next change."""

    undo_wanted = Signal()

    def __init__(self, appearance: Appearance) -> None:
        super().__init__()
        self.setProperty("role", "note")
        self.setObjectName("removedNote")
        self._text = WrappedText(appearance, name="removedText")
        self._undo = button(self.tr("Undo"), name="undoRemoveButton", tip=self.tr("Restore what was removed"))
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
        """The Undo button."""
        return self._undo

    def offer(self, text: str) -> None:
        """Show what was removed and focus Undo."""
        self._text.set_text(text)
        self.show()
        self._undo.setFocus()


class ListPage(Page, Generic[RowT, FormT]):
    """Lists entries; a removal can be undone until the next change."""

    _new: QPushButton
    """The button that adds an entry."""

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
        """Add the form, the note and the list at the end of the page."""
        self._form.hide()
        for part in (self._form, self._note, self._card):
            self.add(part)

    def _show_rows(self, rows: list[RowT], none: str, none_hint: str) -> None:
        """Show these rows, or a text if there are none."""
        focused = next((row.key for row in self._rows if row.has_focus), None)
        self._card.clear()
        self._rows = rows
        for row in rows:
            self._card.add(row)
        put_after(self._note.button, self._card)
        if not rows:
            self._card.add(Row(none, none_hint, None))
        if focused is not None:
            # The list may have changed elsewhere: restore the focus.
            self._focus(focused)

    def _has_unsaved_entry(self) -> bool:
        """Return whether the form has unsaved changes, and if so ask the user to save or cancel."""
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
        """Close the form and focus an entry."""
        self._form.discard()
        self._focus(key)

    def _show_error(self, text: str) -> None:
        self._error.setText(text)
        self._error.setVisible(bool(text))
        if text:
            self._drop_note()

    def _focus(self, key: object) -> None:
        """Focus an entry, or the button that adds one if it is gone."""
        row = next((row for row in self._rows if row.key == key), None)
        shown: QWidget = row or self._new
        row.focus() if row is not None else self._new.setFocus()
        # The layout is updated in the next turn of the event loop.
        QTimer.singleShot(0, shown, lambda: self.ensureWidgetVisible(shown))

    # --- Undo ----------------------------------------------------------------------------------------

    def _offer_undo(self, text: str, restore: Callable[[], None]) -> None:
        """Show what was removed, and offer Undo."""
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

    # --- Qt -----------------------------------------------------------------------------------------

    def hideEvent(self, event: QHideEvent) -> None:  # noqa: N802
        super().hideEvent(event)
        if not event.spontaneous():
            self._drop_note()
