"""Labels, lines and buttons, and plain text that wraps inside words too."""

from __future__ import annotations

import re

from PySide6.QtCore import QEvent, QPointF, QRect, QSize, Qt
from PySide6.QtGui import (
    QAction,
    QFont,
    QFontMetrics,
    QKeySequence,
    QPainter,
    QPaintEvent,
    QResizeEvent,
    QShortcutEvent,
    QTextLayout,
    QTextOption,
)
from PySide6.QtWidgets import QFrame, QLabel, QLineEdit, QPushButton, QSizePolicy, QToolButton, QWidget
from shiboken6 import isValid

from halo_scheduler.grammar.text import shown_spec
from ui.style.theme import Appearance, Tone, icon_size, small_font, strong_font, title_font
from ui.style.wording import one_line, plain_tooltip

_LONGEST = 4_000
_LEADING = 3
_JOINER = "\u2060"
_PLACES_TO_BREAK = re.compile(r"[^\w\s](?=\S)")


def label(text: str = "", role: str = "", *, name: str = "", wrap: bool = False) -> QLabel:
    """Return a plain text label; roles are title, strong, muted, small, error, warn, ok."""
    made = QLabel(text)
    made.setTextFormat(Qt.TextFormat.PlainText)
    made.setObjectName(name)
    made.setWordWrap(wrap)
    if wrap:
        policy = QSizePolicy(QSizePolicy.Policy.Preferred, QSizePolicy.Policy.Minimum)
        policy.setHeightForWidth(True)
        made.setSizePolicy(policy)
    fonts = {"title": title_font, "strong": strong_font, "small": small_font}
    if role in fonts:
        made.setFont(fonts[role](made.font()))
    made.setProperty("role", role)
    return made


def set_role(widget: QWidget, role: str) -> None:
    """Change the role of a label or a frame, and restyle it."""
    if widget.property("role") != role:
        widget.setProperty("role", role)
        widget.style().unpolish(widget)
        widget.style().polish(widget)


def frame(role: str) -> QFrame:
    """Return a frame; roles are card, bar, note, line."""
    made = QFrame()
    made.setProperty("role", role)
    if role == "line":
        made.setFixedHeight(1)
    return made


def button(
    text: str, *, name: str, kind: str = "", tip: str = "", shortcut: str = "", accessible: str = ""
) -> QPushButton:
    """Return a push button; kinds are primary, quiet, danger, link. The tooltip shows the shortcut."""
    made = KeyButton(text) if shortcut else QPushButton(text)
    made.setObjectName(name)
    made.setProperty("kind", kind)
    spoken = without_mnemonic(text)
    made.setAccessibleName(accessible or spoken)
    if shortcut:
        made.setShortcut(QKeySequence(shortcut))
    keys = shortcut or QKeySequence.mnemonic(text).toString()
    made.setToolTip(with_shortcut(tip or spoken, keys))
    if kind == "link":
        made.setCursor(Qt.CursorShape.PointingHandCursor)
    return made


def set_words(made: QPushButton, text: str) -> None:
    """Change the text of a button and keep its shortcut, which Qt would drop."""
    if made.text() != text:
        keys = made.shortcut()
        made.setText(text)
        made.setShortcut(keys)


# On a shortcut, Qt would animate the button for 100 ms before the click.
def _is_pressed_by_key(event: QEvent) -> bool:
    return isinstance(event, QShortcutEvent) and not event.isAmbiguous()


class KeyButton(QPushButton):
    """A button whose shortcut clicks at once."""

    def event(self, event: QEvent) -> bool:
        if _is_pressed_by_key(event):
            self.click()
            return True
        return super().event(event)


class IconButton(QToolButton):
    """An icon button whose shortcut clicks at once."""

    def event(self, event: QEvent) -> bool:
        if _is_pressed_by_key(event):
            self.click()
            return True
        return super().event(event)


def icon_button(
    appearance: Appearance, icon: str, text: str, *, name: str, shortcut: str = ""
) -> QToolButton:
    """Return a button that shows an icon only; its text is its tooltip and its accessible name."""
    made = IconButton()
    made.setObjectName(name)
    made.setAccessibleName(text)
    made.setIconSize(QSize(icon_size(), icon_size()))
    made.setAutoRaise(True)
    made.setFocusPolicy(Qt.FocusPolicy.TabFocus)
    if shortcut:
        made.setShortcut(QKeySequence(shortcut))
    made.setToolTip(with_shortcut(text, shortcut))
    tint(made, appearance, icon)
    return made


def tint(
    widget: QPushButton | QToolButton | QAction, appearance: Appearance, icon: str, tone: Tone = Tone.TEXT
) -> None:
    """Set an icon that follows the theme."""

    def draw() -> None:
        if isValid(widget):
            widget.setIcon(appearance.icon(icon, tone))

    draw()
    appearance.changed.connect(draw)


def action(
    appearance: Appearance, icon: str, text: str, parent: QWidget, *, name: str, shortcut: str = ""
) -> QAction:
    """Return an action with an icon; the tooltip shows the shortcut."""
    made = QAction(text, parent)
    made.setObjectName(name)
    if shortcut:
        made.setShortcut(QKeySequence(shortcut))
    made.setToolTip(with_shortcut(text.replace("&", ""), shortcut))
    if icon:
        tint(made, appearance, icon)
    return made


def without_mnemonic(text: str) -> str:
    """Remove mnemonics: "&" marks the next letter, "&&" is a literal one."""
    return "&".join(part.replace("&", "") for part in text.split("&&"))


def with_shortcut(text: str, shortcut: str) -> str:
    """Return a tooltip with the shortcut."""
    if not shortcut:
        return plain_tooltip(text)
    native = QKeySequence(shortcut).toString(QKeySequence.SequenceFormat.NativeText)
    return plain_tooltip(f"{text} ({native})")


def beginning(text: str, longest: int) -> str:
    """Return a text up to a length; an ellipsis shows that it continues, also after many blanks."""
    if len(text) <= longest:
        return text
    shown = text[:longest].rstrip()
    return f"{shown} …" if text[longest:].strip() else shown


class SearchField(QLineEdit):
    """A search field whose placeholder says what it searches, if there is room."""

    def __init__(self, short: str, full: str) -> None:
        super().__init__()
        self._short, self._full = short, full
        self.setPlaceholderText(full)

    # --- Qt -----------------------------------------------------------------------------------------

    def resizeEvent(self, event: QResizeEvent) -> None:  # noqa: N802
        super().resizeEvent(event)
        # The icon and the clear button need as much room as three letters.
        needed = self.fontMetrics().horizontalAdvance(f"{self._full}WWW")
        self.setPlaceholderText(self._full if needed <= self.width() else self._short)


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
        is_exact: bool = False,
    ) -> None:
        super().__init__()
        self.setObjectName(name)
        self._is_exact = is_exact
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
        return self._text.replace(_JOINER, "")

    def set_text(self, text: str, tone: Tone | None = None) -> None:
        """Show an untrusted text; line breaks are kept, control characters are not; an exact text keeps its blanks."""
        limited = beginning(text, _LONGEST)
        if self._is_exact:
            # Lines break at blanks only, not behind a slash or a hyphen.
            shown = _PLACES_TO_BREAK.sub(rf"\g<0>{_JOINER}", shown_spec(limited.strip()))
        else:
            shown = "\n".join(one_line(line, _LONGEST) for line in limited.split("\n"))
        tone = tone or self._tone
        if (shown, tone) == (self._text, self._tone):
            return
        self._text, self._tone = shown, tone
        self.setAccessibleName(self.text())
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
        rest = (
            self._text[start:].replace("\n", " ")
            if self._is_exact
            else one_line(self._text[start:], _LONGEST)
        )
        rest = QFontMetrics(self.font()).elidedText(rest, Qt.TextElideMode.ElideRight, width)
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
