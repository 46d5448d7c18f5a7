"""A field of plain text that is as high as its lines, within bounds; beyond them it scrolls."""

from __future__ import annotations

from PySide6.QtCore import QEvent, Qt
from PySide6.QtGui import QFontMetrics, QResizeEvent, QShowEvent
from PySide6.QtWidgets import QPlainTextEdit

# A line is laid out a little higher than its font says.
_SPARE = 2


class FittedText(QPlainTextEdit):
    """Grows with what is written in it; the Tab key leaves it."""

    def __init__(self, *, name: str, title: str, least_lines: int = 1, most_lines: int = 8) -> None:
        super().__init__()
        self.setObjectName(name)
        self.setAccessibleName(title)
        self.setTabChangesFocus(True)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self._least_lines = least_lines
        self._most_lines = most_lines
        self.document().documentLayout().documentSizeChanged.connect(lambda _size: self._fit())

    def set_invalid(self, invalid: bool) -> None:  # noqa: FBT001 - it is what the name says
        """Frame it as what is to be mended, or no longer."""
        if self.property("invalid") is not invalid:
            self.setProperty("invalid", invalid)
            self.style().unpolish(self)
            self.style().polish(self)

    @property
    def is_cut(self) -> bool:
        """Whether there are more lines than are seen at once."""
        return self._lines() > self._most_lines

    def _lines(self) -> int:
        # A plain text is measured in lines as they are broken, not in points.
        return round(self.document().documentLayout().documentSize().height())

    def _fit(self) -> None:
        shown = min(max(self._lines(), self._least_lines), self._most_lines)
        margins = round(2 * self.document().documentMargin())
        frame = max(self.height() - self.viewport().height(), 0)
        height = QFontMetrics(self.font()).lineSpacing() * shown + margins + frame + _SPARE
        if height != self.height() or self.minimumHeight() != height:
            self.setFixedHeight(height)

    # --- Qt -----------------------------------------------------------------------------------------

    def resizeEvent(self, event: QResizeEvent) -> None:  # noqa: N802
        super().resizeEvent(event)
        self._fit()

    def showEvent(self, event: QShowEvent) -> None:  # noqa: N802
        super().showEvent(event)
        self._fit()

    def changeEvent(self, event: QEvent) -> None:  # noqa: N802
        super().changeEvent(event)
        if event.type() is QEvent.Type.FontChange:
            self._fit()


class ReadText(FittedText):
    """A text that is only read, and can be copied from; the keys come to it where there is something to scroll."""

    def __init__(self, *, name: str, title: str, most_lines: int = 8) -> None:
        super().__init__(name=name, title=title, most_lines=most_lines)
        self.setReadOnly(True)
        self.setProperty("kind", "read")
        self.document().setDocumentMargin(0)

    def _fit(self) -> None:
        super()._fit()
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus if self.is_cut else Qt.FocusPolicy.ClickFocus)
