"""An edit: one actor changes stored jobs in one transaction, and lists what changed for whoever listens."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from halo_scheduler.model import Hints, PassedReason, Run
from halo_scheduler.model.changes import Actor, Change, ChangeKind
from halo_scheduler.rules.chains import ask_instead_of_retry
from halo_scheduler.rules.planning import plan
from halo_scheduler.store.events import EventKind
from halo_scheduler.store.job_records import JobRecord
from halo_scheduler.store.store import Store


class Edit:
    """What the functions that edit need: the store inside its transaction, the actor, the time.

    `changes` are published once the transaction is committed: nobody can see them before.
    """

    def __init__(self, store: Store, actor: Actor, now_ms: int) -> None:
        self.store = store
        self.actor = actor
        self.now_ms = now_ms
        self.changes: list[Change] = []

    def note(self, kind: EventKind, job_id: str | None = None, **detail: object) -> None:
        """Write into the journal what the actor did."""
        self.store.events.append(self.now_ms, kind, job_id, actor=self.actor, **detail)

    def changed(self, kind: ChangeKind, job_id: str | None = None, run_id: str | None = None) -> None:
        self.changes.append(Change(kind, job_id=job_id, run_id=run_id))

    def plan(self, record: JobRecord, reason: PassedReason | None = None) -> JobRecord:
        """Return a job with its next slot, as of now."""
        return plan(record, self.now_ms, self.store.runs.has_slot, reason=reason)

    def save(self, before: JobRecord, after: JobRecord) -> None:
        """Store a job's new state; a retry that it gives up leaves the attempt before as the last one."""
        self.store.jobs.save_states([after])
        self.changed(ChangeKind.JOB, after.id)
        self.end_lost_retry(before, after)

    def end_lost_retry(self, before: JobRecord, after: JobRecord) -> None:
        """Ask for the followers of a failed attempt if the edit gave up its retry: it was the last after all."""
        if (before.slot_at, before.attempt) != (after.slot_at, after.attempt):
            self.changes += ask_instead_of_retry(self.store, before.evolve(spec=after.spec))

    def is_in_its_slot(self, record: JobRecord) -> bool:
        """Whether the job runs because it was due: then it is planned when that run ends."""
        return record.run_id is not None and self.store.runs.is_scheduled(record.run_id)

    def without_hints(self, record: JobRecord) -> JobRecord:
        """Return a job without advice, planned as its schedule says."""
        cleared = record.evolve(hints=Hints())
        # A retry stays where it is: it belongs to a slot that was due before.
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
    """Open the transaction of one edit; its changes are to be published afterwards."""
    edit = Edit(store, actor, now_ms)
    with store.transaction():
        yield edit
