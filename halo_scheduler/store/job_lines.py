"""Light rows for job lists, read without the rest of each job."""

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
    Several,
    Source,
    StatusReason,
    WaitingDetails,
    WaitingFor,
)
from halo_scheduler.model.schedules import stored_schedule
from halo_scheduler.store.connection import Database, Row

_COLUMNS = (
    *("id", "name", "description", "group_name", "schedule"),
    *("run_id IS NOT NULL", "disabled_reason", "paused", "paused_by", "paused_until"),
    *("waiting_for", "waiting_details", "waits_until", "next_run_at", "next_source"),
    *("errors", "last_run_at", "last_outcome", "resumed_since_run", "skips_next"),
)
# Tolerance for rounding errors in summed costs.
COST_DECIMALS = 6
_SELECT = f"SELECT {', '.join(_COLUMNS)} FROM scheduler_jobs"


class NameTable:
    """Reads names with a short description, for completion."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def jobs(self, *, removed: bool = False) -> list[tuple[str, str]]:
        """Return the names and descriptions of the jobs, or of those in the trash."""
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
        """Return the ids and outcomes of a job's newest runs; the job is given by name or id."""
        return self._database.rows(
            "SELECT run.id, run.outcome FROM scheduler_run_log AS run JOIN scheduler_jobs AS job "
            "ON job.id = run.job_id WHERE (job.name = ?1 OR job.id = ?1) AND run.started_at IS NOT NULL "
            "ORDER BY run.seq DESC LIMIT ?2",
            [job, most],
        )

    def asking_runs(self) -> list[tuple[str, str]]:
        """Return the runs with open questions, and these questions."""
        return self._database.rows(
            "SELECT run_id, text FROM scheduler_questions WHERE state = 'open' ORDER BY seq"
        )


class JobLine(NamedTuple):
    """A job as a list shows it; its fields are named like those of Job."""

    id: str
    name: str
    description: str
    group: str | None
    schedule: Schedule | Several
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
    resumed_since_run: bool
    skips_next: bool


class JobName(NamedTuple):
    """The names a job can be referred to by."""

    id: str
    name: str
    group: str | None


class AskedRun(NamedTuple):
    """A requested run that has not started: manual, or a chain run, which has a cause."""

    job_id: str
    at: int
    cause_name: str = ""
    waiting_for: WaitingFor | None = None
    waiting_details: WaitingDetails = NO_DETAILS
    waits_until: int | None = None
    passes_group: bool = False


class DelayedEvent(NamedTuple):
    """When a past event starts a run, and which attempt that is."""

    at: int
    attempt: int


class RunningJob(NamedTuple):
    """A job with an active run."""

    name: str
    group: str | None


class JobLineTable:
    """Reads the rows of job lists."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def all(self) -> list[JobLine]:
        """Return all jobs by next run, those without one last."""
        rows = self._database.rows(
            f"{_SELECT} WHERE removed_at IS NULL ORDER BY next_run_at IS NULL, next_run_at, name"
        )
        return [line for row in rows if (line := _line(row)) is not None]

    def names(self, *, removed: bool = False) -> list[JobName]:
        """Return the names of all jobs in order of name; or of those in the trash, last removed first."""
        which = "NOT NULL ORDER BY removed_at DESC, name" if removed else "NULL ORDER BY name"
        rows = self._database.rows(
            f"SELECT id, name, group_name FROM scheduler_jobs WHERE removed_at IS {which}"
        )
        return [JobName(*row) for row in rows]

    def first_of_group(self, group: str) -> str | None:
        """Return the id of the job of a group that was added first; of a file, its first."""
        rows = self._database.rows(
            "SELECT id FROM scheduler_jobs WHERE group_name = ? AND removed_at IS NULL "
            "ORDER BY created_at, rowid LIMIT 1",
            (group,),
        )
        return next((job_id for (job_id,) in rows), None)

    def removal_times(self) -> dict[str, int]:
        """Return when each job in the trash was removed."""
        return dict(
            self._database.rows("SELECT id, removed_at FROM scheduler_jobs WHERE removed_at IS NOT NULL")
        )

    def get_many(self, job_ids: Iterable[str]) -> list[JobLine]:
        """Return some jobs; missing and removed ones are left out."""
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

    def later_runs(self, now_ms: int) -> dict[str, int]:
        """Return the time of the next planned manual run of each job that has one."""
        return dict(
            self._database.rows(
                "SELECT job_id, min(at) FROM scheduler_requests WHERE kind = 'later' AND at > ? GROUP BY job_id",
                [now_ms],
            )
        )

    def asked_runs(self, now_ms: int) -> dict[str, AskedRun]:
        """Return the first requested run of each job that is due and has not started.

        Manual runs come before chain runs and those of events.
        """
        if self._database.row("SELECT 1 FROM scheduler_requests LIMIT 1") is None:
            return {}
        rows = self._database.rows(
            "SELECT wish.job_id, wish.at, "
            "CASE wish.kind WHEN 'chain' THEN ifnull(job.name, 'a deleted job') WHEN 'event' THEN 'an event' "
            "ELSE '' END, "
            "wish.waiting_for, wish.waiting_details, wish.waits_until, wish.passes_group "
            "FROM scheduler_requests AS wish "
            "LEFT JOIN scheduler_run_log AS cause ON wish.kind = 'chain' AND cause.id = wish.payload "
            "LEFT JOIN scheduler_jobs AS job ON job.id = cause.job_id "
            "WHERE wish.kind IN ('chain', 'trigger', 'test', 'answer') "
            "OR (wish.kind IN ('later', 'event') AND wish.at <= ?) "
            "ORDER BY wish.kind NOT IN ('chain', 'event'), wish.at DESC, wish.seq DESC",
            [now_ms],
        )
        return {
            job_id: AskedRun(
                job_id, at, cause, kind and WaitingFor(kind), waiting_details_of(details), until, bool(passes)
            )
            for job_id, at, cause, kind, details, until, passes in rows
        }

    def delayed_events(self, now_ms: int) -> dict[str, DelayedEvent]:
        """Return the first run of each job that an event starts later, after a delay, a back-off or a retry."""
        rows = self._database.rows(
            "SELECT job_id, at, attempt FROM scheduler_requests WHERE kind = 'event' AND at > ? ORDER BY at DESC",
            [now_ms],
        )
        return {job_id: DelayedEvent(at, attempt) for job_id, at, attempt in rows}

    def watch_troubles(self) -> dict[str, str]:
        """Return the oldest trouble with watching events, for each job that has trouble."""
        return dict(
            self._database.rows(
                "SELECT job_id, text FROM scheduler_watch_trouble ORDER BY since DESC, key DESC"
            )
        )

    def predecessors(self) -> dict[str, tuple[str, ...]]:
        """Return the names of the jobs that start each job which follows others."""
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
        """Return the jobs with an active run, oldest run first."""
        rows = self._database.rows(
            "SELECT ifnull(job.name, ''), job.group_name FROM scheduler_run_log AS run "
            "LEFT JOIN scheduler_jobs AS job ON job.id = run.job_id WHERE run.outcome = 'running' ORDER BY run.seq"
        )
        return [RunningJob(*row) for row in rows]

    def reached_caps(self) -> set[tuple[str, str]]:
        """Return the jobs that reached a daily limit, each with the day."""
        return set(
            self._database.rows(
                "SELECT usage.job_id, usage.day FROM scheduler_usage AS usage "
                "JOIN scheduler_jobs AS job ON job.id = usage.job_id "
                "WHERE usage.runs >= job.policy ->> '$.caps.runs_per_day' "
                f"OR round(usage.cost, {COST_DECIMALS}) >= job.policy ->> '$.caps.cost_per_day'"
            )
        )

    def has_quiet_times(self) -> bool:
        """Return whether any quiet hours are set up."""
        sql = "SELECT 1 FROM scheduler_settings WHERE key = 'quiet_times' AND value <> '[]'"
        return self._database.row(sql) is not None

    def skipping_quiet(self) -> set[str]:
        """Return the jobs that skip slots in quiet hours."""
        rows = self._database.rows(
            "SELECT id FROM scheduler_jobs WHERE policy ->> '$.in_quiet_time' = 'skip'"
        )
        return {str(job_id) for (job_id,) in rows}


def status_of(disabled_reason: StatusReason | None, *, runs: bool, paused: bool) -> JobStatus:
    """Return a job's status."""
    if runs:
        return JobStatus.RUNNING
    if disabled_reason is not None:
        return JobStatus.DISABLED
    return JobStatus.PAUSED if paused else JobStatus.IDLE


def status_reason_of(
    disabled_reason: StatusReason | None, paused_by: StatusReason | None, *, paused: bool
) -> StatusReason | None:
    """Return why a job does not run on its schedule; None if it does."""
    if paused and paused_by not in (None, StatusReason.PAUSED_BY_ASSISTANT):
        # Also for a disabled job: resuming it requires a review first.
        return paused_by
    if disabled_reason is not None:
        return disabled_reason
    return (paused_by or StatusReason.USER) if paused else None


def _line(row: Row) -> JobLine | None:
    """Read a row; unreadable parts are left out."""
    job_id, name, description, group, schedule, runs, disabled, paused, paused_by, paused_until, *state = row
    (
        waiting_for,
        details,
        waits_until,
        next_run_at,
        source,
        errors,
        last_run_at,
        outcome,
        resumed,
        skips_next,
    ) = state
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
            bool(resumed),
            bool(skips_next),
        )
    except ValueError:
        return None


@lru_cache(maxsize=1024)
def waiting_details_of(text: str) -> WaitingDetails:
    """Return the stored parameters of a wait; unreadable ones are found again at the next tick."""
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
    """Return the parameters of a wait as stored text; "" for none."""
    return "" if details == NO_DETAILS else json.dumps(details.to_dict(), ensure_ascii=False)


@lru_cache(maxsize=4096)
def schedule_of(text: str) -> Schedule | Several:
    """Return the schedules of a stored text."""
    return stored_schedule(json.loads(text))
