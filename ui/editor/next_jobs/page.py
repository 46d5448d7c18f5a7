"""The page that says what runs when a job has ended."""

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
    """What the page says; the names are those of the followers, as far as they are known."""

    followers: tuple[Follower, ...]
    names: tuple[str, ...]


class NextJobsPage(Page):
    """The jobs that follow, what they are given, and the jobs before."""

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
            QCoreApplication.translate("NextJobsPage", "When it has ended"),
            name="nextJobsPage",
            parent=parent,
        )
        self._backend = backend
        self._appearance = appearance
        self._catalogue = catalogue
        self._job_id = job_id
        self._is_explained = False

    def build(self) -> Iterator[None]:
        """Make what is on the page, giving way after each part."""
        self.add(
            label(
                self.tr(
                    "Other jobs can run then, once for every run of this one. A run that is tried again has not "
                    "ended yet; one that was skipped starts nothing."
                ),
                "small",
                wrap=True,
            )
        )
        self.rows = FollowersEdit(self._catalogue, self._appearance, self)
        self.add(self.rows)
        yield
        self._variables = Fold(self._appearance, self.tr("What they are told"), name="chainFold")
        self._variables.set_summary(self.tr("how it ended, and its output"))
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
        """Show what a follower gets; few ever look."""
        if self._is_explained:
            return
        self._is_explained = True
        self._variables.add(
            explanations(
                ("HALO_CHAIN_JOB", self.tr("this job's name")),
                ("HALO_CHAIN_OUTCOME", self.tr("how its run ended, like success or failure")),
                (
                    "HALO_CHAIN_OUTPUT",
                    self.tr("a private file with what it printed, there while the follower runs"),
                ),
                ("HALO_CHAIN_RUN_ID", self.tr("the run itself; HALO_CHAIN_JOB_ID is the job")),
                (
                    "{{chain.output}}",
                    self.tr("the same in prompts: also chain.job, chain.outcome, chain.run"),
                ),
            )
        )

    def focus_first(self) -> None:
        """Give the keyboard to the first field."""
        self.rows.focus_first()

    def load(self, followers: tuple[Follower, ...]) -> None:
        """Show which jobs follow."""
        self.rows.load(followers)

    def read(self, findings: Findings) -> NextJobs | None:
        """Return what the page says, or None after noting what is wrong."""
        followers = self.rows.read(findings)
        return None if followers is None else NextJobs(followers, self.rows.names())
