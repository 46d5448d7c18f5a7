"""The action of a job, and what due jobs wait for, each in one line."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Self

from PySide6.QtCore import QCoreApplication

from halo_scheduler.grammar.templates import NOTHING_TO_SAY
from halo_scheduler.grammar.text import shown_spec
from halo_scheduler.model import Action, Callback, Command, HttpRequest, Prompt, Reminder, Waiting
from halo_scheduler.model.actions import FolderSource, GithubSource, WorkSource
from halo_scheduler.wording.jobs import action_text
from halo_scheduler.wording.status import awaited_words, waiting_words
from ui.style.wording import one_line

_LONGEST = 80
_LONGEST_AGENT = 30
_LONGEST_EXTRA = 200
MOST_NAMED = 2
_SHORT_NAME = 40
_SHORT_REASON = 60
_SHORTER_NAME = 24


def tr(text: str) -> str:
    """Return a text in the user's language."""
    return QCoreApplication.translate("ActionWords", text)


def action_words(action: Action) -> str:
    """Return the command, request or prompt of an action."""
    match action:
        case Command():
            return one_line(action.line or shlex.join(action.argv), _LONGEST)
        case HttpRequest():
            return one_line(f"{action.method} {action.url}", _LONGEST)
        case Prompt():
            return one_line(_prompt_words(action), _LONGEST)
        case Reminder():
            return one_line(tr("reminder: {title}").format(title=action.title), _LONGEST)
        case Callback():
            return one_line(tr("function {name}").format(name=action.name), _LONGEST)
        case _:
            return one_line(action_text(action), _LONGEST)


def exact_words(action: Action) -> str:
    """Return the command or request of an action exactly as written, with all blanks and line breaks."""
    match action:
        case Command():
            return action.line or shlex.join(action.argv)
        case HttpRequest():
            return f"{action.method} {action.url}"
        case _:
            return action_words(action)


def _prompt_words(prompt: Prompt) -> str:
    text = shown_spec(prompt.text).strip() or NOTHING_TO_SAY
    if not prompt.agent:
        return tr("prompt: {text}").format(text=text)
    return tr("prompt for {agent}: {text}").format(agent=one_line(prompt.agent, _LONGEST_AGENT), text=text)


def extra_words(action: Action) -> str:
    """Return further inputs of an action: "in ~/work · with KEY in its environment · reads 34 characters"."""
    match action:
        case Command():
            parts = [*_surroundings(action), _reading_words(action.stdin)]
        case Prompt():
            parts = _surroundings(action)
        case HttpRequest():
            headers = tr("with the headers {names}").format(names=", ".join(action.headers))
            body = tr("sends {count:,} characters").format(count=len(action.body))
            parts = [headers if action.headers else "", body if action.body else ""]
        case Reminder():
            parts = [action.text]
        case _:
            parts = []
    return one_line(" · ".join(part for part in parts if part), _LONGEST_EXTRA)


def _surroundings(action: Command | Prompt) -> list[str]:
    names = ", ".join(action.environment)
    return [
        tr("in {directory}").format(directory=action.directory) if action.directory else "",
        tr("with {names} in its environment").format(names=names) if names else "",
    ]


def _reading_words(stdin: str) -> str:
    return tr("reads {count:,} characters").format(count=len(stdin)) if stdin else ""


def work_words(action: Action) -> str:
    """Return the work queue of an action; empty for none."""
    source = action.work_source if isinstance(action, Command | Prompt) else None
    return "" if source is None else source_words(source)


def source_words(source: WorkSource) -> str:
    """Return the name of a work queue: "folder ~/Tasks", "issues of acme/shop"."""
    match source:
        case FolderSource():
            return one_line(tr("folder {path}").format(path=source.path), _LONGEST)
        case GithubSource():
            return one_line(tr("issues of {repository}").format(repository=source.repository), _LONGEST)


@dataclass(frozen=True, slots=True)
class WaitingJob:
    """A job that is due, and what it waits for."""

    name: str
    waiting: Waiting


@dataclass(frozen=True, slots=True)
class WaitingJobs:
    """The number of waiting jobs, the first of them, and whether all wait for the same reason."""

    first: tuple[WaitingJob, ...] = ()
    count: int = 0
    is_alike: bool = False

    @classmethod
    def of(cls, jobs: Sequence[WaitingJob]) -> Self:
        """Summarise waiting jobs and name the first of them."""
        kinds = {(job.waiting.kind, job.waiting.details, _full_group(job.waiting)) for job in jobs}
        return cls(tuple(jobs[:MOST_NAMED]), len(jobs), is_alike=len(kinds) == 1)


def waiting_line(jobs: WaitingJobs, now_ms: int, most_named: int = MOST_NAMED) -> str:
    """Return which jobs wait for what: "2 waiting: backup (network), sync (AC power)"; empty for none."""
    if not jobs.count:
        return ""
    if not most_named:
        return tr("{count} waiting").format(count=jobs.count)
    words = one_line(waiting_words(jobs.first[0].waiting, now_ms), _SHORT_REASON)
    if jobs.count == 1:
        return f"{one_line(jobs.first[0].name, _SHORT_NAME)} {words}"
    if jobs.is_alike:
        return tr("{count} jobs {what}").format(count=jobs.count, what=words)
    named = [
        f"{one_line(one.name, _SHORTER_NAME)} ({_shortly(one, now_ms)})" for one in jobs.first[:most_named]
    ]
    more = ["…"] if jobs.count > len(named) else []
    return tr("{count} waiting: {named}").format(count=jobs.count, named=", ".join(named + more))


def _full_group(waiting: Waiting) -> str | None:
    return None if waiting.capacity is None else waiting.capacity.group


def _shortly(job: WaitingJob, now_ms: int) -> str:
    # Too short for the numbers of a limit.
    return one_line(awaited_words(job.waiting._replace(capacity=None), now_ms), _SHORTER_NAME)
