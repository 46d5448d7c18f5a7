"""One of several: as cards in a grid, or as segments in a row."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from PySide6.QtCore import QSize, Qt, Signal
from PySide6.QtGui import QFontMetrics
from PySide6.QtWidgets import (
    QAbstractButton,
    QButtonGroup,
    QGridLayout,
    QHBoxLayout,
    QLabel,
    QPushButton,
    QSizePolicy,
    QVBoxLayout,
    QWidget,
)

from ui.theme import GRID, HALF, ICON, Look, Tone, small_font
from ui.widgets.labels import label, tint

_CARD_HEIGHT = 56


@dataclass(frozen=True, slots=True)
class Choice:
    """What can be chosen: a value, its name, an icon, and for a card a few words more."""

    value: str
    title: str
    icon: str = ""
    remark: str = ""


class Choices(QWidget):
    """Shows choices of which always exactly one is taken."""

    chosen = Signal(str)

    def __init__(
        self, look: Look, choices: Sequence[Choice], *, name: str, title: str, columns: int = 0
    ) -> None:
        """Show cards in so many columns, or, without columns, segments in a row."""
        super().__init__()
        self.setObjectName(name)
        self.setAccessibleName(title)
        self._group = QButtonGroup(self)
        self._values = [choice.value for choice in choices]
        layout: QGridLayout | QHBoxLayout = QGridLayout(self) if columns else QHBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.setSpacing(GRID if columns else HALF)
        for index, choice in enumerate(choices):
            made = _Card(look, choice) if columns else _segment(look, choice)
            made.setObjectName(f"{name}_{choice.value}")
            made.setAccessibleName(f"{title}: {choice.title}")
            made.setCheckable(True)
            made.setAutoDefault(False)
            self._group.addButton(made, index)
            if isinstance(layout, QGridLayout):
                layout.addWidget(made, index // columns, index % columns)
                # The style sheet's least height of a button would let a card be squeezed in a low window.
                layout.setRowMinimumHeight(index // columns, made.sizeHint().height())
            else:
                layout.addWidget(made)
        if isinstance(layout, QHBoxLayout):
            layout.addStretch(1)
        self._group.button(0).setChecked(True)
        self._group.idToggled.connect(self._tell)
        self._let_tab_stop()

    @property
    def value(self) -> str:
        return self._values[self._group.checkedId()]

    def buttons(self) -> list[QAbstractButton]:
        """Return what is pressed, in order."""
        return self._group.buttons()

    def focus_chosen(self) -> None:
        """Give the keyboard to what is chosen."""
        self._group.button(self._group.checkedId()).setFocus()

    def choose(self, value: str) -> None:
        """Take a choice."""
        self._group.button(self._values.index(value)).setChecked(True)

    def _let_tab_stop(self) -> None:
        """Let the Tab key stop at what is chosen only; from there the arrow keys go to the others."""
        for one in self._group.buttons():
            takes = Qt.FocusPolicy.StrongFocus if one.isChecked() else Qt.FocusPolicy.ClickFocus
            one.setFocusPolicy(takes)

    def _tell(self, index: int, is_chosen: bool) -> None:  # noqa: FBT001 - a slot of idToggled
        if is_chosen:
            self._let_tab_stop()
            self.chosen.emit(self._values[index])


def _segment(look: Look, choice: Choice) -> QPushButton:
    made = QPushButton(choice.title)
    if choice.icon:
        made.setIconSize(QSize(ICON, ICON))
        tint(made, look, choice.icon)
    return made


class _Card(QPushButton):
    """A button with an icon, a title and a few words."""

    def __init__(self, look: Look, choice: Choice) -> None:
        super().__init__()
        self._look = look
        self._icon_name = choice.icon
        self.setSizePolicy(QSizePolicy.Policy.Ignored, QSizePolicy.Policy.Fixed)
        self.setToolTip(choice.remark)
        self._picture = QLabel()
        self._picture.setFixedSize(ICON, ICON)
        title = label(choice.title)
        remark = label(choice.remark, "small")
        remark.setFont(small_font(remark.font()))
        texts = QVBoxLayout()
        texts.setSpacing(0)
        texts.addStretch(1)
        texts.addWidget(title)
        texts.addWidget(remark)
        texts.addStretch(1)
        row = QHBoxLayout(self)
        row.setContentsMargins(GRID + HALF, 0, GRID, 0)
        row.setSpacing(GRID + HALF)
        row.addWidget(self._picture)
        row.addLayout(texts, 1)
        for child in (self._picture, title, remark):
            child.setAttribute(Qt.WidgetAttribute.WA_TransparentForMouseEvents)
        for text in (title, remark):
            # A narrow card cuts its words rather than growing.
            text.setSizePolicy(QSizePolicy.Policy.Ignored, QSizePolicy.Policy.Preferred)
        self.toggled.connect(self._draw)
        look.changed.connect(self._draw)
        self._draw()

    def _draw(self) -> None:
        icon = self._look.icon(self._icon_name, Tone.ACCENT if self.isChecked() else Tone.MUTED)
        self._picture.setPixmap(icon.pixmap(QSize(ICON, ICON), self.devicePixelRatio()))

    def sizeHint(self) -> QSize:  # noqa: N802 - Qt's name
        lines = QFontMetrics(self.font()).height() * 2 + GRID * 2
        return QSize(_CARD_HEIGHT * 3, max(_CARD_HEIGHT, lines))
