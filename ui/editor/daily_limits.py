"""The daily limits of a job: number of runs and cost."""

from __future__ import annotations

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QCheckBox, QLineEdit, QVBoxLayout, QWidget

from halo_scheduler.errors import ScheduleError, SchedulerError
from halo_scheduler.grammar.english import counted
from halo_scheduler.model import Caps
from halo_scheduler.rules.statistics import Usage
from ui.backend.backend import Backend
from ui.forms.fields import Field, Page
from ui.forms.fold import Fold
from ui.forms.numbers import read_amount, write_amount
from ui.forms.problems import Findings
from ui.forms.rows import side_by_side
from ui.forms.seen import show_if
from ui.style.theme import Appearance, number_font
from ui.style.wording import cost_words
from ui.widgets.boxes import number_box
from ui.widgets.labels import label

from .summary import daily_limit_words, joined

_MOST_RUNS = 1_000_000
_DEFAULT_RUNS = 10
_DEFAULT_COST = 1.0


class DailyLimits(QWidget):
    """Two limits, each with a check box; shows today's usage below them."""

    changed = Signal()

    def __init__(self, backend: Backend, appearance: Appearance, page: Page) -> None:
        super().__init__()
        self.setObjectName("dailyLimits")
        self._backend = backend
        self._given_cost: float | None = None
        self._usage = ""
        self._is_reading = True
        self._fold = Fold(appearance, self.tr("Daily limits"), name="capsFold")
        self._build_runs(page)
        self._build_cost(page)
        self._unread = label(
            self.tr("Costs aren't known: turn on “Output commands” below."),
            "warn",
            wrap=True,
            name="costUnread",
        )
        self._today = label("", "small", wrap=True, name="usageToday")
        about = label(
            self.tr(
                "When a limit is reached, scheduled runs are skipped until midnight. Manual runs count but "
                "always start."
            ),
            "small",
            wrap=True,
        )
        for widget in (self._unread, self._today, about):
            self._fold.add(widget)
        self._unread.hide()
        self._today.hide()
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.addWidget(self._fold)

    def _build_runs(self, page: Page) -> None:
        self._has_runs = QCheckBox(self.tr("At most"))
        self._has_runs.setObjectName("hasRunsCap")
        self._has_runs.setAccessibleName(self.tr("Limit the runs per day"))
        self._runs = number_box(1, _MOST_RUNS, name="runsCap", title=self.tr("Runs per day"))
        row = side_by_side("runsCapRow", self._has_runs, self._runs, label(self.tr("runs a day")))
        self._fold.add(
            page.watch_field(
                Field("", row, path="policy.caps.runs_per_day", subject=self.tr("The number of runs"))
            )
        )
        self._has_runs.toggled.connect(self._runs.setEnabled)
        self._has_runs.toggled.connect(self._announce_change)
        self._runs.valueChanged.connect(self._announce_change)

    def _build_cost(self, page: Page) -> None:
        self._has_cost = QCheckBox(self.tr("Stop for the day after spending"))
        self._has_cost.setObjectName("hasCostCap")
        self._has_cost.setAccessibleName(self.tr("Limit the cost per day"))
        self._cost = QLineEdit()
        self._cost.setObjectName("costCap")
        self._cost.setAccessibleName(self.tr("Cost per day"))
        self._cost.setPlaceholderText("2.50")
        self._cost.setFixedWidth(96)
        self._cost.setFont(number_font(self._cost.font()))
        row = side_by_side("costCapRow", self._has_cost, self._cost)
        self._fold.add(
            page.watch_field(
                Field(
                    "",
                    row,
                    path="policy.caps",
                    subject=self.tr("The cost"),
                    hint=self.tr("In the currency the agent reports. A run in progress isn't stopped."),
                    target=self._cost,
                )
            )
        )
        self._has_cost.toggled.connect(self._cost.setEnabled)
        self._has_cost.toggled.connect(self._announce_change)
        self._cost.textChanged.connect(self._announce_change)

    def load(self, caps: Caps) -> None:
        """Show the daily limits of a job."""
        self._given_cost = caps.cost_per_day
        self._runs.setValue(caps.runs_per_day or _DEFAULT_RUNS)
        self._cost.setText(write_amount(caps.cost_per_day or _DEFAULT_COST))
        for has, control, is_on in (
            (self._has_runs, self._runs, caps.runs_per_day is not None),
            (self._has_cost, self._cost, caps.cost_per_day is not None),
        ):
            has.setChecked(is_on)
            control.setEnabled(is_on)
        self._summarise()

    def load_usage(self, job_id: str) -> None:
        """Load and show what a stored job has used today."""
        self._backend.ask(
            lambda scheduler: scheduler.jobs.usage(job_id), self._show_usage, self._show_no_usage, owner=self
        )

    def set_reading(self, is_reading: bool) -> None:  # noqa: FBT001 - like setEnabled
        """Set whether costs are read from the output; without that, a cost limit has no effect."""
        self._is_reading = is_reading
        self._summarise()

    def read(self, findings: Findings) -> Caps | None:
        """Return the limits, or None after recording the problems."""
        return findings.take("policy.caps", self._read)

    def _read(self) -> Caps:
        runs = self._runs.value() if self._has_runs.isChecked() else None
        return Caps(runs_per_day=runs, cost_per_day=self._read_cost())

    def _read_cost(self) -> float | None:
        if not self._has_cost.isChecked():
            return None
        given = self._given_cost
        if given is not None and self._cost.text() == write_amount(given):
            return given
        try:
            return read_amount(self._cost.text())
        except ScheduleError as error:
            raise error.under("cost_per_day") from None

    def _show_usage(self, usage: Usage) -> None:
        used = [counted(usage.runs, "run")]
        if usage.cost:
            used.append(self.tr("cost {cost}").format(cost=cost_words(usage.cost)))
        self._usage = self.tr("today {used}").format(used=", ".join(used))
        self._today.setText(self.tr("Today so far: {used}.").format(used=", ".join(used)))
        show_if(self._today, is_wanted=True)
        self._summarise()

    def _show_no_usage(self, _error: SchedulerError) -> None:
        """Ignore a job that no longer exists: it has no usage."""

    def _announce_change(self) -> None:
        self._summarise()
        self.changed.emit()

    def _summarise(self) -> None:
        has_cap = self._has_runs.isChecked() or self._has_cost.isChecked()
        show_if(self._unread, self._has_cost.isChecked() and not self._is_reading)
        caps = self.read(Findings())
        words = self.tr("invalid") if caps is None else daily_limit_words(caps)
        self._fold.set_summary(joined(words, self._usage) if has_cap else self.tr("none"))
