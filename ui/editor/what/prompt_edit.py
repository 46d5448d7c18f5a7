"""The text of a prompt, with its variables highlighted."""

from __future__ import annotations

from PySide6.QtCore import Signal
from PySide6.QtGui import QColor, QSyntaxHighlighter, QTextCharFormat, QTextDocument

from halo_scheduler.grammar.templates import NEEDS_WORK, VARIABLES, variable_spans
from ui.forms.plain_text import GrowingText
from ui.style.theme import Appearance

_LEAST_LINES = 6
_MOST_LINES = 14
# Per line: highlighting more takes too long.
_MOST_MARKED = 1_000
_PARAGRAPH_END = "\u2029"


class PromptEdit(GrowingText):
    """Edits the text; an unchanged text is returned exactly as loaded."""

    edited = Signal()

    def __init__(self, appearance: Appearance, *, name: str, title: str) -> None:
        super().__init__(name=name, title=title, least=_LEAST_LINES, most=_MOST_LINES)
        self._given = ""
        self._given_shape = ""
        self._marks = _Marks(appearance, self.document())
        self._last_shape = ""
        self.textChanged.connect(self._announce_change)

    @property
    def text(self) -> str:
        """The text; Qt's toPlainText would replace non-breaking spaces."""
        return self._given if self._last_shape == self._given_shape else self._last_shape

    def set_text(self, text: str) -> None:
        """Show a text."""
        self.show_text(text)
        self._given, self._given_shape = text, self._last_shape

    def insert_variable(self, name: str) -> None:
        """Insert a variable at the cursor."""
        self.insertPlainText(f"{{{{{name}}}}}")
        self.ensureCursorVisible()
        self.setFocus()

    def set_has_work(self, has_work: bool) -> None:  # noqa: FBT001 - like setEnabled
        """Set whether the variables of work items are valid."""
        self._marks.set_has_work(has_work)

    def _announce_change(self) -> None:
        # Qt also emits textChanged when only the highlighting changed.
        shape = self._shape()
        if shape != self._last_shape:
            self._last_shape = shape
            self.edited.emit()

    def _shape(self) -> str:
        return self.document().toRawText().replace(_PARAGRAPH_END, "\n")


class _Marks(QSyntaxHighlighter):
    """Highlights variables and underlines unknown ones."""

    def __init__(self, appearance: Appearance, document: QTextDocument) -> None:
        super().__init__(document)
        self._appearance = appearance
        self._has_work = False
        self._known = QTextCharFormat()
        self._unknown = QTextCharFormat()
        self._dress()
        appearance.changed.connect(self._dress_anew)

    def set_has_work(self, has_work: bool) -> None:  # noqa: FBT001 - like setEnabled
        if has_work != self._has_work:
            self._has_work = has_work
            self.rehighlight()

    def _dress(self) -> None:
        colours = self._appearance.colours
        self._known.setForeground(QColor(colours.accent))
        self._known.setBackground(QColor(colours.hover))
        self._unknown.setForeground(QColor(colours.error))
        self._unknown.setUnderlineStyle(QTextCharFormat.UnderlineStyle.WaveUnderline)
        self._unknown.setUnderlineColor(QColor(colours.error))

    def _dress_anew(self) -> None:
        self._dress()
        self.rehighlight()

    def highlightBlock(self, text: str) -> None:  # noqa: N802 - Qt's name
        begin, seen = 0, 0
        for start, end, name in variable_spans(text)[:_MOST_MARKED]:
            is_known = name in VARIABLES and (self._has_work or name not in NEEDS_WORK)
            # Qt counts UTF-16 code units.
            begin += _units(text[seen:start])
            length = _units(text[start:end])
            self.setFormat(begin, length, self._known if is_known else self._unknown)
            begin, seen = begin + length, end


def _units(text: str) -> int:
    return len(text.encode("utf-16-le", errors="surrogatepass")) // 2
