"""The state behind the tray icon, its tooltip and its menu, read in one query; its size does not grow with the jobs."""

from __future__ import annotations

import heapq
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum

from PySide6.QtCore import QCoreApplication

from halo_scheduler.model import JobStatus, Run, Situation, Waiting
from halo_scheduler.model.changes import Change, ChangeKind
from halo_scheduler.service.scheduler import Scheduler
from halo_scheduler.wording.measures import moment_in_words, when_in_words
from ui.backend.backend import NO_ENDS, Ends, still_running
from ui.backend.questions import MOST_READ
from ui.style.wording import natural_key, one_line
from ui.widgets.job_text import MOST_NAMED, WaitingJob, WaitingJobs, waiting_line

MOST_LISTED = 25
_FEWER_LISTED = 20
NEXT_LISTED = 5
WAITING_LISTED = 5
_LONGEST_NAME = 40
_SHORT_NAME = 24
LONGEST_LINE = 120
_NOBODY = WaitingJobs()
_ABOUT_ALL = {ChangeKind.JOB, ChangeKind.ENGINE, ChangeKind.SETTINGS}


class Mood(StrEnum):
    """What the icon shows; the value is also the suffix of the icon's file name."""

    IDLE = "idle"
    RUNNING = "running"
    ATTENTION = "attention"
    """A failure the user has not seen, or a problem with the store."""
    ASKING = "asking"
    WAITING = "waiting"
    PAUSED = "paused"


@dataclass(frozen=True, slots=True)
class JobName:
    """A job as the menu lists it."""

    id: str
    name: str


@dataclass(frozen=True, slots=True)
class Upcoming:
    """A run that is due later, or about to start."""

    job: JobName
    at: int


@dataclass(frozen=True, slots=True)
class WaitingEntry:
    """A job that is due, and what it waits for."""

    job: JobName
    waiting: Waiting


@dataclass(frozen=True, slots=True)
class Underway:
    """A current run; `progress` is None if it has reported none."""

    run_id: str
    job: JobName
    progress: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class TrayState:
    """Everything that icon, tooltip and menu show."""

    running: tuple[Underway, ...] = ()
    upcoming: tuple[Upcoming, ...] = ()
    """Only runs that nothing blocks."""
    waiting: tuple[WaitingEntry, ...] = ()
    """The first of the due jobs that are waiting."""
    waiting_jobs: WaitingJobs = _NOBODY
    """A summary of all due jobs that are waiting."""
    held_count: int = 0
    """How many earlier runs were left out of `upcoming`: an open question, a daily limit or quiet hours block them."""
    runnable: tuple[JobName, ...] = ()
    job_count: int = 0
    active_count: int = 0
    """How many jobs are idle; whether a running job is paused is only known when its run ends."""
    paused_count: int = 0
    paused_until: int | None = None
    unseen_failures: int = 0
    failing: tuple[JobName, ...] = ()
    """The failing jobs, whether or not the user has seen it."""
    asking: tuple[JobName, ...] = ()
    """The job of each open question, oldest first."""
    trouble: str = ""
    """The problem with the store; empty for none."""

    @property
    def is_paused(self) -> bool:
        """Whether every enabled job is paused."""
        return self.paused_count > 0 and self.active_count == 0

    @property
    def mood(self) -> Mood:
        # What needs the user comes first: a long run must not hide it.
        if self.trouble or self.unseen_failures:
            return Mood.ATTENTION
        if self.asking:
            return Mood.ASKING
        if self.running:
            return Mood.RUNNING
        if self.waiting:
            return Mood.WAITING
        return Mood.PAUSED if self.is_paused else Mood.IDLE


class TrayReader:
    """Caches the situations of the jobs, so that a change reloads one job instead of all.

    Used by one request at a time, on any thread.
    """

    def __init__(self) -> None:
        self._known: dict[str, Situation] | None = None

    def read(self, scheduler: Scheduler, stale: frozenset[str] | None, ends: Ends = NO_ENDS) -> TrayState:
        """Return the current state; `stale` are the jobs that changed, None if any may have."""
        if self._known is None or stale is None:
            self._known = scheduler.jobs.situations()
        elif stale:
            found = scheduler.jobs.situations(stale)
            kept = {job_id: one for job_id, one in self._known.items() if job_id not in stale}
            self._known = kept | found
        known = self._known
        under_way = still_running(scheduler.runs.running(), ends)
        running = [run for run in under_way if _is_running(run, known)]
        waiting = _waiting(known)
        upcoming, held_count = _upcoming(known)
        paused = [one for one in known.values() if _is_paused(one)]
        pause_ends = {one.paused_until for one in paused}
        return TrayState(
            running=tuple(Underway(run.id, _name_of(run.job_id, known), run.progress) for run in running),
            upcoming=upcoming,
            waiting=waiting[:WAITING_LISTED],
            waiting_jobs=WaitingJobs.of([WaitingJob(one.job.name, one.waiting) for one in waiting]),
            held_count=held_count,
            runnable=_runnable(known, upcoming),
            job_count=len(known),
            active_count=sum(one.status is JobStatus.IDLE for one in known.values()),
            paused_count=len(paused),
            paused_until=pause_ends.pop() if len(pause_ends) == 1 else None,
            unseen_failures=len(scheduler.runs.unseen_failures()),
            failing=tuple(JobName(job_id, one.name) for job_id, one in known.items() if one.is_failing),
            asking=tuple(_name_of(one.job_id, known) for one in scheduler.questions.list(limit=MOST_READ)),
        )


class Stale:
    """Collects which jobs changed since they were read."""

    def __init__(self) -> None:
        self._job_ids: set[str] | None = None

    def add(self, change: Change) -> None:
        if change.job_id is None and change.kind in _ABOUT_ALL:
            self._job_ids = None
        elif change.job_id is not None and self._job_ids is not None:
            self._job_ids.add(change.job_id)

    def take(self) -> frozenset[str] | None:
        """Return what was collected, None for all jobs, and start over."""
        taken = None if self._job_ids is None else frozenset(self._job_ids)
        self._job_ids = set()
        return taken

    def take_back(self) -> None:
        """Reload all jobs next time, because the last query failed."""
        self._job_ids = None


def status_line(state: TrayState, now_ms: int, *, names_waiting: bool = True) -> str:
    """Return the state in one line: "2 running · backup waits for network · next: sync at 14:05".

    It has absolute times only, so that it stays correct until something changes.
    """
    # Name fewer waiting jobs if needed, so that the next run still fits.
    for most_named in (MOST_NAMED, 1) if names_waiting else (0,):
        line = " · ".join(_parts(state, now_ms, most_named))
        if len(line) <= LONGEST_LINE:
            break
    return one_line(line, LONGEST_LINE)


def _parts(state: TrayState, now_ms: int, most_named: int) -> list[str]:
    if state.trouble:
        return [state.trouble]
    parts: list[str] = []
    if state.asking:
        parts.append(_asking_words(state.asking))
    if state.failing:
        parts.append(_failing_words(state.failing, most_named))
    elif state.unseen_failures:
        parts.append(_tr("{count} failed").format(count=state.unseen_failures))
    if state.running:
        parts.append(_tr("{count} running").format(count=len(state.running)))
    if state.waiting:
        parts.append(_shown_name(waiting_line(state.waiting_jobs, now_ms, most_named), LONGEST_LINE))
    if state.is_paused:
        parts.append(_paused_words(state, now_ms))
    elif state.upcoming:
        parts.append(_next_words(state.upcoming[0], now_ms, is_first=not parts))
    elif not parts:
        parts.append(_nothing_words(state))
    return parts


def _nothing_words(state: TrayState) -> str:
    if state.held_count:
        one, more = _tr("1 job on hold"), _tr("{count} jobs on hold")
        return one if state.held_count == 1 else more.format(count=state.held_count)
    return _tr("Nothing scheduled") if state.job_count else _tr("No jobs yet")


def _asking_words(asking: Sequence[JobName]) -> str:
    jobs = dict.fromkeys(asking)
    if len(jobs) > 1:
        return _tr("{count} jobs need you").format(count=len(jobs))
    return _tr("{name} needs you").format(name=_shown_name(asking[0].name))


def _failing_words(failing: Sequence[JobName], most_named: int) -> str:
    """Return which jobs fail: "backup, sync and 3 more failing"."""
    names = [_shown_name(job.name, _SHORT_NAME) for job in failing[:most_named]]
    more = len(failing) - len(names)
    if not names:
        return _tr("{count} failing").format(count=len(failing))
    listed = ", ".join(names) + (_tr(" and {count} more").format(count=more) if more else "")
    return _tr("{names} failing").format(names=listed)


def _next_words(upcoming: Upcoming, now_ms: int, *, is_first: bool) -> str:
    name = _shown_name(upcoming.job.name)
    words = _tr("Next: {name} {when}") if is_first else _tr("next: {name} {when}")
    return words.format(
        name=name, when=when_in_words(upcoming.at, now_ms, has_seconds=False, is_lasting=True)
    )


def _shown_name(name: str, longest: int = _LONGEST_NAME) -> str:
    """Return an untrusted text as one short line."""
    return one_line(name, longest)


def _paused_words(state: TrayState, now_ms: int) -> str:
    if state.paused_until is None:
        return _tr("all jobs paused") if state.running else _tr("All jobs paused")
    when = moment_in_words(state.paused_until, now_ms, has_seconds=False, is_lasting=True)
    return _tr("All jobs paused until {when}").format(when=when)


def _is_running(run: Run, known: Mapping[str, Situation]) -> bool:
    """Return whether a run has started, rather than waiting until the computer can start it."""
    return run.job_id not in known or known[run.job_id].waiting is None


def _is_paused(situation: Situation) -> bool:
    """Return whether "Resume all" would resume this job; one that needs a review stays paused."""
    is_off = situation.status is JobStatus.DISABLED
    has_end = situation.paused_until is not None and not is_off
    return (situation.status is JobStatus.PAUSED or has_end) and not situation.needs_review


def _name_of(job_id: str, known: Mapping[str, Situation]) -> JobName:
    return JobName(job_id, known[job_id].name if job_id in known else _tr("Deleted job"))


def _waiting(known: Mapping[str, Situation]) -> tuple[WaitingEntry, ...]:
    """Return the due jobs that are waiting; manual runs have no slot."""
    waiting = sorted(
        (one.next_run_at or 0, one.name, job_id) for job_id, one in known.items() if one.waiting is not None
    )
    found = ((JobName(job_id, name), known[job_id].waiting) for _at, name, job_id in waiting)
    return tuple(WaitingEntry(job, waits) for job, waits in found if waits is not None)


def _upcoming(known: Mapping[str, Situation]) -> tuple[tuple[Upcoming, ...], int]:
    """Return the next runs, and how many earlier ones are blocked."""
    planned = [
        (one.starts_at or one.next_run_at or 0, one.name, job_id)
        for job_id, one in known.items()
        if (one.next_run_at is not None or one.later_at is not None) and one.waiting is None
    ]
    heapq.heapify(planned)
    found: list[Upcoming] = []
    held_count = 0
    while planned and len(found) < NEXT_LISTED:
        at, name, job_id = heapq.heappop(planned)
        if known[job_id].starts_at is None:
            held_count += 1
        else:
            found.append(Upcoming(JobName(job_id, name), at))
    return tuple(found), held_count


def _runnable(known: Mapping[str, Situation], upcoming: Sequence[Upcoming]) -> tuple[JobName, ...]:
    """Return all jobs or, if there are many, those that ran last and those that run next."""
    chosen = list(known)
    if len(known) > MOST_LISTED:
        soonest = [one.job.id for one in upcoming]
        latest = heapq.nlargest(_FEWER_LISTED, known, key=lambda job_id: known[job_id].last_run_at or 0)
        chosen = list(dict.fromkeys([*soonest, *latest]))[:_FEWER_LISTED]
    names = (JobName(job_id, known[job_id].name) for job_id in chosen)
    return tuple(sorted(names, key=lambda job: natural_key(job.name)))


def _tr(text: str) -> str:
    return QCoreApplication.translate("Tray", text)
