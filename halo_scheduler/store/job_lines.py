"""What a list shows of each job, read without the rest of it."""

from __future__ import annotations

import json
from functools import lru_cache
from typing import NamedTuple

from halo_scheduler.model import (
    JobStatus,
    Outcome,
    Schedule,
    StatusReason,
    WaitingFor,
    schedule_from_dict,
)
from halo_scheduler.store.connection import Database, Row

_COLUMNS = (
    *("id", "name", "description", "group_name", "schedule", "followers"),
    *("run_id IS NOT NULL", "disabled_reason", "paused", "paused_by", "paused_until"),
    *("waiting_for", "waiting_reason", "next_run_at", "errors", "last_run_at", "last_outcome"),
)
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
    waiting_reason: str
    next_run_at: int | None
    errors: int
    last_run_at: int | None
    last_outcome: Outcome | None
    follower_ids: tuple[str, ...] = ()


class JobName(NamedTuple):
    """What a job can be called by."""

    id: str
    name: str
    group: str | None


class WaitingAfter(NamedTuple):
    """A run of a job after another one that waits for its turn, as far as that is not a place: for what."""

    cause_name: str
    reason: str


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

    def asking(self) -> set[str]:
        """Return which jobs have asked something that nobody has answered."""
        rows = self._database.rows("SELECT DISTINCT job_id FROM scheduler_questions WHERE state = 'open'")
        return {str(job_id) for (job_id,) in rows}

    def waiting_after(self) -> dict[str, WaitingAfter]:
        """Return for each job with runs after other jobs that wait the one that waits longest."""
        rows = self._database.rows(
            "SELECT wish.job_id, ifnull(job.name, 'a job that is gone'), wish.waiting_reason "
            "FROM scheduler_requests AS wish LEFT JOIN scheduler_run_log AS cause ON cause.id = wish.payload "
            "LEFT JOIN scheduler_jobs AS job ON job.id = cause.job_id "
            "WHERE wish.kind = 'chain' ORDER BY wish.at DESC, wish.seq DESC"
        )
        return {job_id: WaitingAfter(name, reason) for job_id, name, reason in rows}


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
    job_id, name, description, group, schedule, followers, runs, disabled, paused, paused_by, *state = row
    paused_until, waiting_for, waiting_reason, next_run_at, errors, last_run_at, last_outcome = state
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
            waiting_reason,
            next_run_at,
            errors,
            last_run_at,
            last_outcome and Outcome(last_outcome),
            () if followers == "[]" else tuple(follower["job_id"] for follower in json.loads(followers)),
        )
    except ValueError:
        return None


@lru_cache(maxsize=4096)
def schedule_of(text: str) -> Schedule:
    """Return the schedule that a stored text says."""
    return schedule_from_dict(json.loads(text))
