"""The tools that act on jobs as they are: pause, resume, run, advise."""

from __future__ import annotations

from dataclasses import dataclass, field

from halo_scheduler.clock import SystemClock
from halo_scheduler.errors import ScheduleError
from halo_scheduler.grammar.checks import parse_instant, require_interval
from halo_scheduler.grammar.when import parse_when
from halo_scheduler.mcp.tools import OfJob, ToolSpec, said, tool_of
from halo_scheduler.mcp.views import View, hints_view, job_line
from halo_scheduler.rules.hints import usual_ttl, usual_ttl_of_pace
from halo_scheduler.service.lookup import find_job, require_engine
from halo_scheduler.service.scheduler import Scheduler


@dataclass(frozen=True, slots=True, kw_only=True)
class _Pause(OfJob):
    until: str | None = field(
        default=None, metadata=said("ISO 8601 with an offset, like 2026-12-24T18:00:00+01:00; null for good")
    )


def _pause_job(scheduler: Scheduler, given: _Pause) -> View:
    job = find_job(scheduler, given.job)
    until = None if given.until is None else parse_instant("until", given.until)
    if not scheduler.pause_job(job.id, until):
        words = f"{job.name} is stopped already, and only a person can change that."
        return _after(scheduler, job.id, words)
    return _after(scheduler, job.id, f"{job.name} is paused.")


def _resume_job(scheduler: Scheduler, given: OfJob) -> View:
    job = find_job(scheduler, given.job)
    scheduler.resume_job(job.id)
    return _after(scheduler, job.id, f"{job.name} goes on.")


def _run_job(scheduler: Scheduler, given: OfJob) -> View:
    require_engine(scheduler)
    job = find_job(scheduler, given.job)
    run_id = scheduler.trigger(job.id)
    return {"run": run_id, "said": f"{job.name} starts as soon as there is a place for it; see get_run."}


_HOW_LONG = "how long it counts, like 90m or 2h; null for an hour, or as long as what is asked for takes"
_WHY = "why, in one line of at most 200 characters; the person reads it"


@dataclass(frozen=True, slots=True, kw_only=True)
class _Pace(OfJob):
    every: str = field(metadata=said("a whole number with s, m, h or d, like 5m; below 10s it is raised"))
    ttl: str | None = field(default=None, metadata=said(_HOW_LONG))
    reason: str = field(metadata=said(_WHY))


def _propose_interval(scheduler: Scheduler, given: _Pace) -> View:
    job = find_job(scheduler, given.job)
    ttl = given.ttl or usual_ttl_of_pace(require_interval("interval", given.every))
    scheduler.propose_interval(job.id, given.every, ttl, given.reason)
    return _advised(scheduler, job.id, f"{job.name} has the advice; a slower pace counts after its next run.")


@dataclass(frozen=True, slots=True, kw_only=True)
class _Run(OfJob):
    at: str = field(metadata=said("like in 10m, or ISO 8601 with an offset: 2026-12-24T18:00:00+01:00"))
    ttl: str | None = field(default=None, metadata=said(_HOW_LONG))
    reason: str = field(metadata=said(_WHY))


def _propose_next_run(scheduler: Scheduler, given: _Run) -> View:
    job = find_job(scheduler, given.job)
    now_ms = SystemClock().now_ms()
    at = _read_when(given.at, now_ms)
    scheduler.propose_next_run(job.id, at, given.ttl or usual_ttl(at - now_ms), given.reason)
    return _advised(
        scheduler, job.id, f"{job.name} has the advice; it counts if that is earlier than its plan."
    )


def _read_when(text: str, now_ms: int) -> int:
    try:
        return parse_when(text, now_ms)
    except ScheduleError as error:
        raise error.under("at") from None


def _clear_hints(scheduler: Scheduler, given: OfJob) -> View:
    job = find_job(scheduler, given.job)
    scheduler.clear_hints(job.id)
    return _advised(scheduler, job.id, f"{job.name} is planned as its schedule says.")


def _advised(scheduler: Scheduler, job_id: str, words: str) -> View:
    view = _after(scheduler, job_id, words)
    job = scheduler.get_job(job_id)
    return view | {
        "hints": None if job is None else hints_view(job.hints),
        "why": list(scheduler.jobs.explain(job_id).sentences),
    }


def _after(scheduler: Scheduler, job_id: str, words: str) -> View:
    job = scheduler.get_job(job_id)
    if job is None:
        return {"said": words, "job": None}
    return {"said": words, "job": job_line(job, scheduler.jobs.situation(job_id), SystemClock().now_ms())}


_NOT_YOURS = (
    "Refused for a job that a person paused or disabled, for one whose policy says assistants_may_run: false or that "
    "is followed by such a job, and for one that was imported or that an assistant made or changed, until a person "
    "has resumed it."
)

ACTING_TOOLS: tuple[ToolSpec, ...] = (
    tool_of(
        _Pause,
        _pause_job,
        name="pause_job",
        title="Pause a job",
        description=(
            "Pause a job for good, or until a time; a run under way finishes first, a retry that waits is given up. "
            "A pause that a person began stays as it is."
        ),
        is_idempotent=True,
    ),
    tool_of(
        OfJob,
        _resume_job,
        name="resume_job",
        title="Resume a job",
        description=(
            "Let a job go on from now that you paused, or that was disabled after errors; it then runs by itself "
            f"again and does whatever it does. {_NOT_YOURS}"
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
            "look with get_run how it goes. Refused while the job runs, and once its caps of the day are used up. "
            f"{_NOT_YOURS}"
        ),
    ),
    tool_of(
        _Pace,
        _propose_interval,
        name="propose_interval",
        title="Propose a pace",
        description=(
            "Advise a job to run faster or slower for a while; its schedule stays what it is. A faster pace counts at "
            "once, a slower one after its next run. The job's limits and its caps win over all advice. "
            f"Refused for a job that never runs by itself. {_NOT_YOURS}"
        ),
    ),
    tool_of(
        _Run,
        _propose_next_run,
        name="propose_next_run",
        title="Propose a run",
        description=(
            "Advise a job to run once at a time that is earlier than its next run; its schedule stays what it is. "
            "Refused as propose_interval is."
        ),
    ),
    tool_of(
        OfJob,
        _clear_hints,
        name="clear_hints",
        title="Forget advice",
        description=(
            "Forget all advice on when a job runs, whoever gave it, and plan it as its schedule says, which may be "
            f"sooner. {_NOT_YOURS}"
        ),
        is_idempotent=True,
    ),
)
