"""JSON schemas of our values, generated from their types, with a description of each field."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from enum import StrEnum
from types import NoneType
from typing import Any, get_args, get_origin, get_type_hints

from halo_scheduler.grammar.templates import VARIABLES
from halo_scheduler.model import (
    After,
    Caps,
    Command,
    Cron,
    Entry,
    Every,
    Follower,
    HttpRequest,
    Idle,
    Load,
    Manual,
    Network,
    Once,
    PathExists,
    Policy,
    Prompt,
    Reminder,
    Retry,
    Schedule,
)
from halo_scheduler.model.work_source import FolderSource, GithubSource

_INTERVAL = "a whole number with s, m, h or d, such as 30s, 15m, 2h, 1d"
_PROCESS = {
    "directory": "working directory; null for the home directory",
    "environment": "environment variables to add",
    "success_codes": "the exit codes that mean success",
    "no_work_code": 'the exit code that means "nothing to do"',
    "needs_input_code": "the exit code that leaves a question for a person",
    "grace": f"time to exit before it's killed: {_INTERVAL}",
    "work_source": "the work queue each run takes an item from; null for none",
}
_VARIABLES = ", ".join(f"{{{{{name}}}}}" for name in VARIABLES)
FIELD_WORDS: Mapping[type, Mapping[str, str]] = {
    Every: {"every": f"fixed interval, at least 10s: {_INTERVAL}"},
    After: {"after": f"time after the previous run ends: {_INTERVAL}"},
    Cron: {
        "cron": "five fields, six with seconds first, or a name such as @daily: 0 9 * * 1-5",
        "timezone": "such as Europe/Berlin; null for the machine's",
    },
    Once: {"at": "ISO 8601 with an offset, such as 2026-12-24T18:00:00+01:00, or epoch milliseconds"},
    Entry: {
        "key": "a short name of this schedule, by which runs name it; if omitted, a number",
        "anchor_at": "what the interval counts from, in epoch milliseconds; null for the job's anchor",
    },
    Command: {
        **_PROCESS,
        "argv": "the program and its arguments, run without a shell",
        "line": "a shell command line, instead of argv",
        "shell": "the shell that runs the line, such as /bin/sh",
        "stdin": "standard input",
    },
    HttpRequest: {
        "url": "http or https, without user name and password",
        "headers": "by name",
        "body_kind": "json is validated and sent with its content type",
        "expected_statuses": "status codes that mean success; empty for any 2xx",
    },
    Prompt: {
        **_PROCESS,
        "text": f"the prompt; variables: {_VARIABLES}",
        "agent": "the name of a configured agent; empty for the default",
    },
    Reminder: {
        "title": "the title of a desktop notification that the user gets at that time",
        "text": "the text below the title; empty for none",
    },
    FolderSource: {"path": "the folder with ready/, in-progress/, done/ and failed/"},
    GithubSource: {
        "repository": "owner/name",
        "token": "the name of a secret, which only a person can set; omitted in a change, it stays",
        "ready": "label of issues that are ready to work on",
        "in_progress": "label of issues in progress",
        "closes": "whether a success closes the issue",
        "comments": "whether a success or a failure leaves a comment on the issue",
    },
    Policy: {
        "time_limit": f"runs that take longer are stopped: {_INTERVAL}; null for no limit",
        "catch_up": "what to do about runs missed while Halo was off",
        "catch_up_max_age": f"runs missed longer ago than this aren't caught up: {_INTERVAL}",
        "max_errors": "consecutive failures after which the job is disabled; 0 for never",
        "jitter_percent": "random start delay in percent of the interval, 0 to 10",
        "notify": "which results the user is notified about",
        "reads_lines": "whether output lines such as ::cost 0.12 or ::halo every=5m are read; null: for prompts only",
        "conditions": "conditions that must all be met before a scheduled run starts; it waits until then",
        "condition_deadline": f"a run that waits longer for its conditions is skipped: {_INTERVAL}; null for never",
        "in_quiet_time": "what to do when the job is due during quiet hours",
        "output_limit_bytes": "how much of each run's output to keep; null for the setting",
        "keep_awake": "whether to prevent sleep while it runs",
        "assistants_may_run": "whether assistants may run it; only a person can change that",
    },
    Network: {
        "host": "empty for any network connection; else a host that must be reachable",
        "port": "the TCP port that must accept connections; null without a host",
    },
    Idle: {"idle": f"the computer has been idle for at least: {_INTERVAL}"},
    Load: {"below": "the 1-minute load average is below this"},
    PathExists: {"path": "a file or folder that must exist; starts with / or ~/"},
    Follower: {
        "job_id": "the job that runs after this one: its id or name",
        "on": "which results start it; failure includes timed-out and interrupted runs",
    },
    Retry: {"attempts": "how often a failed run is retried", "delay_ms": "delay before each retry"},
    Caps: {
        "runs_per_day": "scheduled runs are skipped after this many runs in a day",
        "cost_per_day": "scheduled runs are skipped once the day's runs have cost this much",
    },
}
Schema = dict[str, Any]
_PLAIN: Mapping[Any, str] = {
    str: "string",
    int: "integer",
    float: "number",
    bool: "boolean",
    NoneType: "null",
}
_LIMITS = {"low": "minimum", "high": "maximum"}


def schema_of(hint: Any, *, is_change: bool = False) -> Schema:
    """Return the schema of what a type is read from.

    For a change of a stored value, everything may be left out, and null in a mapping leaves its value as it is.
    """
    if isinstance(hint, type):
        return _class_schema(hint, is_change=is_change)
    origin, arguments = get_origin(hint), get_args(hint)
    if origin is tuple:
        return {"type": "array", "items": schema_of(arguments[0])}
    if origin is Mapping:
        names = ["string", "null"] if is_change else "string"
        return {"type": "object", "additionalProperties": {"type": names}}
    if all(member in _PLAIN for member in arguments):
        return {"type": [_PLAIN[member] for member in arguments]}
    return {"anyOf": [schema_of(member, is_change=is_change) for member in arguments]}


def object_schema(properties: Mapping[str, Schema], required: list[str]) -> Schema:
    """Return the schema of an object without additional keys."""
    return {
        "type": "object",
        "properties": dict(properties),
        "required": required,
        "additionalProperties": False,
    }


def _class_schema(hint: type, *, is_change: bool) -> Schema:
    if hint in _PLAIN:
        return {"type": _PLAIN[hint]}
    if issubclass(hint, StrEnum):
        return {"type": "string", "enum": [word.value for word in hint]}
    if hint is Entry:
        return {"anyOf": [_entry_schema(kind) for kind in get_args(Schedule) if kind is not Manual]}
    return _dataclass_schema(hint, is_change=is_change)


def _entry_schema(kind: type) -> Schema:
    """Return the schema of one of several schedules: its own fields, a key and, for `every`, an anchor."""
    own, schema = (
        _dataclass_schema(Entry, is_change=True)["properties"],
        _dataclass_schema(kind, is_change=False),
    )
    names = ("key", "anchor_at") if kind is Every else ("key",)
    return schema | {"properties": schema["properties"] | {name: own[name] for name in names}}


def _dataclass_schema(cls: Any, *, is_change: bool) -> Schema:
    hints, fields = get_type_hints(cls), dataclasses.fields(cls)
    properties = {
        field.name: _field_schema(hints[field.name], is_change=is_change)
        | _said_of(cls, field)
        | ({} if is_change else _default_of(field))
        for field in fields
    }
    required = [field.name for field in fields if _is_required(field)]
    kind = getattr(cls, "kind", None)
    if isinstance(kind, str):
        properties = {"kind": {"const": kind}} | properties
        required = ["kind", *required]
    return object_schema(properties, [] if is_change else required)


def _field_schema(hint: Any, *, is_change: bool) -> Schema:
    # Deeper values are included as a whole.
    return schema_of(hint, is_change=is_change and get_origin(hint) is Mapping)


def _said_of(cls: type, field: dataclasses.Field[Any]) -> Schema:
    """Return a field's description and limits."""
    words = field.metadata.get("words") or FIELD_WORDS.get(cls, {}).get(field.name)
    said: Schema = {"description": words} if words else {}
    said |= {key: field.metadata[name] for name, key in _LIMITS.items() if name in field.metadata}
    return said


def _default_of(field: dataclasses.Field[Any]) -> Schema:
    return {"default": field.default} if isinstance(field.default, str | int | float) else {}


def _is_required(field: dataclasses.Field[Any]) -> bool:
    missing = dataclasses.MISSING
    return field.default is missing and field.default_factory is missing
