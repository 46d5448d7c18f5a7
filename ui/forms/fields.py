"""The fields of the editor, each with its error, and the pages they stand on."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from PySide6.QtCore import QSize, Qt, Signal
from PySide6.QtWidgets import (
    QFrame,
    QHBoxLayout,
    QLabel,
    QScrollArea,
    QVBoxLayout,
    QWidget,
)

from ui.style.theme import GRID, HALF, MARGIN
from ui.style.wording import one_line
from ui.widgets.labels import label

from .fold import Fold
from .problems import Problem, as_sentence, is_under
from .seen import show_if

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
        target: QWidget | None = None,
        targets: Mapping[str, QWidget] | None = None,
    ) -> None:
        """Show a control; `target` is what of it takes the keyboard, if that is not its first.

        A focus proxy would say the same, but the Tab key follows it, over whatever lies between. `targets` are those
        of its parts that errors have names of their own for: the ends of their paths.
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
        # Most fields never need them.
        self._hint: QLabel | None = None
        self._error: QLabel | None = None
        if hint:
            self.set_hint(hint)

    @property
    def error(self) -> str:
        """The sentence shown below the control; empty when there is none."""
        return "" if self._error is None else self._error.text()

    def set_hint(self, text: str) -> None:
        """Show another remark."""
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
        """Put a sentence below the control, or take it away; the path tells what of it is meant."""
        shown = one_line(sentence)
        target = self._targets.get(path.rpartition(".")[2], self._usual_target)
        if shown == self.error and target is self._target:
            return
        if self._error is None:
            self._error = label("", "error", wrap=True, name=f"{self.control.objectName()}Error")
            # A name without a blank must not make the page wider.
            self._error.setMinimumWidth(GRID)
            self._below.addWidget(self._error)
        self._error.setText(shown)
        show_if(self._error, bool(shown))
        if target is not self._target:
            _mark_error(_first_focus(self._target), "")
            self._target = target
        _mark_error(_first_focus(target), shown)

    def focus(self, reason: Qt.FocusReason = Qt.FocusReason.OtherFocusReason) -> None:
        """Bring the control into view and give it the keyboard; by Tab, what stands there is replaced by typing."""
        _first_focus(self._target).setFocus(reason)


class Page(QScrollArea):
    """One page: a title, and fields from top to bottom."""

    edited = Signal()
    """Something was typed or chosen."""
    learned = Signal()
    """Something is known now that counts when the form is read, though nobody changed anything."""
    part_made = Signal(object)
    """A QWidget that was not there before, as it is before anybody changes it."""

    def __init__(self, title: str, *, name: str, parent: QWidget) -> None:
        super().__init__(parent)
        self.setObjectName(name)
        self.setAccessibleName(title)
        self.setWidgetResizable(True)
        self.setFrameShape(QFrame.Shape.NoFrame)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        # The fields take the keyboard; the page itself would be a stop without a use.
        self.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        self._fields: list[Field] = []
        # From the outside in: what is moved into another parent later is styled all over again.
        canvas = _Canvas(self)
        self.setWidget(canvas)
        row = QHBoxLayout(canvas)
        row.setContentsMargins(GRID * 3, GRID * 3, GRID * 3, GRID * 3)
        self._column = QWidget(canvas)
        self._column.setMaximumWidth(_PAGE_WIDTH)
        row.addWidget(self._column, 1, Qt.AlignmentFlag.AlignTop)
        row.addStretch(0)
        self.column = QVBoxLayout(self._column)
        self.column.setContentsMargins(0, 0, 0, 0)
        self.column.setSpacing(MARGIN)
        self.column.addWidget(label(title, "title", name=f"{name}Title"))

    @property
    def ground(self) -> QWidget:
        """What the fields stand on; a form made for it from the start need not be moved there."""
        return self._column

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

    def forget_field(self, field: Field) -> None:
        """Look no more at a field that is taken away."""
        self._fields.remove(field)

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
        told: dict[Field, tuple[str, str]] = {}
        for problem in problems:
            field = self.field_of(problem.path)
            if field is not None and (field.is_touched or not problem.is_missing):
                told.setdefault(field, (field.sentence(problem), problem.path))
        for field in self._fields:
            field.show_error(*told.get(field, ("", "")))

    def reveal(self, field: Field) -> None:
        """Bring a field into view, out of whatever it is folded into, and give it the keyboard."""
        parent = field.parentWidget()
        while parent is not None and parent is not self:
            if isinstance(parent, Fold):
                parent.unfold()
            parent = parent.parentWidget()
        field.focus()
        self.ensureWidgetVisible(field)


class _Canvas(QWidget):
    """As high as what stands on it is at its width.

    Qt would ask for the height that texts have at the width they like best, and let an empty rest be scrolled to.
    """

    def minimumSizeHint(self) -> QSize:  # noqa: N802 - Qt's name
        least = super().minimumSizeHint()
        return QSize(least.width(), 0) if self.hasHeightForWidth() else least


def _mark_error(target: QWidget, sentence: str) -> None:
    """Show and say that something is wrong with what takes the keyboard; without a sentence, that nothing is."""
    target.setAccessibleDescription(sentence)
    target.setProperty("invalid", "true" if sentence else "false")
    target.style().unpolish(target)
    target.style().polish(target)


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
