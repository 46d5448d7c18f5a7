"""Everything typed and chosen on a page, for telling whether anything changed."""

from __future__ import annotations

from PySide6.QtWidgets import (
    QAbstractButton,
    QAbstractSpinBox,
    QComboBox,
    QLineEdit,
    QPlainTextEdit,
    QWidget,
)


def snapshot(page: QWidget) -> tuple[str, ...]:
    """Return the contents of all controls in a page, in their order."""
    contents = (_content(widget) for widget in page.findChildren(QWidget))
    return tuple(content for content in contents if content is not None)


def _content(widget: QWidget) -> str | None:
    if isinstance(widget, QComboBox):
        return widget.currentText()
    if isinstance(widget, QAbstractSpinBox):
        return widget.text()
    if isinstance(widget, QPlainTextEdit):
        return widget.toPlainText()
    if isinstance(widget, QLineEdit):
        return widget.text()
    if isinstance(widget, QAbstractButton) and widget.isCheckable() and not widget.property("kind"):
        return str(widget.isChecked())
    return None
