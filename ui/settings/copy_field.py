"""A read-only text with a copy button."""

from __future__ import annotations

from PySide6.QtCore import Qt
from PySide6.QtGui import QFontMetrics, QGuiApplication
from PySide6.QtWidgets import QHBoxLayout, QLineEdit, QPlainTextEdit, QVBoxLayout, QWidget

from ui.style.theme import GRID, HALF, MARGIN, Appearance, mono_font
from ui.widgets.labels import button, label, tint


class CopyField(QWidget):
    """Shows one line, or several lines below a title; they can be selected and copied."""

    def __init__(self, appearance: Appearance, text: str, *, name: str, title: str, hint: str = "") -> None:
        super().__init__()
        self._text = text
        is_line = "\n" not in text
        edit = _line(text) if is_line else _lines(text)
        edit.setObjectName(f"{name}Text")
        edit.setAccessibleName(title)
        edit.setAccessibleDescription(hint)
        self._copied = label("", "ok", name=f"{name}Copied")
        self._copy = button(
            self.tr("Copy"),
            name=f"{name}CopyButton",
            accessible=self.tr("Copy: {title}").format(title=title),
        )
        tint(self._copy, appearance, "copy")
        self._copy.clicked.connect(self._put_on_clipboard)
        row = QHBoxLayout()
        row.setSpacing(GRID)
        if is_line:
            row.addWidget(edit, 1)
        else:
            row.addLayout(_heading(title, hint), 1)
        row.addWidget(self._copied)
        row.addWidget(self._copy)
        box = QVBoxLayout(self)
        box.setContentsMargins(0, 0, 0, 0)
        box.setSpacing(GRID)
        box.addLayout(row)
        if not is_line:
            box.addWidget(edit)

    def _put_on_clipboard(self) -> None:
        QGuiApplication.clipboard().setText(self._text)
        self._copied.setText(self.tr("✓ Copied"))


def _heading(title: str, hint: str) -> QVBoxLayout:
    words = QVBoxLayout()
    words.setSpacing(HALF)
    words.addWidget(label(title))
    words.addWidget(label(hint, "small", wrap=True))
    return words


def _line(text: str) -> QWidget:
    made = QLineEdit(text)
    made.setReadOnly(True)
    made.setCursorPosition(0)
    made.setFont(mono_font(made.font()))
    return made


def _lines(text: str) -> QWidget:
    made = QPlainTextEdit(text)
    made.setReadOnly(True)
    made.setTextInteractionFlags(
        Qt.TextInteractionFlag.TextSelectableByMouse | Qt.TextInteractionFlag.TextSelectableByKeyboard
    )
    made.setTabChangesFocus(True)
    made.setLineWrapMode(QPlainTextEdit.LineWrapMode.NoWrap)
    made.setVerticalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
    made.setFont(mono_font(made.font()))
    # Room for a horizontal scroll bar: paths can be long.
    lines = text.count("\n") + 1
    made.setFixedHeight(QFontMetrics(made.font()).lineSpacing() * lines + MARGIN * 2 + HALF)
    return made
