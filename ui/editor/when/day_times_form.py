"""The form for weekdays and times of day, which writes a cron expression."""

from __future__ import annotations

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QHBoxLayout, QVBoxLayout, QWidget

from ui.editor.draft import NEW_JOB_CRON
from ui.forms.fields import Field, Page
from ui.forms.links import link
from ui.forms.problems import Findings
from ui.forms.seen import show_if
from ui.style.theme import GRID, HALF, Appearance, mono_font, small_font
from ui.widgets.labels import button, frame, label

from .day_times_edit import DayTimesEdit
from .times import DayTimes, read_cron, write_cron

PATH = "schedule.times"


class DayTimesForm(QWidget):
    """Weekdays and times; offers a second job for times that one expression cannot hold."""

    changed = Signal()
    cron_wanted = Signal()
    second_wanted = Signal()

    def __init__(self, appearance: Appearance, page: Page) -> None:
        super().__init__(page.ground)
        self._given: tuple[DayTimes, str] | None = None
        self._edit = DayTimesEdit(appearance, name="dayTimes")
        self._cron = label("", "muted", name="writtenCron")
        self._cron.setFont(mono_font(small_font(self._cron.font())))
        as_cron = link(self.tr("Edit as cron"), name="editAsCron")
        as_cron.clicked.connect(self.cron_wanted)
        self._written = QWidget()
        written = QHBoxLayout(self._written)
        written.setContentsMargins(0, 0, 0, 0)
        written.setSpacing(GRID)
        written.addWidget(label(self.tr("As cron:"), "small"))
        written.addWidget(self._cron)
        written.addWidget(as_cron)
        written.addStretch(1)
        self._build_two_jobs()
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.setSpacing(GRID)
        layout.addWidget(page.watch_field(Field("", self._edit, path=PATH, subject=self.tr("The list"))))
        layout.addWidget(self._two_jobs)
        layout.addWidget(self._written)
        self.load(NEW_JOB_CRON)
        self._edit.changed.connect(self._announce_change)

    def _build_two_jobs(self) -> None:
        self._two_jobs = frame("note")
        self._two_jobs.setObjectName("twoJobs")
        self._second = button(self.tr("Create a second job"), name="secondJob")
        self._second.setAutoDefault(False)
        self._second.clicked.connect(self.second_wanted)
        layout = QVBoxLayout(self._two_jobs)
        layout.setContentsMargins(GRID + HALF, GRID + HALF, GRID + HALF, GRID + HALF)
        layout.setSpacing(GRID)
        self._two_jobs_text = label("", wrap=True, name="twoJobsText")
        layout.addWidget(self._two_jobs_text)
        row = QHBoxLayout()
        row.addWidget(self._second)
        row.addStretch(1)
        layout.addLayout(row)
        self._two_jobs.hide()

    def focus_first(self) -> None:
        """Focus the first time."""
        self._edit.focus_first()

    def load(self, expression: str) -> bool:
        """Show an expression if it fits this form; return whether it does."""
        found = read_cron(expression)
        if found is None:
            return False
        self._given = (found, expression)
        self._edit.set_value(found)
        self._show_state()
        return True

    @property
    def text(self) -> str | None:
        """The expression, or None for an invalid choice; an unchanged one is returned exactly as loaded."""
        chosen = self._edit.value()
        if not chosen.weekdays or not chosen.times or chosen.needs_two_jobs:
            return None
        if self._given is not None and chosen == self._given[0]:
            return self._given[1]
        return write_cron(chosen)

    def read(self, findings: Findings) -> str | None:
        """Return the expression, or None after recording the problems."""
        chosen = self._edit.value()
        if not chosen.weekdays:
            findings.refuse(PATH, self.tr("choose at least one day"))
        elif not chosen.times:
            findings.refuse(PATH, self.tr("add at least one time"))
        elif chosen.needs_two_jobs:
            findings.refuse(
                PATH,
                self.tr("one job needs the same minutes in each hour; change them or create a second job"),
            )
        return self.text

    def can_split(self, is_possible: bool) -> None:  # noqa: FBT001 - like setEnabled
        """Enable the button for a second job, which needs a name and an action."""
        self._second.setEnabled(is_possible)
        self._second.setToolTip("" if is_possible else self.tr("First enter a name and what to run"))

    def split_off(self) -> str | None:
        """Remove the times that need a second job and return that job's expression."""
        chosen = self._edit.value()
        if not chosen.needs_two_jobs or not chosen.weekdays:
            return None
        kept, parted = chosen.split()
        self._edit.set_value(kept)
        self._announce_change()
        return write_cron(parted)

    def _announce_change(self) -> None:
        self._show_state()
        self.changed.emit()

    def _show_state(self) -> None:
        chosen, text = self._edit.value(), self.text
        show_if(self._two_jobs, chosen.needs_two_jobs)
        show_if(self._written, text is not None)
        self._cron.setText(text or "")
        if chosen.needs_two_jobs:
            _, parted = chosen.split()
            times = ", ".join(f"{hour:02}:{minute:02}" for hour, minute in parted.times)
            self._two_jobs_text.setText(self.tr("A copy of this job can run at {times}.").format(times=times))
