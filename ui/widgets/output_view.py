"""The view of what a run printed, as a terminal would show it."""

from __future__ import annotations

from collections import deque
from pathlib import Path

from PySide6.QtCore import QElapsedTimer, QEvent, QObject, Qt, QTimer
from PySide6.QtGui import (
    QColor,
    QFontMetricsF,
    QGuiApplication,
    QKeyEvent,
    QKeySequence,
    QTextCursor,
    QTextDocument,
)
from PySide6.QtWidgets import QFileDialog, QHBoxLayout, QPlainTextEdit, QTextEdit, QVBoxLayout, QWidget

from ui.style.theme import HALF, Appearance, mono_font
from ui.style.wording import size_words

from .ansi import AnsiStream, Segment
from .ansi_colours import CharFormats
from .find_bar import FindBar, is_find_key
from .labels import icon_button, label, set_role
from .output_feed import OutputFeed

__all__ = ["OutputFeed", "OutputView"]

_MOST_LINES = 20_000
_SLICE = 8_192
_TURN_MS = 10
_MOST_MARKS = 500
_TAB_COLUMNS = 8


class OutputView(QWidget):
    """Shows output as it comes, with its colours; finds, wraps, follows, copies and saves."""

    def __init__(self, appearance: Appearance, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._appearance = appearance
        self._raw = bytearray()
        self._waiting: deque[bytes] = deque()
        self._stream = AnsiStream()
        self._is_ended = False
        self._is_moving = False
        self._file_name = "output.log"
        self._screen = self._new_screen()
        self._formats = self._new_formats()
        self._find = FindBar(appearance)
        self._title = label(self.tr("Output"), "strong", name="outputTitle")
        self._size = label("", "small", name="outputSize")
        self._note = label("", "small", name="outputNote", wrap=True)
        self._note.hide()
        self._turns = QTimer(self, singleShot=True, interval=0)
        self._turns.timeout.connect(self._take_turn)
        self._lay_out()
        appearance.changed.connect(self._redraw)

    # --- What is shown -------------------------------------------------------------------------------

    def clear(self, hint: str = "") -> None:
        """Show nothing, or a sentence on why there is nothing."""
        self._raw.clear()
        self._empty_screen()
        self._is_ended = False
        self.set_note("")
        self._screen.setPlaceholderText(hint)
        self._follow_button.setChecked(True)
        self._tell_size()

    def feed(self, chunk: bytes) -> None:
        """Show some more output; a lot of it is drawn in turns, so that the window stays alive."""
        self._raw += chunk
        self._waiting.extend(chunk[start : start + _SLICE] for start in range(0, len(chunk), _SLICE))
        self._tell_size()
        if not self._turns.isActive():
            self._take_turn()

    def end(self) -> None:
        """Tell that there will be no more output."""
        self._is_ended = True
        if not self._raw:
            self._screen.setPlaceholderText(self.tr("No output"))
        if not self._turns.isActive():
            self._take_turn()

    def set_content(self, content: bytes, hint: str = "") -> None:
        """Show output that is complete."""
        self.clear(hint)
        self.feed(content)
        self.end()

    def set_note(self, text: str, role: str = "small") -> None:
        """Show a sentence under the output, or none."""
        set_role(self._note, role)
        self._note.setText(text)
        self._note.setVisible(bool(text))

    def set_title(self, text: str) -> None:
        """Show what this is the output of."""
        self._title.setText(text)

    def set_file_name(self, name: str) -> None:
        """Choose the name that is proposed when the output is saved."""
        self._file_name = name

    def is_drawn(self) -> bool:
        """Tell whether everything that came is on the screen."""
        return not self._waiting

    def content(self) -> bytes:
        """Return the output as it came."""
        return bytes(self._raw)

    def text(self) -> str:
        """Return what stands on the screen."""
        return self._screen.toPlainText()

    # --- Drawing -------------------------------------------------------------------------------------

    def _take_turn(self) -> None:
        clock = QElapsedTimer()
        clock.start()
        cursor = self._writing_cursor()
        while self._waiting:
            self._insert(cursor, self._stream.feed(self._waiting.popleft()))
            if clock.hasExpired(_TURN_MS):
                break
        if self._is_ended and not self._waiting:
            self._insert(cursor, self._stream.end())
        else:
            self._insert(cursor, self._stream.unfinished())
        cursor.endEditBlock()
        self._after_drawing()
        if self._waiting:
            self._turns.start()

    def _writing_cursor(self) -> QTextCursor:
        """Return a cursor at the end, where the unfinished line, which will be drawn again, is taken away."""
        cursor = QTextCursor(self._screen.document())
        cursor.movePosition(QTextCursor.MoveOperation.End)
        cursor.beginEditBlock()
        if not cursor.atBlockStart():
            cursor.movePosition(QTextCursor.MoveOperation.StartOfBlock, QTextCursor.MoveMode.KeepAnchor)
            cursor.removeSelectedText()
        return cursor

    def _insert(self, cursor: QTextCursor, segments: list[Segment]) -> None:
        for segment in segments:
            cursor.insertText(segment.text, self._formats.of(segment.style))

    def _after_drawing(self) -> None:
        if self._follow_button.isChecked():
            self._go_to_end()
        if self._screen.blockCount() >= _MOST_LINES and not self._note.text():
            self.set_note(
                self.tr("Showing the last {count} lines. Save the output to see all of it.").format(
                    count=_MOST_LINES
                )
            )
        if self._find.isVisible():
            self._show_found()

    def _empty_screen(self) -> None:
        self._turns.stop()
        self._waiting.clear()
        self._stream = AnsiStream()
        self._screen.clear()

    def _redraw(self) -> None:
        """Draw everything anew, in the colours of another theme."""
        self._formats = self._new_formats()
        self._empty_screen()
        content, self._raw = bytes(self._raw), bytearray()
        self.feed(content)

    def _new_formats(self) -> CharFormats:
        return CharFormats(self._appearance.colours, is_dark=self._appearance.is_dark)

    # --- Following -----------------------------------------------------------------------------------

    def _go_to_end(self) -> None:
        bar = self._screen.verticalScrollBar()
        self._is_moving = True
        bar.setValue(bar.maximum())
        self._is_moving = False

    def _notice_scrolling(self, value: int) -> None:
        if not self._is_moving and self._screen.isVisible():
            self._follow_button.setChecked(value >= self._screen.verticalScrollBar().maximum())
        if self._find.isVisible():
            self._mark_found()

    def _follow(self, is_wanted: bool) -> None:  # noqa: FBT001 - a slot of toggled
        if is_wanted:
            self._go_to_end()

    def _wrap(self, is_wanted: bool) -> None:  # noqa: FBT001 - a slot of toggled
        modes = QPlainTextEdit.LineWrapMode
        self._screen.setLineWrapMode(modes.WidgetWidth if is_wanted else modes.NoWrap)
        if self._follow_button.isChecked():
            self._go_to_end()

    # --- Finding -------------------------------------------------------------------------------------

    def open_find(self) -> None:
        """Show the bar that finds words."""
        self._find.open_bar(self._screen.textCursor().selectedText().split("\u2029")[0])

    def _find_first(self, words: str) -> None:
        cursor = self._screen.textCursor()
        cursor.setPosition(cursor.selectionStart())
        self._screen.setTextCursor(cursor)
        if words:
            self._find_next()
        self._show_found()

    def _find_next(self) -> None:
        self._find_from(QTextCursor.MoveOperation.Start)

    def _find_previous(self) -> None:
        self._find_from(QTextCursor.MoveOperation.End)

    def _find_from(self, again_from: QTextCursor.MoveOperation) -> None:
        """Go to the next place in one direction, and round when there is none."""
        flags = QTextDocument.FindFlag(0)
        if again_from is QTextCursor.MoveOperation.End:
            flags = QTextDocument.FindFlag.FindBackward
        document = self._screen.document()
        found = document.find(self._find.text, self._screen.textCursor(), flags)
        if found.isNull():
            edge = QTextCursor(document)
            edge.movePosition(again_from)
            found = document.find(self._find.text, edge, flags)
        if not found.isNull():
            self._follow_button.setChecked(False)
            self._screen.setTextCursor(found)
        self._show_found()

    def _show_found(self) -> None:
        words = self._find.text.lower()
        total = self._screen.toPlainText().lower().count(words) if words else 0
        before = QTextCursor(self._screen.textCursor())
        current = 0
        if total and before.selectedText().lower() == words:
            before.setPosition(before.selectionEnd())
            before.movePosition(QTextCursor.MoveOperation.Start, QTextCursor.MoveMode.KeepAnchor)
            current = before.selectedText().lower().count(words)
        self._find.show_count(current, total)
        self._mark_found()

    def _mark_found(self) -> None:
        """Mark what is found among the lines that can be seen."""
        marks: list[QTextEdit.ExtraSelection] = []
        words = self._find.text if self._find.isVisible() else ""
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

    def _close_find(self) -> None:
        self._screen.setExtraSelections([])
        self._screen.setFocus()

    # --- Taking it away ------------------------------------------------------------------------------

    def _copy(self) -> None:
        cursor = self._screen.textCursor()
        if cursor.hasSelection():
            self._screen.copy()
        else:
            QGuiApplication.clipboard().setText(self.text())

    def _save(self) -> None:
        dialog = QFileDialog(self, self.tr("Save the output"), self._file_name)
        dialog.setObjectName("saveOutputDialog")
        dialog.setAcceptMode(QFileDialog.AcceptMode.AcceptSave)
        dialog.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        dialog.selectFile(self._file_name)
        dialog.fileSelected.connect(self._save_to)
        dialog.open()

    def _save_to(self, path: str) -> None:
        try:
            Path(path).write_bytes(self._raw)
        except OSError as error:
            self.set_note(self.tr("Can't save the output: {reason}.").format(reason=error.strerror), "error")

    # --- Making --------------------------------------------------------------------------------------

    def _new_screen(self) -> QPlainTextEdit:
        screen = QPlainTextEdit()
        screen.setObjectName("outputScreen")
        screen.setReadOnly(True)
        screen.setUndoRedoEnabled(False)
        screen.setMaximumBlockCount(_MOST_LINES)
        screen.setAccessibleName(self.tr("Output"))
        screen.setFont(mono_font(screen.font()))
        screen.setTabStopDistance(_TAB_COLUMNS * QFontMetricsF(screen.font()).horizontalAdvance(" "))
        screen.setTextInteractionFlags(
            Qt.TextInteractionFlag.TextSelectableByMouse | Qt.TextInteractionFlag.TextSelectableByKeyboard
        )
        screen.verticalScrollBar().valueChanged.connect(self._notice_scrolling)
        screen.installEventFilter(self)
        return screen

    def _lay_out(self) -> None:
        appearance = self._appearance
        find = icon_button(
            appearance, "find", self.tr("Find in the output"), name="findButton", shortcut="Ctrl+Shift+F"
        )
        find.clicked.connect(self.open_find)
        self._wrap_button = icon_button(
            appearance, "wrap", self.tr("Wrap long lines"), name="wrapButton", shortcut="Alt+Z"
        )
        self._wrap_button.setCheckable(True)
        self._wrap_button.setChecked(True)
        self._wrap_button.toggled.connect(self._wrap)
        self._follow_button = icon_button(
            appearance, "follow", self.tr("Follow"), name="followButton", shortcut="Ctrl+Shift+E"
        )
        self._follow_button.setCheckable(True)
        self._follow_button.setChecked(True)
        self._follow_button.toggled.connect(self._follow)
        copy = icon_button(
            appearance,
            "copy",
            self.tr("Copy the selection, or all of it"),
            name="copyButton",
            shortcut="Ctrl+Shift+C",
        )
        copy.clicked.connect(self._copy)
        self._save_button = icon_button(
            appearance, "save", self.tr("Save the output…"), name="saveOutputButton", shortcut="Ctrl+Shift+S"
        )
        self._save_button.clicked.connect(self._save)
        head = QHBoxLayout()
        head.setSpacing(HALF)
        head.addWidget(self._title)
        head.addWidget(self._size, 1)
        for one in (find, self._wrap_button, self._follow_button, copy, self._save_button):
            head.addWidget(one)
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(HALF)
        column.addLayout(head)
        column.addWidget(self._find)
        column.addWidget(self._screen, 1)
        column.addWidget(self._note)
        self._find.wanted.connect(self._find_first)
        self._find.next_requested.connect(self._find_next)
        self._find.previous_requested.connect(self._find_previous)
        self._find.closed.connect(self._close_find)

    def _tell_size(self) -> None:
        self._size.setText(size_words(len(self._raw)) if self._raw else "")
        self._save_button.setEnabled(bool(self._raw))

    # --- Qt's own ------------------------------------------------------------------------------------

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:  # noqa: N802 - Qt's name
        kind = event.type()
        if kind == QEvent.Type.ShortcutOverride and isinstance(event, QKeyEvent):
            if is_find_key(event) or (event.key() == Qt.Key.Key_Escape and self._find.isVisible()):
                event.accept()
                return True
        elif kind == QEvent.Type.KeyPress and isinstance(event, QKeyEvent):
            if event.matches(QKeySequence.StandardKey.Find):
                self.open_find()
                return True
            return self._find.obey(event)
        elif kind == QEvent.Type.Resize and self._follow_button.isChecked():
            QTimer.singleShot(0, self, self._go_to_end)
        return super().eventFilter(watched, event)
