"""Form fields with their problems and contents, and the pages that hold them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import TypeVar

from PySide6.QtCore import QSize, Qt, Signal
from PySide6.QtWidgets import (
    QAbstractButton,
    QAbstractSpinBox,
    QComboBox,
    QFrame,
    QHBoxLayout,
    QLabel,
    QLineEdit,
    QPlainTextEdit,
    QScrollArea,
    QVBoxLayout,
    QWidget,
)

from halo_scheduler.errors import ScheduleError
from ui.style.theme import GRID, HALF, MARGIN, scaled
from ui.style.wording import one_line
from ui.widgets.arrange import show_if
from ui.widgets.labels import label

from .fold import Fold

_VERBS = ("is ", "must ", "contains ")
T = TypeVar("T")
CONTENT = "content"
"""The property with the content of a widget that has no value of its own."""
_INNER = "qt_"
_PAGE_WIDTH = 560


@dataclass(frozen=True, slots=True)
class Problem:
    """One problem; `is_missing` marks a field that is not filled in yet."""

    path: str
    message: str
    is_missing: bool = False


class Findings:
    """Collects the problems while a form is read, so that all can be shown at once."""

    def __init__(self) -> None:
        self.problems: list[Problem] = []

    def take(self, path: str, make: Callable[[], T]) -> T | None:
        """Return the result of `make`; a ScheduleError is recorded under the path."""
        try:
            return make()
        except ScheduleError as error:
            found = error.under(path) if path else error
            self.problems.append(Problem(found.path, error.message))
            return None

    def miss(self, path: str, message: str) -> None:
        """Record that a required value is missing."""
        self.problems.append(Problem(path, message, is_missing=True))

    def refuse(self, path: str, message: str) -> None:
        """Record that a value is invalid."""
        self.problems.append(Problem(path, message))


def as_sentence(subject: str, message: str) -> str:
    """Return a message as a full sentence; "is empty" gets the subject."""
    text = f"{subject} {message}" if message.startswith(_VERBS) else message
    text = f"{text[:1].upper()}{text[1:]}"
    return text if text.endswith((".", "!", "?", "…")) else f"{text}."


def is_under(path: str, field_path: str) -> bool:
    """Return whether a path is a field's path or inside it."""
    return path == field_path or path.startswith((f"{field_path}.", f"{field_path}["))


def snapshot(page: QWidget) -> dict[str, str]:
    """Return the contents of all controls by object name; inner widgets of Qt are skipped."""
    widgets = page.findChildren(QWidget)
    contents = ((widget.objectName(), widget.property(CONTENT) or _content(widget)) for widget in widgets)
    return {
        name: str(content)
        for name, content in contents
        if content is not None and name and not name.startswith(_INNER)
    }


def _content(widget: QWidget) -> str | None:
    if isinstance(widget, QComboBox):
        return widget.currentText()
    if isinstance(widget, QAbstractSpinBox):
        return widget.text()
    if isinstance(widget, QPlainTextEdit):
        return None if widget.isReadOnly() else widget.toPlainText()
    if isinstance(widget, QLineEdit):
        return widget.text()
    if isinstance(widget, QAbstractButton) and widget.isCheckable() and not widget.property("kind"):
        return str(widget.isChecked())
    return None


class Field(QWidget):
    """A control with a title above, and a hint and an error below."""

    def __init__(
        self,
        title: str,
        control: QWidget,
        *,
        path: str = "",
        also_path: str = "",
        subject: str = "",
        hint: str = "",
        target: QWidget | None = None,
        targets: Mapping[str, QWidget] | None = None,
    ) -> None:
        """Show a control; `target` is the widget to focus, by default the first one.

        A focus proxy would change the Tab order as well. `targets` maps the last part of an error's path to the widget
        to focus for it.
        """
        super().__init__()
        self.control = control
        self._usual_target = self._target = target or control
        self._targets = dict(targets or {})
        self.paths = tuple(filter(None, (path, also_path)))
        self.is_touched = False
        self._subject = subject or title
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.setSpacing(HALF)
        if title:
            heading = label(title)
            heading.setBuddy(_first_focus(self._target))
            layout.addWidget(heading)
        layout.addWidget(control)
        self._below = layout
        # Created on first use: most fields need neither.
        self._hint: QLabel | None = None
        self._error: QLabel | None = None
        if hint:
            self.set_hint(hint)

    @property
    def error(self) -> str:
        """The sentence shown below the control; empty when there is none."""
        return "" if self._error is None else self._error.text()

    def set_hint(self, text: str) -> None:
        """Show a hint, or none."""
        if self._hint is None and text:
            self._hint = label("", "small", wrap=True, name=f"{self.control.objectName()}Hint")
            self._below.insertWidget(self._below.indexOf(self.control) + 1, self._hint)
        if self._hint is not None:
            self._hint.setText(text)
            show_if(self._hint, bool(text))

    def sentence(self, problem: Problem) -> str:
        """Return a problem as a sentence about this field."""
        return as_sentence(self._subject, problem.message)

    def show_error(self, sentence: str, path: str = "") -> None:
        """Show an error below the control, or clear it; the path selects the widget to mark."""
        shown = one_line(sentence)
        target = self._targets.get(path.rpartition(".")[2], self._usual_target)
        if shown == self.error and target is self._target:
            return
        if self._error is None:
            self._error = label("", "error", wrap=True, name=f"{self.control.objectName()}Error")
            # A long word must not widen the page.
            self._error.setMinimumWidth(GRID)
            self._below.addWidget(self._error)
        self._error.setText(shown)
        show_if(self._error, bool(shown))
        if target is not self._target:
            _mark_error(_first_focus(self._target), "")
            self._target = target
        _mark_error(_first_focus(target), shown)

    def focus(self, reason: Qt.FocusReason = Qt.FocusReason.OtherFocusReason) -> None:
        """Focus the control; the reason Tab also selects its text."""
        _first_focus(self._target).setFocus(reason)


class Page(QScrollArea):
    """A page: a title, and fields below each other."""

    edited = Signal()
    """The user changed a value."""
    learned = Signal()
    """Loaded data may change the problems of the form, without an edit."""
    secret_wanted = Signal()
    """The user wants to add a secret."""
    part_made = Signal(object)
    """A QWidget that was just created, before any edit."""

    def __init__(self, title: str, *, name: str, parent: QWidget) -> None:
        super().__init__(parent)
        self.setObjectName(name)
        self.setAccessibleName(title)
        self.setWidgetResizable(True)
        self.setFrameShape(QFrame.Shape.NoFrame)
        # The fields take the focus; the page itself is not a Tab stop.
        self.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        self._fields: list[Field] = []
        # Created with their parents: Qt styles a widget again when its parent changes.
        canvas = _Canvas(self)
        self.setWidget(canvas)
        row = QHBoxLayout(canvas)
        row.setContentsMargins(GRID * 3, GRID * 3, GRID * 3, GRID * 3)
        self._column = QWidget(canvas)
        self._column.setMaximumWidth(scaled(_PAGE_WIDTH))
        row.addWidget(self._column, 1, Qt.AlignmentFlag.AlignTop)
        row.addStretch(0)
        self.column = QVBoxLayout(self._column)
        self.column.setContentsMargins(0, 0, 0, 0)
        self.column.setSpacing(MARGIN)
        self.column.addWidget(label(title, "title", name=f"{name}Title"))

    @property
    def ground(self) -> QWidget:
        """The parent of the fields; pass it when creating a form."""
        return self._column

    def add(self, widget: QWidget) -> None:
        """Add a widget at the end."""
        self.column.addWidget(widget)

    def add_field(self, field: Field) -> Field:
        """Add a field at the end, and show its errors."""
        self.column.addWidget(field)
        return self.watch_field(field)

    def watch_field(self, field: Field) -> Field:
        """Show the errors of a field that is placed elsewhere on the page."""
        self._fields.append(field)
        return field

    def forget_field(self, field: Field) -> None:
        """Stop showing errors of a removed field."""
        self._fields.remove(field)

    def field_of(self, path: str) -> Field | None:
        """Return the field with the longest path that contains the given one."""
        found = [
            (len(field_path), index)
            for index, field in enumerate(self._fields)
            for field_path in field.paths
            if is_under(path, field_path)
        ]
        return self._fields[max(found)[1]] if found else None

    def show_problems(self, problems: Iterable[Problem]) -> None:
        """Show each problem at its field; missing values only after the field was visited."""
        told: dict[Field, tuple[str, str]] = {}
        for problem in problems:
            field = self.field_of(problem.path)
            if field is not None and (field.is_touched or not problem.is_missing):
                told.setdefault(field, (field.sentence(problem), problem.path))
        for field in self._fields:
            field.show_error(*told.get(field, ("", "")))

    def reveal(self, field: Field) -> None:
        """Expand the parts around a field, scroll to it and focus it."""
        parent = field.parentWidget()
        while parent is not None and parent is not self:
            if isinstance(parent, Fold):
                parent.unfold()
            parent = parent.parentWidget()
        field.focus()
        self.ensureWidgetVisible(field)


class _Canvas(QWidget):
    """Takes its height from its contents at the current width.

    By default Qt uses the height at the preferred width, which leaves empty space to scroll to.
    """

    def minimumSizeHint(self) -> QSize:  # noqa: N802 - Qt's name
        least = super().minimumSizeHint()
        return QSize(least.width(), 0) if self.hasHeightForWidth() else least


def _mark_error(target: QWidget, sentence: str) -> None:
    """Mark a widget as invalid, also for screen readers; an empty sentence clears the mark."""
    target.setAccessibleDescription(sentence)
    target.setProperty("invalid", "true" if sentence else "false")
    target.style().unpolish(target)
    target.style().polish(target)


def _first_focus(control: QWidget) -> QWidget:
    """Return the first widget in a control that takes the focus."""
    proxy = control.focusProxy()
    if proxy is not None:
        return _first_focus(proxy)
    if control.focusPolicy() & Qt.FocusPolicy.TabFocus:
        return control
    inner = (
        child for child in control.findChildren(QWidget) if child.focusPolicy() & Qt.FocusPolicy.TabFocus
    )
    return next(inner, control)
