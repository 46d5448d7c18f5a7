"""Showing and hiding parts of a form without work that changes nothing."""

from __future__ import annotations

from PySide6.QtWidgets import QWidget


def show_if(widget: QWidget, is_wanted: bool) -> None:  # noqa: FBT001 - like setVisible
    """Show or hide a part; Qt would style it and lay it out anew also when it is so already."""
    if widget.parentWidget() is None:
        raise ValueError("a part that stands nowhere would become a window of its own")
    if widget.isHidden() == is_wanted:
        widget.setVisible(is_wanted)
