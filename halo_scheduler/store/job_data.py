"""Stored jobs as JSON data, without the classes of jobs, which take longer to load than a list to print."""

from __future__ import annotations

import json
from collections.abc import Mapping
from contextlib import suppress
from functools import lru_cache
from typing import Any

from halo_scheduler.model.actions import Action, action_from_dict
from halo_scheduler.model.codec import has_all_fields
from halo_scheduler.model.messages import read_message
from halo_scheduler.model.policies import Policy
from halo_scheduler.model.schedules import schedule_fields
from halo_scheduler.store.connection import Database
from halo_scheduler.store.job_lines import schedule_of, status_of, status_reason_of, waiting_details_of

_HINTS = (
    *("hint_interval_ms", "hint_next_at", "hint_expires_at", "hint_reason", "hint_source"),
    *("hint_next_expires_at", "hint_next_reason", "hint_next_source"),
)
_COLUMNS = (
    *("id", "name", "description", "group_name", "schedule", "action", "policy", "anchor_at", "enabled"),
    *(
        "metadata",
        "followers",
        "parameters",
        "run_id",
        "disabled_reason",
        "paused",
        "paused_until",
        "paused_by",
    ),
    *("waiting_for", "waiting_details", "next_run_at", "next_source", "next_keys", "skips_next", "errors"),
    *("last_run_at", "last_completed_at", "last_ended_at", "last_outcome", "last_error", *_HINTS),
)


def read_data(database: Database) -> dict[str, dict[str, Any]]:
    """Return all jobs as JSON data by id; unreadable ones are left out."""
    found: dict[str, dict[str, Any]] = {}
    for row in database.rows(f"SELECT {', '.join(_COLUMNS)} FROM scheduler_jobs WHERE removed_at IS NULL"):
        with suppress(ValueError):
            found[row[0]] = data_of(dict(zip(_COLUMNS, row, strict=True)))
    return found


def data_of(values: Mapping[str, Any]) -> dict[str, Any]:
    """Return the job of a row, by column, as `Job.to_dict` would."""
    paused, disabled, paused_by = values["paused"], values["disabled_reason"], values["paused_by"]
    return {
        "status": status_of(disabled, runs=values["run_id"] is not None, paused=paused),
        "status_reason": status_reason_of(disabled, paused_by, paused=paused),
        "waiting_for": values["waiting_for"],
        "waiting_details": _waiting_data(values["waiting_details"]),
        "next_run_at": values["next_run_at"],
        "next_source": values["next_source"],
        "next_keys": values["next_keys"].split(",") if values["next_keys"] else [],
        "paused_until": values["paused_until"],
        "skips_next": bool(values["skips_next"]),
        "hints": _hint_data(*(values[column] for column in _HINTS)),
        "errors": values["errors"],
        "last_run_at": values["last_run_at"],
        "last_completed_at": values["last_completed_at"],
        "last_ended_at": values["last_ended_at"],
        "last_outcome": values["last_outcome"],
        "last_error": _message_words(values["last_error"]),
        "name": values["name"],
        **_schedule_data(values["schedule"]),
        "action": _action_data(values["action"]),
        "description": values["description"],
        "group": values["group_name"],
        "policy": _policy_data(values["policy"]),
        "anchor_at": values["anchor_at"],
        "enabled": bool(values["enabled"]) and disabled is None,
        "metadata": _sorted(values["metadata"]),
        "followers": [] if values["followers"] == "[]" else json.loads(values["followers"]),
        "parameters": _sorted(values["parameters"]),
        "id": values["id"],
        "stored_enabled": bool(values["enabled"]),
    }


def _sorted(text: str) -> dict[str, Any]:
    return {} if text == "{}" else dict(sorted(json.loads(text).items()))


def _action_data(text: str) -> dict[str, Any]:
    data: dict[str, Any] = json.loads(text)
    # An older version may have stored fewer fields. (A work queue has fields of its own.)
    is_whole = has_all_fields(Action, data) and data.get("work_source") is None
    return data if is_whole else action_from_dict(data).to_dict()


@lru_cache(maxsize=4096)
def _schedule_data(text: str) -> dict[str, Any]:
    return schedule_fields(schedule_of(text))


@lru_cache(maxsize=1024)
def _policy_data(text: str) -> dict[str, Any]:
    return Policy.from_dict(json.loads(text)).to_dict()


@lru_cache(maxsize=1024)
def _waiting_data(text: str) -> dict[str, Any]:
    return waiting_details_of(text).to_dict()


@lru_cache(maxsize=1024)
def _message_words(stored: str) -> str:
    if not stored:
        return ""
    from halo_scheduler.wording.messages import message_words  # noqa: PLC0415 - most jobs have none

    return message_words(read_message(stored))


@lru_cache(maxsize=1024)
def _hint_data(*values: Any) -> dict[str, Any]:
    data = {column.removeprefix("hint_"): value for column, value in zip(_HINTS, values, strict=True)}
    if not any(values):
        return data
    from halo_scheduler.model.plans import Hints  # noqa: PLC0415 - few jobs have hints

    return Hints(**data).to_dict()
