"""The find bar: a search field, the number of matches, and buttons for the next and the previous one."""

from __future__ import annotations

from PySide6.QtCore import QEvent, QObject, Qt, Signal
from PySide6.QtGui import QColor, QKeyEvent, QKeySequence, QTextCursor, QTextDocument
from PySide6.QtWidgets import QHBoxLayout, QLineEdit, QPlainTextEdit, QTextEdit, QWidget

from ui.style.theme import HALF, Appearance

from .labels import icon_button, label

_MOST_MARKS = 500


class FindBar(QWidget):
    """Takes the search text; `Finder` does the search."""

    wanted = Signal(str)
    """The search text changed."""
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
        """Show the bar and focus the search field."""
        if words:
            self._field.setText(words)
        self.show()
        self._field.setFocus(Qt.FocusReason.ShortcutFocusReason)
        self._field.selectAll()
        self.wanted.emit(self.text)

    def show_words(self, words: str) -> None:
        """Show the bar with a search text, without moving the focus."""
        self._field.setText(words)
        self.show()

    def close_bar(self) -> None:
        """Hide the bar."""
        self.hide()
        self.closed.emit()

    def show_count(self, current: int, total: int) -> None:
        """Show the number of the current match, 0 for none, and the total."""
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
        """Handle a find key; return whether it was one."""
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


class Finder(QObject):
    """Searches a text for the words in a find bar, moves to the matches and highlights them."""

    moved = Signal()
    """The view moved to another match."""

    def __init__(self, screen: QPlainTextEdit, bar: FindBar, appearance: Appearance) -> None:
        super().__init__(bar)
        self._screen = screen
        self._bar = bar
        self._appearance = appearance
        bar.wanted.connect(self._begin)
        bar.next_requested.connect(lambda: self._find_from(QTextCursor.MoveOperation.Start))
        bar.previous_requested.connect(lambda: self._find_from(QTextCursor.MoveOperation.End))
        bar.closed.connect(self._close)

    def find_first(self) -> None:
        """Go to the first match."""
        self._screen.moveCursor(QTextCursor.MoveOperation.Start)
        self._find_from(QTextCursor.MoveOperation.Start)

    def _begin(self, words: str) -> None:
        cursor = self._screen.textCursor()
        cursor.setPosition(cursor.selectionStart())
        self._screen.setTextCursor(cursor)
        if words:
            self._find_from(QTextCursor.MoveOperation.Start)
        self.show_found()

    def _find_from(self, again_from: QTextCursor.MoveOperation) -> None:
        """Go to the next match in a direction, wrapping around at the end."""
        flags = QTextDocument.FindFlag(0)
        if again_from is QTextCursor.MoveOperation.End:
            flags = QTextDocument.FindFlag.FindBackward
        document = self._screen.document()
        found = document.find(self._bar.text, self._screen.textCursor(), flags)
        if found.isNull():
            edge = QTextCursor(document)
            edge.movePosition(again_from)
            found = document.find(self._bar.text, edge, flags)
        if not found.isNull():
            self.moved.emit()
            self._screen.setTextCursor(found)
        self.show_found()

    def show_found(self) -> None:
        """Count the matches and highlight them."""
        words = self._bar.text.lower()
        total = self._screen.toPlainText().lower().count(words) if words else 0
        before = QTextCursor(self._screen.textCursor())
        current = 0
        if total and before.selectedText().lower() == words:
            before.setPosition(before.selectionEnd())
            before.movePosition(QTextCursor.MoveOperation.Start, QTextCursor.MoveMode.KeepAnchor)
            current = before.selectedText().lower().count(words)
        self._bar.show_count(current, total)
        self.mark_found()

    def mark_found(self) -> None:
        """Highlight the matches in the visible lines."""
        marks: list[QTextEdit.ExtraSelection] = []
        words = self._bar.text if self._bar.isVisible() else ""
        place = self._screen.cursorForPosition(self._screen.viewport().rect().topLeft())
        place.movePosition(QTextCursor.MoveOperation.StartOfBlock)
        last = self._screen.cursorForPosition(self._screen.viewport().rect().bottomRight()).position()
        while words and len(marks) < _MOST_MARKS:
            place = self._screen.document().find(words, place)
            if place.isNull() or place.selectionStart() > last:
                break
            mark = QTextEdit.ExtraSelection()
            mark.cursor = place
            mark.format.setBackground(QColor(self._appearance.colours.selected))
            marks.append(mark)
        self._screen.setExtraSelections(marks)

    def _close(self) -> None:
        self._screen.setExtraSelections([])
        self._screen.setFocus()


def is_find_key(event: QKeyEvent) -> bool:
    """Return whether a key belongs to the find bar, even if a window around it uses the same key."""
    keys = QKeySequence.StandardKey
    return any(event.matches(key) for key in (keys.Find, keys.FindNext, keys.FindPrevious))
