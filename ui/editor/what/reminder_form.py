"""The reminder of a job: a title and a text."""

from __future__ import annotations

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QLineEdit, QVBoxLayout, QWidget

from halo_scheduler.model import Reminder
from ui.forms.fields import Field, Findings, Page
from ui.forms.inputs import PlainText
from ui.style.theme import GRID, MARGIN

_LINES = 4


class ReminderForm(QWidget):
    """What the notification says."""

    changed = Signal()

    def __init__(self, page: Page, parent: QWidget) -> None:
        super().__init__(parent)
        self._title = QLineEdit()
        self._title.setObjectName("reminderTitle")
        self._title.setAccessibleName(self.tr("Title"))
        self._title.setPlaceholderText(self.tr("Time to stand up and stretch"))
        self._text = PlainText(name="reminderText", title=self.tr("Text"))
        self._text.setFixedHeight(self._text.fontMetrics().lineSpacing() * _LINES + GRID)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.setSpacing(MARGIN)
        for field in (
            Field(self.tr("Title"), self._title, path="action.title", subject=self.tr("The title")),
            Field(
                self.tr("Text"),
                self._text,
                path="action.text",
                subject=self.tr("The text"),
                hint=self.tr(
                    "Shown as a desktop notification. The run fails if the desktop doesn't accept it."
                ),
            ),
        ):
            page.watch_field(field)
            layout.addWidget(field)
        self._title.textChanged.connect(self.changed)
        self._text.textChanged.connect(self.changed)

    def first_stops(self) -> list[QWidget]:
        """Return the first widgets in Tab order."""
        return [self._title, self._text]

    def load(self, reminder: Reminder | None) -> None:
        """Show a reminder."""
        if reminder is not None:
            self._title.setText(reminder.title)
            self._title.setCursorPosition(0)
            self._text.show_text(reminder.text)

    def read(self, findings: Findings) -> Reminder | None:
        """Return the reminder, or None after recording the problems."""
        title = self._title.text().strip()
        if not title:
            findings.miss("action.title", self.tr("Enter a title."))
            return None
        return findings.take("action", lambda: Reminder(title=title, text=self._text.toPlainText().strip()))
