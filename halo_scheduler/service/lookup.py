"""Finding what is meant: a job by its name or id, the questions of a job."""

from __future__ import annotations

from typing import TYPE_CHECKING

from halo_scheduler.errors import JobNotFoundError, SchedulerError
from halo_scheduler.grammar.english import shown
from halo_scheduler.grammar.text import shown_spec
from halo_scheduler.model import Job, Question

if TYPE_CHECKING:
    from halo_scheduler.service.scheduler import Scheduler
    from halo_scheduler.store.job_lines import JobName

MOST_QUESTIONS = 10_000
_SHORTEST_PREFIX = 4
_MOST_NAMED = 5
_SHORT_ID = 8


def find_job(scheduler: Scheduler, wanted: str, *, also_removed: bool = False) -> Job:
    """Return the job of that name, id or beginning of an id; JobNotFoundError suggests the nearest name."""
    names = scheduler.jobs.names()
    found = _meant(names, wanted)
    job = None if found is None else scheduler.get_job(found)
    if job is not None:
        return job
    if also_removed:
        removed = scheduler.jobs.names(removed=True)
        names += removed
        found = found or _meant(removed, wanted)
        job = next((job for job in scheduler.list_removed() if job.id == found), None)
        if job is not None:
            return job
    if found is not None:
        raise JobNotFoundError(
            f"the job {shown(wanted)} cannot be read here; look what is wrong with: halo doctor"
        )
    where = _in_trash(scheduler, wanted) or near_name(wanted, [name.name for name in names])
    raise JobNotFoundError(f"there is no job {shown(wanted)}{where}")


def _in_trash(scheduler: Scheduler, wanted: str) -> str:
    """Return the end of a sentence that tells where a job of that very name or id is."""
    removed = scheduler.jobs.names(removed=True)
    is_there = any(wanted in (job.id, job.name) for job in removed)
    return "; it is in the trash, from where it comes back with: halo trash restore" if is_there else ""


def find_removed(scheduler: Scheduler, wanted: str) -> Job:
    """Return the job in the trash that is meant; of several of one name the last that was removed."""
    names = scheduler.jobs.names(removed=True)
    found = _meant(names, wanted)
    job = next((job for job in scheduler.list_removed() if job.id == found), None)
    if job is None:
        near = near_name(wanted, [name.name for name in names])
        raise JobNotFoundError(f"there is no job {shown(wanted)} in the trash{near}")
    return job


def _meant(names: list[JobName], wanted: str) -> str | None:
    """Return the id of the job that is meant, if one is; the beginning of an id has to be that of one job only."""
    # An id first: a job may be named like the id of another.
    exact = (
        [job for job in names if job.id == wanted]
        or [job for job in names if job.name == wanted]
        # A name with invisible characters is shown, and so copied, with escapes.
        or ([job for job in names if shown_spec(job.name) == wanted] if "\\u" in wanted else [])
    )
    if exact:
        return exact[0].id
    begun = [job for job in names if len(wanted) >= _SHORTEST_PREFIX and job.id.startswith(wanted)]
    if len(begun) > 1:
        raise JobNotFoundError(
            f"{len(begun)} jobs have an id that begins with {shown(wanted)}: {_listed(begun)}"
        )
    return begun[0].id if begun else None


def _listed(jobs: list[JobName]) -> str:
    words = [f"{job.name} ({job.id[:_SHORT_ID]}…)" for job in jobs[:_MOST_NAMED]]
    return ", ".join([*words, *(["…"] if len(jobs) > _MOST_NAMED else [])])


def open_questions(scheduler: Scheduler, job_id: str) -> list[Question]:
    """Return what a job asks, the oldest first."""
    return [
        question for question in scheduler.questions.list(limit=MOST_QUESTIONS) if question.job_id == job_id
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
