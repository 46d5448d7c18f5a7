"""What a job does, in words."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from typing import assert_never

from halo_scheduler.grammar.english import listed
from halo_scheduler.grammar.interval import SECOND_MS, interval_in_words
from halo_scheduler.grammar.templates import NOTHING_TO_SAY
from halo_scheduler.grammar.text import shown_spec
from halo_scheduler.model import Action, Callback, Command, HttpRequest, ProcessAction, Prompt, Redirects
from halo_scheduler.model.work_source import FolderSource, GithubSource, WorkSource

_USUAL_GRACE_MS = 10 * SECOND_MS


def action_words(action: Action) -> str:
    """Return what a job runs, sends or asks."""
    match action:
        case Command(argv=argv, line=line, shell=shell):
            return shlex.join(argv) if argv else f"{shown_spec(line).strip()} ({shell})"
        case HttpRequest(method=method, url=url):
            return f"{method} {url}"
        case Prompt(text=text, agent=agent):
            return f"asks {agent or 'the default agent'}: {shown_spec(text).strip() or NOTHING_TO_SAY}"
        case Callback(name=name):
            return f"calls {name or 'a function'} of the program that embeds Halo"
        case _:
            assert_never(action)


def more_words(action: Action) -> list[tuple[str, str]]:
    """Return what else decides what it does: whoever lets it run is to know."""
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
        case Callback():
            return []
        case _:
            assert_never(action)


def _code_words(action: ProcessAction) -> str:
    """Return what its exit codes mean and how long it may take to stop, where that is not as usual."""
    parts = []
    if action.success_codes != (0,):
        parts.append(f"success with {_numbers(action.success_codes)}")
    if action.no_work_code is not None:
        parts.append(f"nothing to do with {action.no_work_code}")
    if action.needs_input_code is not None:
        parts.append(f"asks you with {action.needs_input_code}")
    if action.grace_ms != _USUAL_GRACE_MS:
        parts.append(f"{interval_in_words(action.grace_ms)} to stop before force")
    return " · ".join(parts)


def _answer_words(request: HttpRequest) -> str:
    """Return which answers are a success and which redirects are followed, where that is not as usual."""
    parts = [_numbers(request.expected_statuses)] if request.expected_statuses else []
    if request.redirects is not Redirects.SAME_HOST:
        parts.append("no redirects" if request.redirects is Redirects.NONE else "any redirects")
    return " · ".join(parts)


def _numbers(codes: Sequence[int]) -> str:
    return listed([str(code) for code in codes], last="or")


def work_words(action: Action) -> str:
    """Return where the work of each run comes from, and what becomes of it."""
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
