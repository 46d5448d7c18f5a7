"""The page with the jobs that run when a job finishes."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from PySide6.QtCore import QCoreApplication, Signal
from PySide6.QtWidgets import QWidget

from halo_scheduler.model import Follower
from ui.backend.backend import Backend
from ui.editor.job_catalogue import JobCatalogue
from ui.forms.fields import Page
from ui.forms.fold import Fold
from ui.forms.problems import Findings
from ui.forms.rows import explanations
from ui.style.theme import Appearance
from ui.widgets.labels import label

from .followers_edit import FollowersEdit
from .triggered_by import TriggeredBy


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
