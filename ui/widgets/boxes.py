"""Number and time boxes with a text margin, popup lists with rows as high as in menus, and menus."""

from __future__ import annotations

from PySide6.QtCore import QEvent, QModelIndex, QObject, QPersistentModelIndex, QPoint, QSize, Qt, QTime
from PySide6.QtGui import QAction, QKeyEvent, QMouseEvent, QPainter, QPalette, QShowEvent
from PySide6.QtWidgets import (
    QAbstractItemView,
    QAbstractSpinBox,
    QComboBox,
    QCompleter,
    QLineEdit,
    QMenu,
    QSpinBox,
    QStyledItemDelegate,
    QStyleOptionViewItem,
    QTimeEdit,
    QWidget,
)

from ui.style.theme import HALF

_INSET = HALF + 2
# Between the border of a line edit and its text.
_FIELD_MARGIN = 2
_ROW = 28
_SHORTEST_ENTRY = 12


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


def elide(field: QLineEdit) -> None:
    """Let the text of a field end with "…" where it does not fit, unless it is being edited."""
    field.installEventFilter(_Ellipsis(field))


class _Ellipsis(QObject):
    """Draws the text of a field that is too narrow for it."""

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:  # noqa: N802 - Qt's name
        if event.type() != QEvent.Type.Paint or not isinstance(watched, QLineEdit) or watched.hasFocus():
            return super().eventFilter(watched, event)
        room = watched.contentsRect().adjusted(_FIELD_MARGIN, 0, -_FIELD_MARGIN, 0)
        shown = watched.fontMetrics().elidedText(watched.text(), Qt.TextElideMode.ElideRight, room.width())
        if shown == watched.text():
            return super().eventFilter(watched, event)
        painter = QPainter(watched)
        painter.setPen(watched.palette().color(QPalette.ColorRole.Text))
        painter.drawText(room, Qt.AlignmentFlag.AlignVCenter | Qt.AlignmentFlag.AlignLeft, shown)
        painter.end()
        return True


def let_shrink(box: QComboBox) -> None:
    """Allow a box to be narrower than its longest entry, which would widen its page with a large font."""
    box.setSizeAdjustPolicy(QComboBox.SizeAdjustPolicy.AdjustToMinimumContentsLengthWithIcon)
    box.setMinimumContentsLength(_SHORTEST_ENTRY)


class _RoomyRows(QStyledItemDelegate):
    def sizeHint(  # noqa: N802 - Qt's name
        self, option: QStyleOptionViewItem, index: QModelIndex | QPersistentModelIndex
    ) -> QSize:
        size = super().sizeHint(option, index)
        return QSize(size.width(), max(_ROW, size.height()))


def give_room(view: QAbstractItemView) -> None:
    """Give the rows of a popup list the height of menu items."""
    view.setItemDelegate(_RoomyRows(view))


def dress_suggestions(completer: QCompleter, field: QWidget) -> None:
    """Style the list of suggestions for a field: whole rows, a frame, and a place below the field's border."""
    popup = completer.popup()
    if popup is None:
        raise TypeError("a completer without a list has nothing to dress")
    give_room(popup)
    # The popup is outside the field, so the field's style does not apply.
    popup.setProperty("role", "popup")
    popup.installEventFilter(_BelowField(field, popup))


class _BelowField(QObject):
    """Moves a list below the lower border of its field, which Qt would cover."""

    def __init__(self, field: QWidget, parent: QObject) -> None:
        super().__init__(parent)
        self._field = field

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:  # noqa: N802 - Qt's name
        if event.type() in (QEvent.Type.Move, QEvent.Type.Show) and isinstance(watched, QWidget):
            top = self._field.mapToGlobal(QPoint(0, 0)).y()
            if top < watched.y() < top + self._field.height():
                watched.move(watched.x(), top + self._field.height())
        return super().eventFilter(watched, event)


class StayingMenu(QMenu):
    """A menu that stays open while checkable entries are clicked."""

    def mouseReleaseEvent(self, event: QMouseEvent) -> None:  # noqa: N802
        clicked: QAction | None = self.actionAt(event.position().toPoint())
        if clicked is not None and clicked.isCheckable() and clicked.actionGroup() is None:
            clicked.trigger()
        else:
            super().mouseReleaseEvent(event)


class EdgeMenu(QMenu):
    """A menu for a button at the right edge of a window: opens to the left, to stay within the window."""

    def showEvent(self, event: QShowEvent) -> None:  # noqa: N802
        super().showEvent(event)
        opener = self.parentWidget()
        if opener is None:
            return
        right = opener.mapToGlobal(QPoint(opener.width(), 0)).x()
        if self.geometry().right() >= right:
            self.move(max(right - self.width(), 0), self.y())
