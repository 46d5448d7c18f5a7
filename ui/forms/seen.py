"""Showing and hiding widgets without redundant work."""

from __future__ import annotations

from PySide6.QtWidgets import QWidget


def show_if(widget: QWidget, is_wanted: bool) -> None:  # noqa: FBT001 - like setVisible
    """Show or hide a widget; Qt would restyle and lay it out even without a change."""
    if widget.parentWidget() is None:
        raise ValueError("a widget without a parent would become a window")
    if widget.isHidden() == is_wanted:
        widget.setVisible(is_wanted)
