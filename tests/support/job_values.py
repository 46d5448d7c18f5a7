"""Jobs and runs as values, for tests that need no database."""

from __future__ import annotations

from typing import Any

from halo_scheduler.model import Every, Job, Outcome, Run, Source, Trigger

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
