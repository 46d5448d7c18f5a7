"""The page with the jobs that run when a job finishes, and the jobs that trigger it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from PySide6.QtCore import QCoreApplication, Signal
from PySide6.QtGui import QShowEvent
from PySide6.QtWidgets import QHBoxLayout, QLabel, QVBoxLayout, QWidget

from halo_scheduler.errors import SchedulerError
from halo_scheduler.model import Follower, FollowOn
from halo_scheduler.model.changes import Change, ChangeKind
from halo_scheduler.rules.chains import Chain, ChainLink, LinkState
from ui.backend.backend import Asked, Backend
from ui.editor.job_catalogue import JobCatalogue
from ui.forms.fields import Findings, Page
from ui.forms.fold import Fold
from ui.forms.rows import explanations
from ui.style.theme import GRID, HALF, Appearance
from ui.style.wording import one_line, plain_tooltip
from ui.widgets.arrange import show_if
from ui.widgets.labels import WrappedText, icon_button, label

from .followers_edit import FollowersEdit

_LONGEST_NAME = 60
_MOST_SHOWN = 8


class TriggeredBy(QWidget):
    """A read-only list; the chain is edited in the jobs that trigger this one."""

    job_wanted = Signal(str)

    def __init__(self, backend: Backend, appearance: Appearance, job_id: str | None) -> None:
        super().__init__()
        self.setObjectName("triggeredBy")
        self._backend = backend
        self._appearance = appearance
        self._job_id = job_id
        self._asked: Asked | None = None
        self._links: tuple[ChainLink, ...] | None = None
        self._shown: list[QWidget] = []
        self._none = label(self.tr("No other jobs"), "muted", wrap=True, name="beforeNone")
        self._rows = QVBoxLayout()
        self._rows.setContentsMargins(0, 0, 0, 0)
        self._rows.setSpacing(HALF)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.setSpacing(HALF)
        layout.addWidget(label(self.tr("Triggered by")))
        layout.addWidget(self._none)
        layout.addLayout(self._rows)
        self._more = label("", "muted", name="beforeMore")
        layout.addWidget(self._more)
        self._more.hide()
        backend.changed.connect(self._notice)
        self.load()

    def load(self) -> None:
        """Load the jobs that trigger it."""
        job_id = self._job_id
        if job_id is None:
            return
        if self._asked is not None:
            self._asked.cancel()
        self._asked = self._backend.ask(
            lambda scheduler: scheduler.jobs.chain(job_id), self._take, self._ignore, owner=self
        )

    def _take(self, chain: Chain) -> None:
        # An alarm job may be triggered by hundreds.
        links, more = chain.before[:_MOST_SHOWN], len(chain.before) - _MOST_SHOWN
        self._more.setText(self.tr("and {count} more").format(count=more))
        show_if(self._more, more > 0)
        if links == self._links:
            return
        self._links = links
        for row in self._shown:
            self._rows.removeWidget(row)
            row.hide()
            row.deleteLater()
        self._shown = [self._row(link, index) for index, link in enumerate(links)]
        for row in self._shown:
            self._rows.addWidget(row)
        show_if(self._none, not self._shown)

    def _ignore(self, _error: SchedulerError) -> None:
        """Ignore a job that no longer exists: nothing triggers it."""

    def _row(self, found: ChainLink, index: int) -> QWidget:
        made = QWidget()
        made.setObjectName(f"before{index}")
        words = WrappedText(self._appearance, name=f"before{index}Words", most_lines=1)
        row = QHBoxLayout(made)
        row.setContentsMargins(0, 0, 0, 0)
        row.setSpacing(GRID)
        row.addWidget(words, 1)
        # Only after it has a parent: otherwise it would be shown as a window.
        words.set_text(self._words(found))
        words.setToolTip(plain_tooltip(found.name))
        state = self._state(found)
        if state.text():
            row.addWidget(state)
        open_it = icon_button(
            self._appearance, "external", self.tr("Open this job"), name=f"before{index}Open"
        )
        open_it.setAccessibleName(self.tr("Open {name}").format(name=one_line(found.name)))
        open_it.clicked.connect(_Want(self, found.job_id))
        row.addWidget(open_it)
        return made

    def _words(self, found: ChainLink) -> str:
        words = {
            FollowOn.SUCCESS: self.tr("{name}, on success"),
            FollowOn.FAILURE: self.tr("{name}, on failure"),
            FollowOn.ALWAYS: self.tr("{name}, always"),
        }[found.on]
        return words.format(name=one_line(found.name, _LONGEST_NAME))

    def _state(self, found: ChainLink) -> QLabel:
        words = {
            LinkState.PAUSED: self.tr("(paused)"),
            LinkState.DISABLED: self.tr("(disabled)"),
        }.get(found.state, "")
        return label(words, "muted")

    def _notice(self, change: Change) -> None:
        if change.kind is ChangeKind.JOB and self.isVisible():
            self.load()

    def showEvent(self, event: QShowEvent) -> None:  # noqa: N802 - Qt's name
        super().showEvent(event)
        self.load()


class _Want:
    """Requests one job when called."""

    def __init__(self, part: TriggeredBy, job_id: str) -> None:
        self._part = part
        self._job_id = job_id

    def __call__(self) -> None:
        self._part.job_wanted.emit(self._job_id)


@dataclass(frozen=True, slots=True)
class NextJobs:
    """The values of the page; names are empty where unknown."""

    followers: tuple[Follower, ...]
    names: tuple[str, ...]


class NextJobsPage(Page):
    """The next jobs, the variables they receive, and the jobs that trigger this one."""

    job_wanted = Signal(str)

    def __init__(
        self,
        backend: Backend,
        appearance: Appearance,
        catalogue: JobCatalogue,
        job_id: str | None,
        parent: QWidget,
    ) -> None:
        super().__init__(
            QCoreApplication.translate("NextJobsPage", "When it finishes"),
            name="nextJobsPage",
            parent=parent,
        )
        self._backend = backend
        self._appearance = appearance
        self._catalogue = catalogue
        self._job_id = job_id
        self._is_explained = False

    def build(self) -> Iterator[None]:
        """Build the page; yields after each part so that the event loop can run."""
        self.add(
            label(
                self.tr(
                    "Run other jobs when this one finishes. Retries count as one run; skipped runs trigger "
                    "nothing."
                ),
                "small",
                wrap=True,
            )
        )
        self.rows = FollowersEdit(self._catalogue, self._appearance, self)
        self.add(self.rows)
        yield
        self._variables = Fold(self._appearance, self.tr("Variables they receive"), name="chainFold")
        self._variables.set_summary(self.tr("result and output"))
        self._variables.opened.connect(self._explain)
        self.add(self._variables)
        self._triggered_by = TriggeredBy(self._backend, self._appearance, self._job_id)
        self.add(self._triggered_by)
        self.column.addStretch(1)
        self.rows.changed.connect(self.edited)
        self.rows.job_wanted.connect(self.job_wanted)
        self._triggered_by.job_wanted.connect(self.job_wanted)
        self._catalogue.changed.connect(self.learned)

    def _explain(self) -> None:
        """Show the variables, created on first use."""
        if self._is_explained:
            return
        self._is_explained = True
        self._variables.add(
            explanations(
                ("HALO_CHAIN_JOB", self.tr("this job's name")),
                ("HALO_CHAIN_OUTCOME", self.tr("its outcome, like success or failure")),
                (
                    "HALO_CHAIN_OUTPUT",
                    self.tr("a private file with its output, deleted when the next job ends"),
                ),
                ("HALO_CHAIN_RUN_ID", self.tr("the run's id; HALO_CHAIN_JOB_ID is the job's")),
                (
                    "{{chain.output}}",
                    self.tr("in prompts; also chain.job, chain.outcome and chain.run"),
                ),
            )
        )

    def focus_first(self) -> None:
        """Focus the first field."""
        self.rows.focus_first()

    def load(self, followers: tuple[Follower, ...]) -> None:
        """Show the next jobs."""
        self.rows.load(followers)

    def read(self, findings: Findings) -> NextJobs | None:
        """Return the values, or None after recording the problems."""
        followers = self.rows.read(findings)
        return None if followers is None else NextJobs(followers, self.rows.names())
