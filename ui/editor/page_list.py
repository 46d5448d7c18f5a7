"""The list of pages at the left, each with a summary and a mark if it has problems."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from PySide6.QtCore import QModelIndex, QPersistentModelIndex, QRect, QRectF, QSize, Qt, Signal
from PySide6.QtGui import QColor, QFontMetrics, QPainter
from PySide6.QtWidgets import (
    QListWidget,
    QListWidgetItem,
    QStyle,
    QStyledItemDelegate,
    QStyleOptionViewItem,
    QWidget,
)

from ui.style.marks import Shape, paint_mark
from ui.style.theme import GRID, HALF, ICON, MARGIN, Appearance, Tone, small_font, strong_font
from ui.style.wording import one_line
from ui.widgets.labels import with_shortcut

_SUMMARY = Qt.ItemDataRole.UserRole
_HAS_PROBLEM = Qt.ItemDataRole.UserRole + 1
_ICON = Qt.ItemDataRole.UserRole + 2
_TITLE = Qt.ItemDataRole.UserRole + 3
_WIDTH = 216
_MARK = 8
_SUMMARY_LINES = 2
# The width that frame, insets and icon leave for the summary.
_ROOM = _WIDTH - GRID * 2 - (GRID * 2 + ICON) - GRID


@dataclass(frozen=True, slots=True)
class PageEntry:
    """A page in the list."""

    title: str
    icon: str


def editor_pages(tr: Callable[[str], str]) -> tuple[PageEntry, ...]:
    """Return the pages of the job editor."""
    return (
        PageEntry(tr("What"), "terminal"),
        PageEntry(tr("When"), "clock"),
        PageEntry(tr("Conditions"), "hourglass"),
        PageEntry(tr("On failure"), "warning"),
        PageEntry(tr("Next jobs"), "chain"),
        PageEntry(tr("Options"), "settings"),
    )


class PageList(QListWidget):
    """One row per page; exactly one is current."""

    page_chosen = Signal(int)

    def __init__(self, appearance: Appearance, entries: Sequence[PageEntry]) -> None:
        super().__init__()
        self.setObjectName("pageList")
        self.setAccessibleName(self.tr("Pages"))
        self.setFixedWidth(_WIDTH)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.setMouseTracking(True)
        self.setItemDelegate(_PageDelegate(appearance, self))
        appearance.changed.connect(self.viewport().update)
        for number, entry in enumerate(entries, 1):
            item = QListWidgetItem(entry.title, self)
            item.setData(_TITLE, entry.title)
            item.setData(_ICON, entry.icon)
            item.setToolTip(with_shortcut(entry.title, f"Ctrl+{number}"))
        self.setCurrentRow(0)
        self.currentRowChanged.connect(self.page_chosen)

    def set_state(self, row: int, summary: str, *, has_problem: bool) -> None:
        """Set the summary of a page and whether it has problems."""
        item = self.item(row)
        shown = one_line(summary, 120)
        item.setData(_SUMMARY, shown)
        item.setData(_HAS_PROBLEM, has_problem)
        title = str(item.data(_TITLE))
        item.setToolTip(with_shortcut(f"{title}: {shown}" if shown else title, f"Ctrl+{row + 1}"))
        words = (
            self.tr("{title}: needs attention").format(title=title) if has_problem else f"{title}: {shown}"
        )
        item.setData(Qt.ItemDataRole.AccessibleTextRole, words)

    def summary(self, row: int) -> str:
        return str(self.item(row).data(_SUMMARY) or "")

    def has_problem(self, row: int) -> bool:
        return bool(self.item(row).data(_HAS_PROBLEM))


class _PageDelegate(QStyledItemDelegate):
    """Draws an icon, a title, a summary below it and a mark at the right."""

    def __init__(self, appearance: Appearance, parent: QWidget) -> None:
        super().__init__(parent)
        self._appearance = appearance

    def sizeHint(self, option: QStyleOptionViewItem, index: QModelIndex | QPersistentModelIndex) -> QSize:  # noqa: N802 - Qt's name
        small = QFontMetrics(small_font(option.font))
        lines = len(_wrapped(str(index.data(_SUMMARY) or ""), small, _ROOM))
        return QSize(_WIDTH, QFontMetrics(option.font).height() + small.height() * lines + GRID * 2 + HALF)

    def paint(
        self, painter: QPainter, option: QStyleOptionViewItem, index: QModelIndex | QPersistentModelIndex
    ) -> None:
        colours = self._appearance.colours
        painter.save()
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        is_current = bool(option.state & QStyle.StateFlag.State_Selected)
        is_hovered = bool(option.state & QStyle.StateFlag.State_MouseOver)
        area = option.rect.adjusted(GRID, 1, -GRID, -1)
        if is_current or is_hovered:
            painter.setPen(Qt.PenStyle.NoPen)
            painter.setBrush(QColor(colours.selected if is_current else colours.hover))
            painter.drawRoundedRect(QRectF(area), 6, 6)
        if is_current and option.state & QStyle.StateFlag.State_HasFocus:
            painter.setPen(QColor(colours.accent))
            painter.setBrush(Qt.BrushStyle.NoBrush)
            painter.drawRoundedRect(QRectF(area).adjusted(0.5, 0.5, -0.5, -0.5), 6, 6)
        self._paint_texts(painter, option, area, index, is_current=is_current)
        if index.data(_HAS_PROBLEM):
            box = QRectF(
                area.right() - MARGIN, area.top(), _MARK, QFontMetrics(option.font).height() + MARGIN
            )
            paint_mark(painter, box, Shape.SQUARE, self._appearance.colour(Tone.ERROR))
        painter.restore()

    def _paint_texts(
        self,
        painter: QPainter,
        option: QStyleOptionViewItem,
        area: QRect,
        index: QModelIndex | QPersistentModelIndex,
        *,
        is_current: bool,
    ) -> None:
        title_font = strong_font(option.font) if is_current else option.font
        line = QFontMetrics(title_font).height()
        icon = self._appearance.icon(str(index.data(_ICON)), Tone.ACCENT if is_current else Tone.MUTED)
        top = area.top() + GRID
        icon.paint(painter, QRect(area.left() + GRID, top + (line - ICON) // 2, ICON, ICON))
        left = area.left() + GRID * 2 + ICON
        room = area.right() - left - MARGIN - GRID
        painter.setFont(title_font)
        painter.setPen(self._appearance.colour(Tone.TEXT))
        painter.drawText(QRect(left, top, room, line), Qt.AlignmentFlag.AlignVCenter, str(index.data(_TITLE)))
        below = small_font(option.font)
        painter.setFont(below)
        painter.setPen(self._appearance.colour(Tone.MUTED))
        metrics = QFontMetrics(below)
        lines = _wrapped(str(index.data(_SUMMARY) or ""), metrics, _ROOM)
        for number, text in enumerate(lines):
            box = QRect(left, top + line + HALF // 2 + number * metrics.height(), _ROOM, metrics.height())
            painter.drawText(box, Qt.AlignmentFlag.AlignVCenter, text)


def _wrapped(text: str, metrics: QFontMetrics, room: int) -> list[str]:
    """Return a text wrapped between words into the available lines; the last one is elided."""
    words = text.split(" ")
    lines: list[str] = []
    while words and len(lines) < _SUMMARY_LINES - 1:
        count = len(words)
        while count > 1 and metrics.horizontalAdvance(" ".join(words[:count])) > room:
            count -= 1
        lines.append(metrics.elidedText(" ".join(words[:count]), Qt.TextElideMode.ElideRight, room))
        words = words[count:]
    rest = " ".join(words).removeprefix("· ")
    return [*lines, metrics.elidedText(rest, Qt.TextElideMode.ElideRight, room)] if rest else lines
