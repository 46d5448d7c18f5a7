"""The bar that finds words in a text: what to find, how often it is there, onward and back."""

from __future__ import annotations

from PySide6.QtCore import QEvent, QObject, Qt, Signal
from PySide6.QtGui import QKeyEvent, QKeySequence
from PySide6.QtWidgets import QHBoxLayout, QLineEdit, QWidget

from ui.style.theme import HALF, Appearance

from .labels import icon_button, label


class FindBar(QWidget):
    """Asks what to find; whoever shows the text finds it."""

    wanted = Signal(str)
    """The words to find changed."""
    next_requested = Signal()
    previous_requested = Signal()
    closed = Signal()

    def __init__(self, appearance: Appearance, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("findBar")
        self._field = QLineEdit()
        self._field.setObjectName("findField")
        self._field.setPlaceholderText(self.tr("Find in output"))
        self._field.setAccessibleName(self.tr("Find in output"))
        self._field.setClearButtonEnabled(True)
        self._field.textChanged.connect(self.wanted)
        self._field.installEventFilter(self)
        self._count = label("", "small", name="findCount")
        self._count.setAccessibleName(self.tr("Number of matches"))
        previous = icon_button(appearance, "chevron-up", self.tr("Previous (Shift+F3)"), name="findPrevious")
        previous.clicked.connect(self.previous_requested)
        following = icon_button(appearance, "chevron-down", self.tr("Next (F3)"), name="findNext")
        following.clicked.connect(self.next_requested)
        close = icon_button(appearance, "close", self.tr("Close (Esc)"), name="findClose")
        close.clicked.connect(self.close_bar)
        row = QHBoxLayout(self)
        row.setContentsMargins(0, 0, 0, 0)
        row.setSpacing(HALF)
        row.addWidget(self._field, 1)
        row.addWidget(self._count)
        for one in (previous, following, close):
            row.addWidget(one)
        self.hide()

    @property
    def text(self) -> str:
        return self._field.text()

    def open_bar(self, words: str = "") -> None:
        """Show the bar, ready to type."""
        if words:
            self._field.setText(words)
        self.show()
        self._field.setFocus(Qt.FocusReason.ShortcutFocusReason)
        self._field.selectAll()
        self.wanted.emit(self.text)

    def close_bar(self) -> None:
        """Hide the bar."""
        self.hide()
        self.closed.emit()

    def show_count(self, current: int, total: int) -> None:
        """Tell which of how many places is shown; 0 of some when none is."""
        if not self.text:
            words = ""
        elif not total:
            words = self.tr("not found")
        elif current:
            words = self.tr("{current} of {total}").format(current=current, total=total)
        else:
            words = self.tr("{total} found").format(total=total)
        self._count.setText(words)

    def obey(self, event: QKeyEvent) -> bool:
        """Do what a key asks for, if it asks for finding."""
        if event.matches(QKeySequence.StandardKey.FindNext):
            self.next_requested.emit()
        elif event.matches(QKeySequence.StandardKey.FindPrevious):
            self.previous_requested.emit()
        elif event.key() == Qt.Key.Key_Escape and self.isVisible():
            self.close_bar()
        else:
            return False
        return True

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:  # noqa: N802 - Qt's name
        if event.type() == QEvent.Type.ShortcutOverride and isinstance(event, QKeyEvent):
            if is_find_key(event) or event.key() == Qt.Key.Key_Escape:
                event.accept()
                return True
        elif event.type() == QEvent.Type.KeyPress and isinstance(event, QKeyEvent):
            if event.key() in (Qt.Key.Key_Return, Qt.Key.Key_Enter):
                is_back = bool(event.modifiers() & Qt.KeyboardModifier.ShiftModifier)
                (self.previous_requested if is_back else self.next_requested).emit()
                return True
            if event.matches(QKeySequence.StandardKey.Find):
                self._field.selectAll()
                return True
            return self.obey(event)
        return super().eventFilter(watched, event)


def is_find_key(event: QKeyEvent) -> bool:
    """Tell whether a key asks for finding, whatever a window around does with it."""
    keys = QKeySequence.StandardKey
    return any(event.matches(key) for key in (keys.Find, keys.FindNext, keys.FindPrevious))
