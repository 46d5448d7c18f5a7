"""A settings page: a title and cards with one row per setting."""

from __future__ import annotations

from PySide6.QtCore import QSize, Qt
from PySide6.QtWidgets import QFrame, QHBoxLayout, QLabel, QScrollArea, QSizePolicy, QVBoxLayout, QWidget

from halo_scheduler.errors import ScheduleError, SchedulerError
from ui.style.theme import GRID, HALF, MARGIN
from ui.widgets.labels import frame, label


def sentence(error: SchedulerError) -> str:
    """Return an error as shown at its field, without the field's name."""
    text = error.message if isinstance(error, ScheduleError) else str(error)
    return f"{text[:1].upper()}{text[1:]}"


class Row(QWidget):
    """One setting: title, hint, control and error."""

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
        """Show an error, or clear it."""
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
        """Add a row, separated by a line."""
        if self._box.count():
            self._box.addWidget(frame("line"))
        self._box.addWidget(row)

    def insert_below(self, row: QWidget, added: QWidget) -> None:
        """Insert a widget below a row, without a line."""
        self._box.insertWidget(self._box.indexOf(row) + 1, added)
        added.show()

    def clear(self) -> None:
        while (item := self._box.takeAt(0)) is not None:
            widget = item.widget()
            if widget is not None:
                widget.hide()
                widget.deleteLater()


class _Content(QWidget):
    """The scrolled content, as high as its text at the current width."""

    def minimumSizeHint(self) -> QSize:  # noqa: N802 - Qt's name
        least = super().minimumSizeHint()
        # Wrapped labels report the height of a narrow column, which would add needless scrolling.
        return QSize(least.width(), 0) if self.hasHeightForWidth() else least


class Page(QScrollArea):
    """A scrollable page."""

    def __init__(self) -> None:
        super().__init__()
        self.setWidgetResizable(True)
        self.setFrameShape(QFrame.Shape.NoFrame)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        # The controls take the focus.
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
        """Add the title and an explanation."""
        self.setAccessibleName(title)
        self.add(label(title, "title"))
        if explanation:
            self.add(label(explanation, "muted", wrap=True))

    def add(self, widget: QWidget) -> None:
        self._box.insertWidget(self._box.count() - 1, widget)

    def add_remark(self, text: str) -> QLabel:
        """Add a small text at the end."""
        remark = label(text, "small", wrap=True)
        self.add(remark)
        return remark

    def refresh(self) -> None:
        """Reload data that may have changed since the page was last shown."""
