"""The journal of what happened to jobs and engines; append-only."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from halo_scheduler.model.changes import Actor, ActorKind
from halo_scheduler.store.connection import Database, Row, Value

_json = json.JSONEncoder(ensure_ascii=False).encode
_SELECT = "SELECT seq, at, kind, job_id, detail, assistant FROM scheduler_events"
_ACTOR = "actor"
_INSERT = "INSERT INTO scheduler_events (at, job_id, kind, detail, assistant) VALUES (?, ?, ?, ?, ?)"


class EventKind(StrEnum):
    """What happened."""

    JOB_ADDED = "job-added"
    JOB_EDITED = "job-edited"
    JOB_REMOVED = "job-removed"
    JOB_RESTORED = "job-restored"
    JOB_PAUSED = "job-paused"
    JOB_RESUMED = "job-resumed"
    JOB_DISABLED = "job-disabled"
    JOB_HINTED = "job-hinted"
    NEXT_SKIPPED = "next-skipped"
    NEXT_KEPT = "next-kept"
    JOB_UNSUPPORTED = "job-unsupported"
    JOB_FAULT = "job-fault"
    JOB_CAPPED = "job-capped"
    RUN_REQUESTED = "run-requested"
    CHAIN_BROKEN = "chain-broken"
    EVENTS_FOLDED = "events-folded"
    WATCH_TROUBLE = "watch-trouble"
    QUESTION_ASKED = "question-asked"
    QUESTION_ANSWERED = "question-answered"
    QUESTION_DISMISSED = "question-dismissed"
    QUESTION_REOPENED = "question-reopened"
    ENGINE_STARTED = "engine-started"
    ENGINE_STOPPED = "engine-stopped"
    ENGINE_ALARM = "engine-alarm"
    SLEEP_GAP = "sleep-gap"
    STORE_OUTAGE = "store-outage"
    CLOCK_JUMP = "clock-jump"
    ZONE_CHANGE = "zone-change"
    DAYS_CHANGED = "days-changed"
    DAYS_TROUBLE = "days-trouble"


@dataclass(frozen=True, slots=True, kw_only=True)
class Event:
    """One entry of the journal; `actor` made the edit, None for the engine."""

    seq: int
    at: int
    kind: EventKind
    job_id: str | None
    detail: dict[str, Any]
    actor: Actor | None = None

    @property
    def assistant(self) -> str | None:
        """The name of the assistant that caused it; None otherwise."""
        return self.actor.name if self.actor is not None and self.actor.is_assistant else None


class EventTable:
    """Appends and reads events."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def append(
        self,
        at: int,
        kind: EventKind,
        job_id: str | None = None,
        *,
        actor: Actor | None = None,
        **detail: object,
    ) -> None:
        self._database.rows(_INSERT, _values(at, kind, job_id, detail, actor))

    def append_many(
        self,
        at: int,
        kind: EventKind,
        details: Iterable[tuple[str, dict[str, object]]],
        actor: Actor | None = None,
    ) -> None:
        """Append one event of a kind for each of several jobs."""
        self._database.run_many(
            _INSERT, (_values(at, kind, job_id, detail, actor) for job_id, detail in details)
        )

    def of_job(self, job_id: str, limit: int = 100) -> list[Event]:
        """Return a job's events, newest first."""
        rows = self._database.rows(
            f"{_SELECT} WHERE job_id = ? ORDER BY seq DESC LIMIT ?",
            [job_id, limit],
        )
        return [_event_of(row) for row in rows]

    def last(self, job_id: str, kind: EventKind) -> Event | None:
        """Return a job's newest event of a kind."""
        row = self._database.row(
            f"{_SELECT} WHERE job_id = ? AND kind = ? ORDER BY seq DESC LIMIT 1",
            [job_id, kind],
        )
        return None if row is None else _event_of(row)

    def of_kinds(self, job_id: str | None, kinds: Iterable[EventKind]) -> list[Event]:
        """Return all events of some kinds, oldest first; without a job, those of the engine."""
        rows = self._database.rows(
            f"{_SELECT} INDEXED BY scheduler_events_job "
            "WHERE job_id IS ? AND kind IN (SELECT value FROM json_each(?)) ORDER BY seq",
            [job_id, json.dumps(list(kinds))],
        )
        return [_event_of(row) for row in rows]

    def of_assistants(self, limit: int, *, job_id: str | None = None) -> list[Event]:
        """Return what assistants did, newest first; with a job, only what they did to it.

        The automatic pause after each of their edits is left out.
        """
        only = "AND NOT (kind = 'job-paused' AND json_extract(detail, '$.by') IS 'assistant') "
        only += "" if job_id is None else "AND job_id = ? "
        rows = self._database.rows(
            f"{_SELECT} WHERE assistant IS NOT NULL {only}ORDER BY seq DESC LIMIT ?",
            [*([] if job_id is None else [job_id]), limit],
        )
        return [_event_of(row) for row in rows]

    def gaps_after(self, at: int, limit: int) -> list[Event]:
        """Return the first engine starts and wake-ups after an instant."""
        rows = self._database.rows(
            f"{_SELECT} WHERE kind IN ('engine-started', 'sleep-gap') AND at > ? ORDER BY at, seq LIMIT ?",
            [at, limit],
        )
        return [_event_of(row) for row in rows]

    def gaps(self, since: int) -> list[Event]:
        """Return engine starts and wake-ups of the computer, newest first."""
        rows = self._database.rows(
            f"{_SELECT} WHERE kind IN ('engine-started', 'sleep-gap') AND at >= ? ORDER BY at DESC, seq DESC",
            [since],
        )
        return [_event_of(row) for row in rows]

    def alarms(self, since: int) -> list[Event]:
        """Return the alarms of engines from an instant on, oldest first."""
        rows = self._database.rows(
            f"{_SELECT} INDEXED BY scheduler_events_job "
            "WHERE job_id IS NULL AND kind = 'engine-alarm' AND at >= ? ORDER BY seq",
            [since],
        )
        return [_event_of(row) for row in rows]


def _values(
    at: int, kind: EventKind, job_id: str | None, detail: dict[str, object], actor: Actor | None
) -> list[Value]:
    """Return the values of a row: an assistant has its own column, any other actor is stored in the detail."""
    if actor is None:
        return [at, job_id, kind, _json(detail), None]
    if actor.is_assistant:
        return [at, job_id, kind, _json(detail), actor.name]
    return [at, job_id, kind, _json({**detail, _ACTOR: actor.kind}), None]


def _event_of(row: Row) -> Event:
    seq, at, kind, job_id, stored, assistant = row
    detail = json.loads(stored)
    other = detail.pop(_ACTOR, None)
    actor = None if other is None else Actor(ActorKind(other))
    return Event(
        seq=seq,
        at=at,
        kind=EventKind(kind),
        job_id=job_id,
        detail=detail,
        actor=actor if assistant is None else Actor(ActorKind.ASSISTANT, assistant),
    )
