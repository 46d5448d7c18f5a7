"""The page of options: missed runs, notifications, group, sleep, assistants, limits, output, random delay."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

from PySide6.QtCore import QCoreApplication, Qt, Signal
from PySide6.QtWidgets import QCheckBox, QComboBox, QVBoxLayout, QWidget

from halo_scheduler.model import Caps, CatchUp, JobSpec, Limits, Manual, Notify, Policy
from halo_scheduler.model.jobs import require_parameters
from halo_scheduler.model.policies import MOST_CAUGHT_UP, MOST_OUTPUT_BYTES
from ui.backend.backend import Backend
from ui.forms.fields import Field, Findings, Page
from ui.forms.inputs import IntervalEdit
from ui.forms.rows import PairsEdit, optional_interval, set_optional
from ui.style.theme import Appearance
from ui.widgets.arrange import show_if
from ui.widgets.boxes import number_box

from .options_folds import DailyLimits, OutputCommands
from .spacing import Spacing

_DEFAULT_AGE = "1d"


@dataclass(frozen=True, slots=True)
class Options:
    """The values of the page; the policy has the edited fields, and the others as loaded."""

    policy: Policy
    group: str | None
    enabled: bool
    parameters: Mapping[str, str]


class OptionsPage(Page):
    """Options that most jobs leave at their defaults."""

    group_changed = Signal()

    def __init__(
        self, backend: Backend, appearance: Appearance, groups: tuple[str, ...], parent: QWidget
    ) -> None:
        super().__init__(
            QCoreApplication.translate("OptionsPage", "Options"), name="optionsPage", parent=parent
        )
        self._backend = backend
        self._appearance = appearance
        self._groups = groups

    def build(self) -> Iterator[None]:
        """Build the page; yields after each part so that the event loop can run."""
        self._build_enabled()
        self._build_missed()
        yield
        self._build_notify()
        self._build_group(self._groups)
        self._build_parameters()
        self._build_awake()
        self._build_output_limit()
        self._build_assistants()
        yield
        self._folds = QVBoxLayout()
        self._folds.setSpacing(0)
        self.column.addLayout(self._folds)
        self._build_daily_limits()
        yield
        self._spacing = Spacing(self._appearance, self)
        self._folds.addWidget(self._spacing)
        self._spacing.changed.connect(self.edited)
        self.column.addStretch(1)

    def _build_enabled(self) -> None:
        self._enabled = QCheckBox(self.tr("Enabled"))
        self._enabled.setObjectName("enabled")
        self.add_field(
            Field(
                "",
                self._enabled,
                path="enabled",
                subject=self.tr("The switch"),
                hint=self.tr("Disabled jobs only run manually."),
            )
        )
        self._enabled.toggled.connect(self.edited)

    def _build_missed(self) -> None:
        self._catch_up = QComboBox()
        self._catch_up.setObjectName("catchUp")
        self._catch_up.setAccessibleName(self.tr("If a run was missed while Halo was closed"))
        self._catch_up.addItem(self.tr("Run once at the next start"), CatchUp.ONCE)
        self._catch_up.addItem(self.tr("Run each missed time"), CatchUp.ALL)
        self._catch_up.addItem(self.tr("Skip it"), CatchUp.SKIP)
        self.add_field(
            Field(
                self.tr("If a run was missed while Halo was closed"),
                self._catch_up,
                path="policy.catch_up",
                subject=self.tr("The choice"),
            )
        )
        self._most = number_box(
            1,
            MOST_CAUGHT_UP,
            name="catchUpLimit",
            title=self.tr("Maximum number of missed runs to catch up"),
            width=180,
        )
        self._most.setPrefix(self.tr("At most the newest "))
        self._most_field = self.add_field(
            Field("", self._most, path="policy.catch_up_limit", subject=self.tr("The number"))
        )
        self._most.valueChanged.connect(self.edited)
        self._has_age = QCheckBox(self.tr("Unless older than"))
        self._has_age.setObjectName("hasMaxAge")
        self._age = IntervalEdit(self.tr("Oldest missed run to catch up"), name="maxAge")
        self._age_field = self.add_field(
            Field(
                "",
                optional_interval("maxAgeRow", self._has_age, self._age),
                path="policy.catch_up_max_age",
                subject=self.tr("The age"),
            )
        )
        self._catch_up.currentIndexChanged.connect(self._show_age)
        self._catch_up.currentIndexChanged.connect(self.edited)
        self._has_age.toggled.connect(self.edited)
        self._age.changed.connect(self.edited)

    def _build_notify(self) -> None:
        self._notify = QComboBox()
        self._notify.setObjectName("notify")
        self._notify.setAccessibleName(self.tr("Notifications"))
        for words, value in (
            (self.tr("Use default"), Notify.SETTINGS),
            (self.tr("Failures only"), Notify.FAILURES),
            (self.tr("Every run"), Notify.ALL),
            (self.tr("None"), Notify.NONE),
        ):
            self._notify.addItem(words, value)
        self.add_field(
            Field(self.tr("Notifications"), self._notify, path="policy.notify", subject=self.tr("The choice"))
        )
        self._notify.currentIndexChanged.connect(self.edited)

    def _build_group(self, groups: tuple[str, ...]) -> None:
        self._group = QComboBox()
        self._group.setObjectName("group")
        self._group.setAccessibleName(self.tr("Group"))
        self._group.setEditable(True)
        self._group.setInsertPolicy(QComboBox.InsertPolicy.NoInsert)
        self._group.addItem("")
        self._group.setItemData(0, self.tr("No group"), Qt.ItemDataRole.AccessibleTextRole)
        self._group.addItems(list(groups))
        line = self._group.lineEdit()
        if line is not None:
            line.setPlaceholderText(self.tr("none"))
            line.setAccessibleName(self._group.accessibleName())
        self.add_field(
            Field(
                self.tr("Group"),
                self._group,
                path="group",
                subject=self.tr("The group"),
                hint=self.tr("Groups can share quiet hours and a concurrency limit."),
            )
        )
        self._group.editTextChanged.connect(self.group_changed)
        self._group.editTextChanged.connect(self.edited)

    def _build_parameters(self) -> None:
        self._parameters = PairsEdit(
            self._backend,
            self._appearance,
            name="parameters",
            key_title=self.tr("Parameter"),
            add_title=self.tr("Add a parameter"),
            examples=("name", self.tr("default")),
            has_secrets=False,
        )
        self.add_field(
            Field(
                self.tr("Parameters"),
                self._parameters,
                path="parameters",
                subject=self.tr("The parameters"),
                hint=self.tr(
                    "Can be set for a run with “Run with…”. Commands get $HALO_PARAM_NAME, "
                    "prompts and requests {{param.name}}."
                ),
            )
        )
        self._parameters.changed.connect(self.edited)

    def _build_awake(self) -> None:
        self._awake = QCheckBox(self.tr("Keep the computer awake during runs"))
        self._awake.setObjectName("keepAwake")
        self.add_field(
            Field(
                "",
                self._awake,
                path="policy.keep_awake",
                subject=self.tr("The switch"),
                hint=self.tr("Prevents sleep until the run ends. The screen may still turn off."),
            )
        )
        self._awake.toggled.connect(self.edited)

    def _build_output_limit(self) -> None:
        self._output_limit = number_box(
            -1,
            MOST_OUTPUT_BYTES >> 10,
            name="outputLimit",
            title=self.tr("Output limit"),
            zero=self.tr("default"),
        )
        self._output_limit.setSuffix(self.tr(" KB"))
        self._output_limit.setSingleStep(64)
        self.add_field(
            Field(
                self.tr("Output limit"),
                self._output_limit,
                path="policy.output_limit_bytes",
                subject=self.tr("The limit"),
                hint=self.tr(
                    "How much of each run's output is kept; the middle of longer output is dropped."
                ),
            )
        )
        self._output_limit.valueChanged.connect(self.edited)

    def _build_assistants(self) -> None:
        self._assistants = QCheckBox(self.tr("Assistants may run this job"))
        self._assistants.setObjectName("assistantsMayRun")
        self.add_field(
            Field(
                "",
                self._assistants,
                path="policy.assistants_may_run",
                subject=self.tr("The switch"),
                hint=self.tr(
                    "If off, AI assistants can view and pause the job, but not run, resume or reschedule it."
                ),
            )
        )
        self._assistants.toggled.connect(self.edited)

    def _build_daily_limits(self) -> None:
        self._daily_limits = DailyLimits(self._backend, self._appearance, self)
        self._output_commands = OutputCommands(self._appearance, self)
        for part in (self._daily_limits, self._output_commands):
            self._folds.addWidget(part)
            part.changed.connect(self.edited)
        self._output_commands.changed.connect(self._follow_output_commands)

    def focus_first(self) -> None:
        """Focus the first field."""
        self._enabled.setFocus()

    def load(self, spec: JobSpec) -> None:
        """Show the options of a job."""
        policy = self._loaded = spec.policy
        self._enabled.setChecked(spec.enabled)
        self._catch_up.setCurrentIndex(self._catch_up.findData(policy.catch_up))
        self._most.setValue(policy.catch_up_limit)
        self._age.set_text(policy.catch_up_max_age or _DEFAULT_AGE)
        set_optional(self._has_age, self._age, is_on=policy.catch_up_max_age is not None)
        self._notify.setCurrentIndex(self._notify.findData(policy.notify))
        self._group.setEditText(spec.group or "")
        line = self._group.lineEdit()
        if line is not None:
            line.setCursorPosition(0)
        self._parameters.set_pairs(spec.parameters)
        self._awake.setChecked(policy.keep_awake)
        limit = policy.output_limit_bytes
        self._given_limit = limit
        self._output_limit.setValue(-1 if limit is None else limit >> 10)
        self._assistants.setChecked(policy.assistants_may_run)
        self._spacing.load(policy)
        self._daily_limits.load(policy.caps)
        self._output_commands.load(policy.reads_lines)
        self._follow_output_commands()
        self._show_age()

    @property
    def group(self) -> str | None:
        """The group as typed, or None."""
        return self._group.currentText().strip() or None

    def follow(self, *, is_prompt: bool, is_http: bool) -> None:
        """Apply the defaults of another kind of job."""
        self._output_commands.follow(is_prompt=is_prompt, is_http=is_http)
        self._follow_output_commands()

    def load_usage(self, job_id: str) -> None:
        """Load and show what a stored job has used today."""
        self._daily_limits.load_usage(job_id)

    def _follow_output_commands(self) -> None:
        self._daily_limits.set_reading(self._output_commands.is_reading)

    def read(self, findings: Findings) -> Options | None:
        """Return the values, or None after recording the problems."""
        limits = self._spacing.read_limits(findings)
        caps = self._daily_limits.read(findings)
        group = self.group
        policy = findings.take(
            "policy",
            lambda: replace(
                self._loaded,
                catch_up=self._catch_up.currentData(),
                catch_up_limit=self._most.value(),
                catch_up_max_age=self._age.text if self._has_age.isChecked() else None,
                limits=limits or Limits(),
                jitter_percent=self._spacing.jitter_percent,
                jitter=self._spacing.jitter,
                is_jitter_fixed=self._spacing.is_jitter_fixed,
                notify=self._notify.currentData(),
                caps=caps or Caps(),
                reads_lines=self._output_commands.chosen,
                keep_awake=self._awake.isChecked(),
                output_limit_bytes=self._read_output_limit(),
                assistants_may_run=self._assistants.isChecked(),
            ),
        )
        checked = findings.take("", lambda: JobSpec(name="?", schedule=Manual(), group=group))
        pairs = findings.take("parameters", self._parameters.pairs)
        parameters = findings.take("", lambda: require_parameters("parameters", pairs or {}))
        if (
            limits is None
            or caps is None
            or policy is None
            or checked is None
            or pairs is None
            or parameters is None
        ):
            return None
        return Options(policy, group, self._enabled.isChecked(), parameters)

    def _read_output_limit(self) -> int | None:
        """Return the limit in bytes; one that is not a whole number of kilobytes is kept until it is edited."""
        value, given = self._output_limit.value(), self._given_limit
        if given is not None and value == given >> 10:
            return given
        return None if value < 0 else value << 10

    def _show_age(self) -> None:
        show_if(self._age_field, self._catch_up.currentData() != CatchUp.SKIP)
        show_if(self._most_field, self._catch_up.currentData() == CatchUp.ALL)
