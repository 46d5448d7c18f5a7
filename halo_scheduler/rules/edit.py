"""An edit: one actor changes stored jobs in one transaction; changes that would break other jobs are refused."""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING

from halo_scheduler.errors import ScheduleError
from halo_scheduler.grammar.english import shortened
from halo_scheduler.host.machine_state import is_of_this_system
from halo_scheduler.model import (
    Condition,
    Event,
    Hints,
    HintSource,
    JobSpec,
    Network,
    PassedReason,
    PathExists,
    Run,
    Schedule,
)
from halo_scheduler.model.changes import Actor, Change, ChangeKind, changes_of
from halo_scheduler.rules.chains import ask_instead_of_retry, circle_fault, find_cycle
from halo_scheduler.rules.planning import plan
from halo_scheduler.store.events import EventKind
from halo_scheduler.store.job_records import JobRecord
from halo_scheduler.store.store import Store

if TYPE_CHECKING:
    from halo_scheduler.conditions.probes import ConditionState


def refuse_unobservable(
    specs: Iterable[JobSpec],
    known: Sequence[Condition | Schedule],
    check: Callable[[Condition], ConditionState],
    why_not: Callable[[Event], str],
) -> None:
    """Refuse conditions and events that cannot be observed on this system, except those in `known`.

    `why_not` returns why an event cannot be observed, or "". Probing may take seconds, so call this outside the
    transaction.
    """
    seen: set[object] = set(known)
    for spec in specs:
        _refuse_events(spec, seen, why_not)
        for index, condition in enumerate(spec.policy.conditions):
            if condition in seen or _is_surely_observable(condition):
                continue
            seen.add(condition)
            state = check(condition)
            if not state.is_observable:
                raise ScheduleError(state.sentence, path=f"policy.conditions[{index}]")


def _refuse_events(spec: JobSpec, known: Container[object], why_not: Callable[[Event], str]) -> None:
    for index, entry in enumerate(spec.schedules):
        event = entry.schedule
        why = why_not(event) if isinstance(event, Event) and event not in known else ""
        if why:
            raise ScheduleError(why, path=f"schedules[{index}]" if entry.key else "schedule")


def _is_surely_observable(condition: Condition) -> bool:
    """Return whether a condition is known to be observable without a probe: saving a job contacts no host."""
    if isinstance(condition, PathExists):
        return is_of_this_system(condition.path)
    return isinstance(condition, Network) and bool(condition.host)


def refuse_chains(
    store: Store, given: Mapping[str, JobSpec], before: Mapping[str, JobSpec] | None = None
) -> None:
    """Refuse new next jobs that do not exist, and chains that would never end.

    Jobs in the trash count, so that restoring one cannot fail later.
    """
    starts = [job_id for job_id, spec in given.items() if spec.followers]
    if not starts:
        return
    for job_id in starts:
        old = (before or {}).get(job_id)
        known = () if old is None else tuple(follower.job_id for follower in old.followers)
        _refuse_followers(store, job_id, given, known)
    others = store.jobs.with_followers()
    cycle = find_cycle({record.id: record.spec for record in others} | dict(given), starts)
    if cycle is not None:
        removed = {record.id for record in others if record.removed_at is not None} - given.keys()
        names = {record.id: record.spec.name for record in others}
        names |= {job_id: spec.name for job_id, spec in given.items()}
        words = [f"{shortened(names[job_id])}{' (in the trash)' * (job_id in removed)}" for job_id in cycle]
        raise ScheduleError(circle_fault(words), path="followers")


def _refuse_followers(store: Store, job_id: str, given: Mapping[str, JobSpec], known: Sequence[str]) -> None:
    """Refuse the job itself as its next job, and new next jobs that do not exist."""
    followers = given[job_id].followers
    wanted = {follower.job_id for follower in followers} - given.keys() - set(known)
    found = store.jobs.get_many(wanted) if wanted else {}
    for index, follower in enumerate(followers):
        path = f"followers[{index}].job_id"
        if follower.job_id == job_id:
            name = shortened(given[job_id].name)
            raise ScheduleError(f"{name} → {name}: a job cannot run after itself", path=path)
        if follower.job_id not in wanted:
            continue
        record = found.get(follower.job_id)
        if record is None:
            raise ScheduleError(f"there is no job {follower.job_id!r} that could run after it", path=path)
        if record.removed_at is not None:
            name = shortened(record.spec.name)
            raise ScheduleError(f"{name} is in the trash; restore it first", path=path)


class Edit:
    """The context of an edit: the store inside its transaction, the actor and the time.

    `changes` are published after the commit, because nobody can see them before.
    """

    def __init__(self, store: Store, actor: Actor, now_ms: int) -> None:
        self.store = store
        self.actor = actor
        self.now_ms = now_ms
        self.changes: list[Change] = []

    def note(self, kind: EventKind, job_id: str | None = None, **detail: object) -> None:
        """Record in the journal what the actor did."""
        self.store.events.append(self.now_ms, kind, job_id, actor=self.actor, **detail)

    def note_each(self, kind: EventKind, job_ids: Iterable[str], **detail: object) -> None:
        """Record in the journal what the actor did with each of several jobs."""
        self.store.events.append_many(self.now_ms, kind, ((job_id, detail) for job_id in job_ids), self.actor)

    def changed(self, kind: ChangeKind, job_id: str | None = None, run_id: str | None = None) -> None:
        self.changes.append(Change(kind, job_id=job_id, run_id=run_id))

    def plan(self, record: JobRecord, reason: PassedReason | None = None) -> JobRecord:
        """Return a job with its next slot, as of now."""
        return plan(record, self.now_ms, self.store.runs.has_slot, reason=reason)

    def save(self, before: JobRecord, after: JobRecord) -> None:
        """Store a job's new state; if that drops a retry, the failed attempt before it becomes the last one."""
        self.save_each([(before, after)])

    def save_each(self, pairs: Sequence[tuple[JobRecord, JobRecord]]) -> None:
        """Store the new states of several jobs, given as pairs of before and after."""
        self.store.jobs.save_states([after for _, after in pairs])
        self.changes += changes_of([after.id for _, after in pairs])
        for before, after in pairs:
            self.end_lost_retry(before, after)

    def end_lost_retry(self, before: JobRecord, after: JobRecord) -> None:
        """If the edit dropped a retry, request the next jobs of the failed attempt: it was the last after all."""
        if (before.slot_at, before.attempt) != (after.slot_at, after.attempt):
            self.changes += ask_instead_of_retry(self.store, before.evolve(spec=after.spec))

    def is_in_its_slot(self, record: JobRecord) -> bool:
        """Whether the job's active run is for its slot: then the job is replanned when that run ends."""
        return record.run_id is not None and self.store.runs.is_scheduled(record.run_id)

    def without_hints(self, record: JobRecord, source: HintSource | None = None) -> JobRecord:
        """Return a job without hints, or without those of one source, replanned."""
        left = Hints() if source is None else record.hints.without_source(source)
        cleared = record.evolve(hints=left)
        # A retry keeps its time: it belongs to an earlier slot.
        if record.attempt > 1 or self.is_in_its_slot(record):
            return cleared
        return self.plan(cleared)

    def record_run(self, run: Run) -> None:
        """Store a run that ended before it could start."""
        lease = self.store.lease.read()
        self.store.runs.insert([run], 0 if lease is None else lease.generation)
        self.changed(ChangeKind.RUN_FINISHED, run.job_id, run.id)


@contextmanager
def begin_edit(store: Store, actor: Actor, now_ms: int) -> Iterator[Edit]:
    """Open the transaction of one edit; the caller publishes its changes afterwards."""
    edit = Edit(store, actor, now_ms)
    with store.transaction():
        yield edit
