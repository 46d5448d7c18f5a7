"""Finding jobs by name or id, and the questions of a job."""

from __future__ import annotations

from shlex import quote
from typing import TYPE_CHECKING

from halo_scheduler.errors import JobNotFoundError, SchedulerError
from halo_scheduler.grammar.english import counted, shown
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
    """Return the job with this name, id or unique id prefix; JobNotFoundError suggests the nearest name."""
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
        raise JobNotFoundError(f"the job {shown(wanted)} cannot be read here; find out why with: halo doctor")
    where = _in_trash(scheduler, wanted) or _in_group(names, wanted)
    where = where or near_name(wanted, [name.name for name in names])
    raise JobNotFoundError(f"there is no job {shown(wanted)}{where}")


def find_job_to_run(scheduler: Scheduler, wanted: str) -> Job:
    """Return the job of that name or id, else the first job of the group of that name."""
    try:
        return find_job(scheduler, wanted)
    except JobNotFoundError:
        first = scheduler.jobs.first_of_group(wanted)
        job = None if first is None else scheduler.get_job(first)
        if job is None:
            raise
        return job


def _in_trash(scheduler: Scheduler, wanted: str) -> str:
    """Return the end of a sentence that says that a job of exactly this name or id is in the trash."""
    removed = scheduler.jobs.names(removed=True)
    is_there = any(wanted in (job.id, job.name) for job in removed)
    return f"; it is in the trash, restore it with: halo trash restore {quote(wanted)}" if is_there else ""


def _in_group(names: list[JobName], wanted: str) -> str:
    """Return the end of a sentence that suggests the jobs of a group, or of an agent, of that name."""
    group = wanted.casefold()
    found = [
        job.name
        for job in names
        if (job.group or "").casefold() == group or job.name.casefold().startswith(f"{group}/")
    ]
    if not group or not found:
        return ""
    if len(found) == 1:
        return f"; did you mean {found[0]!r}?"
    more = ["…"] if len(found) > _MOST_NAMED else []
    return f"; jobs of this group: {', '.join([*found[:_MOST_NAMED], *more])}"


def find_removed(scheduler: Scheduler, wanted: str) -> Job:
    """Return the job in the trash with this name or id; of several with the name, the last removed."""
    names = scheduler.jobs.names(removed=True)
    found = _meant(names, wanted)
    job = next((job for job in scheduler.list_removed() if job.id == found), None)
    if job is None:
        near = near_name(wanted, [name.name for name in names])
        raise JobNotFoundError(f"there is no job {shown(wanted)} in the trash{near}")
    return job


def _meant(names: list[JobName], wanted: str) -> str | None:
    """Return the id of the matching job, or None; an id prefix must be unique."""
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
    """Return the open questions of a job, oldest first."""
    return [
        question for question in scheduler.questions.list(limit=MOST_QUESTIONS) if question.job_id == job_id
    ]


def require_engine(scheduler: Scheduler, *, starts: bool = False) -> None:
    """Refuse what needs an engine; with `starts`, also while the engine is stopping."""
    status = scheduler.status()
    if status.state == "stopped":
        raise SchedulerError('Halo isn\'t running; start it with "halo" or "halo daemon"')
    if starts and status.state == "stopping":
        runs = counted(status.running, "run")
        raise SchedulerError(f"Halo is stopping and waits for {runs}; nothing new starts until it runs again")


def near_name(wanted: str, names: list[str]) -> str:
    """Return the end of a sentence that suggests the nearest name, if one is near."""
    from difflib import get_close_matches  # noqa: PLC0415 - only when something was not found

    folded = {name.casefold(): name for name in names}
    near = get_close_matches(wanted.casefold(), folded, n=1)
    return f"; did you mean {folded[near[0]]!r}?" if near else ""
