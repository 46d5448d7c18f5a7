"""Factories for labels, lines and buttons."""

from __future__ import annotations

from PySide6.QtCore import QEvent, QSize, Qt
from PySide6.QtGui import QAction, QKeySequence, QShortcutEvent
from PySide6.QtWidgets import QFrame, QLabel, QPushButton, QSizePolicy, QToolButton, QWidget
from shiboken6 import isValid

from ui.style.theme import ICON, Appearance, Tone, small_font, strong_font, title_font
from ui.style.wording import plain_tooltip


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
    made.setIconSize(QSize(ICON, ICON))
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
