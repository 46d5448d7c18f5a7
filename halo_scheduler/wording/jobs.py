"""Words for a job: its action, policy and hints, and the text that a search covers."""

from __future__ import annotations

import re
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import fields
from typing import assert_never

from halo_scheduler.grammar.english import counted, listed
from halo_scheduler.grammar.interval import SECOND_MS, interval_in_words
from halo_scheduler.grammar.templates import NOTHING_TO_SAY
from halo_scheduler.grammar.text import json_text, plain_line, shown_spec
from halo_scheduler.model import (
    Action,
    Backoff,
    BackoffKind,
    Callback,
    CatchUp,
    Command,
    Cron,
    Hints,
    HttpRequest,
    Job,
    Limits,
    Notify,
    Policy,
    ProcessAction,
    Prompt,
    Proposal,
    Redirects,
    Reminder,
    Retry,
    Run,
    Schedule,
    Several,
)
from halo_scheduler.model.actions import FolderSource, GithubSource, WorkSource
from halo_scheduler.model.schedules import Entry, schedules_of
from halo_scheduler.wording.conditions import describe_condition
from halo_scheduler.wording.measures import duration_in_words, moment_in_words, when_in_words
from halo_scheduler.wording.plans import ADVISERS
from halo_scheduler.wording.schedules import describe, describe_entry, overlap_words
from halo_scheduler.wording.short_schedules import describe_shortly

# Characters that separate parameters in a sentence, or end a quoted value.
_AMBIGUOUS = re.compile(r'[\s,;"]')
_LONGEST_REASON = 300
_USUAL_GRACE_MS = 10 * SECOND_MS
_USUAL = Policy()
_NOTIFY = {
    Notify.NONE: "no notifications",
    Notify.FAILURES: "notifies about failures",
    Notify.ALL: "notifies about every run",
    Notify.SETTINGS: "default notifications",
}


def parameter_words(parameters: Mapping[str, str]) -> str:
    """Return parameters with their values: mode=full, target="my nas"; quoted if ambiguous."""
    return ", ".join(f"{name}={_value_words(value)}" for name, value in parameters.items())


def _value_words(value: str) -> str:
    return json_text(value) if _AMBIGUOUS.search(value) else shown_spec(value)


def entry_words(entry: Entry) -> str:
    """Return everything about one of several schedules: its times, its parameters, and what it does on overlap."""
    parameters = f" with {parameter_words(entry.parameters)}" if entry.parameters else ""
    overlap = f", {overlap_words(entry.on_overlap)}" if entry.on_overlap else ""
    return f"{describe_entry(entry)}{parameters}{overlap}"


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
        case _:
            return []


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
        f"disabled after {counted(policy.max_errors, 'failure')}" if policy.max_errors else "never disabled",
        _catch_up_words(policy),
        *_backoff_words(policy.backoff),
        *_limit_words(policy.limits),
        *jitter_words(policy),
        *_line_words(policy, is_prompt=isinstance(job.action, Prompt)),
        *_output_words(policy.output_limit_bytes),
        *(["prevents sleep"] if policy.keep_awake else []),
        *([] if policy.assistants_may_run else ["assistants can't run it"]),
        *([] if policy.notify is _USUAL.notify else [_NOTIFY[policy.notify]]),
    ]
    return " · ".join(parts)


def jitter_words(policy: Policy) -> list[str]:
    """Return the random delay of a job, if it has one: "random delay up to 1 hour, the same for each run"."""
    if not policy.has_jitter:
        return []
    most = interval_in_words(policy.jitter_ms) if policy.jitter else f"{policy.jitter_percent} %"
    return [f"random delay up to {most}" + (", the same for each run" if policy.is_jitter_fixed else "")]


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
        return "no catch-up"
    oldest_ms = policy.catch_up_max_age_ms
    runs = counted(policy.catch_up_limit, "run") if policy.catch_up is CatchUp.ALL else ""
    what = f"each of up to {runs}" if runs else "once"
    return f"catches up {what}" + ("" if oldest_ms is None else f" within {interval_in_words(oldest_ms)}")


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
    return ["reads output commands" if policy.reads_lines else "ignores output commands"]


def hint_words(hints: Hints, now_ms: int) -> str:
    """Return the active hints: "every 5 min, from you, until 14:05: queue is long"."""
    left = hints.counting(now_ms)
    found: dict[tuple[str, str], list[str]] = {}
    for part in (left.parts(pace=True, run=False), left.parts(pace=False, run=True)):
        if part.expires_at is None:
            continue
        what = (
            f"every {duration_in_words(part.interval_ms)}"
            if part.interval_ms is not None
            else f"a run {when_in_words(part.next_at or 0, now_ms)}"
        )
        giver = "" if part.source is None else f", from {ADVISERS[part.source]}"
        ending = f"{giver}, until {moment_in_words(part.expires_at, now_ms)}"
        found.setdefault((ending, part.reason), []).append(what)
    return "; ".join(
        f"{' and '.join(what)}{ending}{f': {reason}' if reason else ''}"
        for (ending, reason), what in found.items()
    )


def proposal_words(proposal: Proposal | None) -> str:
    """Return the hint of a run: "every 5 min for 1 h and a run 10 min later: queue is long"; "" if it gave none."""
    if proposal is None:
        return ""
    parts = []
    if proposal.every_ms is not None:
        pace, ttl = duration_in_words(proposal.every_ms), duration_in_words(proposal.ttl_ms)
        parts.append(f"every {pace} for {ttl}")
    if proposal.next_ms is not None:
        parts.append(f"a run {duration_in_words(proposal.next_ms)} later")
    words = " and ".join(parts)
    return f"{words}: {plain_line(proposal.reason, _LONGEST_REASON)}" if words and proposal.reason else words


def searched_text(
    name: str, group: str | None, description: str, schedule: Schedule | Several, action: Action | None = None
) -> str:
    """Return name, group, description, action and schedule of a job, folded for comparison."""
    written = [item.cron for item in schedules_of(schedule) if isinstance(item, Cron)]
    whens = (describe(schedule), describe_shortly(schedule), *written)
    does = "" if action is None else action_text(action)
    return "\n".join((name, group or "", description, does, *whens)).casefold()


def action_text(action: Action) -> str:
    """Return the content of an action, with its spaces and line breaks."""
    match action:
        case Command(argv=argv, line=line, directory=directory):
            return "\n".join(filter(None, (line or shlex.join(argv), directory)))
        case HttpRequest(method=method, url=url):
            return f"{method} {url}"
        case Prompt(text=text, agent=agent, directory=directory):
            return "\n".join(filter(None, (text, agent, directory)))
        case _:
            return "\n".join(
                value for value in (getattr(action, item.name) for item in fields(action)) if value
            )


def is_found(wanted: str, text: str) -> bool:
    """Return whether a searched text contains the wanted one; spaces around that are ignored."""
    return wanted.casefold().strip() in text
