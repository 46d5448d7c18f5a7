"""Whether directives in a job's output are read."""

from __future__ import annotations

from PySide6.QtCore import QSignalBlocker, Signal
from PySide6.QtWidgets import QCheckBox, QVBoxLayout, QWidget

from ui.forms.fields import Field, Page
from ui.forms.fold import Fold
from ui.forms.rows import explanations
from ui.forms.seen import show_if
from ui.style.theme import Appearance


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
