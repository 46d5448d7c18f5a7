"""Chain runs that wait for their turn, without an engine that lets them."""

from __future__ import annotations

import itertools
from typing import Any

from halo_scheduler.model import (
    Condition,
    Job,
    MainsPower,
    Network,
    Outcome,
    Run,
    Source,
    Trigger,
    Waiting,
    WaitingDetails,
    WaitingFor,
)
from halo_scheduler.model.changes import Change, ChangeKind
from halo_scheduler.model.situation import waiting_of
from halo_scheduler.rules.chains import WaitingRun
from halo_scheduler.service.scheduler import Scheduler
from halo_scheduler.store.requests import Request, RequestKind
from halo_scheduler.wording.status import awaited_words

_GENERATION = 1


def unmet(*conditions: Condition) -> Waiting:
    """Return that a run waits for conditions."""
    return Waiting(kind=WaitingFor.CONDITION, details=WaitingDetails(conditions=conditions))


LIMIT = Waiting(kind=WaitingFor.AT_CAPACITY)
NETWORK = unmet(Network())
MAINS = unmet(MainsPower())
BEHIND = Waiting(kind=WaitingFor.PREVIOUS_RUN)


def quiet(name: str, until: int) -> Waiting:
    """Return that a run waits for the end of a quiet time."""
    return Waiting(kind=WaitingFor.QUIET_TIME, details=WaitingDetails(name=name, until=until))


def waits(waiting: Waiting) -> dict[str, Any]:
    """Return the fields of a job that waits so."""
    return {"waiting_for": waiting.kind, "waiting_details": waiting.details}


def awaited(job: Job | WaitingRun, now_ms: int = 0) -> str:
    """Return what a due job or a chain run waits for, in words; nothing for one that does not wait."""
    waiting = job.waiting if isinstance(job, WaitingRun) else waiting_of(job)
    return "" if waiting is None else awaited_words(waiting, now_ms or waiting.since or 0)


_numbers = itertools.count(1)


def let_chain_wait(
    scheduler: Scheduler,
    first_id: str,
    then_id: str,
    waiting: Waiting = LIMIT,
    waits_until: int | None = None,
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
        kind=RequestKind.CHAIN,
        job_id=then_id,
        run_id=f"waits-{number}",
        at=now_ms,
        payload=cause.id,
        waiting_for=waiting.kind,
        waiting_details=waiting.details,
        waits_until=waits_until,
    )
    with store.transaction():
        store.runs.insert([cause], _GENERATION)
        store.requests.append(request)
        store.requests.save_waiting([request])
    scheduler._session.changed(
        Change(ChangeKind.RUN_FINISHED, first_id, cause.id), Change(ChangeKind.JOB, job_id=then_id)
    )
    return cause
