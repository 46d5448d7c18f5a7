"""The tools that act on jobs as they are: pause, resume, run."""

from __future__ import annotations

from dataclasses import dataclass, field

from halo_scheduler.checks import parse_instant
from halo_scheduler.finding import find_job, require_engine
from halo_scheduler.mcp.tools import OfJob, ToolSpec, said, tool_of
from halo_scheduler.mcp.views import View, job_line
from halo_scheduler.service import Scheduler


@dataclass(frozen=True, slots=True, kw_only=True)
class _Pause(OfJob):
    until: str | None = field(
        default=None, metadata=said("ISO 8601 with an offset, like 2026-12-24T18:00:00+01:00; null for good")
    )


def _pause_job(scheduler: Scheduler, given: _Pause) -> View:
    job = find_job(scheduler, given.job)
    until = None if given.until is None else parse_instant("until", given.until)
    if not scheduler.pause_job_for_assistant(job.id, until):
        return _after(scheduler, job.id, f"{job.name} is paused already and waits for a person.")
    return _after(scheduler, job.id, f"{job.name} is paused.")


def _resume_job(scheduler: Scheduler, given: OfJob) -> View:
    job = find_job(scheduler, given.job)
    scheduler.resume_job_for_assistant(job.id)
    return _after(scheduler, job.id, f"{job.name} goes on.")


def _run_job(scheduler: Scheduler, given: OfJob) -> View:
    require_engine(scheduler)
    job = find_job(scheduler, given.job)
    run_id = scheduler.trigger_for_assistant(job.id)
    return {"run": run_id, "said": f"{job.name} starts as soon as there is a place for it; see get_run."}


def _after(scheduler: Scheduler, job_id: str, words: str) -> View:
    job = scheduler.get_job(job_id)
    return {"said": words, "job": None if job is None else job_line(job)}


ACTING_TOOLS: tuple[ToolSpec, ...] = (
    tool_of(
        _Pause,
        _pause_job,
        name="pause_job",
        title="Pause a job",
        description="Pause a job for good, or until a time; a run under way finishes first.",
        is_idempotent=True,
    ),
    tool_of(
        OfJob,
        _resume_job,
        name="resume_job",
        title="Resume a job",
        description=(
            "Let a paused or disabled job go on from now. "
            "One that an assistant made or changed can only be resumed by a person."
        ),
        is_idempotent=True,
    ),
    tool_of(
        OfJob,
        _run_job,
        name="run_job",
        title="Run a job",
        description=(
            "Run a job once, now, as if by hand; it does whatever the job does. Returns the id of the run at once; "
            "look with get_run how it goes. Refused while the job runs, once its caps of the day are used up, "
            "and for a job that an assistant made or changed until a person has resumed it."
        ),
        destroys=True,
    ),
)
