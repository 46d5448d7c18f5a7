"""A choice of one option: cards in a grid, or segments in a row."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from PySide6.QtCore import QSize, Qt, Signal
from PySide6.QtGui import QFontMetrics, QResizeEvent
from PySide6.QtWidgets import (
    QAbstractButton,
    QButtonGroup,
    QGridLayout,
    QHBoxLayout,
    QLabel,
    QPushButton,
    QScrollArea,
    QSizePolicy,
    QVBoxLayout,
    QWidget,
)

from ui.style.theme import GRID, HALF, Appearance, Tone, icon_size, small_font
from ui.widgets.labels import label, tint

_CARD_HEIGHT = 56


@dataclass(frozen=True, slots=True)
class Choice:
    """An option: a value, its title, an icon, and for a card a remark."""

    value: str
    title: str
    icon: str = ""
    remark: str = ""


class Choices(QWidget):
    """Shows options of which exactly one is selected."""

    chosen = Signal(str)

    def __init__(
        self, appearance: Appearance, choices: Sequence[Choice], *, name: str, title: str, columns: int = 0
    ) -> None:
        """Show cards in at most `columns` columns, or segments in a row for 0."""
        super().__init__()
        self.setObjectName(name)
        self.setAccessibleName(title)
        self._group = QButtonGroup(self)
        self._values = [choice.value for choice in choices]
        self._most_columns = columns
        self._columns = 0
        self._grid = QGridLayout(self) if columns else None
        layout = QHBoxLayout(self) if self._grid is None else self._grid
        layout.setContentsMargins(0, 0, 0, 0)
        layout.setSpacing(GRID if columns else HALF)
        for index, choice in enumerate(choices):
            made = _Card(appearance, choice) if columns else _segment(appearance, choice)
            made.setObjectName(f"{name}_{choice.value}")
            made.setAccessibleName(f"{title}: {choice.title}")
            made.setCheckable(True)
            made.setAutoDefault(False)
            self._group.addButton(made, index)
            layout.addWidget(made)
        if isinstance(layout, QHBoxLayout):
            layout.addStretch(1)
        self._arrange(columns)
        self._group.button(0).setChecked(True)
        self._group.idToggled.connect(self._announce_choice)
        self._update_tab_stop()

    @property
    def value(self) -> str:
        return self._values[self._group.checkedId()]

    def buttons(self) -> list[QAbstractButton]:
        """Return the buttons in order."""
        return self._group.buttons()

    def focus_chosen(self) -> None:
        """Focus the selected option."""
        self._group.button(self._group.checkedId()).setFocus()

    def choose(self, value: str) -> None:
        """Select an option."""
        self._group.button(self._values.index(value)).setChecked(True)

    def _arrange(self, columns: int) -> None:
        """Arrange the cards in columns."""
        if self._grid is None or columns == self._columns:
            return
        self._columns = columns
        for row in range(self._grid.rowCount()):
            self._grid.setRowMinimumHeight(row, 0)
        for index, card in enumerate(self.buttons()):
            self._grid.removeWidget(card)
            self._grid.addWidget(card, index // columns, index % columns)
            # Otherwise the minimum height of buttons in the style sheet would squeeze cards in a low window.
            self._grid.setRowMinimumHeight(index // columns, card.sizeHint().height())

    def _update_tab_stop(self) -> None:
        """Make Tab stop at the selected option only; the arrow keys reach the others."""
        for one in self._group.buttons():
            takes = Qt.FocusPolicy.StrongFocus if one.isChecked() else Qt.FocusPolicy.ClickFocus
            one.setFocusPolicy(takes)

    def _announce_choice(self, index: int, is_chosen: bool) -> None:  # noqa: FBT001 - a slot of idToggled
        if is_chosen:
            self._update_tab_stop()
            self.chosen.emit(self._values[index])

    def resizeEvent(self, event: QResizeEvent) -> None:  # noqa: N802 - Qt's name
        super().resizeEvent(event)
        least = max((card.least_width() for card in self.buttons() if isinstance(card, _Card)), default=0)
        fitting = (self.width() - self._bar_width() + GRID) // (least + GRID)
        self._arrange(max(1, min(fitting, self._most_columns)))

    def _bar_width(self) -> int:
        """Return the width that a scroll bar would take, so that cards stay in place when it appears."""
        around = self.parentWidget()
        while around is not None and not isinstance(around, QScrollArea):
            around = around.parentWidget()
        if around is None or around.verticalScrollBar().isVisible():
            return 0
        return around.verticalScrollBar().sizeHint().width()


def _segment(appearance: Appearance, choice: Choice) -> QPushButton:
    made = QPushButton(choice.title)
    if choice.icon:
        made.setIconSize(QSize(icon_size(), icon_size()))
        tint(made, appearance, choice.icon)
    return made


class _Card(QPushButton):
    """A button with an icon, a title and a remark."""

    def __init__(self, appearance: Appearance, choice: Choice) -> None:
        super().__init__()
        self._appearance = appearance
        self._icon_name = choice.icon
        self.setSizePolicy(QSizePolicy.Policy.Ignored, QSizePolicy.Policy.Fixed)
        self.setToolTip(choice.remark)
        self._picture = QLabel()
        self._picture.setFixedSize(icon_size(), icon_size())
        title = label(choice.title)
        remark = label(choice.remark, "small")
        remark.setFont(small_font(remark.font()))
        texts = QVBoxLayout()
        texts.setSpacing(0)
        texts.addStretch(1)
        texts.addWidget(title)
        texts.addWidget(remark)
        texts.addStretch(1)
        row = self._row = QHBoxLayout(self)
        row.setContentsMargins(GRID + HALF, 0, GRID, 0)
        row.setSpacing(GRID + HALF)
        row.addWidget(self._picture)
        row.addLayout(texts, 1)
        for child in (self._picture, title, remark):
            child.setAttribute(Qt.WidgetAttribute.WA_TransparentForMouseEvents)
        for text in (title, remark):
            # Elide the text in a narrow card instead of widening it.
            text.setSizePolicy(QSizePolicy.Policy.Ignored, QSizePolicy.Policy.Preferred)
        self._texts = (title, remark)
        self.toggled.connect(self._draw)
        appearance.changed.connect(self._draw)
        self._draw()

    def least_width(self) -> int:
        """Return the width that shows the full text."""
        margins = self._row.contentsMargins()
        words = max(text.sizeHint().width() for text in self._texts)
        return margins.left() + icon_size() + self._row.spacing() + words + margins.right()

    def _draw(self) -> None:
        icon = self._appearance.icon(self._icon_name, Tone.ACCENT if self.isChecked() else Tone.MUTED)
        self._picture.setPixmap(icon.pixmap(self._picture.size(), self.devicePixelRatio()))

    def sizeHint(self) -> QSize:  # noqa: N802 - Qt's name
        lines = QFontMetrics(self.font()).height() * 2 + GRID * 2
        return QSize(_CARD_HEIGHT * 3, max(_CARD_HEIGHT, lines))
