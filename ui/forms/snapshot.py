"""The contents of all controls of a page, to detect changes."""

from __future__ import annotations

from PySide6.QtWidgets import (
    QAbstractButton,
    QAbstractSpinBox,
    QComboBox,
    QLineEdit,
    QPlainTextEdit,
    QWidget,
)

CONTENT = "content"
"""The property with the content of a widget that has no value of its own."""
_INNER = "qt_"


def snapshot(page: QWidget) -> dict[str, str]:
    """Return the contents of all controls by object name; inner widgets of Qt are skipped."""
    widgets = page.findChildren(QWidget)
    contents = ((widget.objectName(), widget.property(CONTENT) or _content(widget)) for widget in widgets)
    return {
        name: str(content)
        for name, content in contents
        if content is not None and name and not name.startswith(_INNER)
    }


def _content(widget: QWidget) -> str | None:
    if isinstance(widget, QComboBox):
        return widget.currentText()
    if isinstance(widget, QAbstractSpinBox):
        return widget.text()
    if isinstance(widget, QPlainTextEdit):
        return None if widget.isReadOnly() else widget.toPlainText()
    if isinstance(widget, QLineEdit):
        return widget.text()
    if isinstance(widget, QAbstractButton) and widget.isCheckable() and not widget.property("kind"):
        return str(widget.isChecked())
    return None
