"""A stored job: the value of its row, with the user's spec and the engine's state in separate columns."""

from __future__ import annotations

import json
from contextlib import suppress
from functools import lru_cache
from typing import Any, NamedTuple

from halo_scheduler.model import (
    NO_DETAILS,
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
    Several,
    Source,
    StatusReason,
    Waiting,
    WaitingDetails,
    WaitingFor,
    action_from_dict,
)
from halo_scheduler.model.codec import decode
from halo_scheduler.model.messages import Message, read_message, stored_message
from halo_scheduler.model.situation import waiting_of
from halo_scheduler.store.connection import Database, Row, Value
from halo_scheduler.store.job_lines import (
    schedule_of,
    status_of,
    status_reason_of,
    waiting_details_of,
    waiting_text,
)

# One shared encoder: json.dumps creates one per call with custom settings.
_json = json.JSONEncoder(ensure_ascii=False, separators=(",", ":")).encode

_NO_HINTS = Hints()

SPEC_COLUMNS = (
    *("name", "description", "group_name", "schedule", "action", "policy", "anchor_at", "enabled"),
    *("metadata", "followers", "parameters", "has_conditions", "has_events", "updated_at"),
)
STATE_COLUMNS = (
    *("run_id", "disabled_reason", "paused", "paused_until", "waiting_for"),
    *("next_run_at", "next_source", "slot_at", "attempt", "trail"),
    *("counted_until", "passed_reason", "last_slot_at"),
    *("hint_interval_ms", "hint_next_at", "hint_expires_at", "hint_reason"),
    *("errors", "last_run_at", "last_completed_at", "last_outcome", "last_error", "paused_by"),
    *("hint_source", "waiting_details", "waits_until"),
    *("last_ended_at", "hint_next_expires_at", "hint_next_reason", "hint_next_source", "next_keys"),
    *("resumed_since_run", "pending", "restarts_at", "skips_next"),
)
COLUMNS = ("id", "created_at", "removed_at", *SPEC_COLUMNS, *STATE_COLUMNS)
SPEC_START = 3
# Without `updated_at`, which belongs to neither the user's nor the engine's columns.
_SPEC_END = SPEC_START + len(SPEC_COLUMNS) - 1


class JobRecord(NamedTuple):
    """A stored job: its public part, and the engine's private state.

    `slot_at` and `attempt` belong to the planned run; grid points up to `counted_until` are accounted for,
    and `passed_reason` has the reasons for those passed over after it, as `schedule.passed_over` writes them.
    (A tuple, because a tick creates and changes thousands, five times as fast as with a frozen dataclass.)
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
    last_message: Message | None = None
    """Why its last run ended as it did."""
    paused_by: StatusReason | None = None
    """Who paused it, when it was not the user."""
    waiting_details: WaitingDetails = NO_DETAILS
    waits_until: int | None = None
    """When a due job stops waiting for its conditions; set when it begins to, kept while its slot is."""
    last_ended_at: int | None = None
    """When its last run ended, with any trigger except tests."""
    next_keys: str = ""
    """The keys of those of several schedules that the planned run comes from, joined by commas."""
    resumed_since_run: bool = False
    """Whether it was resumed since its last run ended: a failure of that run no longer counts."""
    pending: str = ""
    """The pending points: passed points that still get a run each, as `rules.pending` writes them."""
    restarts_at: int | None = None
    """When its active run is stopped, because a schedule with overlap policy `restart` is due."""
    skips_next: bool = False
    """Whether its next slot is skipped on request."""

    def evolve(self, **changes: Any) -> JobRecord:
        """Return the job with some fields changed.

        (Code that changes thousands per tick calls `_replace` directly, which takes half the time.)
        """
        return self._replace(**changes)

    @property
    def status(self) -> JobStatus:
        return status_of(self.disabled_reason, runs=self.run_id is not None, paused=self.paused)

    @property
    def status_reason(self) -> StatusReason | None:
        return status_reason_of(self.disabled_reason, self.paused_by, paused=self.paused)

    @property
    def awaits_review(self) -> bool:
        """Whether it is paused until a person reviews it, because it was imported or written by an assistant."""
        return self.paused_by not in (None, StatusReason.PAUSED_BY_ASSISTANT)

    @property
    def waiting(self) -> Waiting | None:
        """What its due run waits for."""
        return waiting_of(self)

    @property
    def is_active(self) -> bool:
        """Whether its schedule is in effect: the job is neither paused, disabled nor removed."""
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
            enabled=spec.enabled and self.disabled_reason is None,
            stored_enabled=spec.enabled,
            metadata=spec.metadata,
            followers=spec.followers,
            parameters=spec.parameters,
            status=self.status,
            status_reason=self.status_reason,
            waiting_for=self.waiting_for,
            waiting_details=self.waiting_details,
            next_run_at=self.next_run_at,
            next_source=self.next_source,
            next_keys=tuple(self.next_keys.split(",")) if self.next_keys else (),
            paused_until=self.paused_until,
            skips_next=self.skips_next,
            hints=self.hints,
            errors=self.errors,
            last_run_at=self.last_run_at,
            last_completed_at=self.last_completed_at,
            last_ended_at=self.last_ended_at,
            last_outcome=self.last_outcome,
            last_error=_words(self.last_message),
        )


def _words(message: Message | None) -> str:
    if message is None:
        return ""
    from halo_scheduler.wording.messages import message_words  # noqa: PLC0415 - most jobs have none

    return message_words(message)


@lru_cache(maxsize=1024)
def _message(stored: str) -> Message | None:
    return read_message(stored)


def row_of(record: JobRecord) -> tuple[Value, ...]:
    return (
        *(record.id, record.created_at, record.removed_at),
        *(*spec_values(record.spec), record.updated_at),
        *state_values(record),
    )


def spec_values(spec: JobSpec) -> tuple[Value, ...]:
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
        _json(dict(spec.parameters)) if spec.parameters else "{}",
        int(bool(spec.policy.conditions)),
        int(bool(spec.events)),
    )


def state_values(record: JobRecord) -> tuple[Value, ...]:
    hints = record.hints
    return (
        *(record.run_id, record.disabled_reason, int(record.paused), record.paused_until, record.waiting_for),
        *(record.next_run_at, record.next_source, record.slot_at, record.attempt, record.trail),
        *(record.counted_until, record.passed_reason, record.last_slot_at),
        *(hints.interval_ms, hints.next_at, hints.expires_at, hints.reason),
        *(record.errors, record.last_run_at, record.last_completed_at, record.last_outcome),
        *(stored_message(record.last_message), record.paused_by),
        *(hints.source, waiting_text(record.waiting_details), record.waits_until),
        *(record.last_ended_at, hints.next_expires_at, hints.next_reason, hints.next_source),
        *(record.next_keys, int(record.resumed_since_run)),
        *(record.pending, record.restarts_at, int(record.skips_next)),
    )


def record_of(row: Row) -> JobRecord:
    """Return the job of a row with `COLUMNS`."""
    job_id, created_at, removed_at = row[:SPEC_START]
    state = row[_SPEC_END:]
    updated_at, run_id, disabled, paused, paused_until, waiting_for, next_run_at, source = state[:8]
    slot_at, attempt, trail, counted_until, passed_reason, last_slot_at, *hints = state[8:18]
    errors, last_run_at, last_completed_at, last_outcome, last_error, paused_by, hint_source = state[18:25]
    # By position: a tick reads thousands, and access by name takes twice as long.
    values = (
        *(job_id, created_at, updated_at, _spec(row[SPEC_START:_SPEC_END]), counted_until, removed_at),
        *(run_id, disabled and StatusReason(disabled), bool(paused), paused_until),
        *(waiting_for and WaitingFor(waiting_for), next_run_at, source and Source(source)),
        *(slot_at, attempt, trail, passed_reason, last_slot_at, _hints(*hints, hint_source, *state[28:31])),
        *(
            errors,
            last_run_at,
            last_completed_at,
            last_outcome and Outcome(last_outcome),
            _message(last_error),
        ),
        *(paused_by and StatusReason(paused_by), waiting_details_of(state[25]), *state[26:28], state[31]),
        *(bool(state[32]), *state[33:35], bool(state[35])),
    )
    return JobRecord._make(values)


def read_actions(database: Database) -> dict[str, Action]:
    """Return the action of each job; unreadable ones are left out."""
    found: dict[str, Action] = {}
    for job_id, text in database.rows("SELECT id, action FROM scheduler_jobs WHERE removed_at IS NULL"):
        with suppress(ValueError):
            found[job_id] = _action(text)
    return found


# Larger than the number of jobs: a smaller LRU cache would miss on every full pass.
@lru_cache(maxsize=32_768)
def _spec(values: Row) -> JobSpec:
    name, description, group, schedule, action, policy, anchor_at, enabled = values[:8]
    metadata, followers, parameters = values[8:11]
    return JobSpec(
        name=name,
        description=description,
        group=group,
        schedule=schedule_of(schedule),
        action=_action(action),
        policy=_policy(policy),
        anchor_at=anchor_at,
        enabled=bool(enabled),
        metadata={} if metadata == "{}" else json.loads(metadata),
        followers=() if followers == "[]" else decode(tuple[Follower, ...], json.loads(followers)),
        parameters={} if parameters == "{}" else json.loads(parameters),
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
def _hints(*values: Any) -> Hints:
    interval_ms, next_at, expires_at, reason, source, next_expires_at, next_reason, next_source = values
    return Hints(
        interval_ms=interval_ms,
        next_at=next_at,
        expires_at=expires_at,
        reason=reason,
        source=HintSource(source) if source else None,
        next_expires_at=next_expires_at,
        next_reason=next_reason,
        next_source=HintSource(next_source) if next_source else None,
    )


@lru_cache(maxsize=1024)
def _schedule_text(schedule: Schedule | Several) -> str:
    return _json(schedule.to_dict())


@lru_cache(maxsize=1024)
def _action_text(action: Action) -> str:
    return _json(action.to_dict())
