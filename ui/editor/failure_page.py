"""The page about failures: time limit, retries, back-off."""

from __future__ import annotations

from dataclasses import dataclass

from PySide6.QtCore import QCoreApplication, Signal
from PySide6.QtWidgets import QCheckBox, QComboBox, QLineEdit, QWidget

from halo_scheduler.grammar.english import listed
from halo_scheduler.model import Backoff, BackoffKind, Policy, Retry
from ui.forms.fields import Field, Findings, Page
from ui.forms.inputs import IntervalEdit, read_intervals, write_intervals
from ui.forms.rows import optional_interval, set_optional, side_by_side
from ui.style.theme import mono_font
from ui.style.wording import one_line
from ui.widgets.arrange import show_if
from ui.widgets.boxes import number_box
from ui.widgets.labels import label

from .job_catalogue import JobCatalogue
from .job_choice import JobChoice
from .summary import ladder_words

_MOST_RETRIES = 1_000
_MOST_ERRORS = 1_000_000
_DEFAULT_LIMIT = "2h"
_LONGEST_NAME = 40
_MOST_NAMED = 3


@dataclass(frozen=True, slots=True)
class FailurePolicy:
    """The values of the page, named as the fields of a policy."""

    time_limit: str | None
    retry: Retry
    backoff: Backoff
    max_errors: int


class FailurePage(Page):
    """Time limit, retries, a job to run after failures, back-off, and when to disable the job."""

    failure_job_chosen = Signal(str)
    """The id of the job to run after failures; empty for none. The page of next jobs lists them all."""

    def __init__(self, catalogue: JobCatalogue, parent: QWidget) -> None:
        super().__init__(
            QCoreApplication.translate("FailurePage", "On failure"), name="failurePage", parent=parent
        )
        self._given_backoff = Backoff.ladder()
        self._build_limit()
        self._build_retry()
        self._build_failure_job(catalogue)
        self._build_backoff()
        self._build_max_errors()
        self.column.addStretch(1)

    def _build_limit(self) -> None:
        self._has_limit = QCheckBox(self.tr("Stop runs after"))
        self._has_limit.setObjectName("hasTimeLimit")
        self._limit = IntervalEdit(self.tr("Time limit"), name="timeLimit")
        self.add_field(
            Field(
                self.tr("Time limit"),
                optional_interval("timeLimitRow", self._has_limit, self._limit),
                path="policy.time_limit",
                subject=self.tr("The time limit"),
                hint=self.tr("Without a limit, a hung run blocks every later one."),
            )
        )
        self._has_limit.toggled.connect(self.edited)
        self._limit.changed.connect(self.edited)

    def _build_retry(self) -> None:
        self._attempts = number_box(
            0,
            _MOST_RETRIES,
            name="retryAttempts",
            title=self.tr("Number of retries"),
            zero=self.tr("never"),
        )
        self._delay = IntervalEdit(self.tr("Delay before each retry"), name="retryDelay", least=0)
        self._delay_words = label(self.tr("times, after"))
        self.add_field(
            Field(
                self.tr("Retry after a failure"),
                side_by_side("retryRow", self._attempts, self._delay_words, self._delay),
                path="policy.retry",
                subject=self.tr("The number of retries"),
            )
        )
        self._attempts.valueChanged.connect(self._show_delay)
        self._attempts.valueChanged.connect(self.edited)
        self._delay.changed.connect(self.edited)

    def _build_failure_job(self, catalogue: JobCatalogue) -> None:
        self._failure_job = JobChoice(
            catalogue,
            name="failureJob",
            title=self.tr("Job to run after a failure"),
            placeholder=self.tr("none"),
        )
        self._failure_field = self.add_field(
            Field(self.tr("Run another job after a failure"), self._failure_job)
        )
        self._failure_job.chosen.connect(self._announce_failure_job)
        self._failure_job.refused.connect(self._failure_field.set_hint)

    def _build_backoff(self) -> None:
        self._backoff = QComboBox()
        self._backoff.setObjectName("backoff")
        self._backoff.setAccessibleName(self.tr("Back off after failures"))
        self._backoff.addItem(self.tr("Increasing delay"), BackoffKind.LADDER)
        self._backoff.addItem(self.tr("Double the interval"), BackoffKind.DOUBLE)
        self._backoff.addItem(self.tr("No delay"), BackoffKind.NONE)
        self.add_field(
            Field(
                self.tr("Back off after failures"),
                self._backoff,
                path="policy.backoff.kind",
                subject=self.tr("The choice"),
            )
        )
        self._ladder = QLineEdit()
        self._ladder.setObjectName("ladder")
        self._ladder.setAccessibleName(self.tr("Delay after failure 1, 2, 3…"))
        self._ladder.setPlaceholderText("30s, 1m, 5m, 15m, 1h")
        self._ladder.setFont(mono_font(self._ladder.font()))
        self._ladder_field = self.add_field(
            Field(
                self.tr("Delay after failure 1, 2, 3…"),
                self._ladder,
                path="policy.backoff",
                subject=self.tr("The list"),
            )
        )
        self._backoff.currentIndexChanged.connect(self._show_ladder)
        self._backoff.currentIndexChanged.connect(self.edited)
        self._ladder.textChanged.connect(self.edited)

    def _build_max_errors(self) -> None:
        self._max_errors = number_box(
            0,
            _MOST_ERRORS,
            name="maxErrors",
            title=self.tr("Disable after this many consecutive failures"),
            zero=self.tr("never"),
        )
        self._errors_words = label(self.tr("consecutive failures"))
        self.add_field(
            Field(
                self.tr("Disable after"),
                side_by_side("maxErrorsRow", self._max_errors, self._errors_words),
                path="policy.max_errors",
                subject=self.tr("The number of retries"),
                hint=self.tr("You'll be notified and can re-enable it."),
            )
        )
        self._max_errors.valueChanged.connect(self._show_errors_words)
        self._max_errors.valueChanged.connect(self.edited)

    def show_failure_job(self, job_id: str, others: tuple[str, ...]) -> None:
        """Show which job runs after a failure, and name the others that also do."""
        if job_id != self._failure_job.job_id:
            self._failure_job.set_job(job_id)
        names = [one_line(name, _LONGEST_NAME) for name in others if name]
        hint = self.tr("It receives this job's result and output.")
        if len(names) == 1:
            hint = self.tr("{name} also runs: see “Next jobs”.").format(name=names[0])
        elif names:
            if len(names) > _MOST_NAMED:
                more = self.tr("{count} more").format(count=len(names) - _MOST_NAMED + 1)
                names = [*names[: _MOST_NAMED - 1], more]
            hint = self.tr("{names} also run: see “Next jobs”.").format(names=listed(names))
        self._failure_field.set_hint(hint)

    def _announce_failure_job(self) -> None:
        self.failure_job_chosen.emit(self._failure_job.job_id)

    def focus_first(self) -> None:
        """Focus the first field."""
        self._has_limit.setFocus()

    def load(self, policy: Policy) -> None:
        """Show how a policy handles failures."""
        set_optional(self._has_limit, self._limit, is_on=policy.time_limit is not None)
        self._limit.set_text(policy.time_limit or _DEFAULT_LIMIT)
        self._suggested = (self._has_limit.isChecked(), self._limit.text)
        self._attempts.setValue(policy.retry.attempts)
        self._delay.set_milliseconds(policy.retry.delay_ms)
        self._given_backoff = policy.backoff
        is_ladder = policy.backoff.kind is BackoffKind.LADDER
        ladder = policy.backoff if is_ladder else Backoff.ladder()
        self._ladder.setText(write_intervals(ladder.delays_ms))
        self._backoff.setCurrentIndex(self._backoff.findData(policy.backoff.kind))
        self._max_errors.setValue(policy.max_errors)
        self._show_delay()
        self._show_ladder()
        self._show_errors_words()

    def suggest_limit(self, time_limit: str | None) -> None:
        """Show another default time limit, unless the user chose one."""
        if self._suggested != (self._has_limit.isChecked(), self._limit.text):
            return
        set_optional(self._has_limit, self._limit, is_on=time_limit is not None)
        self._limit.set_text(time_limit or _DEFAULT_LIMIT)
        self._suggested = (self._has_limit.isChecked(), self._limit.text)

    def read(self, findings: Findings) -> FailurePolicy | None:
        """Return the values, or None after recording the problems."""
        limit = findings.take("policy", self._read_limit)
        retry = findings.take(
            "policy.retry", lambda: Retry(attempts=self._attempts.value(), delay_ms=self._delay.milliseconds)
        )
        backoff = findings.take("policy.backoff", self._read_backoff)
        self._ladder_field.set_hint("" if backoff is None else ladder_words(backoff))
        if limit is None or retry is None or backoff is None:
            return None
        return FailurePolicy(limit.time_limit, retry, backoff, self._max_errors.value())

    def _read_limit(self) -> Policy:
        return Policy(time_limit=self._limit.text if self._has_limit.isChecked() else None)

    def _read_backoff(self) -> Backoff:
        kind = BackoffKind(self._backoff.currentData())
        if kind is not BackoffKind.LADDER:
            return Backoff(kind=kind)
        given = self._given_backoff
        if given.kind is kind and self._ladder.text() == write_intervals(given.delays_ms):
            return given
        return Backoff.ladder(*read_intervals(self._ladder.text()))

    def _show_delay(self) -> None:
        is_on = self._attempts.value() > 0
        show_if(self._delay, is_on)
        show_if(self._delay_words, is_on)

    def _show_ladder(self) -> None:
        show_if(self._ladder_field, self._backoff.currentData() == BackoffKind.LADDER)

    def _show_errors_words(self) -> None:
        show_if(self._errors_words, self._max_errors.value() > 0)
