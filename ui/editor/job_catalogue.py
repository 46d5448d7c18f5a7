"""The other jobs an editor can choose from, loaded on demand."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from PySide6.QtCore import (
    QAbstractListModel,
    QCoreApplication,
    QModelIndex,
    QObject,
    QPersistentModelIndex,
    Qt,
    Signal,
)

from halo_scheduler.model import Job, JobStatus
from halo_scheduler.model.changes import Change, ChangeKind
from halo_scheduler.rules.chains import LinkState
from halo_scheduler.service.scheduler import Scheduler
from ui.backend.backend import Backend, Lane
from ui.style.theme import Appearance, Tone
from ui.style.wording import natural_key, one_line, plain_tooltip

_LONGEST_CIRCLE = 6
_ARROW = " → "
_STATES = {JobStatus.DISABLED: LinkState.DISABLED, JobStatus.PAUSED: LinkState.PAUSED}

_NO_PARENT = QModelIndex()
Index = QModelIndex | QPersistentModelIndex


@dataclass(frozen=True, slots=True, kw_only=True)
class JobEntry:
    """A job to choose; `circle` names the jobs that would then start each other in a loop."""

    job_id: str
    name: str
    state: LinkState = LinkState.OK
    circle: str = ""


def read_jobs(scheduler: Scheduler, own_id: str | None) -> list[JobEntry]:
    """Return all jobs except the edited one and those in the trash, by name."""
    jobs = [job for page in scheduler.jobs.in_pages() for job in page]
    circles = {} if own_id is None else _circles([*jobs, *scheduler.list_removed()], own_id)
    found = [_entry(job, circles.get(job.id, "")) for job in jobs if job.id != own_id]
    return sorted(found, key=lambda entry: natural_key(entry.name))


def read_some(scheduler: Scheduler, job_ids: Iterable[str]) -> list[JobEntry]:
    """Return some jobs; those in the trash, or deleted, have the state REMOVED."""
    wanted = tuple(job_ids)
    jobs = scheduler.jobs.get_many(wanted)
    missing = [job_id for job_id in wanted if job_id not in jobs]
    names = {job.id: job.name for job in scheduler.list_removed()} if missing else {}
    gone = [
        JobEntry(job_id=job_id, name=names.get(job_id, ""), state=LinkState.REMOVED) for job_id in missing
    ]
    return [*map(_entry, jobs.values()), *gone]


def _entry(job: Job, circle: str = "") -> JobEntry:
    return JobEntry(job_id=job.id, name=job.name, state=_STATES.get(job.status, LinkState.OK), circle=circle)


def _circles(jobs: list[Job], own_id: str) -> dict[str, str]:
    """Return the loop that each job upstream of `own_id` would close by running after it."""
    names = {job.id: job.name for job in jobs}
    starters: dict[str, list[str]] = {}
    for job in jobs:
        for follower in job.followers:
            starters.setdefault(follower.job_id, []).append(job.id)
    paths: dict[str, tuple[str, ...]] = {own_id: (own_id,)}
    waiting = [own_id]
    while waiting:
        job_id = waiting.pop(0)
        for starter in starters.get(job_id, ()):
            if starter not in paths:
                paths[starter] = (starter, *paths[job_id])
                waiting.append(starter)
    return {
        job_id: _words([names.get(one, "…") for one in (own_id, *path)])
        for job_id, path in paths.items()
        if job_id != own_id
    }


def _words(names: list[str]) -> str:
    if len(names) > _LONGEST_CIRCLE:
        names = [*names[: _LONGEST_CIRCLE // 2], "…", *names[-(_LONGEST_CIRCLE // 2) :]]
    return _ARROW.join(names)


class JobOffers(QAbstractListModel):
    """The jobs to choose from; those that would close a loop are disabled."""

    def __init__(self, appearance: Appearance, parent: QObject) -> None:
        super().__init__(parent)
        self._appearance = appearance
        self._entries: list[JobEntry] = []

    def replace(self, entries: list[JobEntry]) -> None:
        """Replace the list."""
        self.beginResetModel()
        self._entries = entries
        self.endResetModel()

    def entry(self, row: int) -> JobEntry | None:
        """Return the job of a row."""
        return self._entries[row] if 0 <= row < len(self._entries) else None

    def row_of(self, job_id: str) -> int:
        """Return the row of a job, or -1."""
        return next((row for row, entry in enumerate(self._entries) if entry.job_id == job_id), -1)

    def with_name(self, text: str) -> JobEntry | None:
        """Return the job with that name, ignoring case; an exact match wins."""
        wanted = text.strip()
        found = [entry for entry in self._entries if entry.name.casefold() == wanted.casefold()]
        exact = (entry for entry in found if entry.name == wanted)
        return next(exact, found[0] if found else None)

    # --- Qt -----------------------------------------------------------------------------------------

    def rowCount(self, parent: Index = _NO_PARENT) -> int:  # noqa: N802 - Qt's name
        return 0 if parent.isValid() else len(self._entries)

    def flags(self, index: Index) -> Qt.ItemFlag:
        entry = self.entry(index.row()) if index.isValid() else None
        return super().flags(index) if entry is None or not entry.circle else Qt.ItemFlag.NoItemFlags

    def data(self, index: Index, role: int = Qt.ItemDataRole.DisplayRole) -> object:
        entry = self.entry(index.row()) if index.isValid() else None
        if entry is None:
            return None
        if role == Qt.ItemDataRole.EditRole:
            return entry.name
        if role == Qt.ItemDataRole.DisplayRole:
            name = one_line(entry.name)
            return _tr("{name} (runs before this job)").format(name=name) if entry.circle else name
        if entry.circle and role == Qt.ItemDataRole.ToolTipRole:
            return plain_tooltip(circle_sentence(entry))
        if entry.circle and role == Qt.ItemDataRole.ForegroundRole:
            return self._appearance.colour(Tone.MUTED)
        return None


class JobCatalogue(QObject):
    """Loads all jobs on demand and keeps the chosen ones up to date."""

    changed = Signal()
    """The known jobs have changed."""

    def __init__(self, backend: Backend, appearance: Appearance, own_id: str | None, parent: QObject) -> None:
        super().__init__(parent)
        self._backend = backend
        self._own_id = own_id
        self._is_fresh = False
        self._is_loaded = False
        self._known: dict[str, JobEntry] = {}
        self._followed: frozenset[str] = frozenset()
        self.offers = JobOffers(appearance, self)
        backend.changed.connect(self._notice)

    @property
    def is_loading(self) -> bool:
        """Whether the list is being loaded."""
        return self._is_fresh and not self._is_loaded

    @property
    def is_empty(self) -> bool:
        """Whether the list is loaded and empty."""
        return self._is_loaded and not self.offers.rowCount()

    def entry(self, job_id: str) -> JobEntry | None:
        """Return a job, if it is known."""
        return self._known.get(job_id)

    def load(self) -> None:
        """Load all jobs, if they changed since the last time."""
        if not self._is_fresh:
            self._is_fresh = True
            self._is_loaded = False
            own_id = self._own_id
            self._backend.ask(
                lambda scheduler: read_jobs(scheduler, own_id), self._take_all, owner=self, lane=Lane.SLOW
            )

    def follow(self, job_ids: Iterable[str]) -> None:
        """Keep these jobs up to date."""
        wanted = frozenset(job_ids)
        unknown = wanted - self._known.keys()
        self._followed = wanted
        if unknown:
            self._read(unknown)

    def _read(self, job_ids: frozenset[str]) -> None:
        self._backend.ask(lambda scheduler: read_some(scheduler, job_ids), self._take_some, owner=self)

    def _take_all(self, entries: list[JobEntry]) -> None:
        self._known |= {entry.job_id: entry for entry in entries}
        self.offers.replace(entries)
        self._is_loaded = True
        self.changed.emit()

    def _take_some(self, entries: list[JobEntry]) -> None:
        self._known |= {entry.job_id: entry for entry in entries}
        self.changed.emit()

    def _notice(self, change: Change) -> None:
        if change.kind is not ChangeKind.JOB:
            return
        self._is_fresh = False
        touched = self._followed if change.job_id is None else self._followed & {change.job_id}
        if touched:
            self._read(touched)


def circle_sentence(entry: JobEntry) -> str:
    """Return why a job cannot run after this one."""
    return _tr("These jobs would start each other in a loop: {names}").format(names=entry.circle)


def _tr(text: str) -> str:
    return QCoreApplication.translate("JobCatalogue", text)
