"""MCP tools that act on existing jobs: pause, resume, run, propose."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

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
        default=None,
        metadata=said("ISO 8601 with an offset, such as 2026-12-24T18:00:00+01:00; null for no end"),
    )


def _pause_job(scheduler: Scheduler, given: _Pause) -> View:
    job = find_job(scheduler, given.job)
    until = None if given.until is None else parse_instant("until", given.until)
    if not scheduler.pause_job(job.id, until):
        words = f"{job.name} is already paused or disabled; only a person can change that."
        return _after(scheduler, job.id, words)
    return _after(scheduler, job.id, f"{job.name} is paused.")


def _resume_job(scheduler: Scheduler, given: OfJob) -> View:
    job = find_job(scheduler, given.job)
    scheduler.resume_job(job.id)
    return _after(scheduler, job.id, f"{job.name} is resumed.")


@dataclass(frozen=True, slots=True, kw_only=True)
class _Skip(OfJob):
    undo: bool = field(default=False, metadata=said("true to cancel the skip before that run is due"))


def _skip_next_run(scheduler: Scheduler, given: _Skip) -> View:
    job = find_job(scheduler, given.job)
    scheduler.skip_next(job.id, skip=not given.undo)
    words = "will not be skipped" if given.undo else "will be skipped and recorded as skipped"
    return _after(scheduler, job.id, f"The next scheduled run of {job.name} {words}.")


@dataclass(frozen=True, slots=True, kw_only=True)
class _RunNow(OfJob):
    parameters: Mapping[str, str] = field(
        default_factory=dict,
        metadata=said("parameter values; omitted parameters have their defaults"),
    )
    input: str | None = field(default=None, metadata=said("input text for the run; null for none"))


def _run_job(scheduler: Scheduler, given: _RunNow) -> View:
    require_engine(scheduler)
    job = find_job(scheduler, given.job)
    run_id = scheduler.trigger(job.id, parameters=given.parameters, input=given.input)
    return {"run": run_id, "said": f"{job.name} starts as soon as the concurrency limits allow; see get_run."}


_HOW_LONG = (
    "how long the hint stays valid, such as 90m or 2h; null for one hour, or longer if the hint needs it"
)
_WHY = "the reason, shown to the user; one line of at most 200 characters"


@dataclass(frozen=True, slots=True, kw_only=True)
class _Pace(OfJob):
    every: str = field(
        metadata=said("a whole number with s, m, h or d, such as 5m; less than 10s is raised to 10s")
    )
    ttl: str | None = field(default=None, metadata=said(_HOW_LONG))
    reason: str = field(metadata=said(_WHY))


def _propose_interval(scheduler: Scheduler, given: _Pace) -> View:
    job = find_job(scheduler, given.job)
    ttl = given.ttl or usual_ttl_of_pace(require_interval("interval", given.every))
    scheduler.propose_interval(job.id, given.every, ttl, given.reason)
    return _advised(
        scheduler, job.id, f"Hint stored for {job.name}. A slower pace takes effect after its next run."
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class _Run(OfJob):
    at: str = field(metadata=said("such as in 10m, or ISO 8601 with an offset: 2026-12-24T18:00:00+01:00"))
    ttl: str | None = field(default=None, metadata=said(_HOW_LONG))
    reason: str = field(metadata=said(_WHY))


def _propose_next_run(scheduler: Scheduler, given: _Run) -> View:
    job = find_job(scheduler, given.job)
    now_ms = scheduler.jobs.now_ms()
    at = _read_when(given.at, now_ms)
    scheduler.propose_next_run(job.id, at, given.ttl or usual_ttl(at - now_ms), given.reason)
    return _advised(
        scheduler,
        job.id,
        f"Hint stored for {job.name}. It takes effect if it is earlier than the planned run.",
    )


def _read_when(text: str, now_ms: int) -> int:
    try:
        return parse_when(text, now_ms)
    except ScheduleError as error:
        raise error.under("at") from None


def _clear_hints(scheduler: Scheduler, given: OfJob) -> View:
    job = find_job(scheduler, given.job)
    scheduler.clear_hints(job.id)
    return _advised(scheduler, job.id, f"Hints cleared. {job.name} follows its schedule again.")


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
    return {"said": words, "job": job_line(job, scheduler.jobs.situation(job_id), scheduler.jobs.now_ms())}


_NOT_YOURS = (
    "Refused if a person paused or disabled the job, or if it, or a job it triggers, has assistants_may_run: false. "
    "Also refused if it was imported, or created or changed by an assistant, until a person resumes it."
)

ACTING_TOOLS: tuple[ToolSpec, ...] = (
    tool_of(
        _Pause,
        _pause_job,
        name="pause_job",
        title="Pause a job",
        description=(
            "Pause a job, optionally until a given time. A current run finishes first; a pending retry is dropped. "
            "A person's own pause is not changed."
        ),
        is_idempotent=True,
    ),
    tool_of(
        OfJob,
        _resume_job,
        name="resume_job",
        title="Resume a job",
        description=(
            "Resume a job that you paused or that was disabled after errors. It then runs on schedule "
            f"again, with all its effects. {_NOT_YOURS}"
        ),
        is_idempotent=True,
    ),
    tool_of(
        _Skip,
        _skip_next_run,
        name="skip_next_run",
        title="Skip a run",
        description=(
            "Skip the next scheduled run of a job, once; it is recorded as skipped, and the run after it is not "
            "affected. Only a person can cancel a skip that a person requested."
        ),
    ),
    tool_of(
        _RunNow,
        _run_job,
        name="run_job",
        title="Run a job",
        description=(
            "Run a job once, now, like a manual run, with all its effects. Returns the run's id at once; "
            "follow it with get_run. Refused while the job runs and when a daily limit is reached. "
            f"{_NOT_YOURS}"
        ),
    ),
    tool_of(
        _Pace,
        _propose_interval,
        name="propose_interval",
        title="Suggest a pace",
        description=(
            "Suggest a faster or slower pace for a while; the schedule itself doesn't change. A faster pace applies at "
            "once, a slower one after the next run. The job's limits override every hint. "
            f"Refused for manual-only jobs. {_NOT_YOURS}"
        ),
    ),
    tool_of(
        _Run,
        _propose_next_run,
        name="propose_next_run",
        title="Suggest a run",
        description=(
            "Suggest one run earlier than the next planned one; the schedule itself doesn't change. "
            "Refused in the same cases as propose_interval."
        ),
    ),
    tool_of(
        OfJob,
        _clear_hints,
        name="clear_hints",
        title="Clear hints",
        description=(
            "Remove all hints of a job, from any source. It follows its schedule again, so it may run "
            f"sooner. {_NOT_YOURS}"
        ),
        is_idempotent=True,
    ),
)
