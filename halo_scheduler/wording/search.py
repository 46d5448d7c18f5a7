"""The text that a search of jobs covers: everything a list shows."""

from __future__ import annotations

import shlex
from typing import assert_never

from halo_scheduler.model import (
    Action,
    Callback,
    Command,
    Cron,
    HttpRequest,
    Prompt,
    Reminder,
    Schedule,
    Several,
)
from halo_scheduler.model.schedules import schedules_of
from halo_scheduler.wording.schedules import describe
from halo_scheduler.wording.short_schedules import describe_shortly


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
        case Reminder(title=title, text=text):
            return "\n".join(filter(None, (title, text)))
        case Callback(name=name):
            return name
        case _:
            assert_never(action)


def is_found(wanted: str, text: str) -> bool:
    """Return whether a searched text contains the wanted one; spaces around that are ignored."""
    return wanted.casefold().strip() in text
