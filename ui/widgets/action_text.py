"""The action of a job in one line."""

from __future__ import annotations

import shlex

from PySide6.QtCore import QCoreApplication

from halo_scheduler.grammar.templates import NOTHING_TO_SAY
from halo_scheduler.grammar.text import shown_spec
from halo_scheduler.model import Action, Callback, Command, HttpRequest, Prompt
from halo_scheduler.model.work_source import FolderSource, GithubSource, WorkSource
from ui.style.wording import one_line

_LONGEST = 80
_LONGEST_AGENT = 30
_LONGEST_EXTRA = 200


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
        case Callback():
            return one_line(tr("function {name}").format(name=action.name), _LONGEST)


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
        case Callback():
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
