"""Finding what is meant: a job by its name or id, the questions of a job."""

from __future__ import annotations

from halo_scheduler.errors import JobNotFoundError, SchedulerError
from halo_scheduler.model import Job, Question
from halo_scheduler.service import Scheduler

MOST_QUESTIONS = 10_000
_SHORTEST_PREFIX = 4


def find_job(scheduler: Scheduler, wanted: str, *, also_removed: bool = False) -> Job:
    """Return the job of that name or id; JobNotFoundError suggests the nearest name."""
    jobs = scheduler.list_jobs() + (scheduler.list_removed() if also_removed else [])
    # An id first: a job may be named like the id of another.
    exact = [job for job in jobs if job.id == wanted] or [job for job in jobs if job.name == wanted]
    if exact:
        return exact[0]
    if len(wanted) >= _SHORTEST_PREFIX:
        begun = [job for job in jobs if job.id.startswith(wanted)]
        if len(begun) == 1:
            return begun[0]
    raise JobNotFoundError(f"there is no job {wanted!r}{near_name(wanted, [job.name for job in jobs])}")


def open_questions(scheduler: Scheduler, job_id: str) -> list[Question]:
    """Return what a job asks, the oldest first."""
    return [
        question for question in scheduler.list_questions(limit=MOST_QUESTIONS) if question.job_id == job_id
    ]


def require_engine(scheduler: Scheduler) -> None:
    """Refuse what only a running engine can do."""
    if scheduler.status().state != "running":
        raise SchedulerError("nothing runs the jobs at the moment; start it with: halo daemon")


def near_name(wanted: str, names: list[str]) -> str:
    """Return the end of a sentence that suggests the nearest of some names, if one is near."""
    from difflib import get_close_matches  # noqa: PLC0415 - only when something was not found

    folded = {name.casefold(): name for name in names}
    near = get_close_matches(wanted.casefold(), folded, n=1)
    return f"; did you mean {folded[near[0]]!r}?" if near else ""
