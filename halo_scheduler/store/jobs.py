"""The table of jobs, with queries for the engine; spec and state are written separately."""

from __future__ import annotations

import json
import logging
from collections.abc import Collection, Iterable, Sequence
from typing import NamedTuple

from halo_scheduler.errors import JobNotFoundError
from halo_scheduler.grammar.interval import DAY_MS
from halo_scheduler.model import NO_DETAILS, JobSpec, Several, WaitingDetails
from halo_scheduler.model.messages import MessageKind, message, stored_message
from halo_scheduler.model.words import Shortage
from halo_scheduler.store.connection import Database, Row, Value
from halo_scheduler.store.day_sources import DaySourceTable
from halo_scheduler.store.job_lines import waiting_text
from halo_scheduler.store.job_records import (
    COLUMNS,
    SPEC_COLUMNS,
    SPEC_START,
    STATE_COLUMNS,
    JobRecord,
    record_of,
    row_of,
    spec_values,
    state_values,
)

_LOG = logging.getLogger(__name__)

# How long a removed job can be restored.
TRASH_MS = 30 * DAY_MS

_SELECT = f"SELECT {', '.join(COLUMNS)} FROM scheduler_jobs"
_INSERT = f"INSERT INTO scheduler_jobs ({', '.join(COLUMNS)}) VALUES ({', '.join('?' * len(COLUMNS))})"
_UPDATE_SPEC = f"UPDATE scheduler_jobs SET {', '.join(f'{name} = ?' for name in SPEC_COLUMNS)} WHERE id = ?"
_UPDATE_STATE = f"UPDATE scheduler_jobs SET {', '.join(f'{name} = ?' for name in STATE_COLUMNS)} WHERE id = ?"
# Also matches jobs without a group.
_IN_GROUPS = "ifnull(group_name IN (SELECT value FROM json_each(?)), 0)"


class UnreadableJob(NamedTuple):
    """A job that cannot be read, and why."""

    id: str
    name: str
    removed_at: int | None
    why: str


class JobTable:
    """Reads and writes jobs."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._day_sources = DaySourceTable(database)

    def insert(self, records: Sequence[JobRecord]) -> None:
        self._database.run_many(_INSERT, map(row_of, records))

    def save_spec(self, job_id: str, spec: JobSpec, updated_at: int) -> None:
        """Write only the user's columns."""
        self._database.rows(_UPDATE_SPEC, [*spec_values(spec), updated_at, job_id])

    def save_states(self, records: Sequence[JobRecord]) -> None:
        """Write only the engine's columns."""
        self._database.run_many(_UPDATE_STATE, ((*state_values(record), record.id) for record in records))

    def set_removed(self, job_id: str, removed_at: int | None) -> None:
        self._database.rows("UPDATE scheduler_jobs SET removed_at = ? WHERE id = ?", [removed_at, job_id])

    def purge(self, removed_before: int) -> None:
        """Delete the jobs that were removed before an instant."""
        self._database.rows(
            "DELETE FROM scheduler_jobs WHERE removed_at < ? AND run_id IS NULL", [removed_before]
        )

    def delete_removed(self, job_id: str) -> None:
        """Delete a job in the trash with its runs, unless one is running."""
        self._database.rows(
            "DELETE FROM scheduler_jobs WHERE id = ? AND removed_at IS NOT NULL AND run_id IS NULL", [job_id]
        )

    def get(self, job_id: str) -> JobRecord | None:
        """Return a job, also one in the trash."""
        row = self._database.row(f"{_SELECT} WHERE id = ?", [job_id])
        return None if row is None else self._read(row)

    def require(self, job_id: str) -> JobRecord:
        """Return a job that is not in the trash; JobNotFoundError if there is none."""
        record = self.get(job_id)
        if record is None or record.removed_at is not None:
            raise JobNotFoundError(f"there is no job {job_id!r}")
        return record

    def get_many(self, job_ids: Iterable[str]) -> dict[str, JobRecord]:
        ids = list(job_ids)
        if len(ids) == 1:
            record = self.get(ids[0])
            return {} if record is None else {record.id: record}
        wanted = json.dumps(ids)
        rows = self._database.rows(f"{_SELECT} WHERE id IN (SELECT value FROM json_each(?))", [wanted])
        return {record.id: record for record in map(self._read, rows) if record is not None}

    def taken_names(self, names: Iterable[str]) -> set[str]:
        """Return which of these names are taken by jobs."""
        wanted = list(names)
        if len(wanted) == 1:
            return {wanted[0]} if self.id_of_name(wanted[0]) is not None else set()
        rows = self._database.rows(
            "SELECT name FROM scheduler_jobs "
            "WHERE removed_at IS NULL AND name IN (SELECT value FROM json_each(?))",
            [json.dumps(wanted)],
        )
        return {str(name) for (name,) in rows}

    def names(self) -> list[tuple[str, str | None]]:
        """Return the name and the group of every job."""
        return self._database.rows("SELECT name, group_name FROM scheduler_jobs WHERE removed_at IS NULL")

    def id_of_name(self, name: str) -> str | None:
        row = self._database.row(
            "SELECT id FROM scheduler_jobs WHERE name = ? AND removed_at IS NULL", [name]
        )
        return None if row is None else str(row[0])

    def all(self, *, removed: bool = False) -> list[JobRecord]:
        """Return all jobs by next run, those without one last; or those in the trash, newest first."""
        if removed:
            return self._records("WHERE removed_at IS NOT NULL ORDER BY removed_at DESC, name")
        return self._records("WHERE removed_at IS NULL ORDER BY next_run_at IS NULL, next_run_at, name")

    def ids(self) -> list[str]:
        """Return the ids of all jobs in the order of `all`."""
        rows = self._database.rows(
            "SELECT id FROM scheduler_jobs WHERE removed_at IS NULL ORDER BY next_run_at IS NULL, next_run_at, name"
        )
        return [str(job_id) for (job_id,) in rows]

    def waiting_to_catch_up(self, after_at: int, until_at: int) -> int:
        """Return how many jobs have yet to catch up a slot of a span of time."""
        row = self._database.row(
            "SELECT count(*) FROM scheduler_jobs WHERE next_run_at IS NOT NULL AND run_id IS NULL "
            "AND removed_at IS NULL AND next_run_at <= ? AND next_source = 'catch-up' AND slot_at > ?",
            [until_at, after_at],
        )
        return 0 if row is None else int(row[0])

    def due(
        self,
        now_ms: int,
        most: int = -1,
        after: tuple[int, str] | None = None,
        full_groups: Collection[str] = (),
    ) -> list[JobRecord]:
        """Return the due jobs that are not running, oldest slot first.

        `after` is the planned run and the id of the last job on the previous page. Jobs of `full_groups` that are
        known to wait only for the limit are left out.
        """
        waits = "waiting_for IS 'at_capacity' AND has_conditions = 0"
        is_known = f"AND NOT ({waits} AND {_IN_GROUPS}) " if full_groups else ""
        return self._records(
            "WHERE next_run_at IS NOT NULL AND run_id IS NULL AND removed_at IS NULL AND next_run_at <= ? "
            f"{'' if after is None else 'AND (next_run_at, id) > (?, ?) '}{is_known}"
            "ORDER BY next_run_at, id LIMIT ?",
            now_ms,
            *(after or ()),
            *([json.dumps(list(full_groups))] if full_groups else []),
            most,
        )

    def due_with_conditions(self, now_ms: int) -> list[JobRecord]:
        """Return the due jobs with conditions, oldest slot first."""
        # The index is named, because SQLite would scan all due jobs.
        return self._records(
            "INDEXED BY scheduler_jobs_due_with_conditions "
            "WHERE next_run_at IS NOT NULL AND run_id IS NULL AND removed_at IS NULL AND has_conditions = 1 "
            "AND next_run_at <= ? ORDER BY next_run_at, id",
            now_ms,
        )

    def due_in_group(self, now_ms: int, group: str) -> list[JobRecord]:
        """Return the due jobs of a group, oldest slot first."""
        return self._records(
            "INDEXED BY scheduler_jobs_due_in_group "
            "WHERE next_run_at IS NOT NULL AND run_id IS NULL AND removed_at IS NULL AND group_name = ? "
            "AND next_run_at <= ? ORDER BY next_run_at, id",
            group,
            now_ms,
        )

    def with_events(self) -> list[tuple[str, str, str, int]]:
        """Return id, name, stored schedules and whether it is active, for each job with events."""
        return self._database.rows(
            "SELECT id, name, schedule, disabled_reason IS NULL AND paused = 0 FROM scheduler_jobs "
            "INDEXED BY scheduler_jobs_of_events WHERE has_events = 1 AND removed_at IS NULL ORDER BY name"
        )

    def with_followers(self) -> list[JobRecord]:
        """Return the jobs with next jobs, also those in the trash."""
        return self._records("WHERE followers <> '[]'")

    def mark_waiting(self, now_ms: int, but_for: Collection[str] = ()) -> list[str]:
        """Mark every due job without conditions as waiting for the limit; return those newly marked.

        The jobs of the groups `but_for` wait for something else.
        """
        other = f"AND NOT {_IN_GROUPS} " if but_for else ""
        rows = self._database.rows(
            "UPDATE scheduler_jobs SET waiting_for = 'at_capacity', waiting_details = '', waits_until = NULL, "
            # The quiet hours are over; they account for the grid points up to now.
            "passed_reason = CASE WHEN waiting_for = 'quiet_time' "
            "THEN passed_reason || ',quiet time<' || ? ELSE passed_reason END "
            "WHERE next_run_at IS NOT NULL AND run_id IS NULL AND removed_at IS NULL AND next_run_at <= ? "
            f"AND has_conditions = 0 AND waiting_for IS NOT 'at_capacity' {other}RETURNING id",
            [now_ms, now_ms, *([json.dumps(list(but_for))] if but_for else [])],
        )
        return [str(job_id) for (job_id,) in rows]

    def save_start_wait(self, run_id: str, shortage: Shortage | None) -> None:
        """Write what the start of a job's run waits for; None once it has started."""
        waiting_for = None if shortage is None else shortage.waiting_for
        details = NO_DETAILS if shortage is None else WaitingDetails(name=shortage)
        self._database.rows(
            "UPDATE scheduler_jobs SET waiting_for = ?, waiting_details = ? WHERE run_id = ? "
            "AND (? IS NOT NULL OR waiting_for IN ('resources', 'disk_space'))",
            [waiting_for, waiting_text(details), run_id, waiting_for],
        )

    def restart(self, job_id: str, at: int) -> None:
        """Record that the active run of a job, if any, is stopped at an instant in favour of the next one."""
        self._database.rows(
            "UPDATE scheduler_jobs SET restarts_at = min(ifnull(restarts_at, ?1), ?1) "
            "WHERE id = ?2 AND run_id IS NOT NULL",
            [at, job_id],
        )

    def restarting(self, now_ms: int) -> list[str]:
        """Return the active runs to stop because their jobs are due and restart."""
        rows = self._database.rows(
            "SELECT run_id FROM scheduler_jobs WHERE restarts_at IS NOT NULL AND restarts_at <= ? "
            "AND run_id IS NOT NULL AND disabled_reason IS NULL AND paused = 0 AND removed_at IS NULL",
            [now_ms],
        )
        return [run_id for (run_id,) in rows]

    def pauses_ended(self, now_ms: int) -> list[JobRecord]:
        return self._records(
            "WHERE paused_until IS NOT NULL AND removed_at IS NULL AND paused_until <= ?", now_ms
        )

    def pauses_ahead(self, now_ms: int) -> list[JobRecord]:
        """Return the jobs paused until a later instant."""
        return self._records(
            "WHERE paused_until IS NOT NULL AND removed_at IS NULL AND paused_until > ?", now_ms
        )

    def unplanned(self) -> list[JobRecord]:
        """Return the active jobs without a planned run, such as manual ones."""
        return self._records(
            "WHERE next_run_at IS NULL AND run_id IS NULL AND removed_at IS NULL AND disabled_reason IS NULL "
            "AND paused = 0"
        )

    def planned(self) -> list[JobRecord]:
        return self._records("WHERE next_run_at IS NOT NULL AND run_id IS NULL AND removed_at IS NULL")

    def last_edited_at(self) -> int:
        """Return when a job was last added or edited; 0 if there are no jobs."""
        row = self._database.row("SELECT max(updated_at) FROM scheduler_jobs")
        return 0 if row is None or row[0] is None else int(row[0])

    def next_due(self) -> int | None:
        """Return the time of the earliest planned run, including manual ones."""
        rows = self._database.rows(
            "SELECT min(next_run_at) FROM scheduler_jobs "
            "WHERE next_run_at IS NOT NULL AND run_id IS NULL AND removed_at IS NULL "
            "UNION ALL SELECT min(at) FROM scheduler_requests WHERE kind = 'later'"
        )
        return min((row[0] for row in rows if row[0] is not None), default=None)

    def next_instant(self, now_ms: int) -> int | None:
        """Return the earliest future instant at which a run is planned or restarted, or a wait or pause ends."""
        rows = self._database.rows(
            "SELECT min(next_run_at) FROM scheduler_jobs "
            "WHERE next_run_at IS NOT NULL AND run_id IS NULL AND removed_at IS NULL AND next_run_at > ? "
            "UNION ALL SELECT min(paused_until) FROM scheduler_jobs "
            "WHERE paused_until IS NOT NULL AND removed_at IS NULL AND paused_until > ? "
            "UNION ALL SELECT min(waits_until) FROM scheduler_jobs "
            "WHERE waits_until IS NOT NULL AND removed_at IS NULL AND waits_until > ? "
            "UNION ALL SELECT min(restarts_at) FROM scheduler_jobs "
            "WHERE restarts_at IS NOT NULL AND restarts_at > ? "
            "UNION ALL SELECT min(at) FROM scheduler_requests WHERE kind IN ('later', 'event') AND at > ?",
            [now_ms] * 5,
        )
        return min((row[0] for row in rows if row[0] is not None), default=None)

    def as_they_are(self) -> list[JobRecord | UnreadableJob]:
        """Return all jobs, also those in the trash; unreadable ones are returned as such and stay unchanged."""
        found: list[JobRecord | UnreadableJob] = []
        for row in self._database.rows(f"{_SELECT} ORDER BY name"):
            try:
                found.append(self._filled(record_of(row)))
            except ValueError as error:
                job_id, _, removed_at, name = row[: SPEC_START + 1]
                found.append(UnreadableJob(job_id, name, removed_at, str(error)))
        return found

    def _records(self, condition: str, *values: Value) -> list[JobRecord]:
        records = (self._read(row) for row in self._database.rows(f"{_SELECT} {condition}", values))
        return [record for record in records if record is not None]

    def _read(self, row: Row) -> JobRecord | None:
        """Read a row; a job that cannot be read, for example because of an unknown zone, is disabled."""
        try:
            return self._filled(record_of(row))
        except ValueError as error:
            _LOG.error("job %s cannot be read: %s", row[0], error)
            self._database.rows(
                "UPDATE scheduler_jobs SET disabled_reason = 'errors', next_run_at = NULL, last_error = ? "
                "WHERE id = ? AND next_run_at IS NOT NULL",
                [stored_message(message(MessageKind.UNREADABLE_JOB, error=str(error))), row[0]],
            )
            return None

    def _filled(self, record: JobRecord) -> JobRecord:
        """Return a job with the looked-up days in its calendars."""
        if not isinstance(record.spec.schedule, Several):
            return record  # Of thousands in a tick, few have several.
        spec = self._day_sources.fill(record.spec)
        return record if spec is record.spec else record._replace(spec=spec)
