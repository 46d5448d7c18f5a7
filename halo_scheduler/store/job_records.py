"""A stored job: the value that is made of its row, with the user's spec and the engine's state in disjoint columns."""

from __future__ import annotations

import json
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
    Source,
    StatusReason,
    Waiting,
    WaitingDetails,
    WaitingFor,
    action_from_dict,
)
from halo_scheduler.model.codec import decode
from halo_scheduler.model.situation import waiting_of
from halo_scheduler.store.connection import Row, Value
from halo_scheduler.store.job_lines import (
    schedule_of,
    status_of,
    status_reason_of,
    waiting_details_of,
    waiting_text,
)

# One encoder for all: json.dumps makes a new one for every call with settings of its own.
_json = json.JSONEncoder(ensure_ascii=False, separators=(",", ":")).encode

_NO_HINTS = Hints()

SPEC_COLUMNS = (
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
STATE_COLUMNS = (
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
    *("hint_source", "waiting_details", "waits_until"),
)
COLUMNS = ("id", "created_at", "removed_at", *SPEC_COLUMNS, *STATE_COLUMNS)
SPEC_START = 3
# Without `updated_at`, which stands between the user's columns and the engine's.
_SPEC_END = SPEC_START + len(SPEC_COLUMNS) - 1


class JobRecord(NamedTuple):
    """A job as it is stored: what is public of it, and what the engine keeps for itself.

    `slot_at` and `attempt` are those of the planned run; grid points up to `counted_until` are accounted for,
    and `passed_reason` has the reasons for those passed over after it, as `schedule.passed_over` writes them.
    (A tuple, because thousands are made and changed in a tick, five times as fast as a frozen dataclass.)
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
    waiting_details: WaitingDetails = NO_DETAILS
    waits_until: int | None = None
    """When a due job stops waiting for its conditions; set when it begins to, kept while its slot is."""

    def evolve(self, **changes: Any) -> JobRecord:
        """Return the job with some things changed.

        (What changes thousands in a tick calls `_replace` itself, which takes half the time.)
        """
        return self._replace(**changes)

    @property
    def status(self) -> JobStatus:
        return status_of(self.disabled_reason, runs=self.run_id is not None, paused=self.paused)

    @property
    def status_reason(self) -> StatusReason | None:
        return status_reason_of(self.disabled_reason, self.paused_by, paused=self.paused)

    @property
    def waiting(self) -> Waiting | None:
        """What its due run waits for."""
        return waiting_of(self)

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
            waiting_details=self.waiting_details,
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
        int(bool(spec.policy.conditions)),
    )


def state_values(record: JobRecord) -> tuple[Value, ...]:
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
        *(hints.source, waiting_text(record.waiting_details), record.waits_until),
    )


def record_of(row: Row) -> JobRecord:
    """Return the job of a row with `COLUMNS`."""
    job_id, created_at, removed_at = row[:SPEC_START]
    state = row[_SPEC_END:]
    updated_at, run_id, disabled, paused, paused_until, waiting_for, next_run_at, source = state[:8]
    slot_at, attempt, trail, counted_until, passed_reason, last_slot_at, *hints = state[8:18]
    errors, last_run_at, last_completed_at, last_outcome, last_error, paused_by, hint_source = state[18:25]
    # By position: thousands are read in a tick, and by name it takes twice as long.
    values = (
        *(job_id, created_at, updated_at, _spec(row[SPEC_START:_SPEC_END]), counted_until, removed_at),
        *(run_id, disabled and StatusReason(disabled), bool(paused), paused_until),
        *(waiting_for and WaitingFor(waiting_for), next_run_at, source and Source(source)),
        *(slot_at, attempt, trail, passed_reason, last_slot_at, _hints(*hints, hint_source)),
        *(errors, last_run_at, last_completed_at, last_outcome and Outcome(last_outcome), last_error),
        *(paused_by and StatusReason(paused_by), waiting_details_of(state[25]), state[26]),
    )
    return JobRecord._make(values)


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
        metadata={} if metadata == "{}" else json.loads(metadata),
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
