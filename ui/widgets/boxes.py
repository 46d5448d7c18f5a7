"""Number and time boxes with a text margin, and popup lists with rows as high as in menus."""

from __future__ import annotations

from PySide6.QtCore import QModelIndex, QPersistentModelIndex, QSize, QTime
from PySide6.QtGui import QKeyEvent
from PySide6.QtWidgets import (
    QAbstractItemView,
    QAbstractSpinBox,
    QLineEdit,
    QSpinBox,
    QStyledItemDelegate,
    QStyleOptionViewItem,
    QTimeEdit,
)

from ui.style.theme import HALF

_INSET = HALF + 2
_ROW = 28


def number_box(least: int, most: int, *, name: str, title: str, zero: str = "", width: int = 96) -> QSpinBox:
    """Return a box for a whole number; `zero` is the text for the minimum."""
    made = QSpinBox()
    made.setRange(least, most)
    made.setSpecialValueText(zero)
    made.setObjectName(name)
    made.setAccessibleName(title)
    made.setFixedWidth(width)
    inset(made)
    return made


def time_box(hour: int, minute: int, *, name: str, title: str) -> QTimeEdit:
    """Return a box for a time of day."""
    made = _TimeBox(QTime(hour, minute))
    made.setDisplayFormat("HH:mm")
    made.setObjectName(name)
    made.setAccessibleName(title)
    made.setFixedWidth(92)
    inset(made)
    return made


class _TimeBox(QTimeEdit):
    """Lets the user type over the whole text; Qt would reject every digit."""

    def keyPressEvent(self, event: QKeyEvent) -> None:  # noqa: N802 - Qt's name
        is_all = self.lineEdit().selectedText() == self.text()
        if is_all and event.text().isdigit():
            self.setSelectedSection(QTimeEdit.Section.HourSection)
        super().keyPressEvent(event)


def inset(box: QAbstractSpinBox) -> None:
    """Move the text of a box away from its left border."""
    line = box.findChild(QLineEdit)
    if line is not None:
        line.setTextMargins(_INSET, 0, 0, 0)


class _RoomyRows(QStyledItemDelegate):
    def sizeHint(  # noqa: N802 - Qt's name
        self, option: QStyleOptionViewItem, index: QModelIndex | QPersistentModelIndex
    ) -> QSize:
        size = super().sizeHint(option, index)
        return QSize(size.width(), max(_ROW, size.height()))


def give_room(view: QAbstractItemView) -> None:
    """Give the rows of a popup list the height of menu items."""
    view.setItemDelegate(_RoomyRows(view))
