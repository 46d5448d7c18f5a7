"""Popup lists with rows as high as in menus."""

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
    """Give the rows of a popup list the height of menu items."""
    view.setItemDelegate(_RoomyRows(view))
