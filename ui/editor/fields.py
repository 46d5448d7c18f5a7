"""The fields of the editor, each with its error, and the pages they stand on."""

from __future__ import annotations

from collections.abc import Iterable

from PySide6.QtCore import QEvent, QObject, Qt, Signal
from PySide6.QtWidgets import (
    QFrame,
    QHBoxLayout,
    QLabel,
    QScrollArea,
    QVBoxLayout,
    QWidget,
)

from ui.theme import GRID, HALF, MARGIN
from ui.widgets.labels import label
from ui.wording import one_line

from .fold import Fold
from .problems import Problem, as_sentence, is_under

_PAGE_WIDTH = 560


class Field(QWidget):
    """A control under its name, with a remark and, when there is one, its error below it."""

    def __init__(
        self,
        title: str,
        control: QWidget,
        *,
        path: str = "",
        also_path: str = "",
        subject: str = "",
        hint: str = "",
    ) -> None:
        super().__init__()
        self.control = control
        self.paths = tuple(filter(None, (path, also_path)))
        self.is_touched = False
        self._subject = subject or title
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.setSpacing(HALF)
        self._title = label(title)
        self._title.setVisible(bool(title))
        self._title.setBuddy(_first_focus(control))
        layout.addWidget(self._title)
        layout.addWidget(control)
        self._hint = label(hint, "small", wrap=True)
        self._hint.setVisible(bool(hint))
        layout.addWidget(self._hint)
        self._error = label("", "error", wrap=True, name=f"{control.objectName()}Error")
        self._error.hide()
        layout.addWidget(self._error)
        for widget in (control, *control.findChildren(QWidget)):
            widget.installEventFilter(self)

    @property
    def error(self) -> str:
        """The sentence shown below the control; empty when there is none."""
        return self._error.text()

    def set_hint(self, text: str) -> None:
        """Show another remark."""
        self._hint.setText(text)
        self._hint.setVisible(bool(text))

    def sentence(self, problem: Problem) -> str:
        """Return a problem as a sentence about this field."""
        return as_sentence(self._subject, problem.message)

    def show_error(self, sentence: str) -> None:
        """Put a sentence below the control, or take it away."""
        shown = one_line(sentence)
        if shown == self._error.text():
            return
        self._error.setText(shown)
        self._error.setVisible(bool(shown))
        target = _first_focus(self.control)
        target.setAccessibleDescription(shown)
        target.setProperty("invalid", "true" if shown else "false")
        target.style().unpolish(target)
        target.style().polish(target)

    def focus(self) -> None:
        """Bring the control into view and give it the keyboard."""
        _first_focus(self.control).setFocus(Qt.FocusReason.OtherFocusReason)

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:  # noqa: N802 - Qt's name
        if event.type() is QEvent.Type.FocusOut:
            self.is_touched = True
        return super().eventFilter(watched, event)


class Page(QScrollArea):
    """One page: a title, a word on it, and fields from top to bottom."""

    edited = Signal()
    """Something was typed or chosen."""

    def __init__(self, title: str, remark: str, *, name: str) -> None:
        super().__init__()
        self.setObjectName(name)
        self.setAccessibleName(title)
        self.setWidgetResizable(True)
        self.setFrameShape(QFrame.Shape.NoFrame)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        # The fields take the keyboard; the page itself would be a stop without a use.
        self.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        self._fields: list[Field] = []
        self._column = QWidget()
        self._column.setMaximumWidth(_PAGE_WIDTH)
        self.column = QVBoxLayout(self._column)
        self.column.setContentsMargins(0, 0, 0, 0)
        self.column.setSpacing(MARGIN)
        self._title: QLabel = label(title, "title", name=f"{name}Title")
        self.column.addWidget(self._title)
        if remark:
            self.column.addWidget(label(remark, "muted", wrap=True))
        canvas = QWidget()
        row = QHBoxLayout(canvas)
        row.setContentsMargins(GRID * 3, GRID * 3, GRID * 3, GRID * 3)
        row.addWidget(self._column, 1)
        row.addStretch(0)
        row.setAlignment(self._column, Qt.AlignmentFlag.AlignTop)
        self.setWidget(canvas)

    def add(self, widget: QWidget) -> None:
        """Put something below what is there."""
        self.column.addWidget(widget)

    def add_field(self, field: Field) -> Field:
        """Put a field below what is there, and show its errors from now on."""
        self.column.addWidget(field)
        return self.watch_field(field)

    def watch_field(self, field: Field) -> Field:
        """Show the errors of a field that stands elsewhere on the page."""
        self._fields.append(field)
        return field

    def field_of(self, path: str) -> Field | None:
        """Return the field that a path names, be it only as a whole."""
        found = [
            (len(field_path), index)
            for index, field in enumerate(self._fields)
            for field_path in field.paths
            if is_under(path, field_path)
        ]
        return self._fields[max(found)[1]] if found else None

    def show_problems(self, problems: Iterable[Problem]) -> None:
        """Put each problem beside its field; what was merely not filled in yet waits until it was visited."""
        sentences: dict[Field, str] = {}
        for problem in problems:
            field = self.field_of(problem.path)
            if field is not None and (field.is_touched or not problem.is_missing):
                sentences.setdefault(field, field.sentence(problem))
        for field in self._fields:
            field.show_error(sentences.get(field, ""))

    def reveal(self, field: Field) -> None:
        """Bring a field into view, out of whatever it is folded into, and give it the keyboard."""
        parent = field.parentWidget()
        while parent is not None and parent is not self:
            if isinstance(parent, Fold):
                parent.unfold()
            parent = parent.parentWidget()
        field.focus()
        self.ensureWidgetVisible(field)


def _first_focus(control: QWidget) -> QWidget:
    """Return what takes the keyboard: the control, or the first in it that does."""
    proxy = control.focusProxy()
    if proxy is not None:
        return _first_focus(proxy)
    if control.focusPolicy() & Qt.FocusPolicy.TabFocus:
        return control
    inner = (
        child for child in control.findChildren(QWidget) if child.focusPolicy() & Qt.FocusPolicy.TabFocus
    )
    return next(inner, control)
