"""The dialog of *Run with…* and *Run at…*: values of a job's parameters, an input and a time for one run."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from PySide6.QtWidgets import QDialog, QFormLayout, QHBoxLayout, QLineEdit, QScrollArea, QVBoxLayout, QWidget

from halo_scheduler.errors import ScheduleError
from halo_scheduler.model.jobs import given_parameters, require_input
from ui.forms.inputs import PlainText
from ui.forms.times import TimeEdit
from ui.style.theme import GRID, MARGIN, Appearance, mono_font, strong_font
from ui.widgets.labels import WrappedText, button, label, with_shortcut

_LINES = 5
_MOST_AT_ONCE = 8


class RunDialog(QDialog):
    """Edits what one run is given; only values that differ from the defaults are given."""

    def __init__(
        self,
        appearance: Appearance,
        job_name: str,
        declared: Mapping[str, str],
        now_ms: Callable[[], int],
        parent: QWidget | None = None,
        *,
        is_later: bool = False,
    ) -> None:
        """With `is_later` a time must be entered; otherwise the run starts at once."""
        super().__init__(parent)
        self.setObjectName("runDialog")
        self.setWindowTitle(self.tr("Run at…") if is_later else self.tr("Run with…"))
        self._now_ms = now_ms
        self._time: TimeEdit | None = None
        self.setMinimumWidth(480)
        self._declared = declared
        self._lines: dict[str, QLineEdit] = {}
        column = QVBoxLayout(self)
        column.setContentsMargins(MARGIN, MARGIN, MARGIN, MARGIN)
        column.setSpacing(GRID)
        title = WrappedText(appearance, name="runDialogTitle", font=strong_font(self.font()), most_lines=2)
        title.set_text(self.tr("Run “{name}” once").format(name=job_name))
        column.addWidget(title)
        if is_later:
            examples = (self.tr("in 1h"), "18:00", self.tr("tomorrow 9:00"))
            self._time = TimeEdit(
                now_ms, appearance, name="runAt", title=self.tr("Date and time"), examples=examples
            )
            column.addWidget(label(self.tr("Date and time")))
            column.addWidget(self._time)
            self._time.setFocus()
        if declared:
            column.addWidget(self._values())
        column.addWidget(label(self.tr("Input")))
        self._input = PlainText(name="runInput", title=self.tr("Input"))
        self._input.setFixedHeight(self._input.fontMetrics().lineSpacing() * _LINES)
        column.addWidget(self._input)
        hint = self.tr("Values and input are stored with the run and shown: enter no secrets.")
        column.addWidget(label(hint, "muted", wrap=True))
        self._problem = label("", "error", name="runProblem", wrap=True)
        self._problem.hide()
        column.addWidget(self._problem)
        column.addLayout(self._buttons())

    def _values(self) -> QWidget:
        inner = QWidget()
        form = QFormLayout(inner)
        form.setContentsMargins(0, GRID, 0, 0)
        for name, default in self._declared.items():
            line = QLineEdit(default)
            line.setObjectName(f"value_{name}")
            line.setAccessibleName(name)
            line.setFont(mono_font(line.font()))
            line.setCursorPosition(0)
            title = label(name)
            # Qt would put the words of a low label above those of its field.
            title.setMinimumHeight(line.sizeHint().height())
            form.addRow(title, line)
            self._lines[name] = line
        if len(self._declared) <= _MOST_AT_ONCE:
            return inner
        area = QScrollArea()
        area.setWidgetResizable(True)
        area.setFrameShape(QScrollArea.Shape.NoFrame)
        area.setWidget(inner)
        return area

    def _buttons(self) -> QHBoxLayout:
        row = QHBoxLayout()
        row.addStretch(1)
        cancel = button(self.tr("Cancel"), name="cancelButton", tip=self.tr("Cancel (Esc)"))
        cancel.clicked.connect(self.reject)
        row.addWidget(cancel)
        words = self.tr("Run") if self._time is None else self.tr("Schedule run")
        run = button(words, name="runButton", kind="primary", tip=with_shortcut(words, "Return"))
        run.setDefault(True)
        run.clicked.connect(self.accept)
        row.addWidget(run)
        return row

    @property
    def parameters(self) -> dict[str, str]:
        """The values that were changed."""
        return {name: line.text() for name, line in self._lines.items() if line.isModified()}

    @property
    def input(self) -> str:
        """The input as entered."""
        return self._input.toPlainText()

    @property
    def at(self) -> int | None:
        """The chosen time; None to run at once. ScheduleError says why it cannot be used."""
        if self._time is None:
            return None
        if self._time.is_empty:
            raise ScheduleError(self.tr("Enter a date and time."))
        at = self._time.instant()
        if at <= self._now_ms():
            raise ScheduleError(self.tr("This time is in the past; enter a later one."))
        return at

    def accept(self) -> None:
        """Close, or show which value cannot be given."""
        try:
            self.at  # noqa: B018 - evaluated for its error; read again when the dialog closes
            given_parameters(self._declared, self.parameters)
            require_input(self.input)
        except ScheduleError as error:
            self._problem.setText(str(error))
            self._problem.show()
            return
        super().accept()
