"""What a job does when due during quiet hours, and which quiet hours apply to it."""

from __future__ import annotations

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QComboBox, QVBoxLayout, QWidget

from halo_scheduler.model import InQuietTime
from halo_scheduler.model.changes import Change, ChangeKind
from halo_scheduler.model.quiet_times import QuietTime
from halo_scheduler.model.settings import Settings
from ui.backend.backend import Backend
from ui.editor.summary import joined
from ui.forms.fields import Field, Page
from ui.forms.links import link
from ui.forms.quiet_times import called, quiet_line
from ui.style.theme import HALF
from ui.style.wording import one_line
from ui.widgets.labels import label

_MOST_SHOWN = 4
_LONGEST_LINE = 120


class QuietHoursChoice(QWidget):
    """A choice that belongs to the job; the quiet hours themselves belong to the settings."""

    changed = Signal()
    learned = Signal()
    settings_wanted = Signal()

    def __init__(self, backend: Backend, settings: Settings, page: Page) -> None:
        super().__init__()
        self.setObjectName("quietHours")
        self._backend = backend
        self._times = settings.quiet_times
        self._group: str | None = None
        self._choice = QComboBox()
        self._choice.setObjectName("inQuietTime")
        self._choice.setAccessibleName(self.tr("If due during quiet hours"))
        self._choice.addItem(self.tr("Wait until quiet hours end"), InQuietTime.WAIT)
        self._choice.addItem(self.tr("Skip it"), InQuietTime.SKIP)
        self._words = label("", "small", wrap=True, name="quietTimes")
        self._settings = link(self.tr("Quiet hours…"), name="openQuietTimes")
        self._settings.setToolTip(self.tr("Open the quiet hours settings"))
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.setSpacing(HALF)
        layout.addWidget(
            page.watch_field(
                Field(
                    self.tr("If due during quiet hours"),
                    self._choice,
                    path="policy.in_quiet_time",
                    subject=self.tr("The choice"),
                )
            )
        )
        layout.addWidget(self._words)
        layout.addWidget(self._settings)
        self._choice.currentIndexChanged.connect(self.changed)
        self._settings.clicked.connect(self.settings_wanted)
        backend.changed.connect(self._notice)
        self._show_times()

    @property
    def choice(self) -> InQuietTime:
        return InQuietTime(self._choice.currentData())

    @property
    def times(self) -> tuple[QuietTime, ...]:
        """The quiet hours that apply to the job."""
        return tuple(time for time in self._times if time.is_for(self._group))

    def load(self, choice: InQuietTime) -> None:
        """Show the choice of a job."""
        self._choice.setCurrentIndex(self._choice.findData(choice))

    def follow(self, group: str | None) -> None:
        """Show the quiet hours that apply to a group."""
        self._group = group
        self._show_times()

    def _notice(self, change: Change) -> None:
        if change.kind is ChangeKind.SETTINGS:
            self._backend.ask(lambda scheduler: scheduler.settings.read(), self._take, owner=self)

    def _take(self, settings: Settings) -> None:
        if settings.quiet_times != self._times:
            self._times = settings.quiet_times
            self._show_times()
            self.learned.emit()

    def _show_times(self) -> None:
        lines = [one_line(joined(called(time), quiet_line(time)), _LONGEST_LINE) for time in self.times]
        if len(lines) > _MOST_SHOWN:
            rest = self.tr("and {count} more").format(count=len(lines) - _MOST_SHOWN)
            lines = [*lines[:_MOST_SHOWN], rest]
        if lines:
            text = "\n".join([self.tr("Quiet hours of this job:"), *lines])
        elif self._times:
            text = self.tr("No quiet hours apply to this job.")
        else:
            text = self.tr("No quiet hours set up.")
        self._words.setText(text)
