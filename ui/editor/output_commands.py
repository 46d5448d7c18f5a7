"""Whether a job is heard when it speaks of itself in its output."""

from __future__ import annotations

from PySide6.QtCore import QSignalBlocker, Signal
from PySide6.QtWidgets import QCheckBox, QVBoxLayout, QWidget

from ui.forms.fields import Field, Page
from ui.forms.fold import Fold
from ui.forms.rows import explanations
from ui.forms.seen import show_if
from ui.style.theme import Appearance


class OutputCommands(QWidget):
    """One switch; left alone it follows the kind of the job."""

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
        self._fold = Fold(appearance, self.tr("What it says in its output"), name="linesFold")
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
        """Show what it can say; few who edit a job ever look."""
        if self._lines is None:
            self._lines = explanations(
                ("::cost 0.12", self.tr("what the run cost; several are added up")),
                ("::needs-input Go on?", self.tr("a question for you; the job waits for your answer")),
                ("::progress 0.4 copying", self.tr("how far it has come; read in any case")),
                (
                    "::halo every=5m ttl=1h",
                    self.tr("run it every 5 minutes for an hour; without ttl also for an hour"),
                ),
                ("::halo next=10m", self.tr("run it once more, 10 minutes after this run")),
                (
                    '… reason="queue is long"',
                    self.tr("may stand behind both: why, shown beside the next run"),
                ),
            )
            self._fold.add(self._lines)
        if self._is_http and self._answer is None:
            self._answer = explanations(
                ('{"halo": {"every": "5m"}}', self.tr("the same in a JSON answer; also next, ttl, reason"))
            )
            self._answer.setObjectName("haloAnswer")
            self._fold.add(self._answer)
        if self._answer is not None:
            show_if(self._answer, self._is_http)

    def _show_kind(self) -> None:
        self._reads.setText(self.tr("Let it report costs, questions and its own pace in its output"))
        self._field.set_hint(
            self.tr("It does so in the answer: see below. Your limits and a pause always win.")
            if self._is_http
            else self.tr(
                "It does so in lines that begin with two colons. For prompts this is on unless you switch it off. "
                "Your limits and a pause always win."
            )
        )
        if self._fold.is_open:
            self._explain()

    @property
    def is_reading(self) -> bool:
        """Whether lines are read, as things stand."""
        return self._default if self._chosen is None else self._chosen

    @property
    def chosen(self) -> bool | None:
        """What was chosen; None leaves it to the kind of the job."""
        return self._chosen

    def load(self, reads_lines: bool | None) -> None:  # noqa: FBT001 - a value
        """Show the choice of a job."""
        self._given = self._chosen = reads_lines
        self._show()

    def follow(self, *, is_prompt: bool, is_http: bool) -> None:
        """Follow the kind of the job, unless something was chosen."""
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
        self._fold.set_summary(
            self.tr("costs, questions and pace are read") if self.is_reading else self.tr("is only shown")
        )
