"""What the fields of our values mean, in the words that assistants read."""

from __future__ import annotations

from collections.abc import Mapping

from halo_scheduler.grammar.templates import VARIABLES
from halo_scheduler.model import (
    After,
    Caps,
    Command,
    Cron,
    Every,
    Follower,
    HttpRequest,
    Idle,
    Load,
    Network,
    Once,
    PathExists,
    Policy,
    Prompt,
    Retry,
)
from halo_scheduler.model.work_source import FolderSource, GithubSource

_INTERVAL = "a whole number with s, m, h or d, like 30s, 15m, 2h, 1d"
_PROCESS = {
    "directory": "where it runs; null for the home directory",
    "environment": "added to its environment, by name",
    "success_codes": "the exit codes that mean success",
    "no_work_code": "the exit code that means that there was nothing to do",
    "needs_input_code": "the exit code that leaves a question for a person",
    "grace": f"from asking it to stop to force: {_INTERVAL}",
    "work_source": "where it gets one item to work on for each run; null for none",
}
_VARIABLES = ", ".join(f"{{{{{name}}}}}" for name in VARIABLES)

FIELD_WORDS: Mapping[type, Mapping[str, str]] = {
    Every: {"every": f"a fixed pace, 10s at least: {_INTERVAL}"},
    After: {"after": f"so long after the last run ended: {_INTERVAL}"},
    Cron: {
        "cron": "five fields, or six with seconds first, or @daily and the like: 0 9 * * 1-5",
        "timezone": "like Europe/Berlin; null for the machine's",
    },
    Once: {"at": "ISO 8601 with an offset, like 2026-12-24T18:00:00+01:00, or epoch milliseconds"},
    Command: {
        **_PROCESS,
        "argv": "the program and its arguments; no shell reads them",
        "line": "a line for a shell, instead of argv",
        "shell": "the shell for the line, like /bin/sh",
        "stdin": "what it reads from standard input",
    },
    HttpRequest: {
        "url": "http or https, without user name and password",
        "headers": "by name",
        "body_kind": "json is checked, and sent with its content type",
        "expected_statuses": "the statuses that mean success; none for any 2xx",
    },
    Prompt: {
        **_PROCESS,
        "text": f"what the agent is told; variables: {_VARIABLES}",
        "agent": "the name of an agent of the settings; empty for the default one",
    },
    FolderSource: {"path": "the folder that holds ready/, in-progress/, done/ and failed/"},
    GithubSource: {
        "repository": "owner/name",
        "token": "the name of a secret, which only a person can set; left out of a change, it is kept",
        "ready": "the label of the issues that can be worked on",
        "in_progress": "the label of those that are",
        "closes": "whether a success closes the issue",
    },
    Policy: {
        "time_limit": f"a run is stopped after so long: {_INTERVAL}; null for never",
        "catch_up": "what becomes of a run that was missed while the machine was off",
        "catch_up_max_age": f"what was missed by more is not caught up: {_INTERVAL}",
        "max_errors": "the job is disabled after so many errors in a row; 0 for never",
        "jitter_percent": "spreads the start, 0 to 10",
        "notify": "what the person is told of",
        "reads_lines": "whether lines like ::cost 0.12 or ::halo every=5m of its output are read; null: of prompts",
        "conditions": "what must hold, all at once, before it starts by itself; it waits until then",
        "condition_deadline": f"it is skipped after waiting so long for its conditions: {_INTERVAL}; null for never",
        "in_quiet_time": "what it does when it falls due in one of the quiet times of the settings",
        "keep_awake": "whether the machine is kept from sleeping while it runs",
        "assistants_may_run": "whether assistants may run it; only a person can change that",
    },
    Network: {
        "host": "empty for any way out of this machine; else a host that must answer",
        "port": "the port that must answer; null without a host",
    },
    Idle: {"idle": f"nobody has touched keyboard or mouse for so long: {_INTERVAL}"},
    Load: {"below": "the load average of the last minute is below this"},
    PathExists: {"path": "a file or folder that must be there, from / or ~/ on"},
    Follower: {
        "job_id": "the job that runs after this one: its id or name",
        "on": "which ends start it; failure also stands for a run that timed out or was interrupted",
    },
    Retry: {"attempts": "how often a failed run is tried again", "delay_ms": "how long after the failure"},
    Caps: {
        "runs_per_day": "it is not started by itself after so many runs in a day",
        "cost_per_day": "nor after its runs of the day have cost so much",
    },
}
