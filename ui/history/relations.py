"""The run that triggered a run, and the runs it triggered."""

from __future__ import annotations

from dataclasses import dataclass

from PySide6.QtCore import QObject, Signal

from halo_scheduler.model import Outcome, Run
from halo_scheduler.model.changes import Change, ChangeKind
from halo_scheduler.service.scheduler import Scheduler
from ui.backend.backend import Asked, Backend

from .choice import JobName, job_names, run_at

_RUN_KINDS = (ChangeKind.RUN_STARTED, ChangeKind.RUN_FINISHED)
_NAMELESS = JobName("", is_removed=True)


@dataclass(frozen=True, slots=True)
class Relative:
    """A run of another job."""

    run_id: str
    job: JobName
    at: int
    outcome: Outcome


@dataclass(frozen=True, slots=True, kw_only=True)
class Relations:
    """The runs before and after a run in a chain.

    `waiting` are the jobs whose triggered runs have not started; `followers` the jobs that may still be triggered.
    """

    cause: Relative | None = None
    caused: tuple[Relative, ...] = ()
    waiting: tuple[JobName, ...] = ()
    followers: frozenset[str] = frozenset()


NO_RELATIONS = Relations()


class RelationsReader(QObject):
    """Keeps the relations of one run up to date."""

    read = Signal()

    def __init__(self, backend: Backend, parent: QObject) -> None:
        super().__init__(parent)
        self._backend = backend
        self._run: Run | None = None
        self._found = NO_RELATIONS
        self._asked: Asked | None = None
        self._is_stale = False
        backend.changed.connect(self._note)

    @property
    def found(self) -> Relations:
        """The relations as far as they are loaded."""
        return self._found

    def follow(self, run: Run | None) -> None:
        """Follow this run from now on; the same run is loaded again."""
        if run is None or self._run is None or run.id != self._run.id:
            self._found = NO_RELATIONS
        self._run = run
        self._ask()

    def _note(self, change: Change) -> None:
        is_kin = change.job_id is None or change.job_id in self._found.followers
        if self._run is not None and change.kind in _RUN_KINDS and is_kin:
            self._ask()

    def _ask(self) -> None:
        run = self._run
        self._is_stale = self._asked is not None
        if run is not None and self._asked is None:
            self._asked = self._backend.ask(
                lambda scheduler: (run.id, read_relations(scheduler, run)),
                self._take,
                lambda _error: self._take(("", NO_RELATIONS)),
                owner=self,
            )

    def _take(self, answer: tuple[str, Relations]) -> None:
        self._asked = None
        run_id, found = answer
        if self._run is not None and run_id == self._run.id:
            self._found = found
            self.read.emit()
        if self._is_stale:
            self._ask()


def read_relations(scheduler: Scheduler, run: Run) -> Relations:
    """Return the relations of a run; runs no longer in the log are left out."""
    cause = None if run.caused_by is None else scheduler.get_run(run.caused_by)
    caused = scheduler.runs.caused_by(run.id)
    job = scheduler.get_job(run.job_id)
    waiting = [one for one in scheduler.runs.waiting_in_chains() if one.caused_by == run.id]
    relatives = [*caused, *([] if cause is None else [cause])]
    job_ids = {one.job_id for one in relatives} | {one.job_id for one in waiting}
    names = job_names(scheduler, job_ids) if job_ids else {}

    def relative(one: Run) -> Relative:
        return Relative(one.id, names.get(one.job_id, _NAMELESS), run_at(one), one.outcome)

    return Relations(
        cause=None if cause is None else relative(cause),
        caused=tuple(map(relative, caused)),
        waiting=tuple(names.get(one.job_id, _NAMELESS) for one in waiting),
        followers=frozenset() if job is None else frozenset(one.job_id for one in job.followers),
    )
