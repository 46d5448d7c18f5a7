"""What all jobs together are doing, worked out in one go."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from halo_scheduler.model import Job, JobStatus

from .models.job_rows import JobRow, StatusChoice, has_status
from .waiting_words import MOST_NAMED, WaitingJob, WaitingJobs
from .widgets.status_strip import Summary
from .wording import is_assistants, one_line, waited_for

_SHORT_NAME = 40
_SHORTER_NAME = 24


@dataclass(frozen=True, slots=True)
class Totals:
    """The numbers, when the next run is, and which groups there are."""

    summary: Summary
    next_at: int | None
    groups: frozenset[str]


def sum_up(rows: Iterable[JobRow]) -> Totals:
    """Go through all jobs once: there may be thousands."""
    running = failing = paused = ready = 0
    following: Job | None = None
    next_at: int | None = None
    waiting: list[Job] = []
    groups = set()
    for row in rows:
        job = row.job
        running += job.status is JobStatus.RUNNING
        # What an assistant made stays paused when all are resumed.
        paused += job.status is JobStatus.PAUSED and not is_assistants(job)
        ready += job.status is JobStatus.IDLE
        failing += has_status(row, StatusChoice.FAILING)
        groups.add(job.group or "")
        if job.waiting_for is not None:
            waiting.append(job)
        elif job.next_run_at is None or row.is_held:
            continue
        elif next_at is None or job.next_run_at < next_at:
            following, next_at = job, job.next_run_at
    summary = Summary(
        running=running,
        failing=failing,
        paused=paused,
        ready=ready,
        waiting=_told(waiting),
        next_name="" if following is None else one_line(following.name, _SHORT_NAME),
    )
    return Totals(summary, next_at, frozenset(groups - {""}))


def _told(waiting: Sequence[Job]) -> WaitingJobs:
    # Of several, each gets less room: what comes next is to be told, too.
    longest = _SHORT_NAME if len(waiting) == 1 else _SHORTER_NAME
    first = (
        WaitingJob(one_line(job.name, longest), one_line(waited_for(job), longest))
        for job in waiting[:MOST_NAMED]
    )
    reasons = {(job.waiting_for, job.waiting_reason) for job in waiting}
    return WaitingJobs(tuple(first), len(waiting), is_alike=len(reasons) == 1)
