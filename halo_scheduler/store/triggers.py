"""The tables of triggers: webhooks, signed requests, the listener's state, folded events, and watch states."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import astuple

from halo_scheduler.grammar.interval import DAY_MS
from halo_scheduler.model.webhooks import ListenerState, Place, Signature, Webhook
from halo_scheduler.store.connection import Database, Row

# Senders repeat a request within days at most.
_FOLDED_ARE_KNOWN_MS = 30 * DAY_MS
_COLUMNS = "job_id, token_id, token_hash, made_at, signature, key_name, window_ms"


class WebhookTable:
    """Reads and writes the webhooks of jobs."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def get(self, job_id: str) -> Webhook | None:
        return self._one("job_id = ?", job_id)

    def find(self, token_id: str) -> Webhook | None:
        """Return the webhook with this token id."""
        return self._one("token_id = ?", token_id)

    def all(self) -> dict[str, Webhook]:
        """Return the webhooks by job."""
        rows = self._database.rows(f"SELECT {_COLUMNS} FROM scheduler_webhooks")
        return {row[0]: _webhook_of(row) for row in rows}

    def jobs_with_events(self) -> list[tuple[str, str, str]]:
        """Return the ids, names and schedules of the jobs with events."""
        return [
            (job_id, name, schedule)
            for job_id, name, schedule in self._database.rows(
                "SELECT id, name, schedule FROM scheduler_jobs WHERE has_events = 1 AND removed_at IS NULL"
            )
        ]

    def save(self, webhook: Webhook) -> None:
        """Store a webhook; it replaces the job's previous one."""
        self._database.rows(
            f"INSERT OR REPLACE INTO scheduler_webhooks ({_COLUMNS}) VALUES (?, ?, ?, ?, ?, ?, ?)",
            astuple(webhook),
        )

    # --- Deliveries ----------------------------------------------------------------------------------

    def was_received(self, job_id: str, digest: bytes) -> bool:
        """Return whether a signed request was received before."""
        row = self._database.row(
            "SELECT 1 FROM scheduler_webhook_deliveries WHERE job_id = ? AND digest = ?", [job_id, digest]
        )
        return row is not None

    def note_received(self, job_id: str, digest: bytes, forget_at: int) -> None:
        self._database.rows(
            "INSERT INTO scheduler_webhook_deliveries (job_id, digest, forget_at) VALUES (?, ?, ?)",
            [job_id, digest, forget_at],
        )

    def forget_received(self, now_ms: int, most: int) -> None:
        """Delete some of the requests whose replay window is over."""
        self._database.rows(
            "DELETE FROM scheduler_webhook_deliveries WHERE (job_id, digest) IN "
            "(SELECT job_id, digest FROM scheduler_webhook_deliveries WHERE forget_at <= ? LIMIT ?)",
            [now_ms, most],
        )

    # --- The listener --------------------------------------------------------------------------------

    def listener(self) -> ListenerState | None:
        """Return the state that the listener last wrote; None if it was closed."""
        row = self._database.row("SELECT address, port, since, fault FROM scheduler_webhook_listener")
        if row is None:
            return None
        address, port, since, fault = row
        return ListenerState(place=Place(address, port), since=since, fault=fault)

    def save_listener(self, state: ListenerState) -> None:
        self._database.rows(
            "INSERT OR REPLACE INTO scheduler_webhook_listener (id, address, port, since, fault) "
            "VALUES (1, ?, ?, ?, ?)",
            [*state.place, state.since, state.fault],
        )

    def forget_listener(self, state: ListenerState) -> None:
        """Delete the state of a closed listener, unless its successor has written one."""
        self._database.rows(
            "DELETE FROM scheduler_webhook_listener WHERE address = ? AND port = ? AND since = ?",
            [*state.place, state.since],
        )

    def _one(self, condition: str, value: str) -> Webhook | None:
        row = self._database.row(f"SELECT {_COLUMNS} FROM scheduler_webhooks WHERE {condition}", [value])
        return None if row is None else _webhook_of(row)


def _webhook_of(row: Row) -> Webhook:
    job_id, token_id, token_hash, made_at, signature, key_name, window_ms = row
    return Webhook(
        job_id=job_id,
        token_id=token_id,
        token_hash=token_hash,
        made_at=made_at,
        signature=None if signature is None else Signature(signature),
        key_name=key_name,
        window_ms=window_ms,
    )


class FoldedEventTable:
    """Reads and writes the events that were folded into the run of another event."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def find(self, event_id: str) -> str | None:
        """Return the run that an event was folded into; None if there is none."""
        row = self._database.row("SELECT run_id FROM scheduler_folded_events WHERE event_id = ?", [event_id])
        return None if row is None else str(row[0])

    def note(self, event_id: str, job_id: str, run_id: str, now_ms: int) -> None:
        """Store which run an event was folded into, and delete old entries."""
        self._database.rows(
            "INSERT OR REPLACE INTO scheduler_folded_events (event_id, job_id, run_id, folded_at) VALUES (?, ?, ?, ?)",
            [event_id, job_id, run_id, now_ms],
        )
        self._database.rows(
            "DELETE FROM scheduler_folded_events WHERE folded_at < ?", [now_ms - _FOLDED_ARE_KNOWN_MS]
        )


class WatchTroubleTable:
    """Reads and writes trouble with watching events."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def keys(self) -> set[tuple[str, str]]:
        """Return the events with trouble, as pairs of job id and schedule key."""
        return set(self._database.rows("SELECT job_id, key FROM scheduler_watch_trouble"))

    def of_job(self, job_id: str) -> str:
        """Return the oldest trouble with watching the events of a job; "" if there is none."""
        row = self._database.row(
            "SELECT text FROM scheduler_watch_trouble WHERE job_id = ? ORDER BY since, key LIMIT 1", [job_id]
        )
        return "" if row is None else str(row[0])

    def save(self, key: tuple[str, str], text: str, since: int) -> None:
        self._database.rows(
            "INSERT OR REPLACE INTO scheduler_watch_trouble (job_id, key, text, since) VALUES (?, ?, ?, ?)",
            [*key, text, since],
        )

    def forget(self, keys: Iterable[tuple[str, str]]) -> None:
        self._database.run_many("DELETE FROM scheduler_watch_trouble WHERE job_id = ? AND key = ?", keys)


class WatchStateTable:
    """Reads and writes watch states: what a watcher last saw for a schedule, by job id and schedule key.

    With it, the next engine detects what happened while none was running.
    """

    def __init__(self, database: Database) -> None:
        self._database = database

    def of_jobs(self, job_ids: Iterable[str]) -> dict[tuple[str, str], str]:
        """Return the watch states for the schedules of some jobs."""
        found: dict[tuple[str, str], str] = {}
        for job_id in dict.fromkeys(job_ids):
            rows = self._database.rows(
                "SELECT key, state FROM scheduler_watch_state WHERE job_id = ?", [job_id]
            )
            found |= {(job_id, key): state for key, state in rows}
        return found

    def save(self, states: Mapping[tuple[str, str], str]) -> None:
        self._database.run_many(
            "INSERT OR REPLACE INTO scheduler_watch_state (job_id, key, state) VALUES (?, ?, ?)",
            [(job_id, key, state) for (job_id, key), state in states.items()],
        )

    def forget(self, job_id: str, but_for: Iterable[str] = ()) -> None:
        """Delete the watch states of a job, except for some keys: only later events then start it."""
        self._database.rows(
            "DELETE FROM scheduler_watch_state "
            "WHERE job_id = ? AND key NOT IN (SELECT value FROM json_each(?))",
            [job_id, json.dumps(list(but_for))],
        )
