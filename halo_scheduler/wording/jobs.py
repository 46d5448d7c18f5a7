"""Words for a job's action and policy."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from typing import assert_never

from halo_scheduler.grammar.english import counted, listed
from halo_scheduler.grammar.interval import SECOND_MS, interval_in_words
from halo_scheduler.grammar.templates import NOTHING_TO_SAY
from halo_scheduler.grammar.text import shown_spec
from halo_scheduler.model import (
    Action,
    Backoff,
    BackoffKind,
    Callback,
    CatchUp,
    Command,
    HttpRequest,
    Job,
    Limits,
    Notify,
    Policy,
    ProcessAction,
    Prompt,
    Redirects,
    Reminder,
    Retry,
    Run,
)
from halo_scheduler.model.work_source import FolderSource, GithubSource, WorkSource
from halo_scheduler.wording.conditions import describe_condition
from halo_scheduler.wording.measures import duration_in_words

_USUAL_GRACE_MS = 10 * SECOND_MS
_USUAL = Policy()
_NOTIFY = {
    Notify.NONE: "no notifications",
    Notify.FAILURES: "notifies about failures",
    Notify.ALL: "notifies about every run",
    Notify.SETTINGS: "default notifications",
}


def parameter_words(parameters: Mapping[str, str]) -> str:
    """Return parameters with their values: mode=full, target=nas."""
    return ", ".join(f"{name}={shown_spec(value)}" for name, value in parameters.items())


def given_words(run: Run) -> str:
    """Return what a run was given: the values of its parameters, and the size of its input."""
    size = f"an input of {counted(run.input_bytes, 'byte')}" if run.input_bytes else ""
    return "; ".join(filter(None, [parameter_words(run.parameters), size]))


def action_words(action: Action) -> str:
    """Return what a job runs, sends or asks."""
    match action:
        case Command(argv=argv, line=line, shell=shell):
            return shlex.join(argv) if argv else f"{shown_spec(line).strip()} ({shell})"
        case HttpRequest(method=method, url=url):
            return f"{method} {url}"
        case Prompt(text=text, agent=agent):
            return f"asks {agent or 'the default agent'}: {shown_spec(text).strip() or NOTHING_TO_SAY}"
        case Reminder(title=title, text=text):
            return f"reminds you: {shown_spec(title)}" + (
                f" ({shown_spec(text).strip()})" if text.strip() else ""
            )
        case Callback(name=name):
            return f"calls {name or 'a function'} of the program that embeds Halo"
        case _:
            assert_never(action)


def more_words(action: Action) -> list[tuple[str, str]]:
    """Return the other settings that affect the action, for a person who reviews the job."""
    match action:
        case Command() | Prompt():
            pairs = [f"{name}={value}" for name, value in action.environment.items()]
            stdin = action.stdin if isinstance(action, Command) else ""
            return [
                ("where", action.directory or ""),
                ("with", shlex.join(pairs)),
                ("stdin", stdin),
                ("ends", _code_words(action)),
            ]
        case HttpRequest(headers=headers, body=body):
            return [
                ("headers", "; ".join(f"{name}: {value}" for name, value in headers.items())),
                ("body", body),
                ("expects", _answer_words(action)),
            ]
        case Reminder() | Callback():
            return []
        case _:
            assert_never(action)


def _code_words(action: ProcessAction) -> str:
    """Return the meaning of its exit codes and its grace period, where they are not the default."""
    parts = []
    if action.success_codes != (0,):
        parts.append(f"success with {_numbers(action.success_codes)}")
    if action.no_work_code is not None:
        parts.append(f"nothing to do with {action.no_work_code}")
    if action.needs_input_code is not None:
        parts.append(f"asks you with {action.needs_input_code}")
    if action.grace_ms != _USUAL_GRACE_MS:
        parts.append(f"{interval_in_words(action.grace_ms)} grace period")
    return " · ".join(parts)


def _answer_words(request: HttpRequest) -> str:
    """Return its success status codes and redirects, where they are not the default."""
    parts = [_numbers(request.expected_statuses)] if request.expected_statuses else []
    if request.redirects is not Redirects.SAME_HOST:
        parts.append("no redirects" if request.redirects is Redirects.NONE else "any redirects")
    return " · ".join(parts)


def _numbers(codes: Sequence[int]) -> str:
    return listed([str(code) for code in codes], last="or")


def work_words(action: Action) -> str:
    """Return the work queue of a job, and what happens to finished items."""
    source: WorkSource | None = action.work_source if isinstance(action, Command | Prompt) else None
    match source:
        case None:
            return ""
        case FolderSource(path=path):
            return f"each run takes one file from {path}/ready"
        case GithubSource(repository=repository, ready=ready, in_progress=in_progress, closes=closes):
            usual = GithubSource(repository=repository)
            place = "" if source.base_url == usual.base_url else f" at {source.base_url}"
            place += f" with the secret {source.token}" if source.token else ""
            ends = "closed" if closes else "left open"
            ends += " with a comment" if source.comments else ""
            return (
                f"each run takes one issue of {repository}{place}, from {ready} to {in_progress}, then {ends}"
            )
        case _:
            assert_never(source)


def policy_words(job: Job) -> str:
    """Return the main points of a policy, then everything that is not the default."""
    policy = job.policy
    limit_ms = policy.time_limit_ms
    parts = [
        "no time limit" if limit_ms is None else f"stops after {interval_in_words(limit_ms)}",
        _retry_words(policy.retry),
        f"disabled after {counted(policy.max_errors, 'error')}" if policy.max_errors else "never disabled",
        _catch_up_words(policy),
        *_backoff_words(policy.backoff),
        *_limit_words(policy.limits),
        *([f"random delay up to {policy.jitter_percent} %"] if policy.jitter_percent else []),
        *_line_words(policy, is_prompt=isinstance(job.action, Prompt)),
        *_output_words(policy.output_limit_bytes),
        *(["keeps the computer awake"] if policy.keep_awake else []),
        *([] if policy.assistants_may_run else ["assistants can't run it"]),
        *([] if policy.notify is _USUAL.notify else [_NOTIFY[policy.notify]]),
    ]
    return " · ".join(parts)


def _output_words(limit: int | None) -> list[str]:
    if limit is None:
        return []
    return [f"keeps {limit >> 10} KB of its output" if limit else "keeps no output"]


def condition_words(policy: Policy) -> str:
    """Return the conditions of a job: "only on AC power; skipped after waiting 1 hour"."""
    if not policy.conditions:
        return ""
    words = f"only {listed([describe_condition(condition) for condition in policy.conditions])}"
    if policy.condition_deadline_ms is None:
        return words
    return f"{words}; skipped after waiting {interval_in_words(policy.condition_deadline_ms)}"


def _retry_words(retry: Retry) -> str:
    if not retry.attempts:
        return "no retries"
    count = "1 retry" if retry.attempts == 1 else f"{retry.attempts} retries"
    return f"{count} after {duration_in_words(retry.delay_ms)}"


def _catch_up_words(policy: Policy) -> str:
    if policy.catch_up is CatchUp.SKIP:
        return "does not catch up"
    oldest_ms = policy.catch_up_max_age_ms
    return "catches up once" + ("" if oldest_ms is None else f" within {interval_in_words(oldest_ms)}")


def _backoff_words(backoff: Backoff) -> list[str]:
    if backoff == _USUAL.backoff:
        return []
    if backoff.kind is BackoffKind.NONE:
        return ["no back-off"]
    if backoff.kind is BackoffKind.DOUBLE:
        return ["failures double the interval"]
    return [f"back-off {', '.join(duration_in_words(delay_ms) for delay_ms in backoff.delays_ms)}"]


def _limit_words(limits: Limits) -> list[str]:
    least, most = limits.min_ms, limits.max_ms
    return [
        *([] if least is None else [f"at least {duration_in_words(least)} until the next run"]),
        *([] if most is None else [f"at most {duration_in_words(most)} until the next run"]),
    ]


def _line_words(policy: Policy, *, is_prompt: bool) -> list[str]:
    """Return whether output commands are read, where that is not the default."""
    if policy.reads_lines is None or policy.reads_lines is is_prompt:
        return []
    return ["reads directives" if policy.reads_lines else "ignores directives"]
