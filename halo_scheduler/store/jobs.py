"""The table of jobs: the user's spec and the engine's state, in disjoint columns."""

from __future__ import annotations

import json
import logging
from collections.abc import Collection, Iterable, Sequence
from functools import lru_cache
from typing import Any, NamedTuple

from halo_scheduler.model import (
    Action,
    Follower,
    Hints,
    HintSource,
    Job,
    JobSpec,
    JobStatus,
    Outcome,
    Policy,
    Schedule,
    Source,
    StatusReason,
    WaitingFor,
    action_from_dict,
)
from halo_scheduler.schedule.interval import DAY_MS
from halo_scheduler.store.connection import Database, Row, Value
from halo_scheduler.store.job_lines import schedule_of, status_of, status_reason_of
from halo_scheduler.strict_json import decode

_LOG = logging.getLogger(__name__)

# How long a removed job can be restored.
TRASH_MS = 30 * DAY_MS

# One encoder for all: json.dumps makes a new one for every call with settings of its own.
_json = json.JSONEncoder(ensure_ascii=False, separators=(",", ":")).encode

_NO_HINTS = Hints()

_SPEC_COLUMNS = (
    *(
        "name",
        "description",
        "group_name",
        "schedule",
        "action",
        "policy",
        "anchor_at",
        "enabled",
        "metadata",
        "followers",
        "has_conditions",
    ),
    "updated_at",
)
_STATE_COLUMNS = (
    *(
        "run_id",
        "disabled_reason",
        "paused",
        "paused_until",
        "waiting_for",
        "next_run_at",
        "next_source",
        "slot_at",
    ),
    *("attempt", "trail", "counted_until", "passed_reason", "last_slot_at"),
    *("hint_interval_ms", "hint_next_at", "hint_expires_at", "hint_reason"),
    *("errors", "last_run_at", "last_completed_at", "last_outcome", "last_error", "paused_by"),
    *("hint_source", "waiting_reason", "waits_until"),
)
_COLUMNS = ("id", "created_at", "removed_at", *_SPEC_COLUMNS, *_STATE_COLUMNS)
_SPEC_START = 3
_STATE_START = _SPEC_START + len(_SPEC_COLUMNS)
_SELECT = f"SELECT {', '.join(_COLUMNS)} FROM scheduler_jobs"
_INSERT = f"INSERT INTO scheduler_jobs ({', '.join(_COLUMNS)}) VALUES ({', '.join('?' * len(_COLUMNS))})"
_UPDATE_SPEC = f"UPDATE scheduler_jobs SET {', '.join(f'{name} = ?' for name in _SPEC_COLUMNS)} WHERE id = ?"
_UPDATE_STATE = (
    f"UPDATE scheduler_jobs SET {', '.join(f'{name} = ?' for name in _STATE_COLUMNS)} WHERE id = ?"
)


class JobRecord(NamedTuple):
    """A job as it is stored: what is public of it, and what the engine keeps for itself.

    `slot_at` and `attempt` are those of the planned run; grid points up to `counted_until` are accounted for,
    and those passed over after it are so because of `passed_reason`. (A tuple, because thousands are made and
    changed in a tick, five times as fast as a frozen dataclass.)
    """

    id: str
    created_at: int
    updated_at: int
    spec: JobSpec
    counted_until: int
    removed_at: int | None = None
    run_id: str | None = None
    disabled_reason: StatusReason | None = None
    paused: bool = False
    paused_until: int | None = None
    waiting_for: WaitingFor | None = None
    next_run_at: int | None = None
    next_source: Source | None = None
    slot_at: int | None = None
    attempt: int = 1
    trail: str = "[]"
    passed_reason: str = ""
    last_slot_at: int | None = None
    hints: Hints = _NO_HINTS
    errors: int = 0
    last_run_at: int | None = None
    last_completed_at: int | None = None
    last_outcome: Outcome | None = None
    last_error: str = ""
    paused_by: StatusReason | None = None
    """Who paused it, when it was not the user."""
    waiting_reason: str = ""
    """What a due job waits for, in words."""
    waits_until: int | None = None
    """When a due job stops waiting for its conditions; set when it begins to, kept while its slot is."""

    def evolve(self, **changes: Any) -> JobRecord:
        """Return the job with some things changed."""
        return self._replace(**changes)

    @property
    def status(self) -> JobStatus:
        return status_of(self.disabled_reason, runs=self.run_id is not None, paused=self.paused)

    @property
    def status_reason(self) -> StatusReason | None:
        return status_reason_of(self.disabled_reason, self.paused_by, paused=self.paused)

    @property
    def is_active(self) -> bool:
        """Whether the schedule has a say: the job is neither paused, disabled nor removed."""
        return self.disabled_reason is None and not self.paused and self.removed_at is None

    @property
    def job(self) -> Job:
        """The public view."""
        spec = self.spec
        return Job(
            id=self.id,
            name=spec.name,
            description=spec.description,
            group=spec.group,
            schedule=spec.schedule,
            action=spec.action,
            policy=spec.policy,
            anchor_at=spec.anchor_at,
            enabled=spec.enabled,
            metadata=spec.metadata,
            followers=spec.followers,
            status=self.status,
            status_reason=self.status_reason,
            waiting_for=self.waiting_for,
            waiting_reason=self.waiting_reason,
            next_run_at=self.next_run_at,
            next_source=self.next_source,
            paused_until=self.paused_until,
            hints=self.hints,
            errors=self.errors,
            last_run_at=self.last_run_at,
            last_completed_at=self.last_completed_at,
            last_outcome=self.last_outcome,
            last_error=self.last_error,
        )


class UnreadableJob(NamedTuple):
    """A job that makes no sense here, and why."""

    id: str
    name: str
    removed_at: int | None
    why: str


class JobTable:
    """Reads and writes jobs."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def insert(self, records: Sequence[JobRecord]) -> None:
        self._database.run_many(_INSERT, [_row_of(record) for record in records])

    def save_spec(self, job_id: str, spec: JobSpec, updated_at: int) -> None:
        """Write the user's columns only."""
        self._database.rows(_UPDATE_SPEC, [*_spec_values(spec), updated_at, job_id])

    def save_states(self, records: Sequence[JobRecord]) -> None:
        """Write the engine's columns only."""
        self._database.run_many(_UPDATE_STATE, [(*_state_values(record), record.id) for record in records])

    def set_removed(self, job_id: str, removed_at: int | None) -> None:
        self._database.rows("UPDATE scheduler_jobs SET removed_at = ? WHERE id = ?", [removed_at, job_id])

    def purge(self, removed_before: int) -> None:
        """Delete what has been in the trash for long enough."""
        self._database.rows(
            "DELETE FROM scheduler_jobs WHERE removed_at < ? AND run_id IS NULL", [removed_before]
        )

    def get(self, job_id: str) -> JobRecord | None:
        """Return a job, also one in the trash."""
        row = self._database.row(f"{_SELECT} WHERE id = ?", [job_id])
        return None if row is None else self._read(row)

    def get_many(self, job_ids: Iterable[str]) -> dict[str, JobRecord]:
        ids = list(job_ids)
        if len(ids) == 1:
            record = self.get(ids[0])
            return {} if record is None else {record.id: record}
        wanted = json.dumps(ids)
        rows = self._database.rows(f"{_SELECT} WHERE id IN (SELECT value FROM json_each(?))", [wanted])
        return {record.id: record for record in map(self._read, rows) if record is not None}

    def taken_names(self, names: Iterable[str]) -> set[str]:
        """Return which of these names belong to jobs."""
        rows = self._database.rows(
            "SELECT name FROM scheduler_jobs "
            "WHERE removed_at IS NULL AND name IN (SELECT value FROM json_each(?))",
            [json.dumps(list(names))],
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
        """Return how many jobs are still to catch up on a slot of a span of time."""
        row = self._database.row(
            "SELECT count(*) FROM scheduler_jobs WHERE next_run_at IS NOT NULL AND run_id IS NULL "
            "AND removed_at IS NULL AND next_run_at <= ? AND next_source = 'catch-up' AND slot_at > ?",
            [until_at, after_at],
        )
        return 0 if row is None else int(row[0])

    def due(self, now_ms: int, most: int = -1, after: tuple[int, str] | None = None) -> list[JobRecord]:
        """Return the jobs whose planned run has come and that are not running, oldest slot first.

        `after` is the planned run and the id of the last one of the page before.
        """
        return self._records(
            "WHERE next_run_at IS NOT NULL AND run_id IS NULL AND removed_at IS NULL AND next_run_at <= ? "
            f"{'' if after is None else 'AND (next_run_at, id) > (?, ?) '}ORDER BY next_run_at, id LIMIT ?",
            now_ms,
            *(after or ()),
            most,
        )

    def due_with_conditions(self, now_ms: int) -> list[JobRecord]:
        """Return the due jobs that start only when something holds, oldest slot first."""
        # Named: SQLite would go through all due jobs.
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

    def with_followers(self) -> list[JobRecord]:
        """Return the jobs that start others when they end, also those in the trash."""
        return self._records("WHERE followers <> '[]'")

    def mark_waiting(self, now_ms: int, but_for: Collection[str] = ()) -> list[str]:
        """Note on every due job without conditions that it waits for a place; return for which that is new.

        The jobs of some groups, `but_for`, wait for something else.
        """
        other = "AND ifnull(group_name NOT IN (SELECT value FROM json_each(?)), 1) " if but_for else ""
        rows = self._database.rows(
            "UPDATE scheduler_jobs SET waiting_for = 'at_capacity', waiting_reason = '', waits_until = NULL "
            "WHERE next_run_at IS NOT NULL AND run_id IS NULL AND removed_at IS NULL AND next_run_at <= ? "
            f"AND has_conditions = 0 AND waiting_for IS NOT 'at_capacity' {other}RETURNING id",
            [now_ms, *([json.dumps(list(but_for))] if but_for else [])],
        )
        return [str(job_id) for (job_id,) in rows]

    def pauses_ended(self, now_ms: int) -> list[JobRecord]:
        return self._records(
            "WHERE paused_until IS NOT NULL AND removed_at IS NULL AND paused_until <= ?", now_ms
        )

    def unplanned(self) -> list[JobRecord]:
        """Return the active jobs that have no plan, such as manual ones."""
        return self._records(
            "WHERE next_run_at IS NULL AND run_id IS NULL AND removed_at IS NULL AND disabled_reason IS NULL "
            "AND paused = 0"
        )

    def planned(self) -> list[JobRecord]:
        return self._records("WHERE next_run_at IS NOT NULL AND run_id IS NULL AND removed_at IS NULL")

    def next_due(self) -> int | None:
        """Return the earliest planned run."""
        row = self._database.row(
            "SELECT min(next_run_at) FROM scheduler_jobs "
            "WHERE next_run_at IS NOT NULL AND run_id IS NULL AND removed_at IS NULL"
        )
        return None if row is None else row[0]

    def next_instant(self, now_ms: int) -> int | None:
        """Return the earliest planned run, end of a pause, or end of waiting for conditions that lies ahead."""
        rows = self._database.rows(
            "SELECT min(next_run_at) FROM scheduler_jobs "
            "WHERE next_run_at IS NOT NULL AND run_id IS NULL AND removed_at IS NULL AND next_run_at > ? "
            "UNION ALL SELECT min(paused_until) FROM scheduler_jobs "
            "WHERE paused_until IS NOT NULL AND removed_at IS NULL AND paused_until > ? "
            "UNION ALL SELECT min(waits_until) FROM scheduler_jobs "
            "WHERE waits_until IS NOT NULL AND removed_at IS NULL AND waits_until > ?",
            [now_ms, now_ms, now_ms],
        )
        return min((row[0] for row in rows if row[0] is not None), default=None)

    def as_they_are(self) -> list[JobRecord | UnreadableJob]:
        """Return all jobs, also those in the trash; unlike the others this leaves what it cannot read as it is."""
        found: list[JobRecord | UnreadableJob] = []
        for row in self._database.rows(f"{_SELECT} ORDER BY name"):
            try:
                found.append(_record_of(row))
            except ValueError as error:
                job_id, _, removed_at, name = row[: _SPEC_START + 1]
                found.append(UnreadableJob(job_id, name, removed_at, str(error)))
        return found

    def _records(self, condition: str, *values: Value) -> list[JobRecord]:
        records = (self._read(row) for row in self._database.rows(f"{_SELECT} {condition}", values))
        return [record for record in records if record is not None]

    def _read(self, row: Row) -> JobRecord | None:
        """Read a row; one that makes no sense here, such as an unknown zone, is disabled rather than fatal."""
        try:
            return _record_of(row)
        except ValueError as error:
            _LOG.error("job %s cannot be read: %s", row[0], error)
            self._database.rows(
                "UPDATE scheduler_jobs SET disabled_reason = 'errors', next_run_at = NULL, last_error = ? "
                "WHERE id = ? AND next_run_at IS NOT NULL",
                [f"it cannot be read: {error}", row[0]],
            )
            return None


def _row_of(record: JobRecord) -> tuple[Value, ...]:
    return (
        *(record.id, record.created_at, record.removed_at),
        *(*_spec_values(record.spec), record.updated_at),
        *_state_values(record),
    )


def _spec_values(spec: JobSpec) -> tuple[Value, ...]:
    return (
        spec.name,
        spec.description,
        spec.group,
        _schedule_text(spec.schedule),
        _action_text(spec.action),
        _policy_text(spec.policy),
        spec.anchor_at,
        int(spec.enabled),
        _json(dict(spec.metadata)) if spec.metadata else "{}",
        _json([follower.to_dict() for follower in spec.followers]) if spec.followers else "[]",
        int(bool(spec.policy.conditions)),
    )


def _state_values(record: JobRecord) -> tuple[Value, ...]:
    hints = record.hints
    return (
        *(record.run_id, record.disabled_reason, int(record.paused), record.paused_until, record.waiting_for),
        *(record.next_run_at, record.next_source, record.slot_at, record.attempt, record.trail),
        *(record.counted_until, record.passed_reason, record.last_slot_at),
        *(hints.interval_ms, hints.next_at, hints.expires_at, hints.reason),
        *(
            record.errors,
            record.last_run_at,
            record.last_completed_at,
            record.last_outcome,
            record.last_error,
            record.paused_by,
        ),
        *(hints.source, record.waiting_reason, record.waits_until),
    )


def _record_of(row: Row) -> JobRecord:
    job_id, created_at, removed_at = row[:_SPEC_START]
    state = row[_STATE_START:]
    run_id, disabled, paused, paused_until, waiting_for, next_run_at, source, slot_at, attempt, trail = state[
        :10
    ]
    counted_until, passed_reason, last_slot_at, *hints = state[10:17]
    errors, last_run_at, last_completed_at, last_outcome, last_error, paused_by = state[17:23]
    hint_source, waiting_reason, waits_until = state[23:]
    return JobRecord(
        id=job_id,
        created_at=created_at,
        updated_at=row[_STATE_START - 1],
        removed_at=removed_at,
        spec=_spec(row[_SPEC_START : _STATE_START - 1]),
        run_id=run_id,
        disabled_reason=disabled and StatusReason(disabled),
        paused=bool(paused),
        paused_until=paused_until,
        waiting_for=waiting_for and WaitingFor(waiting_for),
        next_run_at=next_run_at,
        next_source=source and Source(source),
        slot_at=slot_at,
        attempt=attempt,
        trail=trail,
        counted_until=counted_until,
        passed_reason=passed_reason,
        last_slot_at=last_slot_at,
        hints=_hints(*hints, hint_source),
        errors=errors,
        last_run_at=last_run_at,
        last_completed_at=last_completed_at,
        last_outcome=last_outcome and Outcome(last_outcome),
        last_error=last_error,
        paused_by=paused_by and StatusReason(paused_by),
        waiting_reason=waiting_reason,
        waits_until=waits_until,
    )


# More than there are jobs: going through them all in turn would otherwise never find one again.
@lru_cache(maxsize=32_768)
def _spec(values: Row) -> JobSpec:
    name, description, group, schedule, action, policy, anchor_at, enabled, metadata, followers, _ = values
    return JobSpec(
        name=name,
        description=description,
        group=group,
        schedule=schedule_of(schedule),
        action=_action(action),
        policy=_policy(policy),
        anchor_at=anchor_at,
        enabled=bool(enabled),
        metadata=json.loads(metadata),
        followers=() if followers == "[]" else decode(tuple[Follower, ...], json.loads(followers)),
    )


@lru_cache(maxsize=4096)
def _action(text: str) -> Action:
    return action_from_dict(json.loads(text))


@lru_cache(maxsize=1024)
def _policy(text: str) -> Policy:
    return Policy.from_dict(json.loads(text))


@lru_cache(maxsize=1024)
def _policy_text(policy: Policy) -> str:
    return _json(policy.to_dict())


@lru_cache(maxsize=1024)
def _hints(
    interval_ms: int | None, next_at: int | None, expires_at: int | None, reason: str, source: str | None
) -> Hints:
    return Hints(
        interval_ms=interval_ms,
        next_at=next_at,
        expires_at=expires_at,
        reason=reason,
        source=HintSource(source) if source else None,
    )


@lru_cache(maxsize=1024)
def _schedule_text(schedule: Schedule) -> str:
    return _json(schedule.to_dict())


@lru_cache(maxsize=1024)
def _action_text(action: Action) -> str:
    return _json(action.to_dict())
