"""What all jobs together are doing, worked out in one go."""

from __future__ import annotations

import heapq
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from operator import attrgetter

from halo_scheduler.model import Job, JobStatus, WaitingFor
from ui.backend.quiet_times import QuietHours, is_skipped
from ui.main_window.table.job_rows import JobRow, StatusChoice, has_status
from ui.style.wording import is_assistants, one_line, shortly_waited_for, waited_for
from ui.widgets.status_strip import Summary
from ui.widgets.waiting_text import MOST_NAMED, WaitingJob, WaitingJobs

_SHORT_NAME = 40
_SHORTER_NAME = 24
_ALWAYS_LOUD = QuietHours()


@dataclass(frozen=True, slots=True)
class Totals:
    """The numbers, when the next run is, and which groups there are."""

    summary: Summary
    next_at: int | None
    groups: frozenset[str]


def sum_up(rows: Iterable[JobRow], hours: QuietHours = _ALWAYS_LOUD) -> Totals:
    """Go through all jobs once: there may be thousands."""
    running = failing = paused = ready = 0
    waiting: list[Job] = []
    planned: list[Job] = []
    groups = set()
    for row in rows:
        job = row.job
        running += job.status is JobStatus.RUNNING and not job.is_starting
        # What an assistant made stays paused when all are resumed.
        paused += job.status is JobStatus.PAUSED and not is_assistants(job)
        ready += job.status is JobStatus.IDLE
        failing += has_status(row, StatusChoice.FAILING)
        groups.add(job.group or "")
        if job.waiting_for is not None:
            waiting.append(job)
        elif job.next_run_at is not None and not row.is_held:
            planned.append(job)
    next_at, following = _first(planned, hours)
    summary = Summary(
        running=running,
        failing=failing,
        paused=paused,
        ready=ready,
        waiting=_told(waiting),
        next_name="" if following is None else one_line(following.name, _SHORT_NAME),
    )
    return Totals(summary, next_at, frozenset(groups - {""}))


def _first(planned: Sequence[Job], hours: QuietHours) -> tuple[int | None, Job | None]:
    """Return what starts first, and when: what is due in a quiet time starts at its end, or not at all."""
    if not hours.are_any:
        following = min(planned, key=attrgetter("next_run_at"), default=None)
        return (None, None) if following is None else (following.next_run_at, following)
    left = [(job.next_run_at or 0, number, job) for number, job in enumerate(planned)]
    heapq.heapify(left)
    while left:
        at, number, job = heapq.heappop(left)
        quiet = hours.find(job.group, at)
        if quiet is None:
            return at, job
        if not is_skipped(job):
            heapq.heappush(left, (quiet.until, number, job))
    return None, None


def _told(waiting: Sequence[Job]) -> WaitingJobs:
    if len(waiting) == 1:
        only = WaitingJob(
            one_line(waiting[0].name, _SHORT_NAME), one_line(waited_for(waiting[0]), _SHORT_NAME)
        )
        return WaitingJobs((only,), 1, is_alike=True)
    # Of several, each gets less room: what comes next is to be told, too.
    first = (
        WaitingJob(one_line(job.name, _SHORTER_NAME), one_line(shortly_waited_for(job), _SHORTER_NAME))
        for job in waiting[:MOST_NAMED]
    )
    reasons = {
        (job.waiting_for, "" if job.waiting_for is WaitingFor.QUIET_TIME else job.waiting_reason)
        for job in waiting
    }
    return WaitingJobs(tuple(first), len(waiting), is_alike=len(reasons) == 1)
