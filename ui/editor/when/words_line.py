"""A line that takes and shows the schedule of a job in plain words."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from PySide6.QtCore import QSignalBlocker, Qt, Signal
from PySide6.QtWidgets import QLineEdit, QPushButton, QVBoxLayout, QWidget

from halo_scheduler.errors import PhraseParseError, ScheduleError
from halo_scheduler.host.machine_state import home_country
from halo_scheduler.model import Schedule, Several
from halo_scheduler.schedule.spoken import parse_schedule
from halo_scheduler.wording.schedules import describe
from ui.forms.fields import Field, Findings, Page
from ui.forms.rows import link
from ui.style.theme import GRID, HALF
from ui.widgets.arrange import show_if

PATH = "schedule.words"
_MOST_SUGGESTIONS = 3


class WordsLine(QWidget):
    """Reads plain words as they are typed; a text that is not understood stays, with the reason below it."""

    typed = Signal(object)
    """The schedule that the typed words mean; None while they are not understood."""

    def __init__(self, now_ms: Callable[[], int], page: Page) -> None:
        super().__init__(page.ground)
        self._now_ms = now_ms
        self._error: ScheduleError | None = None
        self._line = QLineEdit()
        self._line.setObjectName("whenWords")
        self._line.setAccessibleName(self.tr("Schedule in plain words"))
        self._line.setPlaceholderText(self.tr("every weekday at 9:00"))
        self._line.textChanged.connect(self._read)
        self._suggestions = [
            link("", name=f"whenWordsSuggestion{index}") for index in range(_MOST_SUGGESTIONS)
        ]
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.setSpacing(HALF)
        layout.addWidget(
            page.watch_field(
                Field(self.tr("In plain words"), self._line, path=PATH, subject=self.tr("The schedule"))
            )
        )
        for suggestion in self._suggestions:
            # A long phrase must not widen the page.
            suggestion.setMinimumWidth(GRID)
            suggestion.clicked.connect(partial(self._use, suggestion))
            layout.addWidget(suggestion, alignment=Qt.AlignmentFlag.AlignLeft)
        self._suggest(())

    def show_schedule(self, schedule: Schedule | Several | None) -> None:
        """Show a schedule in words; None clears the line."""
        with QSignalBlocker(self._line):
            self._line.setText("" if schedule is None else describe(schedule))
            self._line.setCursorPosition(0)
        self._error = None
        self._suggest(())

    def check(self, findings: Findings) -> bool:
        """Record that the words are not understood; return whether they are."""
        if self._error is None:
            return True
        error = self._error
        findings.refuse(PATH, error.fault if isinstance(error, PhraseParseError) else error.message)
        return False

    def _read(self, text: str) -> None:
        self._error = None
        schedule = None
        if text.strip():
            try:
                schedule = parse_schedule(text, now_ms=self._now_ms(), country=home_country())
            except ScheduleError as error:
                self._error = error
        self._suggest(self._error.suggestions if isinstance(self._error, PhraseParseError) else ())
        self.typed.emit(schedule)

    def _suggest(self, phrases: tuple[str, ...]) -> None:
        shown = phrases[:_MOST_SUGGESTIONS]
        for index, suggestion in enumerate(self._suggestions):
            text = shown[index] if index < len(shown) else ""
            suggestion.setText(text)
            suggestion.setAccessibleName(self.tr("Use “{text}”").format(text=text))
            suggestion.setToolTip("")
            show_if(suggestion, bool(text))

    def _use(self, suggestion: QPushButton) -> None:
        self._line.setText(suggestion.text())
        self._line.setFocus()
