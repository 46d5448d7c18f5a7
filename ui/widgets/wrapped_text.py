"""Plain text that also wraps inside words, so that long words never widen a window."""

from __future__ import annotations

from PySide6.QtCore import QPointF, QRect, QSize, Qt
from PySide6.QtGui import QFont, QFontMetrics, QPainter, QPaintEvent, QTextLayout, QTextOption
from PySide6.QtWidgets import QSizePolicy, QWidget

from ui.style.theme import Appearance, Tone
from ui.style.wording import one_line, plain_tooltip

_LONGEST = 4_000
_LEADING = 3


class WrappedText(QWidget):
    """Wrapped plain text; the last of `most_lines` lines is elided."""

    def __init__(
        self,
        appearance: Appearance,
        *,
        name: str,
        font: QFont | None = None,
        tone: Tone = Tone.TEXT,
        most_lines: int = 0,
    ) -> None:
        super().__init__()
        self.setObjectName(name)
        self._appearance = appearance
        self._tone = tone
        self._most_lines = most_lines
        self._text = ""
        if font is not None:
            self.setFont(font)
        policy = QSizePolicy(QSizePolicy.Policy.Ignored, QSizePolicy.Policy.Minimum)
        policy.setHeightForWidth(True)
        self.setSizePolicy(policy)
        appearance.changed.connect(self.update)

    def text(self) -> str:
        return self._text

    def set_text(self, text: str, tone: Tone | None = None) -> None:
        """Show an untrusted text; line breaks are kept, control characters are not."""
        shown = "\n".join(one_line(line, _LONGEST) for line in text[:_LONGEST].split("\n"))
        tone = tone or self._tone
        if (shown, tone) == (self._text, self._tone):
            return
        self._text, self._tone = shown, tone
        self.setAccessibleName(shown)
        self.setToolTip(plain_tooltip(text) if self._most_lines else "")
        self._show_if(is_wanted=bool(shown))
        self.updateGeometry()
        self.update()

    def _show_if(self, *, is_wanted: bool) -> None:
        if is_wanted and self.parentWidget() is None:
            # Without a parent it would become a window; it is shown with its parent later.
            self.setAttribute(Qt.WidgetAttribute.WA_WState_ExplicitShowHide, on=False)
        else:
            self.setVisible(is_wanted)

    def _layout(self, text: str, width: int) -> QTextLayout:
        option = QTextOption(Qt.AlignmentFlag.AlignLeft)
        option.setWrapMode(QTextOption.WrapMode.WrapAtWordBoundaryOrAnywhere)
        made = QTextLayout(text.replace("\n", "\u2028"), self.font())
        made.setTextOption(option)
        made.beginLayout()
        y = 0.0
        while (line := made.createLine()).isValid():
            line.setLineWidth(max(width, 1))
            line.setPosition(QPointF(0, y))
            y += line.height() + _LEADING
        made.endLayout()
        return made

    def _fitted(self, width: int) -> QTextLayout:
        """Lay the text out in at most `most_lines` lines."""
        made = self._layout(self._text, width)
        if not self._most_lines or made.lineCount() <= self._most_lines:
            return made
        start = made.lineAt(self._most_lines - 1).textStart()
        rest = QFontMetrics(self.font()).elidedText(
            one_line(self._text[start:], _LONGEST), Qt.TextElideMode.ElideRight, width
        )
        return self._layout(self._text[:start] + rest, width)

    # --- Qt -----------------------------------------------------------------------------------------

    def hasHeightForWidth(self) -> bool:  # noqa: N802
        return True

    def heightForWidth(self, width: int) -> int:  # noqa: N802
        return round(self._fitted(width).boundingRect().height() + 0.5) if self._text else 0

    def sizeHint(self) -> QSize:  # noqa: N802
        width = self.width() or 240
        return QSize(width, self.heightForWidth(width))

    def minimumSizeHint(self) -> QSize:  # noqa: N802
        return QSize(48, QFontMetrics(self.font()).height() if self._text else 0)

    def paintEvent(self, event: QPaintEvent) -> None:  # noqa: N802
        painter = QPainter(self)
        painter.setPen(self._appearance.colour(self._tone))
        area: QRect = event.rect()
        painter.setClipRect(area)
        laid_out = self._fitted(self.width())
        spare = max(0.0, self.height() - laid_out.boundingRect().height())
        laid_out.draw(painter, QPointF(0, spare / 2))
