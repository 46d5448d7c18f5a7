"""What the tray tells: gathered from the service in one go, small whatever the number of jobs."""

from __future__ import annotations

import heapq
from collections.abc import Callable, Container, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum

from PySide6.QtCore import QCoreApplication

from halo_scheduler.grammar.english import short_date, weekday_name
from halo_scheduler.grammar.zone import local_time
from halo_scheduler.model import Job, JobStatus, Run
from halo_scheduler.model.changes import Change, ChangeKind
from halo_scheduler.service.scheduler import Scheduler
from ui.backend.caps import has_caps, held_by_caps
from ui.backend.questions import MOST_READ
from ui.backend.quiet_times import QuietHours, is_skipped
from ui.backend.waiting_jobs import read_waiting
from ui.style.wording import (
    end_of_quiet,
    is_assistants,
    is_end_of_quiet,
    one_line,
    shortly_waited_for,
    waited_for,
)
from ui.widgets.waiting_text import MOST_NAMED, WaitingJob, WaitingJobs, waiting_line

MOST_LISTED = 25
_FEWER_LISTED = 20
NEXT_LISTED = 5
WAITING_LISTED = 5
_DAYS_BY_NAME = 7
_LONGEST_NAME = 40
_SHORT_NAME = 22
LONGEST_LINE = 120


class Mood(StrEnum):
    """What the icon shows; its value is also the end of the picture's name."""

    IDLE = "idle"
    RUNNING = "running"
    ATTENTION = "attention"
    PAUSED = "paused"


@dataclass(frozen=True, slots=True)
class JobName:
    """A job as the menu lists it."""

    id: str
    name: str


@dataclass(frozen=True, slots=True)
class Upcoming:
    """A run that lies ahead, or is due and about to start."""

    job: JobName
    at: int


@dataclass(frozen=True, slots=True)
class Waiting:
    """A job that is due, and what it waits for."""

    job: JobName
    reason: str
    shortly: str = ""
    """The same in fewer words, if there are any."""


@dataclass(frozen=True, slots=True)
class Underway:
    """A run that is going on; without a progress none was told."""

    run_id: str
    job: JobName
    progress: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class TrayState:
    """All that icon, tooltip and menu are made from."""

    running: tuple[Underway, ...] = ()
    upcoming: tuple[Upcoming, ...] = ()
    """Only what will start as things are."""
    waiting: tuple[Waiting, ...] = ()
    """The first of what is due and may not start yet."""
    waiting_count: int = 0
    waits_alike: bool = False
    """Whether all of it waits for the same."""
    held_count: int = 0
    """How many jobs were passed over for those: they wait for an answer, have reached a cap, or skip a quiet time."""
    runnable: tuple[JobName, ...] = ()
    job_count: int = 0
    active_count: int = 0
    """How many jobs wait for their time; what runs tells only afterwards whether it is paused."""
    paused_count: int = 0
    paused_until: int | None = None
    unseen_failures: int = 0
    asking: tuple[JobName, ...] = ()
    """The job of each question that waits for an answer, the oldest first."""

    @property
    def is_paused(self) -> bool:
        """Whether every job that is not switched off is paused."""
        return self.paused_count > 0 and self.active_count == 0

    @property
    def mood(self) -> Mood:
        # What waits for somebody comes first: a long run must not hide it.
        if self.unseen_failures or self.asking:
            return Mood.ATTENTION
        if self.running:
            return Mood.RUNNING
        return Mood.PAUSED if self.is_paused else Mood.IDLE


@dataclass(frozen=True, slots=True)
class _Known:
    """The little that is remembered of each job."""

    name: str
    next_run_at: int | None
    last_run_at: int
    is_active: bool
    is_paused: bool
    paused_until: int | None
    waits_for: str
    """Nothing when it does not wait."""
    waits_shortly: str
    is_starting: bool
    """Whether its run is claimed, but the machine cannot start it yet."""
    has_caps: bool
    group: str | None
    skips_quiet: bool


class TrayReader:
    """Keeps a short memory of the jobs, so that one change costs one job and not all of them.

    Used by one question at a time, on whatever thread answers it.
    """

    def __init__(self) -> None:
        self._known: dict[str, _Known] | None = None

    def read(self, scheduler: Scheduler, stale: frozenset[str] | None) -> TrayState:
        """Return how things are; `stale` are the jobs that changed, None when any may have."""
        if self._known is None or stale is None:
            pages = scheduler.jobs.in_pages()
            self._known = {job.id: _remembered(job) for page in pages for job in page}
        else:
            self._refresh(scheduler, self._known, stale)
        known = self._known
        running = [run for run in scheduler.runs.running() if not _is_starting(run, known)]
        asking = tuple(_name_of(one.job_id, known) for one in scheduler.questions.list(limit=MOST_READ))
        asks = {job.id for job in asking}

        def is_held(job_id: str) -> bool:
            return job_id in asks or (known[job_id].has_caps and bool(held_by_caps(scheduler, [job_id])))

        waiting = _waiting(known, read_waiting(scheduler), {run.job_id for run in running})
        hours = QuietHours(scheduler.settings.read().quiet_times)
        upcoming, held_count = _upcoming(known, is_held, hours)
        paused = [job for job in known.values() if job.is_paused]
        ends = {job.paused_until for job in paused}
        return TrayState(
            running=tuple(_underway(run, known) for run in running),
            upcoming=upcoming,
            waiting=waiting[:WAITING_LISTED],
            waiting_count=len(waiting),
            waits_alike=len({one.shortly or one.reason for one in waiting}) == 1,
            held_count=held_count,
            runnable=_runnable(known, upcoming),
            job_count=len(known),
            active_count=sum(job.is_active for job in known.values()),
            paused_count=len(paused),
            paused_until=ends.pop() if len(ends) == 1 else None,
            unseen_failures=len(scheduler.runs.unseen_failures()),
            asking=asking,
        )

    @staticmethod
    def _refresh(scheduler: Scheduler, known: dict[str, _Known], stale: frozenset[str]) -> None:
        found = scheduler.jobs.get_many(stale) if stale else {}
        for job_id in stale:
            if job_id in found:
                known[job_id] = _remembered(found[job_id])
            else:
                known.pop(job_id, None)


class Stale:
    """Collects which jobs changed since they were read."""

    def __init__(self) -> None:
        self._job_ids: set[str] | None = None

    def add(self, change: Change) -> None:
        if change.job_id is None and change.kind in {ChangeKind.JOB, ChangeKind.ENGINE}:
            self._job_ids = None
        elif change.job_id is not None and self._job_ids is not None:
            self._job_ids.add(change.job_id)

    def take(self) -> frozenset[str] | None:
        """Return what was collected, None for everything, and begin anew."""
        taken = None if self._job_ids is None else frozenset(self._job_ids)
        self._job_ids = set()
        return taken

    def take_back(self) -> None:
        """Read everything next time: the last reading failed."""
        self._job_ids = None


def status_line(state: TrayState, now_ms: int, *, names_waiting: bool = True) -> str:
    """Return how things are in one line: "2 running · backup waits for network · next: sync at 14:05".

    It tells absolute times only, so that it stays true while nothing happens.
    """
    # What comes next is told, too, however long the names of those are that wait.
    for most_named in (MOST_NAMED, 1) if names_waiting else (0,):
        line = " · ".join(_parts(state, now_ms, most_named))
        if len(line) <= LONGEST_LINE:
            break
    return one_line(line, LONGEST_LINE)


def _parts(state: TrayState, now_ms: int, most_named: int) -> list[str]:
    parts: list[str] = []
    if state.asking:
        parts.append(_asking_words(state.asking))
    if state.unseen_failures:
        parts.append(_tr("{count} failed").format(count=state.unseen_failures))
    if state.running:
        parts.append(_tr("{count} running").format(count=len(state.running)))
    if state.waiting_count:
        parts.append(_waiting_words(state, most_named))
    if state.is_paused:
        parts.append(_paused_words(state, now_ms))
    elif state.upcoming:
        parts.append(_next_words(state.upcoming[0], now_ms, is_first=not parts))
    elif not parts:
        parts.append(_nothing_words(state))
    return parts


def _nothing_words(state: TrayState) -> str:
    if state.held_count:
        one, more = _tr("1 job is held back"), _tr("{count} jobs are held back")
        return one if state.held_count == 1 else more.format(count=state.held_count)
    return _tr("Nothing planned") if state.job_count else _tr("No jobs yet")


def _asking_words(asking: Sequence[JobName]) -> str:
    jobs = dict.fromkeys(asking)
    if len(jobs) > 1:
        return _tr("{count} jobs need you").format(count=len(jobs))
    return _tr("{name} needs you").format(name=_shown_name(asking[0].name))


def _next_words(upcoming: Upcoming, now_ms: int, *, is_first: bool) -> str:
    name = _shown_name(upcoming.job.name)
    words = _tr("Next: {name} {when}") if is_first else _tr("next: {name} {when}")
    day, _space, clock = _when_words(upcoming.at, now_ms).rpartition(" ")
    when = _tr("on {day} at {clock}") if day else _tr("at {clock}")
    return words.format(name=name, when=when.format(day=day, clock=clock))


def _waiting_words(state: TrayState, most_named: int) -> str:
    if not most_named:
        return _tr("{count} waiting").format(count=state.waiting_count)
    # Of several, each gets less room.
    is_only = state.waiting_count == 1
    longest = _LONGEST_NAME if is_only else _SHORT_NAME
    first = (
        WaitingJob(
            _shown_name(one.job.name, longest),
            _shown_name(one.reason if is_only else one.shortly or one.reason, longest),
        )
        for one in state.waiting[:most_named]
    )
    return waiting_line(WaitingJobs(tuple(first), state.waiting_count, state.waits_alike))


def _shown_name(name: str, longest: int = _LONGEST_NAME) -> str:
    """Return a text from outside as one short line that no tray host takes for markup."""
    return one_line(name, longest).replace("<", "‹").replace(">", "›")


def _when_words(at: int, now_ms: int) -> str:
    """Return an instant so that it is still right tomorrow: "14:05", "Tue 14:05", "3 Nov 14:05"."""
    local, today = local_time(at), local_time(now_ms)
    days = (local.date() - today.date()).days
    if days == 0:
        return f"{local:%H:%M}"
    day = weekday_name(local)[:3] if 0 < days < _DAYS_BY_NAME else short_date(local, year=False)
    return f"{day} {local:%H:%M}"


def _paused_words(state: TrayState, now_ms: int) -> str:
    if state.paused_until is None:
        return _tr("all jobs paused") if state.running else _tr("All jobs paused")
    when = _when_words(state.paused_until, now_ms)
    return _tr("All jobs paused until {when}").format(when=when)


def _remembered(job: Job) -> _Known:
    is_off = job.status is JobStatus.DISABLED
    is_paused = job.status is JobStatus.PAUSED or (job.paused_until is not None and not is_off)
    # What an assistant made stays paused when all are resumed.
    is_paused = is_paused and not is_assistants(job)
    return _Known(
        job.name,
        job.next_run_at,
        job.last_run_at or 0,
        job.status is JobStatus.IDLE,
        is_paused,
        job.paused_until,
        "" if job.waiting_for is None else waited_for(job),
        "" if job.waiting_for is None else shortly_waited_for(job),
        job.is_starting,
        has_caps(job),
        job.group,
        is_skipped(job),
    )


def _is_starting(run: Run, known: dict[str, _Known]) -> bool:
    return run.job_id in known and known[run.job_id].is_starting


def _underway(run: Run, known: dict[str, _Known]) -> Underway:
    return Underway(run.id, _name_of(run.job_id, known), run.progress)


def _name_of(job_id: str, known: dict[str, _Known]) -> JobName:
    return JobName(job_id, known[job_id].name if job_id in known else _tr("A removed job"))


def _waiting(
    known: dict[str, _Known], asked_for: Mapping[str, str], running: Container[str]
) -> tuple[Waiting, ...]:
    """Return what is due and may not start yet; runs that were asked for have no time of their own."""
    reasons = {job_id: job.waits_for for job_id, job in known.items() if job.waits_for}
    reasons |= {job_id: reason or _tr("a place") for job_id, reason in asked_for.items() if job_id in known}
    waiting = sorted(
        (known[job_id].next_run_at or 0, known[job_id].name, job_id)
        for job_id in reasons
        if job_id not in running
    )
    shortly = {job_id: end_of_quiet() if is_end_of_quiet(why) else "" for job_id, why in asked_for.items()}
    return tuple(
        Waiting(JobName(job_id, name), reasons[job_id], shortly.get(job_id, known[job_id].waits_shortly))
        for _at, name, job_id in waiting
    )


def _upcoming(
    known: dict[str, _Known], is_held: Callable[[str], bool], hours: QuietHours
) -> tuple[tuple[Upcoming, ...], int]:
    """Return what starts next, and how many jobs would come sooner but are held back."""
    planned = [
        (job.next_run_at, job.name, job_id)
        for job_id, job in known.items()
        if job.next_run_at and not job.waits_for
    ]
    heapq.heapify(planned)
    found: list[Upcoming] = []
    held_count = 0
    while planned and len(found) < NEXT_LISTED:
        at, name, job_id = heapq.heappop(planned)
        quiet = hours.find(known[job_id].group, at)
        if is_held(job_id) or (quiet is not None and known[job_id].skips_quiet):
            held_count += 1
        elif quiet is not None:
            heapq.heappush(planned, (quiet.until, name, job_id))
        else:
            found.append(Upcoming(JobName(job_id, name), at))
    return tuple(found), held_count


def _runnable(known: dict[str, _Known], upcoming: Sequence[Upcoming]) -> tuple[JobName, ...]:
    """Return all jobs or, of many, those that ran last and those that run next."""
    chosen = list(known)
    if len(known) > MOST_LISTED:
        soonest = [one.job.id for one in upcoming]
        latest = heapq.nlargest(_FEWER_LISTED, known, key=lambda job_id: known[job_id].last_run_at)
        chosen = list(dict.fromkeys([*soonest, *latest]))[:_FEWER_LISTED]
    names = (JobName(job_id, known[job_id].name) for job_id in chosen)
    return tuple(sorted(names, key=lambda job: job.name.casefold()))


def _tr(text: str) -> str:
    return QCoreApplication.translate("Tray", text)
