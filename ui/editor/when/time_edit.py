"""An instant as typed by the user, with its meaning below."""

from __future__ import annotations

from collections.abc import Callable

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QHBoxLayout, QLineEdit, QVBoxLayout, QWidget

from halo_scheduler.errors import ScheduleError
from halo_scheduler.grammar.when import parse_when
from halo_scheduler.wording.schedules import describe_when
from ui.style.theme import GRID, HALF
from ui.style.wording import moment
from ui.widgets.labels import button, label

from .anchors import typed_text


class TimeEdit(QWidget):
    """Parses "in 1h" when it is typed, not when it is saved, so that the shown time is the stored one."""

    changed = Signal()

    def __init__(
        self, now_ms: Callable[[], int], *, name: str, title: str, examples: tuple[str, ...]
    ) -> None:
        super().__init__()
        self.setObjectName(name)
        self._now_ms = now_ms
        self._at: int | None = None
        self._error: ScheduleError | None = None
        self._line = QLineEdit()
        self._line.setObjectName(f"{name}Line")
        self._line.setAccessibleName(title)
        self._line.setPlaceholderText("tomorrow 9:00")
        self._meaning = label("", "muted", name=f"{name}Meaning")
        chips = QHBoxLayout()
        chips.setSpacing(HALF)
        for index, example in enumerate(examples):
            chip = button(
                example, name=f"{name}Chip{index}", tip=self.tr("Enter “{text}”").format(text=example)
            )
            chip.setAutoDefault(False)
            chip.clicked.connect(_Put(self._line, example))
            chips.addWidget(chip)
        chips.addStretch(1)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.setSpacing(GRID)
        layout.addWidget(self._line)
        layout.addLayout(chips)
        layout.addWidget(self._meaning)
        self.setFocusProxy(self._line)
        self._line.textChanged.connect(self._read)

    @property
    def is_empty(self) -> bool:
        return not self._line.text().strip()

    def instant(self) -> int:
        """Return the instant, or raise ScheduleError."""
        if self._error is not None:
            raise ScheduleError(self._error.message)
        if self._at is None:
            raise ScheduleError("is empty")
        return self._at

    def set_instant(self, at: int) -> None:
        """Show an instant; it keeps its milliseconds while the text is unchanged."""
        self._line.setText(typed_text(at))
        self._at, self._error = at, None
        self._show_meaning()

    def _read(self, text: str) -> None:
        self._at, self._error = None, None
        if text.strip():
            try:
                self._at = parse_when(text, self._now_ms())
            except ScheduleError as error:
                self._error = error
        self._show_meaning()
        self.changed.emit()

    def _show_meaning(self) -> None:
        if self._at is None:
            self._meaning.setText("")
            return
        now_ms = self._now_ms()
        distance = describe_when(self._at, now_ms) if self._at >= now_ms else self.tr("in the past")
        self._meaning.setText(f"{moment(self._at)} · {distance}")


class _Put:
    """Enters an example when called."""

    def __init__(self, line: QLineEdit, text: str) -> None:
        self._line = line
        self._text = text

    def __call__(self) -> None:
        self._line.setText(self._text)
        self._line.setFocus()
