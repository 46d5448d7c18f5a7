"""The output of a run, as a terminal would show it."""

from __future__ import annotations

from collections import deque
from pathlib import Path

from PySide6.QtCore import QElapsedTimer, QEvent, QObject, Qt, QTimer
from PySide6.QtGui import (
    QFontMetricsF,
    QGuiApplication,
    QKeyEvent,
    QKeySequence,
    QTextCursor,
)
from PySide6.QtWidgets import QFileDialog, QHBoxLayout, QPlainTextEdit, QToolButton, QVBoxLayout, QWidget

from ui.style.theme import HALF, Appearance, mono_font
from ui.style.wording import size_words
from ui.widgets.arrange import documents

from .ansi import AnsiStream, CharFormats, Segment
from .directive_lines import WithoutDirectives, has_directives
from .find_bar import FindBar, Finder, is_find_key
from .labels import icon_button, label, set_role
from .output_feed import OutputFeed

__all__ = ["OutputFeed", "OutputView"]

_MOST_LINES = 20_000
_SLICE = 8_192
_TURN_MS = 10
_TAB_COLUMNS = 8


class OutputView(QWidget):
    """Shows output as it arrives, with its colours; can search, wrap, follow, copy and save it."""

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
        self._finder = Finder(self._screen, self._find, appearance)
        self._finder.moved.connect(lambda: self._follow_button.setChecked(False))
        self._searched = ""
        self._total = 0
        self._lines = WithoutDirectives()
        self._title = label(self.tr("Output"), "strong", name="outputTitle")
        self._size = label("", "small", name="outputSize")
        self._note = label("", "small", name="outputNote", wrap=True)
        self._note.hide()
        self._turns = QTimer(self, singleShot=True, interval=0)
        self._turns.timeout.connect(self._take_turn)
        self._lay_out()
        appearance.changed.connect(self._redraw)

    # --- Content -------------------------------------------------------------------------------------

    def clear(self, hint: str = "") -> None:
        """Clear the view, or show why there is no output."""
        self._raw.clear()
        self._total = 0
        self._empty_screen()
        self._is_ended = False
        self.set_note("")
        self._screen.setPlaceholderText(hint)
        self._follow_button.setChecked(True)
        self._tell_size()

    def feed(self, chunk: bytes) -> None:
        """Append output; a large amount is drawn in steps, so that the window stays responsive."""
        self._raw += chunk
        self._waiting.extend(chunk[start : start + _SLICE] for start in range(0, len(chunk), _SLICE))
        self._tell_size()
        if not self._turns.isActive():
            self._take_turn()

    def end(self) -> None:
        """Mark the output as complete."""
        self._is_ended = True
        if not self._raw:
            self._screen.setPlaceholderText(self.tr("No output"))
        elif has_directives(self._raw):
            # Seen only if nothing else was printed.
            self._screen.setPlaceholderText(self.tr("Only lines for Halo (::progress …), which are hidden"))
        if not self._turns.isActive():
            self._take_turn()

    def set_content(self, content: bytes, hint: str = "") -> None:
        """Show complete output."""
        self.clear(hint)
        self.feed(content)
        self.end()

    def set_note(self, text: str, role: str = "small") -> None:
        """Show a note below the output, or none."""
        set_role(self._note, role)
        self._note.setText(text)
        self._note.setVisible(bool(text))

    def set_title(self, text: str) -> None:
        """Set the title."""
        self._title.setText(text)

    def set_file_name(self, name: str) -> None:
        """Set the default file name for saving."""
        self._file_name = name

    def is_drawn(self) -> bool:
        """Return whether all output so far is drawn."""
        return not self._waiting

    def content(self) -> bytes:
        """Return the raw output."""
        return bytes(self._raw)

    def text(self) -> str:
        """Return the displayed text."""
        return self._screen.toPlainText()

    # --- Drawing -------------------------------------------------------------------------------------

    def _take_turn(self) -> None:
        clock = QElapsedTimer()
        clock.start()
        cursor = self._writing_cursor()
        while self._waiting:
            self._insert(cursor, self._stream.feed(self._shown(self._waiting.popleft())))
            if clock.hasExpired(_TURN_MS):
                break
        if self._is_ended and not self._waiting:
            self._insert(cursor, self._stream.feed(self._lines.end()))
            self._insert(cursor, self._stream.end())
            self._drop_last_break(cursor)
        else:
            self._insert(cursor, self._stream.unfinished())
        cursor.endEditBlock()
        self._after_drawing()
        if self._waiting:
            self._turns.start()

    def _writing_cursor(self) -> QTextCursor:
        """Return a cursor at the end, after removing the unfinished line, which is drawn again."""
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

    def _shown(self, chunk: bytes) -> bytes:
        return self._lines.feed(chunk) if self._lines_button.isChecked() else chunk

    @staticmethod
    def _drop_last_break(cursor: QTextCursor) -> None:
        """Remove the empty line after the last line break."""
        cursor.movePosition(QTextCursor.MoveOperation.End)
        if cursor.atBlockStart() and cursor.blockNumber():
            cursor.deletePreviousChar()

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
            self._finder.show_found()
        self._go_to_match()

    def _empty_screen(self) -> None:
        self._turns.stop()
        self._waiting.clear()
        self._stream, self._lines = AnsiStream(), WithoutDirectives()
        self._screen.clear()

    def _redraw(self) -> None:
        """Redraw everything in the colours of another theme."""
        self._formats = self._new_formats()
        self._empty_screen()
        content, self._raw = bytes(self._raw), bytearray()
        self.feed(content)

    def _new_formats(self) -> CharFormats:
        return CharFormats(self._appearance.colours, is_dark=self._appearance.is_dark)

    def go_to_beginning(self) -> None:
        """Scroll to the beginning and stop following."""
        self._follow_button.setChecked(False)
        self._screen.verticalScrollBar().setValue(0)

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
            self._finder.mark_found()

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
        """Open the find bar."""
        self._find.open_bar(self._screen.textCursor().selectedText().split("\u2029")[0])

    def set_search(self, words: str) -> None:
        """Highlight a search text, and go to its first match once everything is drawn."""
        self._searched = words
        if words:
            self._find.show_words(words)
            self._go_to_match()
        elif self._find.isVisible():
            self._find.close_bar()

    def _go_to_match(self) -> None:
        if self._searched and self._is_ended and self.is_drawn():
            self._finder.find_first()

    # --- Copying and saving --------------------------------------------------------------------------

    def _copy(self) -> None:
        cursor = self._screen.textCursor()
        if cursor.hasSelection():
            self._screen.copy()
        else:
            QGuiApplication.clipboard().setText(self.text())

    def _save(self) -> None:
        dialog = QFileDialog(self, self.tr("Save the output"), documents())
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
        self._wrap_button = self._toggle("wrap", self.tr("Wrap long lines"), "wrapButton", "Alt+Z")
        self._wrap_button.toggled.connect(self._wrap)
        self._follow_button = self._toggle("follow", self.tr("Follow"), "followButton", "Ctrl+Shift+E")
        self._follow_button.toggled.connect(self._follow)
        self._lines_button = self._toggle(
            "filter", self.tr("Hide lines for Halo (::progress …)"), "linesButton"
        )
        self._lines_button.toggled.connect(self._redraw)
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
        toggles = (self._lines_button, self._wrap_button, self._follow_button)
        for one in (find, *toggles, copy, self._save_button):
            head.addWidget(one)
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(HALF)
        column.addLayout(head)
        column.addWidget(self._find)
        column.addWidget(self._screen, 1)
        column.addWidget(self._note)

    def _toggle(self, icon: str, tip: str, name: str, shortcut: str = "") -> QToolButton:
        """Return a toggle button that is initially on."""
        made = icon_button(self._appearance, icon, tip, name=name, shortcut=shortcut)
        made.setCheckable(True)
        made.setChecked(True)
        return made

    def set_total(self, total: int) -> None:
        """Show how much was printed in total; of long output only the beginning and the end are kept."""
        self._total = total
        self._tell_size()

    def _tell_size(self) -> None:
        words = size_words(len(self._raw)) if self._raw else ""
        if self._total > len(self._raw):
            kept, total = size_words(len(self._raw)), size_words(self._total)
            words = self.tr("{kept} of {total} kept").format(kept=kept, total=total)
        self._size.setText(words)
        self._lines_button.setVisible(has_directives(self._raw))
        self._save_button.setEnabled(bool(self._raw))

    # --- Qt -----------------------------------------------------------------------------------------

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
