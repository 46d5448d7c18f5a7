"""What settings pages are made of: cards with one row per setting, inline questions, and the link to the settings."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from PySide6.QtCore import QObject, QSize, Qt, Signal
from PySide6.QtGui import QFontMetrics, QGuiApplication, QKeyEvent
from PySide6.QtWidgets import (
    QFrame,
    QHBoxLayout,
    QLabel,
    QLineEdit,
    QPlainTextEdit,
    QScrollArea,
    QSizePolicy,
    QVBoxLayout,
    QWidget,
)

from halo_scheduler.errors import ScheduleError, SchedulerError
from halo_scheduler.model.changes import Change, ChangeKind
from halo_scheduler.model.settings import Settings
from ui.backend.backend import Backend
from ui.style.theme import GRID, HALF, MARGIN, Appearance, mono_font
from ui.widgets.labels import button, frame, label, tint

# The width that fits all rows; in a narrower dialog the page scrolls.
_LEAST_WIDTH = 560


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
        self._title = label(title, wrap=True)
        self._buddy = buddy or control
        if self._buddy is not None:
            self._title.setBuddy(self._buddy)
            self._error.setObjectName(f"{self._buddy.objectName()}Error")
            self._buddy.setAccessibleDescription(hint)
            if not self._buddy.accessibleName():
                self._buddy.setAccessibleName(title)
        words = QVBoxLayout()
        words.setSpacing(HALF)
        words.addWidget(self._title)
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

    def show_title(self, text: str) -> None:
        self._title.setText(text)

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
        # The controls take the focus.
        self.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        content = _Content()
        content.setObjectName("pageContent")
        content.setMinimumWidth(_LEAST_WIDTH)
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


class CopyField(QWidget):
    """Shows one line, or several lines below a title; they can be selected and copied."""

    def __init__(self, appearance: Appearance, text: str, *, name: str, title: str, hint: str = "") -> None:
        super().__init__()
        self._text = text
        is_line = "\n" not in text
        edit = _line(text) if is_line else _lines(text)
        edit.setObjectName(f"{name}Text")
        edit.setAccessibleName(title)
        edit.setAccessibleDescription(hint)
        self._copied = label("", "ok", name=f"{name}Copied")
        self._copy = button(
            self.tr("Copy"),
            name=f"{name}CopyButton",
            accessible=self.tr("Copy: {title}").format(title=title),
        )
        tint(self._copy, appearance, "copy")
        self._copy.clicked.connect(self._put_on_clipboard)
        row = QHBoxLayout()
        row.setSpacing(GRID)
        if is_line:
            row.addWidget(edit, 1)
        else:
            row.addLayout(_heading(title, hint), 1)
        row.addWidget(self._copied)
        row.addWidget(self._copy)
        box = QVBoxLayout(self)
        box.setContentsMargins(0, 0, 0, 0)
        box.setSpacing(GRID)
        box.addLayout(row)
        if not is_line:
            box.addWidget(edit)

    def _put_on_clipboard(self) -> None:
        QGuiApplication.clipboard().setText(self._text)
        self._copied.setText(self.tr("✓ Copied"))


def _heading(title: str, hint: str) -> QVBoxLayout:
    words = QVBoxLayout()
    words.setSpacing(HALF)
    words.addWidget(label(title))
    words.addWidget(label(hint, "small", wrap=True))
    return words


def _line(text: str) -> QWidget:
    made = QLineEdit(text)
    made.setReadOnly(True)
    made.setCursorPosition(0)
    made.setFont(mono_font(made.font()))
    return made


def _lines(text: str) -> QWidget:
    made = QPlainTextEdit(text)
    made.setReadOnly(True)
    made.setTextInteractionFlags(
        Qt.TextInteractionFlag.TextSelectableByMouse | Qt.TextInteractionFlag.TextSelectableByKeyboard
    )
    made.setTabChangesFocus(True)
    made.setLineWrapMode(QPlainTextEdit.LineWrapMode.NoWrap)
    made.setVerticalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
    made.setFont(mono_font(made.font()))
    # Room for a horizontal scroll bar: paths can be long.
    lines = text.count("\n") + 1
    made.setFixedHeight(QFontMetrics(made.font()).lineSpacing() * lines + MARGIN * 2 + HALF)
    return made


class Confirmation(QFrame):
    """Explains an action, with buttons to confirm or cancel it."""

    confirmed = Signal()
    cancelled = Signal()

    def __init__(self, text: str, act: str) -> None:
        super().__init__()
        self.setProperty("role", "note")
        self.setObjectName("confirmation")
        self._text = label(text, name="confirmationText", wrap=True)
        self._act = button(act, name="confirmButton", kind="danger")
        self._cancel = button(self.tr("Cancel"), name="cancelButton", tip=self.tr("Cancel (Esc)"))
        self._act.clicked.connect(self.confirmed)
        self._cancel.clicked.connect(self.cancelled)
        buttons = QHBoxLayout()
        buttons.setSpacing(GRID)
        buttons.addStretch(1)
        buttons.addWidget(self._cancel)
        buttons.addWidget(self._act)
        box = QVBoxLayout(self)
        box.setContentsMargins(MARGIN, GRID + 4, MARGIN, GRID + 4)
        box.setSpacing(GRID)
        box.addWidget(self._text)
        box.addLayout(buttons)

    def take_focus(self) -> None:
        """Focus Cancel, the harmless answer."""
        self._cancel.setFocus()

    def show_busy(self, text: str) -> None:
        """Show progress and disable the buttons."""
        self._text.setText(text)
        self._act.setEnabled(False)
        self._cancel.setEnabled(False)

    def keyPressEvent(self, event: QKeyEvent) -> None:  # noqa: N802
        if event.key() == Qt.Key.Key_Escape:
            self.cancelled.emit()
        else:
            super().keyPressEvent(event)


class SettingsLink(QObject):
    """Loads and changes the settings; a refused change is reported and reverted."""

    loaded = Signal(object)
    """The current Settings; also emitted after a refusal, so that the fields show the stored values."""

    def __init__(self, backend: Backend, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._backend = backend
        self._settings: Settings | None = None
        self._under_way = 0
        self._is_stale = False
        backend.changed.connect(self._note_change)

    @property
    def backend(self) -> Backend:
        return self._backend

    def follow(self, show: Callable[[Settings], object]) -> None:
        """Call `show` whenever the settings are loaded, and now if they already are."""
        self.loaded.connect(show)
        if self._settings is not None and not self._under_way:
            show(self._settings)

    def load(self) -> None:
        """Read the settings."""
        self._under_way += 1
        self._is_stale = False
        self._backend.ask(lambda scheduler: scheduler.settings.read(), self._take, self._fail, owner=self)

    def change(self, show_error: Callable[[str], None], **changes: Any) -> None:
        """Change some settings; `show_error` gets the reason of a refusal, or an empty text."""
        if self._settings is None or self._hold(self._settings, changes):
            show_error("")
            return
        self._under_way += 1

        def take(settings: Settings) -> None:
            show_error("")
            self._take(settings)

        def refuse(error: SchedulerError) -> None:
            show_error(sentence(error))
            self._fail(error)

        self._backend.ask(lambda scheduler: scheduler.settings.change(**changes), take, refuse, owner=self)

    def _hold(self, settings: Settings, changes: dict[str, Any]) -> bool:
        """Return whether the settings already have these values; pending requests make that uncertain."""
        return not self._under_way and all(
            getattr(settings, name) == value for name, value in changes.items()
        )

    def _note_change(self, change: Change) -> None:
        if change.kind is not ChangeKind.SETTINGS or self._settings is None:
            return
        if self._under_way:
            # The pending answer may be older than this change.
            self._is_stale = True
        else:
            self.load()

    def _take(self, settings: Settings) -> None:
        self._settings = settings
        self._end_one()

    def _fail(self, _error: SchedulerError) -> None:
        self._end_one()

    def _end_one(self) -> None:
        # With more requests pending, a field may show a newer value than this answer.
        self._under_way -= 1
        if self._under_way or self._settings is None:
            return
        if self._is_stale:
            self.load()
        else:
            self.loaded.emit(self._settings)
