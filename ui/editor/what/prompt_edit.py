"""The text of a prompt: as high as it is long, its variables set apart."""

from __future__ import annotations

from PySide6.QtCore import Signal
from PySide6.QtGui import QColor, QSyntaxHighlighter, QTextCharFormat, QTextDocument

from halo_scheduler.grammar.templates import NEEDS_WORK, VARIABLES, variable_spans
from ui.forms.plain_text import GrowingText
from ui.style.theme import Appearance

_LEAST_LINES = 6
_MOST_LINES = 14
# On one line: nobody reads as many, and each takes its time.
_MOST_MARKED = 1_000
_PARAGRAPH_END = "\u2029"


class PromptEdit(GrowingText):
    """Takes the text; one that is not changed is given back as it was, to the letter."""

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
        """What was typed; Qt's own plain text would turn special blanks into common ones."""
        return self._given if self._last_shape == self._given_shape else self._last_shape

    def set_text(self, text: str) -> None:
        """Show a text."""
        self.show_text(text)
        self._given, self._given_shape = text, self._last_shape

    def insert_variable(self, name: str) -> None:
        """Put a variable where the cursor is, and go on there."""
        self.insertPlainText(f"{{{{{name}}}}}")
        self.ensureCursorVisible()
        self.setFocus()

    def set_has_work(self, has_work: bool) -> None:  # noqa: FBT001 - like setEnabled
        """Say whether the variables of work items can be filled in."""
        self._marks.set_has_work(has_work)

    def _announce_change(self) -> None:
        # Qt says so also when only the colours were changed.
        shape = self._shape()
        if shape != self._last_shape:
            self._last_shape = shape
            self.edited.emit()

    def _shape(self) -> str:
        return self.document().toRawText().replace(_PARAGRAPH_END, "\n")


class _Marks(QSyntaxHighlighter):
    """Colours variables, and underlines what is none."""

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
            # Qt counts halves of characters.
            begin += _units(text[seen:start])
            length = _units(text[start:end])
            self.setFormat(begin, length, self._known if is_known else self._unknown)
            begin, seen = begin + length, end


def _units(text: str) -> int:
    return len(text.encode("utf-16-le", errors="surrogatepass")) // 2
