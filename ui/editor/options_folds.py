"""The collapsed sections of the options page: daily limits, and directives in the output."""

from __future__ import annotations

from PySide6.QtCore import QSignalBlocker, Signal
from PySide6.QtWidgets import QCheckBox, QLineEdit, QVBoxLayout, QWidget

from halo_scheduler.errors import ScheduleError, SchedulerError
from halo_scheduler.grammar.english import counted
from halo_scheduler.model import Caps
from halo_scheduler.rules.statistics import Usage
from halo_scheduler.wording.measures import amount_words
from ui.backend.backend import Backend
from ui.forms.fields import Field, Findings, Page
from ui.forms.fold import Fold
from ui.forms.inputs import read_amount, write_amount
from ui.forms.rows import explanations, side_by_side
from ui.style.theme import Appearance, number_font
from ui.widgets.arrange import show_if
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
            used.append(self.tr("cost {cost}").format(cost=amount_words(usage.cost)))
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


class OutputCommands(QWidget):
    """A check box; its default depends on the kind of job."""

    changed = Signal()

    def __init__(self, appearance: Appearance, page: Page) -> None:
        super().__init__()
        self.setObjectName("outputCommands")
        self._given: bool | None = None
        self._chosen: bool | None = None
        self._default = False
        self._is_http = False
        self._lines: QWidget | None = None
        self._answer: QWidget | None = None
        self._fold = Fold(appearance, self.tr("Output commands"), name="linesFold")
        self._reads = QCheckBox()
        self._reads.setObjectName("readsLines")
        self._field = page.watch_field(
            Field("", self._reads, path="policy.reads_lines", subject=self.tr("The switch"))
        )
        self._fold.add(self._field)
        self._fold.opened.connect(self._explain)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.addWidget(self._fold)
        self._reads.toggled.connect(self._choose)
        self._show_kind()

    def _explain(self) -> None:
        """Show the list of directives, created on first use."""
        if self._lines is None:
            self._lines = explanations(
                ("::cost 0.12", self.tr("cost of the run; several lines are added up")),
                ("::needs-input Go on?", self.tr("a question for you; the job is on hold until you answer")),
                ("::progress 0.4 copying", self.tr("progress (always read)")),
                (
                    "::halo every=5m ttl=1h",
                    self.tr("run every 5 minutes for an hour, which is also the default ttl"),
                ),
                ("::halo next=10m", self.tr("run once more, 10 minutes after this run")),
                (
                    '… reason="queue is long"',
                    self.tr("optional reason, shown with the next run"),
                ),
            )
            self._fold.add(self._lines)
        if self._is_http and self._answer is None:
            self._answer = explanations(
                ('{"halo": {"every": "5m"}}', self.tr("the same in a JSON response; also next, ttl, reason"))
            )
            self._answer.setObjectName("haloAnswer")
            self._fold.add(self._answer)
        if self._answer is not None:
            show_if(self._answer, self._is_http)

    def _show_kind(self) -> None:
        self._reads.setText(self.tr("Read costs, questions and schedule hints from the output"))
        self._field.set_hint(
            self.tr("From the response, as shown below. Your limits and pauses always take precedence.")
            if self._is_http
            else self.tr(
                "From lines that begin with two colons. On by default for prompts. Your limits and pauses "
                "always take precedence."
            )
        )
        if self._fold.is_open:
            self._explain()

    @property
    def is_reading(self) -> bool:
        """Whether directives are read with the current choice."""
        return self._default if self._chosen is None else self._chosen

    @property
    def chosen(self) -> bool | None:
        """The choice; None for the default of the kind of job."""
        return self._chosen

    def load(self, reads_lines: bool | None) -> None:  # noqa: FBT001 - a value
        """Show the choice of a job."""
        self._given = self._chosen = reads_lines
        self._show()

    def follow(self, *, is_prompt: bool, is_http: bool) -> None:
        """Apply the default of another kind of job."""
        self._default = is_prompt
        self._is_http = is_http
        self._show_kind()
        self._show()

    def _choose(self, is_on: bool) -> None:  # noqa: FBT001 - a slot of `toggled`
        before = self._default if self._given is None else self._given
        self._chosen = self._given if is_on == before else is_on
        self._summarise()
        self.changed.emit()

    def _show(self) -> None:
        quiet = QSignalBlocker(self._reads)
        self._reads.setChecked(self.is_reading)
        quiet.unblock()
        self._summarise()

    def _summarise(self) -> None:
        self._fold.set_summary(self.tr("on") if self.is_reading else self.tr("off"))
