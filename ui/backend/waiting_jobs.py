"""Which jobs wait because a run of theirs was asked for, by hand or by a chain, and has not begun."""

from __future__ import annotations

from collections.abc import Iterable

from halo_scheduler.service.scheduler import Scheduler


def read_waiting(scheduler: Scheduler) -> dict[str, str]:
    """Return what each such job waits for; nothing is said of a place."""
    # Of several runs of one job, the one that has waited longest starts first.
    chained = {one.job_id: one.reason for one in reversed(scheduler.runs.waiting_in_chains())}
    return chained | dict.fromkeys(scheduler.runs.waiting(), "")


def cancel_waiting(scheduler: Scheduler, run_ids: Iterable[str]) -> None:
    """Cancel those of some chain runs that still wait; what has begun meanwhile goes on."""
    waiting = {one.run_id for one in scheduler.runs.waiting_in_chains()}
    for run_id in run_ids:
        if run_id in waiting:
            scheduler.cancel_run(run_id)
