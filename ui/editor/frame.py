"""The frame of the editor: the list of pages at the left, and the bar with Test run, Cancel and Save."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from PySide6.QtCore import QModelIndex, QPersistentModelIndex, QRect, QRectF, QSize, Qt, Signal
from PySide6.QtGui import QColor, QFont, QFontMetrics, QPainter, QPaintEvent, QResizeEvent
from PySide6.QtWidgets import (
    QFrame,
    QHBoxLayout,
    QListWidget,
    QListWidgetItem,
    QPushButton,
    QSizePolicy,
    QStackedWidget,
    QStyle,
    QStyledItemDelegate,
    QStyleOptionButton,
    QStyleOptionViewItem,
    QStylePainter,
    QWidget,
)

from ui.style.marks import Shape, paint_mark
from ui.style.theme import GRID, HALF, MARGIN, Appearance, Tone, icon_size, small_font, strong_font
from ui.style.wording import one_line, plain_tooltip
from ui.widgets.arrange import show_if
from ui.widgets.labels import button, label, tint, with_shortcut

_SUMMARY = Qt.ItemDataRole.UserRole
_HAS_PROBLEM = Qt.ItemDataRole.UserRole + 1
_ICON = Qt.ItemDataRole.UserRole + 2
_TITLE = Qt.ItemDataRole.UserRole + 3
PAGES_WIDTH, _ICONS_WIDTH = 216, 56
_MARK = 8
_SUMMARY_LINES = 2
_LONGEST = 110
SAVE_KEYS = "Ctrl+S"
TEST_KEYS = "Ctrl+T"


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
        self.setFixedWidth(PAGES_WIDTH)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.setMouseTracking(True)
        self._delegate = _PageDelegate(appearance, self)
        self.setItemDelegate(self._delegate)
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

    def show_words(self, are_wanted: bool) -> None:  # noqa: FBT001 - like setVisible
        """Show titles and summaries, or icons only."""
        self.setFixedWidth(PAGES_WIDTH if are_wanted else _ICONS_WIDTH)

    def resizeEvent(self, event: QResizeEvent) -> None:  # noqa: N802 - Qt's name
        super().resizeEvent(event)
        needed = row_height(self.font(), _SUMMARY_LINES) * self.count()
        lines = _SUMMARY_LINES if needed <= self.viewport().height() else 1
        lines = lines if self.width() == PAGES_WIDTH else 0
        if lines != self._delegate.lines:
            self._delegate.lines = lines
            self.scheduleDelayedItemsLayout()


class _PageDelegate(QStyledItemDelegate):
    """Draws an icon, a title, a summary below it and a mark at the right; without lines, no texts."""

    def __init__(self, appearance: Appearance, parent: QWidget) -> None:
        super().__init__(parent)
        self._appearance = appearance
        self.lines = _SUMMARY_LINES

    def sizeHint(self, option: QStyleOptionViewItem, _index: QModelIndex | QPersistentModelIndex) -> QSize:  # noqa: N802 - Qt's name
        # All rows have the same height, so that they do not move while a summary changes.
        return QSize(_ICONS_WIDTH, row_height(option.font, self.lines))

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
        size = icon_size()
        icon.paint(painter, QRect(area.left() + GRID, top + (line - size) // 2, size, size))
        if not self.lines:
            return
        left = area.left() + GRID * 2 + size
        # The problem mark is to the right of the title.
        room = area.right() - left - (MARGIN + GRID if index.data(_HAS_PROBLEM) else GRID)
        title = QFontMetrics(title_font).elidedText(
            str(index.data(_TITLE)), Qt.TextElideMode.ElideRight, room
        )
        painter.setFont(title_font)
        painter.setPen(self._appearance.colour(Tone.TEXT))
        painter.drawText(QRect(left, top, room, line), Qt.AlignmentFlag.AlignVCenter, title)
        below = small_font(option.font)
        painter.setFont(below)
        painter.setPen(self._appearance.colour(Tone.MUTED))
        metrics = QFontMetrics(below)
        width = area.right() - left - GRID
        lines = _wrapped(str(index.data(_SUMMARY) or ""), metrics, width, self.lines)
        for number, text in enumerate(lines):
            box = QRect(left, top + line + HALF // 2 + number * metrics.height(), width, metrics.height())
            painter.drawText(box, Qt.AlignmentFlag.AlignVCenter, text)


def row_height(font: QFont, lines: int) -> int:
    """Return the height of a row with this many lines of summary."""
    return QFontMetrics(font).height() + QFontMetrics(small_font(font)).height() * lines + GRID * 2 + HALF


def _wrapped(text: str, metrics: QFontMetrics, room: int, most: int) -> list[str]:
    """Return a text wrapped between words into the available lines; the last one is elided."""
    words = text.split(" ")
    lines: list[str] = []
    while words and len(lines) < most - 1:
        count = len(words)
        # An advance is rounded: a line as wide as the room would be elided.
        while count > 1 and metrics.horizontalAdvance(" ".join(words[:count])) >= room:
            count -= 1
        lines.append(metrics.elidedText(" ".join(words[:count]), Qt.TextElideMode.ElideRight, room))
        words = words[count:]
    rest = " ".join(words).removeprefix("· ")
    return [*lines, metrics.elidedText(rest, Qt.TextElideMode.ElideRight, room)] if rest else lines


class ElidedLink(QPushButton):
    """A link whose text ends with "…" where it does not fit."""

    def __init__(self) -> None:
        super().__init__()
        self.setProperty("kind", "link")
        self.setCursor(Qt.CursorShape.PointingHandCursor)

    def shown_text(self) -> str:
        """Return the text as it fits."""
        room = self.width() - self.iconSize().width() - GRID * 2
        return self.fontMetrics().elidedText(self.text(), Qt.TextElideMode.ElideRight, room)

    def paintEvent(self, _event: QPaintEvent) -> None:  # noqa: N802 - Qt's name
        option = QStyleOptionButton()
        self.initStyleOption(option)
        option.text = self.shown_text()
        QStylePainter(self).drawControl(QStyle.ControlElement.CE_PushButton, option)


class Footer(QFrame):
    """Shows the buttons or, in their place, the question whether to discard changes."""

    test_wanted = Signal()
    save_wanted = Signal()
    cancel_wanted = Signal()
    discard_wanted = Signal()
    reason_clicked = Signal()

    def __init__(self, appearance: Appearance) -> None:
        super().__init__()
        self.setObjectName("editorFooter")
        self.setProperty("role", "bar")
        self._appearance = appearance
        self._icon = ("info", Tone.MUTED)
        self._stack = QStackedWidget()
        self._stack.addWidget(self._buttons(appearance))
        self._stack.addWidget(self._question())
        layout = QHBoxLayout(self)
        layout.setContentsMargins(MARGIN, GRID, MARGIN, GRID)
        layout.addWidget(self._stack)
        appearance.changed.connect(self._draw)

    def _buttons(self, appearance: Appearance) -> QWidget:
        made = QWidget()
        self._test = button(self.tr("Test run"), name="testButton")
        # The shortcut belongs to the window, so that it works before the delayed check enables the button.
        tip = self.tr("Run the job now with these settings; its schedule isn't affected")
        self._test.setToolTip(with_shortcut(tip, TEST_KEYS))
        self._test.setAutoDefault(False)
        self._test.setIconSize(QSize(icon_size(), icon_size()))
        tint(self._test, appearance, "run")
        self._remark = label("", "muted", name="saveRemark")
        self._remark.setSizePolicy(QSizePolicy.Policy.Ignored, QSizePolicy.Policy.Preferred)
        self._reason = ElidedLink()
        self._reason.setObjectName("saveReason")
        self._reason.setAutoDefault(False)
        self._reason.setIconSize(QSize(icon_size(), icon_size()))
        self._reason.setSizePolicy(QSizePolicy.Policy.Ignored, QSizePolicy.Policy.Preferred)
        self._reason.clicked.connect(self.reason_clicked)
        cancel = button(self.tr("Cancel"), name="cancelButton", tip=self.tr("Close without saving"))
        cancel.setAutoDefault(False)
        cancel.setToolTip(plain_tooltip(self.tr("Close without saving (Esc)")))
        self._save = button(self.tr("Save"), name="saveButton", kind="primary")
        self._save.setToolTip(with_shortcut(self.tr("Save"), SAVE_KEYS))
        self._save.setAutoDefault(False)
        layout = QHBoxLayout(made)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.setSpacing(GRID)
        layout.addWidget(self._test)
        layout.addSpacing(GRID)
        layout.addWidget(self._reason, 1)
        layout.addWidget(self._remark, 1)
        layout.addSpacing(GRID)
        layout.addWidget(cancel)
        layout.addWidget(self._save)
        self._test.clicked.connect(self.test_wanted)
        cancel.clicked.connect(self.cancel_wanted)
        self._save.clicked.connect(self.save_wanted)
        return made

    def _question(self) -> QWidget:
        made = QWidget()
        made.setObjectName("discardQuestion")
        self._keep = button(self.tr("Keep editing"), name="keepEditing", kind="primary")
        self._keep.setToolTip(plain_tooltip(self.tr("Keep editing (Esc)")))
        self._keep.setAutoDefault(False)
        discard = button(
            self.tr("Discard"),
            name="discardButton",
            kind="danger",
            tip=self.tr("Close without saving"),
            shortcut="Alt+D",
        )
        discard.setAutoDefault(False)
        layout = QHBoxLayout(made)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.setSpacing(GRID)
        layout.addWidget(label(self.tr("Discard changes?"), "strong"))
        layout.addStretch(1)
        layout.addWidget(self._keep)
        # Left of the focused button on screen, but after it in Tab order.
        layout.insertWidget(layout.count() - 1, discard)
        self._keep.clicked.connect(self.stop_asking)
        discard.clicked.connect(self.discard_wanted)
        return made

    @property
    def is_asking(self) -> bool:
        return self._stack.currentIndex() == 1

    def ask(self) -> None:
        """Ask whether to discard the changes."""
        self._stack.setCurrentIndex(1)
        self._keep.setFocus()

    def stop_asking(self) -> None:
        """Show the buttons again."""
        self._stack.setCurrentIndex(0)

    def _draw(self) -> None:
        self._reason.setIcon(self._appearance.icon(*self._icon))

    def show_problem(self, sentence: str, *, is_missing: bool = False) -> None:
        """Show the first problem; a click goes to its field."""
        shown = one_line(sentence, _LONGEST)
        self._reason.setText(shown.replace("&", "&&"))
        self._reason.setAccessibleName(shown or self.tr("Why the job can't be saved"))
        self._reason.setToolTip(plain_tooltip(sentence))
        self._icon = ("info", Tone.MUTED) if is_missing else ("error", Tone.ERROR)
        self._draw()
        show_if(self._reason, bool(sentence))
        show_if(self._remark, not sentence)

    def show_remark(self, text: str) -> None:
        """Show a remark in place of a problem."""
        self._remark.setText(text)

    @property
    def test_has_keyboard(self) -> bool:
        """Whether the test button has the focus."""
        return self._test.hasFocus()

    def focus_test(self) -> None:
        """Focus the test button."""
        self._test.setFocus()

    def allow(self, *, saving: bool, testing: bool) -> None:
        """Enable or disable the buttons."""
        self._save.setEnabled(saving)
        self._test.setEnabled(testing)
