"""A page of settings: a title, cards, and in each card rows of one setting."""

from __future__ import annotations

from PySide6.QtCore import QSize, Qt
from PySide6.QtWidgets import QFrame, QHBoxLayout, QLabel, QScrollArea, QSizePolicy, QVBoxLayout, QWidget

from halo_scheduler.errors import ScheduleError, SchedulerError
from ui.style.theme import GRID, HALF, MARGIN
from ui.widgets.labels import frame, label


def sentence(error: SchedulerError) -> str:
    """Return what is wrong as it stands beside its field: the field needs no naming there."""
    text = error.message if isinstance(error, ScheduleError) else str(error)
    return f"{text[:1].upper()}{text[1:]}"


class Row(QWidget):
    """One setting: its name, what it means, its control, and what is wrong with it."""

    def __init__(
        self, title: str, hint: str, control: QWidget | None, *, buddy: QWidget | None = None
    ) -> None:
        super().__init__()
        self._error = label("", "error", wrap=True)
        self._error.hide()
        self._hint = label(hint, "small", wrap=True)
        if not hint:
            self._hint.hide()
        name = label(title)
        self._buddy = buddy or control
        if self._buddy is not None:
            name.setBuddy(self._buddy)
            self._error.setObjectName(f"{self._buddy.objectName()}Error")
            self._buddy.setAccessibleDescription(hint)
            if not self._buddy.accessibleName():
                self._buddy.setAccessibleName(title)
        words = QVBoxLayout()
        words.setSpacing(HALF)
        words.addWidget(name)
        words.addWidget(self._hint)
        words.addWidget(self._error)
        box = QHBoxLayout(self)
        box.setContentsMargins(MARGIN, GRID + HALF, MARGIN, GRID + HALF)
        box.setSpacing(MARGIN)
        box.addLayout(words, 1)
        if control is not None:
            box.addWidget(control, 0, Qt.AlignmentFlag.AlignVCenter)

    @property
    def hint(self) -> QLabel:
        return self._hint

    def show_hint(self, text: str) -> None:
        self._hint.setText(text)
        self._hint.setVisible(bool(text))

    def show_error(self, text: str) -> None:
        """Show what is wrong, or nothing."""
        self._error.setText(text)
        self._error.setVisible(bool(text))


class Card(QFrame):
    """Rows that belong together."""

    def __init__(self) -> None:
        super().__init__()
        self.setProperty("role", "card")
        self.setSizePolicy(QSizePolicy.Policy.Preferred, QSizePolicy.Policy.Maximum)
        self._box = QVBoxLayout(self)
        self._box.setContentsMargins(1, 1, 1, 1)
        self._box.setSpacing(0)

    def add(self, row: QWidget) -> None:
        """Add a row, under a line when there is one above."""
        if self._box.count():
            self._box.addWidget(frame("line"))
        self._box.addWidget(row)

    def insert_below(self, row: QWidget, added: QWidget) -> None:
        """Put something right below a row, without a line."""
        self._box.insertWidget(self._box.indexOf(row) + 1, added)
        added.show()

    def clear(self) -> None:
        while (item := self._box.takeAt(0)) is not None:
            widget = item.widget()
            if widget is not None:
                widget.hide()
                widget.deleteLater()


class _Content(QWidget):
    """What a page scrolls: as high as its words are at its width."""

    def minimumSizeHint(self) -> QSize:  # noqa: N802 - Qt's name
        least = super().minimumSizeHint()
        # Wrapped texts ask for the height of a narrow column, which would be scrolled without need.
        return QSize(least.width(), 0) if self.hasHeightForWidth() else least


class Page(QScrollArea):
    """A page that scrolls when it must."""

    def __init__(self) -> None:
        super().__init__()
        self.setWidgetResizable(True)
        self.setFrameShape(QFrame.Shape.NoFrame)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        # What can be scrolled is reached through its controls.
        self.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        content = _Content()
        content.setObjectName("pageContent")
        self._box = QVBoxLayout(content)
        self._box.setContentsMargins(MARGIN, MARGIN, MARGIN, MARGIN)
        self._box.setSpacing(GRID + HALF)
        self._box.addStretch(1)
        self.setWidget(content)
        content.setAutoFillBackground(False)
        self.viewport().setAutoFillBackground(False)

    def add_title(self, title: str, explanation: str = "") -> None:
        """Say what the page is about."""
        self.setAccessibleName(title)
        self.add(label(title, "title"))
        if explanation:
            self.add(label(explanation, "muted", wrap=True))

    def add(self, widget: QWidget) -> None:
        self._box.insertWidget(self._box.count() - 1, widget)

    def add_remark(self, text: str) -> QLabel:
        """Add a quiet sentence below what was added last."""
        remark = label(text, "small", wrap=True)
        self.add(remark)
        return remark

    def refresh(self) -> None:
        """Read what may have changed since the page was last seen."""
