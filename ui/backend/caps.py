"""Which jobs are held back by their caps."""

from __future__ import annotations

from collections.abc import Iterable

from halo_scheduler.model import Caps, Job, SkipReason
from halo_scheduler.service.scheduler import Scheduler

_NO_CAPS = Caps()


def has_caps(job: Job) -> bool:
    """Tell whether a job may use up only so much of a day."""
    return job.policy.caps != _NO_CAPS


def capped_jobs(scheduler: Scheduler, jobs: Iterable[Job]) -> frozenset[str]:
    """Return those of some jobs whose planned run a cap will hold back; few have caps, the rest cost nothing."""
    job_ids = [job.id for job in jobs if job.next_run_at is not None and has_caps(job)]
    return held_by_caps(scheduler, job_ids) if job_ids else frozenset()


def held_by_caps(scheduler: Scheduler, job_ids: Iterable[str]) -> frozenset[str]:
    """Return those of some jobs with caps whose planned run one of these will hold back."""
    found = scheduler.jobs.holds(job_ids)
    return frozenset(job_id for job_id, reason in found.items() if reason is SkipReason.CAP)
