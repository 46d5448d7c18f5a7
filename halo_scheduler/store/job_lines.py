"""What a list shows of each job, read without the rest of it."""

from __future__ import annotations

import json
from collections.abc import Iterable
from functools import lru_cache
from typing import NamedTuple

from halo_scheduler.model import (
    NO_DETAILS,
    JobStatus,
    Outcome,
    Schedule,
    Source,
    StatusReason,
    WaitingDetails,
    WaitingFor,
    schedule_from_dict,
)
from halo_scheduler.store.connection import Database, Row

_COLUMNS = (
    *("id", "name", "description", "group_name", "schedule"),
    *("run_id IS NOT NULL", "disabled_reason", "paused", "paused_by", "paused_until"),
    *("waiting_for", "waiting_details", "waits_until", "next_run_at", "next_source"),
    *("errors", "last_run_at", "last_outcome", "last_error"),
)
# Amounts that were added up are off by less than anybody pays.
COST_DECIMALS = 6
_SELECT = f"SELECT {', '.join(_COLUMNS)} FROM scheduler_jobs"


class NameTable:
    """Reads names, and a word on each thing that has one."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def jobs(self, *, removed: bool = False) -> list[tuple[str, str]]:
        """Return the names of the jobs, or of those in the trash, and what is said of them."""
        which = "NOT NULL" if removed else "NULL"
        return self._database.rows(
            f"SELECT name, description FROM scheduler_jobs WHERE removed_at IS {which} ORDER BY name"
        )

    def groups(self) -> list[tuple[str, str]]:
        return self._database.rows(
            "SELECT group_name, '' FROM scheduler_jobs WHERE group_name IS NOT NULL AND removed_at IS NULL "
            "UNION SELECT name, '' FROM scheduler_groups ORDER BY 1"
        )

    def secrets(self) -> list[tuple[str, str]]:
        return self._database.rows("SELECT name, place FROM scheduler_secrets ORDER BY name")

    def runs(self, job: str, most: int) -> list[tuple[str, str]]:
        """Return the ids of a job's newest runs and how they ended; the job is meant by its name or its id."""
        return self._database.rows(
            "SELECT run.id, run.outcome FROM scheduler_run_log AS run JOIN scheduler_jobs AS job "
            "ON job.id = run.job_id WHERE (job.name = ?1 OR job.id = ?1) AND run.started_at IS NOT NULL "
            "ORDER BY run.seq DESC LIMIT ?2",
            [job, most],
        )

    def asking_runs(self) -> list[tuple[str, str]]:
        """Return the runs whose questions are open, and what they ask."""
        return self._database.rows(
            "SELECT run_id, text FROM scheduler_questions WHERE state = 'open' ORDER BY seq"
        )


class JobLine(NamedTuple):
    """A job as a list shows it; the fields are named as those of a Job."""

    id: str
    name: str
    description: str
    group: str | None
    schedule: Schedule
    status: JobStatus
    status_reason: StatusReason | None
    paused_until: int | None
    waiting_for: WaitingFor | None
    waiting_details: WaitingDetails
    waits_until: int | None
    next_run_at: int | None
    next_source: Source | None
    errors: int
    last_run_at: int | None
    last_outcome: Outcome | None
    last_error: str = ""


class JobName(NamedTuple):
    """What a job can be called by."""

    id: str
    name: str
    group: str | None


class AskedRun(NamedTuple):
    """A run that somebody asked for, or another job's end, and that has not begun; the former has no cause."""

    job_id: str
    at: int
    cause_name: str = ""
    waiting_for: WaitingFor | None = None
    waiting_details: WaitingDetails = NO_DETAILS
    waits_until: int | None = None


class RunningJob(NamedTuple):
    """A job with a run under way."""

    name: str
    group: str | None


class JobLineTable:
    """Reads the lines of jobs, and what stands beside them in a list."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def all(self) -> list[JobLine]:
        """Return all jobs by next run, those without one last."""
        rows = self._database.rows(
            f"{_SELECT} WHERE removed_at IS NULL ORDER BY next_run_at IS NULL, next_run_at, name"
        )
        return [line for row in rows if (line := _line(row)) is not None]

    def names(self, *, removed: bool = False) -> list[JobName]:
        """Return what all jobs are called, by name; or those in the trash, the last removed first."""
        which = "NOT NULL ORDER BY removed_at DESC, name" if removed else "NULL ORDER BY name"
        rows = self._database.rows(
            f"SELECT id, name, group_name FROM scheduler_jobs WHERE removed_at IS {which}"
        )
        return [JobName(*row) for row in rows]

    def removal_times(self) -> dict[str, int]:
        """Return since when each job in the trash lies there."""
        return dict(
            self._database.rows("SELECT id, removed_at FROM scheduler_jobs WHERE removed_at IS NOT NULL")
        )

    def get_many(self, job_ids: Iterable[str]) -> list[JobLine]:
        """Return some jobs; those that are gone or in the trash are left out."""
        rows = self._database.rows(
            f"{_SELECT} WHERE removed_at IS NULL AND id IN (SELECT value FROM json_each(?))",
            [json.dumps(list(job_ids))],
        )
        return [line for row in rows if (line := _line(row)) is not None]

    def questions(self) -> dict[str, str]:
        """Return the oldest open question of each job that has one."""
        return dict(
            self._database.rows(
                "SELECT job_id, text FROM scheduler_questions WHERE state = 'open' ORDER BY seq DESC"
            )
        )

    def asked_runs(self) -> dict[str, AskedRun]:
        """Return, for each job with runs that were asked for and have not begun, the one that comes first.

        Runs by hand come before those that another job's end asked for.
        """
        if self._database.row("SELECT 1 FROM scheduler_requests LIMIT 1") is None:
            return {}
        rows = self._database.rows(
            "SELECT wish.job_id, wish.at, "
            "CASE WHEN wish.kind = 'chain' THEN ifnull(job.name, 'a job that is gone') ELSE '' END, "
            "wish.waiting_for, wish.waiting_details, wish.waits_until FROM scheduler_requests AS wish "
            "LEFT JOIN scheduler_run_log AS cause ON wish.kind = 'chain' AND cause.id = wish.payload "
            "LEFT JOIN scheduler_jobs AS job ON job.id = cause.job_id "
            "WHERE wish.kind IN ('chain', 'trigger', 'test', 'answer') "
            "ORDER BY wish.kind <> 'chain', wish.at DESC, wish.seq DESC"
        )
        return {
            job_id: AskedRun(job_id, at, cause, kind and WaitingFor(kind), waiting_details_of(details), until)
            for job_id, at, cause, kind, details, until in rows
        }

    def predecessors(self) -> dict[str, tuple[str, ...]]:
        """Return, for each job that runs after others, their names."""
        rows = self._database.rows(
            "SELECT follower.value ->> '$.job_id', job.name "
            "FROM scheduler_jobs AS job, json_each(job.followers) AS follower "
            "WHERE job.followers <> '[]' AND job.removed_at IS NULL ORDER BY job.name"
        )
        found: dict[str, tuple[str, ...]] = {}
        for job_id, name in rows:
            found[job_id] = (*found.get(job_id, ()), name)
        return found

    def running(self) -> list[RunningJob]:
        """Return the jobs with a run under way, the oldest run first."""
        rows = self._database.rows(
            "SELECT ifnull(job.name, ''), job.group_name FROM scheduler_run_log AS run "
            "LEFT JOIN scheduler_jobs AS job ON job.id = run.job_id WHERE run.outcome = 'running' ORDER BY run.seq"
        )
        return [RunningJob(*row) for row in rows]

    def reached_caps(self) -> set[tuple[str, str]]:
        """Return the jobs that have reached a daily limit, each with the day."""
        return set(
            self._database.rows(
                "SELECT usage.job_id, usage.day FROM scheduler_usage AS usage "
                "JOIN scheduler_jobs AS job ON job.id = usage.job_id "
                "WHERE usage.runs >= job.policy ->> '$.caps.runs_per_day' "
                f"OR round(usage.cost, {COST_DECIMALS}) >= job.policy ->> '$.caps.cost_per_day'"
            )
        )

    def has_quiet_times(self) -> bool:
        """Tell whether there are quiet times."""
        sql = "SELECT 1 FROM scheduler_settings WHERE key = 'quiet_times' AND value <> '[]'"
        return self._database.row(sql) is not None

    def skipping_quiet(self) -> set[str]:
        """Return the jobs that skip what falls due in a quiet time."""
        rows = self._database.rows(
            "SELECT id FROM scheduler_jobs WHERE policy ->> '$.in_quiet_time' = 'skip'"
        )
        return {str(job_id) for (job_id,) in rows}


def status_of(disabled_reason: StatusReason | None, *, runs: bool, paused: bool) -> JobStatus:
    """Return what a job is doing."""
    if runs:
        return JobStatus.RUNNING
    if disabled_reason is not None:
        return JobStatus.DISABLED
    return JobStatus.PAUSED if paused else JobStatus.IDLE


def status_reason_of(
    disabled_reason: StatusReason | None, paused_by: StatusReason | None, *, paused: bool
) -> StatusReason | None:
    """Return why a job does not run by itself; None when it does."""
    if paused and paused_by is not None:
        # Also of a disabled job: whoever resumes it is to know that somebody has to look at it first.
        return paused_by
    if disabled_reason is not None:
        return disabled_reason
    return StatusReason.USER if paused else None


def _line(row: Row) -> JobLine | None:
    """Read a row; what makes no sense here is left out, as it is everywhere."""
    job_id, name, description, group, schedule, runs, disabled, paused, paused_by, paused_until, *state = row
    waiting_for, details, waits_until, next_run_at, source, errors, last_run_at, outcome, last_error = state
    disabled_reason = disabled and StatusReason(disabled)
    try:
        return JobLine(
            job_id,
            name,
            description,
            group,
            schedule_of(schedule),
            status_of(disabled_reason, runs=runs, paused=paused),
            status_reason_of(disabled_reason, paused_by and StatusReason(paused_by), paused=paused),
            paused_until,
            waiting_for and WaitingFor(waiting_for),
            waiting_details_of(details),
            waits_until,
            next_run_at,
            source and Source(source),
            errors,
            last_run_at,
            outcome and Outcome(outcome),
            last_error,
        )
    except ValueError:
        return None


@lru_cache(maxsize=1024)
def waiting_details_of(text: str) -> WaitingDetails:
    """Return the stored parameters of what a run waits for; unreadable ones are found anew at the next tick."""
    if not text:
        return NO_DETAILS
    from halo_scheduler.model import condition_from_dict  # noqa: PLC0415 - few jobs wait

    try:
        data = json.loads(text)
        conditions = tuple(map(condition_from_dict, data.pop("conditions", ())))
        return WaitingDetails(conditions=conditions, **data)
    except (ValueError, TypeError, AttributeError):
        return NO_DETAILS


@lru_cache(maxsize=1024)
def waiting_text(details: WaitingDetails) -> str:
    """Return the parameters of what a run waits for as they are stored; nothing for none."""
    return "" if details == NO_DETAILS else json.dumps(details.to_dict(), ensure_ascii=False)


@lru_cache(maxsize=4096)
def schedule_of(text: str) -> Schedule:
    """Return the schedule that a stored text says."""
    return schedule_from_dict(json.loads(text))
