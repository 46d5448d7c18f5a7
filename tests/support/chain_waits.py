"""Chain runs that wait for their turn, without an engine that lets them."""

from __future__ import annotations

import itertools

from halo_scheduler.model import Outcome, Run, Source, Trigger
from halo_scheduler.model.changes import Change, ChangeKind
from halo_scheduler.service.scheduler import Scheduler
from halo_scheduler.store.requests import Request, RequestKind

_GENERATION = 1
_numbers = itertools.count(1)


def let_chain_wait(
    scheduler: Scheduler, first_id: str, then_id: str, reason: str = "", waits_until: int | None = None
) -> Run:
    """Record a run of one job that has ended, and the wish for a run of another because of it; return the first."""
    now_ms = scheduler._clock.now_ms()
    number = next(_numbers)
    cause = Run(
        id=f"cause-{number}",
        job_id=first_id,
        trigger=Trigger.MANUAL,
        source=Source.MANUAL,
        outcome=Outcome.SUCCESS,
        started_at=now_ms - 1_000,
        finished_at=now_ms,
    )
    store = scheduler._store
    request = Request(
        kind=RequestKind.CHAIN, job_id=then_id, run_id=f"waits-{number}", at=now_ms, payload=cause.id
    )
    with store.transaction():
        store.runs.insert([cause], _GENERATION)
        store.requests.append(request)
        store.database.rows(
            "UPDATE scheduler_requests SET waiting_reason = ?, waits_until = ? WHERE run_id = ?",
            [reason, waits_until, request.run_id],
        )
    scheduler._session.changed(
        Change(ChangeKind.RUN_FINISHED, first_id, cause.id), Change(ChangeKind.JOB, job_id=then_id)
    )
    return cause
