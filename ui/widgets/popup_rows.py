"""The rows of lists that pop up: as high as they are in menus."""

from __future__ import annotations

from PySide6.QtCore import QModelIndex, QPersistentModelIndex, QSize
from PySide6.QtWidgets import QAbstractItemView, QStyledItemDelegate, QStyleOptionViewItem

_ROW = 28


class _RoomyRows(QStyledItemDelegate):
    def sizeHint(  # noqa: N802 - Qt's name
        self, option: QStyleOptionViewItem, index: QModelIndex | QPersistentModelIndex
    ) -> QSize:
        size = super().sizeHint(option, index)
        return QSize(size.width(), max(_ROW, size.height()))


def give_room(view: QAbstractItemView) -> None:
    """Let the rows of a list that pops up breathe."""
    view.setItemDelegate(_RoomyRows(view))
