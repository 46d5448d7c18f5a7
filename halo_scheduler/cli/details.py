"""Everything about a job in lines of a word and a text."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from dataclasses import dataclass
from typing import assert_never

from halo_scheduler.chains import Chain, ChainLink, LinkState, WaitingRun
from halo_scheduler.cli.advice_words import hint_words
from halo_scheduler.cli.shown import cost_words, moment, next_words, short_id, status_words
from halo_scheduler.condition_words import describe_condition
from halo_scheduler.finding import open_questions
from halo_scheduler.model import (
    Action,
    Callback,
    Command,
    FollowOn,
    HttpRequest,
    InQuietTime,
    Job,
    Policy,
    Prompt,
    Question,
)
from halo_scheduler.prompt_text import NOTHING_TO_SAY
from halo_scheduler.quiet_times import QuietTime
from halo_scheduler.reports import Usage
from halo_scheduler.schedule.describe import describe
from halo_scheduler.schedule.explain import moment_in_words
from halo_scheduler.schedule.interval import interval_in_words
from halo_scheduler.schedule.quiet import quiet_at
from halo_scheduler.schedule.words import counted, listed
from halo_scheduler.service import Scheduler
from halo_scheduler.work_sources import FolderSource, GithubSource, WorkSource

_ENDS = {
    FollowOn.SUCCESS: "after each success",
    FollowOn.FAILURE: "after each failure",
    FollowOn.ALWAYS: "after each run",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Standing:
    """What there is to know of a job beside itself."""

    usage: Usage
    questions: Sequence[Question]
    chain: Chain
    waiting: Sequence[WaitingRun]
    waits_until: int | None
    quiet_times: Sequence[QuietTime]


def standing_of(scheduler: Scheduler, job: Job) -> Standing:
    """Read what there is to know of a job beside itself."""
    return Standing(
        usage=scheduler.get_usage(job.id),
        questions=open_questions(scheduler, job.id),
        chain=scheduler.get_chain(job.id),
        waiting=[run for run in scheduler.list_waiting_chain_runs() if run.job_id == job.id],
        waits_until=scheduler.get_waits_until(job.id),
        quiet_times=[time for time in scheduler.get_settings().quiet_times if time.is_for(job.group)],
    )


def details(job: Job, standing: Standing, now_ms: int) -> list[tuple[str, str]]:
    """Return what there is to say of a job, and nothing that is empty."""
    asks = bool(standing.questions)
    found = [
        ("id", job.id),
        ("status", f"{status_words(job)}{_end_words(standing.waits_until, now_ms)}"),
        ("about", job.description),
        ("group", job.group or ""),
        ("does", _action_words(job.action)),
        *_more_words(job.action),
        ("work", _work_words(job.action)),
        ("when", describe(job.schedule)),
        ("starts", _condition_words(job.policy)),
        ("quiet", _quiet_words(job, standing.quiet_times, now_ms)),
        *(("after", _before_words(link)) for link in standing.chain.before),
        *(("then", _after_words(link)) for link in standing.chain.after),
        ("next", next_words(job, now_ms, asks=asks)),
        *(("waits", _waiting_words(run, now_ms)) for run in standing.waiting),
        ("advice", hint_words(job.hints, now_ms)),
        ("policy", _policy_words(job)),
        ("today", _usage_words(standing.usage)),
        ("errors", f"{job.errors} in a row; {job.last_error}" if job.errors else ""),
        *(("asks you", _question_words(question)) for question in standing.questions),
    ]
    return [(label, text) for label, text in found if text]


def _condition_words(policy: Policy) -> str:
    if not policy.conditions:
        return ""
    words = f"only {listed([describe_condition(condition) for condition in policy.conditions])}"
    if policy.condition_deadline_ms is None:
        return words
    return f"{words}; skipped after waiting {interval_in_words(policy.condition_deadline_ms)}"


def _quiet_words(job: Job, times: Sequence[QuietTime], now_ms: int) -> str:
    """Return what the job does in the quiet times that hold for it; nothing if it waits and there are none."""
    is_skipped = job.policy.in_quiet_time is InQuietTime.SKIP
    words = "is skipped" if is_skipped else "waits"
    if not times:
        return f"{words} in quiet times" if is_skipped else ""
    names = listed([time.name or f"{time.start}–{time.end}" for time in times])
    quiet = quiet_at(times, job.group, now_ms)
    until = "" if quiet is None else f"; it is quiet now, until {moment_in_words(quiet.until, now_ms)}"
    return f"{words} in the quiet times {names}{until}" if len(times) > 1 else f"{words} in {names}{until}"


def _before_words(link: ChainLink) -> str:
    return f"{_ENDS[link.on]} of {link.name}{_state_words(link)}"


def _after_words(link: ChainLink) -> str:
    return f"{link.name}, {_ENDS[link.on]}{_state_words(link)}"


def _state_words(link: ChainLink) -> str:
    return "" if link.state is LinkState.OK else f" ({link.name} is {link.state})"


def _waiting_words(run: WaitingRun, now_ms: int) -> str:
    since = moment_in_words(run.at, now_ms)
    end = _end_words(run.waits_until, now_ms)
    return f"for {run.reason or 'a place'}: a run after {run.cause_name}, since {since}{end}"


def _end_words(until: int | None, now_ms: int) -> str:
    return "" if until is None else f", until {moment_in_words(until, now_ms)} at most"


def _action_words(action: Action) -> str:
    match action:
        case Command(argv=argv, line=line, shell=shell):
            return _on_one_line(shlex.join(argv) if argv else f"{line} ({shell})")
        case HttpRequest(method=method, url=url):
            return f"{method} {url}"
        case Prompt(text=text, agent=agent):
            return f"asks {agent or 'the default agent'}: {text.strip() or NOTHING_TO_SAY}"
        case Callback(name=name):
            return f"calls {name or 'a function'} of the program that embeds Halo"
        case _:
            assert_never(action)


def _more_words(action: Action) -> list[tuple[str, str]]:
    """Return what else decides what it does: whoever lets it run is to know."""
    match action:
        case Command() | Prompt():
            pairs = [f"{name}={value}" for name, value in action.environment.items()]
            stdin = action.stdin if isinstance(action, Command) else ""
            return [
                ("where", action.directory or ""),
                ("with", _on_one_line(shlex.join(pairs))),
                ("stdin", _on_one_line(stdin)),
            ]
        case HttpRequest(headers=headers, body=body):
            return [
                ("headers", "; ".join(f"{name}: {value}" for name, value in headers.items())),
                ("body", body),
            ]
        case Callback():
            return []
        case _:
            assert_never(action)


def _on_one_line(code: str) -> str:
    """Return some lines as one; where they end can decide what they mean."""
    return code.strip().replace("\n", " ↵ ")


def _work_words(action: Action) -> str:
    source: WorkSource | None = action.work_source if isinstance(action, Command | Prompt) else None
    match source:
        case None:
            return ""
        case FolderSource(path=path):
            return f"takes one file of {path}/ready for each run"
        case GithubSource(repository=repository, ready=ready, in_progress=in_progress, closes=closes):
            usual = GithubSource(repository=repository)
            place = "" if source.base_url == usual.base_url else f" at {source.base_url}"
            place += f" with the secret {source.token}" if source.token else ""
            ends = "closed" if closes else "left open"
            return (
                f"takes one issue of {repository}{place} for each run, "
                f"from {ready} to {in_progress}, then {ends}"
            )
        case _:
            assert_never(source)


def _policy_words(job: Job) -> str:
    policy = job.policy
    limit_ms = policy.time_limit_ms
    parts = [
        "never stopped" if limit_ms is None else f"stops after {interval_in_words(limit_ms)}",
        _retry_words(policy.retry.attempts),
        f"gives up after {counted(policy.max_errors, 'error')}" if policy.max_errors else "never gives up",
        "catches up once" if policy.catch_up == "once" else "does not catch up",
        *_line_words(policy, is_prompt=isinstance(job.action, Prompt)),
        *(["keeps the machine awake"] if policy.keep_awake else []),
    ]
    return " · ".join(parts)


def _retry_words(attempts: int) -> str:
    return "no retries" if not attempts else "1 retry" if attempts == 1 else f"{attempts} retries"


def _line_words(policy: Policy, *, is_prompt: bool) -> list[str]:
    """Return whether lines of the output are read, where that is not as usual."""
    if policy.reads_lines is None or policy.reads_lines is is_prompt:
        return []
    return ["reads :: lines" if policy.reads_lines else "does not read :: lines"]


def _usage_words(usage: Usage) -> str:
    """Return what was used up of the day; nothing for a job that has neither caps nor costs."""
    runs, cost = usage.caps.runs_per_day, usage.caps.cost_per_day
    parts = []
    if runs is not None:
        parts.append(f"{usage.runs} of {counted(runs, 'run')}")
    if cost is not None:
        parts.append(f"cost {cost_words(usage.cost)} of {cost_words(cost)}")
    elif usage.cost:
        parts.append(f"cost {cost_words(usage.cost)}")
    return " · ".join(parts)


def _question_words(question: Question) -> str:
    return f"{question.text} ({moment(question.asked_at)}; halo answer {short_id(question.run_id)} TEXT)"
