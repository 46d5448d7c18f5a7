"""The page with the conditions of a job and its behaviour in quiet hours."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from PySide6.QtCore import QCoreApplication, Signal
from PySide6.QtWidgets import QCheckBox, QComboBox, QVBoxLayout, QWidget

from halo_scheduler.model import Condition, InQuietTime, Policy
from halo_scheduler.model.changes import Change, ChangeKind
from halo_scheduler.model.settings import QuietTime, Settings
from ui.backend.backend import Backend
from ui.editor.summary import joined
from ui.forms.fields import Field, Findings, Page
from ui.forms.inputs import IntervalEdit
from ui.forms.quiet_times import called, quiet_line
from ui.forms.rows import link, optional_interval, set_optional
from ui.style.theme import HALF, Appearance
from ui.style.wording import one_line
from ui.widgets.arrange import show_if
from ui.widgets.labels import label

from .conditions_edit import ConditionsEdit

_MOST_SHOWN = 4
_LONGEST_LINE = 120
_DEFAULT_DEADLINE = "2h"


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


@dataclass(frozen=True, slots=True, kw_only=True)
class ConditionPolicy:
    """The values of the page, named as the fields of a policy."""

    conditions: tuple[Condition, ...]
    condition_deadline: str | None
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
        return ConditionPolicy(
            conditions=conditions, condition_deadline=deadline, in_quiet_time=self._quiet.choice
        )

    def _announce_edit(self) -> None:
        self._show_deadline()
        self.edited.emit()

    def _show_deadline(self) -> None:
        show_if(self._deadline_field, self._conditions.count > 0 or self._has_deadline.isChecked())
