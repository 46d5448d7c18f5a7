"""The page with the conditions of a job and its behaviour in quiet hours."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from PySide6.QtCore import QCoreApplication, Signal
from PySide6.QtWidgets import QCheckBox, QWidget

from halo_scheduler.model import Condition, InQuietTime, Policy
from halo_scheduler.model.quiet_times import QuietTime
from halo_scheduler.model.settings import Settings
from ui.backend.backend import Backend
from ui.forms.fields import Field, Page
from ui.forms.interval_edit import IntervalEdit
from ui.forms.problems import Findings
from ui.forms.rows import optional_interval, set_optional
from ui.forms.seen import show_if
from ui.style.theme import Appearance
from ui.widgets.labels import label

from .conditions_edit import ConditionsEdit
from .quiet_hours import QuietHoursChoice

_DEFAULT_DEADLINE = "2h"


@dataclass(frozen=True, slots=True, kw_only=True)
class ConditionPolicy:
    """The values of the page."""

    conditions: tuple[Condition, ...]
    deadline: str | None
    in_quiet_time: InQuietTime


class ConditionsPage(Page):
    """Conditions, the maximum wait for them, and quiet hours."""

    quiet_times_wanted = Signal()

    def __init__(self, backend: Backend, appearance: Appearance, settings: Settings, parent: QWidget) -> None:
        super().__init__(
            QCoreApplication.translate("ConditionsPage", "Run only if…"),
            name="conditionsPage",
            parent=parent,
        )
        self._backend = backend
        self._appearance = appearance
        self._settings = settings

    def build(self) -> Iterator[None]:
        """Build the page; yields after each part so that the event loop can run."""
        self._about = label(
            self.tr("When due, the job waits until all conditions are met. Manual runs ignore them."),
            "small",
            wrap=True,
        )
        self.add(self._about)
        self._conditions = ConditionsEdit(self._backend, self._appearance, self)
        self.add(self._conditions)
        yield
        self._has_deadline = QCheckBox(self.tr("Give up after"))
        self._has_deadline.setObjectName("hasDeadline")
        self._deadline = IntervalEdit(self.tr("Maximum wait"), name="deadline")
        self._deadline_field = self.add_field(
            Field(
                self.tr("Maximum wait"),
                optional_interval("deadlineRow", self._has_deadline, self._deadline),
                path="policy.condition_deadline",
                subject=self.tr("The time"),
                hint=self.tr("The run is then skipped and you're notified."),
            )
        )
        yield
        self._quiet = QuietHoursChoice(self._backend, self._settings, self)
        self.add(self._quiet)
        self.column.addStretch(1)
        self._has_deadline.toggled.connect(self._announce_edit)
        self._deadline.changed.connect(self.edited)
        self._conditions.changed.connect(self._announce_edit)
        self._conditions.learned.connect(self.learned)
        self._quiet.changed.connect(self.edited)
        self._quiet.learned.connect(self.learned)
        self._quiet.settings_wanted.connect(self.quiet_times_wanted)

    @property
    def quiet_times(self) -> tuple[QuietTime, ...]:
        """The quiet hours that apply to the job."""
        return self._quiet.times

    def focus_first(self) -> None:
        """Focus the first condition, or the first button that adds one."""
        self._conditions.focus_first()

    def load(self, policy: Policy, *, is_stored: bool) -> None:
        """Show the conditions of a policy."""
        self._conditions.load(policy.conditions, are_stored=is_stored)
        self._deadline.set_text(policy.condition_deadline or _DEFAULT_DEADLINE)
        set_optional(self._has_deadline, self._deadline, is_on=policy.condition_deadline is not None)
        self._quiet.load(policy.in_quiet_time)
        self._show_deadline()

    def stop_checks(self) -> None:
        """Cancel pending checks, so that other requests go first."""
        self._conditions.stop_checks()

    def follow_group(self, group: str | None) -> None:
        """Show the quiet hours that apply to a group."""
        self._quiet.follow(group)

    def read(self, findings: Findings) -> ConditionPolicy | None:
        """Return the values, or None after recording the problems."""
        conditions = self._conditions.read(findings)
        if conditions is None:
            return None
        deadline = self._deadline.text if self._has_deadline.isChecked() else None
        policy = findings.take("policy", lambda: Policy(conditions=conditions, condition_deadline=deadline))
        if policy is None:
            return None
        return ConditionPolicy(conditions=conditions, deadline=deadline, in_quiet_time=self._quiet.choice)

    def _announce_edit(self) -> None:
        self._show_deadline()
        self.edited.emit()

    def _show_deadline(self) -> None:
        show_if(self._deadline_field, self._conditions.count > 0 or self._has_deadline.isChecked())
