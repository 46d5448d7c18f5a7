"""Chains: which jobs run after which, and whether a chain would never end."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum

from halo_scheduler.model import (
    NO_DETAILS,
    Capacity,
    FollowOn,
    JobSpec,
    Outcome,
    Run,
    Trigger,
    Waiting,
    WaitingDetails,
    WaitingFor,
)
from halo_scheduler.model.changes import Change, ChangeKind
from halo_scheduler.model.runs import new_run_id
from halo_scheduler.model.situation import asked_waiting
from halo_scheduler.model.words import FAILURES
from halo_scheduler.rules.situation import Capacities
from halo_scheduler.schedule.calendar import local_day
from halo_scheduler.store.events import EventKind
from halo_scheduler.store.job_records import JobRecord
from halo_scheduler.store.requests import Request, RequestKind
from halo_scheduler.store.store import Store

# A run that never started (skipped, missed) starts no next job.
_STARTED_BY = {
    FollowOn.SUCCESS: (Outcome.SUCCESS,),
    FollowOn.FAILURE: FAILURES,
    FollowOn.ALWAYS: (Outcome.SUCCESS, *FAILURES, Outcome.CANCELLED),
}

GONE = "a deleted job"
AN_EVENT = "an event"
_LOOKED_BACK = 100
_LONGEST_CIRCLE = 8


def ask_for_followers(
    store: Store, record: JobRecord, run: Run, outcome: Outcome, ended_at: int
) -> list[Change]:
    """Request one run of each job that follows such an end; the run must not be retried."""
    if run.trigger is Trigger.TEST:
        return []
    wanted = [item.job_id for item in record.spec.followers if outcome in _STARTED_BY[item.on]]
    if not wanted:
        return []
    store.requests.append_chain_runs(
        [
            Request(kind=RequestKind.CHAIN, job_id=job_id, run_id=new_run_id(), at=ended_at, payload=run.id)
            for job_id in wanted
        ]
    )
    return [Change(ChangeKind.JOB, job_id=job_id) for job_id in wanted]


def ask_instead_of_retry(store: Store, record: JobRecord) -> list[Change]:
    """Request the next jobs of a failed attempt whose retry was dropped: it was the last attempt after all."""
    if record.attempt == 1 or record.slot_at is None or not record.spec.followers:
        return []
    last = store.runs.get_attempt(record.id, record.slot_at, record.attempt - 1)
    if last is None or last.finished_at is None:
        return []
    return ask_for_followers(store, record, last, last.outcome, last.finished_at)


def ask_instead_of_event_retry(store: Store, record: JobRecord, retry: Request | Run) -> list[Change]:
    """Request the next jobs of an event's failed run whose retry was dropped or skipped: it was the last attempt."""
    if retry.attempt == 1 or retry.event_id is None or not record.spec.followers:
        return []
    last = store.runs.get_event(retry.event_id, retry.attempt - 1)
    if last is None or last.finished_at is None:
        return []
    return ask_for_followers(store, record, last, last.outcome, last.finished_at)


def with_followers(store: Store, record: JobRecord) -> Iterator[JobRecord]:
    """Yield a job, then the jobs that run after it, level by level."""
    seen, found = {record.id}, [record]
    while found:
        yield from found
        following = {item.job_id for job in found for item in job.spec.followers} - seen
        seen |= following
        found = list(store.jobs.get_many(following).values()) if following else []


class LinkState(StrEnum):
    """Whether a job in a chain can run."""

    OK = "ok"
    PAUSED = "paused"
    DISABLED = "disabled"
    REMOVED = "removed"


@dataclass(frozen=True, slots=True, kw_only=True)
class ChainLink:
    """Another job of a chain: which outcomes of the earlier job start the later one, and its state."""

    job_id: str
    name: str
    on: FollowOn
    state: LinkState


@dataclass(frozen=True, slots=True)
class Chain:
    """The jobs before and after a job; jobs in the trash start nothing, so they are not in `before`."""

    before: tuple[ChainLink, ...] = ()
    after: tuple[ChainLink, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class WaitingRun:
    """A run requested by another run or an event, waiting since `at`.

    Without a kind, the engine has not considered it yet. An event has no `caused_by`.
    """

    run_id: str
    job_id: str
    caused_by: str
    cause_job_id: str
    cause_name: str
    at: int
    waiting_for: WaitingFor | None = None
    waiting_details: WaitingDetails = NO_DETAILS
    waits_until: int | None = None
    capacity: Capacity | None = None
    """The limit that is reached, if it waits for that."""

    @property
    def waiting(self) -> Waiting:
        """What it waits for."""
        return asked_waiting(
            self.waiting_for,
            self.waiting_details,
            since=self.at,
            deadline=self.waits_until,
            capacity=self.capacity,
            cause_name=self.cause_name,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class BrokenLink:
    """A next job that did not run and has no skipped run either: it is gone, or an error occurred."""

    name: str
    is_removed: bool
    is_first_today: bool


def chain_of(store: Store, record: JobRecord) -> Chain:
    """Return the jobs before and after a job in its chain."""
    followers = record.spec.followers
    found = store.jobs.get_many(follower.job_id for follower in followers) if followers else {}
    after = tuple(_link(follower.job_id, found.get(follower.job_id), follower.on) for follower in followers)
    before = [
        _link(other.id, other, follower.on)
        for other in store.jobs.with_followers()
        for follower in other.spec.followers
        if follower.job_id == record.id and other.removed_at is None
    ]
    return Chain(before=tuple(sorted(before, key=lambda link: link.name)), after=after)


def waiting_runs(store: Store, now_ms: int) -> list[WaitingRun]:
    """Return the waiting runs requested by other runs and events, longest wait first."""
    requests = store.requests.queued(now_ms)
    causes = store.history.get_many(request.payload for request in requests) if requests else {}
    wanted = {*(run.job_id for run in causes.values()), *(request.job_id for request in requests)}
    jobs = store.jobs.get_many(wanted) if requests else {}
    capacities = Capacities(store.database) if requests else None
    waiting: list[WaitingRun] = []
    for request in requests:
        cause = causes.get(request.payload)
        job = None if cause is None else jobs.get(cause.job_id)
        own = jobs.get(request.job_id)
        needs_place = request.waiting_for in (None, WaitingFor.AT_CAPACITY)
        group = None if own is None else own.spec.group
        waiting.append(
            WaitingRun(
                run_id=request.run_id,
                job_id=request.job_id,
                caused_by=request.payload,
                cause_job_id="" if cause is None else cause.job_id,
                cause_name=_cause_name(request, job),
                at=request.at,
                waiting_for=request.waiting_for,
                waiting_details=request.waiting_details,
                waits_until=request.waits_until,
                capacity=capacities.find(group) if needs_place and capacities is not None else None,
            )
        )
    return waiting


def _cause_name(request: Request, job: JobRecord | None) -> str:
    if request.kind is RequestKind.EVENT:
        return AN_EVENT
    return GONE if job is None else job.spec.name


def alike(runs: Iterable[WaitingRun]) -> list[list[WaitingRun]]:
    """Group the runs of a job that wait after the same job for the same blocker, longest wait first.

    There may be hundreds if the earlier job runs more often than this one can.
    """
    found: dict[tuple[object, ...], list[WaitingRun]] = {}
    for run in runs:
        key = (run.job_id, run.cause_job_id, run.waiting_for, run.waiting_details)
        found.setdefault(key, []).append(run)
    return list(found.values())


def broken_links(store: Store, run_id: str) -> list[BrokenLink]:
    """Return the jobs that did not run after a run because they are gone; skipped jobs have a run of their own."""
    run = store.runs.get(run_id)
    if run is None or run.finished_at is None:
        return []
    events = store.events.of_job(run.job_id, _LOOKED_BACK)
    broken = [event for event in reversed(events) if event.kind is EventKind.CHAIN_BROKEN]
    found: list[BrokenLink] = []
    seen: set[tuple[object, str]] = set()
    for event in broken:
        # Listeners are notified once a day.
        day = (event.detail.get("follower"), local_day(event.at))
        reason = event.detail.get("reason")
        if event.detail.get("run_id") == run_id and reason in ("removed", "fault"):
            found.append(
                BrokenLink(
                    name=event.detail.get("name", GONE),
                    is_removed=reason == "removed",
                    is_first_today=day not in seen,
                )
            )
        seen.add(day)
    return found


def find_cycle(specs: Mapping[str, JobSpec], starts: Iterable[str]) -> list[str] | None:
    """Return the ids of jobs that would start each other forever, the first one repeated at the end; or None.

    Only jobs reachable from `starts` are searched.
    """
    done: set[str] = set()
    for start in starts:
        path: list[str] = []
        # An explicit stack: a chain may exceed Python's recursion limit.
        stack: list[tuple[str, bool]] = [(start, False)]
        on_path: set[str] = set()
        while stack:
            job_id, is_left = stack.pop()
            if is_left:
                on_path.discard(path.pop())
                done.add(job_id)
            elif job_id in on_path:
                return [*path[path.index(job_id) :], job_id]
            elif job_id not in done and job_id in specs:
                path.append(job_id)
                on_path.add(job_id)
                stack.append((job_id, True))
                stack += [(follower.job_id, False) for follower in reversed(specs[job_id].followers)]
    return None


def circle_fault(names: Sequence[str]) -> str:
    """Return the refusal of a cycle of jobs, the first one repeated at the end; of a long cycle only both ends."""
    if len(names) > _LONGEST_CIRCLE:
        names = [*names[: _LONGEST_CIRCLE // 2], "…", *names[-_LONGEST_CIRCLE // 2 + 1 :]]
    return f"{' → '.join(names)}: these jobs would start each other in a loop; remove one of them"


def _link(job_id: str, record: JobRecord | None, on: FollowOn) -> ChainLink:
    name = job_id if record is None else record.spec.name
    return ChainLink(job_id=job_id, name=name, on=on, state=_state(record))


def _state(record: JobRecord | None) -> LinkState:
    if record is None or record.removed_at is not None:
        return LinkState.REMOVED
    if record.disabled_reason is not None:
        return LinkState.DISABLED
    return LinkState.PAUSED if record.paused else LinkState.OK
