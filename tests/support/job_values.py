"""Jobs and runs as values, for tests that need no database."""

from __future__ import annotations

from typing import Any

from halo_scheduler.model import (
    Every,
    InQuietTime,
    Job,
    Outcome,
    Run,
    Situation,
    SkipReason,
    Source,
    Trigger,
)
from halo_scheduler.model.settings import Quiet
from halo_scheduler.model.situation import waiting_of
from ui.main_window.table.job_rows import JobRow, make_row

NOW = 1_800_000_000_000
SECOND = 1_000
MINUTE = 60_000
HOUR = 3_600_000
NASTY = "<b>bold</b> & \u202eright-to-left 🎉 " + "x" * 150


def make_job(name: str = "backup", **fields: Any) -> Job:
    """Return a job that is ready and runs in four minutes, but for what is given."""
    given = {"id": name, "schedule": Every("15m"), "next_run_at": NOW + 4 * MINUTE, **fields}
    return Job(name=name, **given)


def make_run(outcome: Outcome = Outcome.SUCCESS, **fields: Any) -> Run:
    """Return a run that ended a while ago, but for what is given."""
    given = {
        "id": "run",
        "job_id": "backup",
        "trigger": Trigger.SCHEDULE,
        "source": Source.EVERY,
        "outcome": outcome,
        "started_at": NOW - 5 * MINUTE,
        "finished_at": NOW - 5 * MINUTE + 12 * SECOND,
        **fields,
    }
    return Run(**given)


def situation_of(
    job: Job,
    *,
    asks: bool = False,
    is_capped: bool = False,
    after: tuple[str, ...] = (),
    quiet: Quiet | None = None,
) -> Situation:
    """Return the situation of a job that is not stored anywhere."""
    blocker = SkipReason.CAP if is_capped else None
    if quiet is not None and job.policy.in_quiet_time is InQuietTime.SKIP:
        blocker = SkipReason.QUIET_TIME
    return Situation(
        job_id=job.id,
        name=job.name,
        status=job.status,
        reason=job.status_reason,
        paused_until=job.paused_until,
        question="Which?" if asks else None,
        waiting=waiting_of(job),
        blocker=SkipReason.NEEDS_INPUT if asks else blocker,
        quiet=quiet,
        next_run_at=job.next_run_at,
        next_source=job.next_source,
        after=after,
        errors=job.errors,
        last_run_at=job.last_run_at,
        last_outcome=job.last_outcome,
    )


def row_of(job: Job, **situation: Any) -> JobRow:
    """Return a job as the table keeps it; what its situation depends on beside the job can be given."""
    return make_row(job, situation_of(job, **situation))
