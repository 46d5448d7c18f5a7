"""Asking for the runs that follow the end of another; always inside the transaction that records that end."""

from __future__ import annotations

from halo_scheduler.model import FollowOn, Outcome, Run, Trigger
from halo_scheduler.model.changes import Change, ChangeKind
from halo_scheduler.model.ids import new_run_id
from halo_scheduler.store.job_records import JobRecord
from halo_scheduler.store.requests import Request, RequestKind
from halo_scheduler.store.store import Store

_FAILED = (Outcome.FAILURE, Outcome.TIMEOUT, Outcome.INTERRUPTED)
# What never started (skipped, missed) starts nobody.
_STARTED_BY = {
    FollowOn.SUCCESS: (Outcome.SUCCESS,),
    FollowOn.FAILURE: _FAILED,
    FollowOn.ALWAYS: (Outcome.SUCCESS, *_FAILED, Outcome.CANCELLED),
}


def ask_for_followers(
    store: Store, record: JobRecord, run: Run, outcome: Outcome, ended_at: int
) -> list[Change]:
    """Ask for one run of each job that follows such an end of a run; the end must not be tried again."""
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
    """Ask for the followers of a failed attempt whose next one does not come: it was the last after all."""
    if record.attempt == 1 or record.slot_at is None or not record.spec.followers:
        return []
    last = store.runs.get_attempt(record.id, record.slot_at, record.attempt - 1)
    if last is None or last.finished_at is None:
        return []
    return ask_for_followers(store, record, last, last.outcome, last.finished_at)
