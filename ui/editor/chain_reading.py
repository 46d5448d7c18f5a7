"""What is asked about other jobs by those who build a chain."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from halo_scheduler.model import Job, JobStatus
from halo_scheduler.rules.chains import LinkState
from halo_scheduler.service.scheduler import Scheduler

_LONGEST_CIRCLE = 6
_ARROW = " → "
_STATES = {JobStatus.DISABLED: LinkState.DISABLED, JobStatus.PAUSED: LinkState.PAUSED}


@dataclass(frozen=True, slots=True, kw_only=True)
class JobEntry:
    """A job that could run after another; `circle` names those that would then start each other for ever."""

    job_id: str
    name: str
    state: LinkState = LinkState.OK
    circle: str = ""


def read_jobs(scheduler: Scheduler, own_id: str | None) -> list[JobEntry]:
    """Return all jobs but one's own and those in the trash, by name."""
    jobs = [job for page in scheduler.list_jobs_in_pages() for job in page]
    circles = {} if own_id is None else _circles([*jobs, *scheduler.list_removed()], own_id)
    found = [_entry(job, circles.get(job.id, "")) for job in jobs if job.id != own_id]
    return sorted(found, key=lambda entry: entry.name.casefold())


def read_some(scheduler: Scheduler, job_ids: Iterable[str]) -> list[JobEntry]:
    """Return some jobs; those in the trash, or gone altogether, are removed."""
    wanted = tuple(job_ids)
    jobs = scheduler.get_jobs(wanted)
    missing = [job_id for job_id in wanted if job_id not in jobs]
    names = {job.id: job.name for job in scheduler.list_removed()} if missing else {}
    gone = [
        JobEntry(job_id=job_id, name=names.get(job_id, ""), state=LinkState.REMOVED) for job_id in missing
    ]
    return [*map(_entry, jobs.values()), *gone]


def _entry(job: Job, circle: str = "") -> JobEntry:
    return JobEntry(job_id=job.id, name=job.name, state=_STATES.get(job.status, LinkState.OK), circle=circle)


def _circles(jobs: list[Job], own_id: str) -> dict[str, str]:
    """Return for each job after which a job runs, directly or not, the circle it would make by running after it."""
    names = {job.id: job.name for job in jobs}
    starters: dict[str, list[str]] = {}
    for job in jobs:
        for follower in job.followers:
            starters.setdefault(follower.job_id, []).append(job.id)
    paths: dict[str, tuple[str, ...]] = {own_id: (own_id,)}
    waiting = [own_id]
    while waiting:
        job_id = waiting.pop(0)
        for starter in starters.get(job_id, ()):
            if starter not in paths:
                paths[starter] = (starter, *paths[job_id])
                waiting.append(starter)
    return {
        job_id: _words([names.get(one, "…") for one in (own_id, *path)])
        for job_id, path in paths.items()
        if job_id != own_id
    }


def _words(names: list[str]) -> str:
    if len(names) > _LONGEST_CIRCLE:
        names = [*names[: _LONGEST_CIRCLE // 2], "…", *names[-(_LONGEST_CIRCLE // 2) :]]
    return _ARROW.join(names)
