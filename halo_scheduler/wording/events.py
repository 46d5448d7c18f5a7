"""Words for events: full ones, which parse to the same event, and short ones for a list column."""

from __future__ import annotations

import re
from typing import assert_never

from halo_scheduler.grammar.english import listed
from halo_scheduler.grammar.interval import interval_in_words, parse_interval
from halo_scheduler.model import FileEvent, OnChat, OnFile, OnSession, OnWebhook, SessionEvent
from halo_scheduler.model.events import USUAL_SETTLE

_PLAIN_PATH = re.compile(r"[~A-Za-z0-9_./*?-]+", re.ASCII)
FILE_EVENTS = {
    FileEvent.APPEARS: "appears in",
    FileEvent.CHANGES: "changes in",
    FileEvent.VANISHES: "vanishes from",
}
SESSION_EVENTS = {
    SessionEvent.LOGIN: "login",
    SessionEvent.BOOT: "boot",
    SessionEvent.WAKE: "the computer wakes up",
    SessionEvent.UNLOCK: "the screen is unlocked",
    SessionEvent.NETWORK: "the network comes up",
    SessionEvent.MAINS: "the computer is plugged in",
}
_AT = (SessionEvent.LOGIN, SessionEvent.BOOT)
_SHORT_SESSION_EVENTS = {SessionEvent.WAKE: "wake-up", SessionEvent.MAINS: "AC power"}


def describe_event(event: OnFile | OnSession | OnWebhook | OnChat) -> str:
    """Describe an event: "when a file named *.pdf appears in ~/Inbox", "5 minutes after login"."""
    match event:
        case OnFile():
            return _on_file(event)
        case OnSession(on=on, delay=None):
            return f"{'at' if on in _AT else 'when'} {SESSION_EVENTS[on]}"
        case OnSession():
            return f"{interval_in_words(event.delay_ms)} after {SESSION_EVENTS[event.on]}"
        case OnWebhook():
            return "when its webhook is called"
        case OnChat():
            who = listed(event.from_, last="or") if event.from_ else "somebody permitted"
            return f"when {who} writes to {event.channel}"
        case _:
            assert_never(event)


def _on_file(event: OnFile) -> str:
    named = "" if event.match == "*" else f" named {_quoted(event.match)}"
    is_usual = event.settle_ms == parse_interval(USUAL_SETTLE)
    settled = "" if is_usual else f" and is unchanged for {interval_in_words(event.settle_ms)}"
    return f"when a file{named} {FILE_EVENTS[event.on]} {_quoted(event.path)}{settled}"


def _quoted(text: str) -> str:
    """Return a path or pattern in quotes, with quotation marks doubled; a plain one without quotes."""
    # A full stop ends a sentence.
    if _PLAIN_PATH.fullmatch(text) and not text.endswith("."):
        return text
    doubled = text.replace('"', '""')
    return f'"{doubled}"'


def describe_event_shortly(event: OnFile | OnSession | OnWebhook | OnChat) -> str:
    """Describe an event in few words: "new *.pdf in Inbox", "boot + 5 min"."""
    match event:
        case OnFile():
            what = "file" if event.match == "*" else event.match
            folder = event.path.rstrip("/").rpartition("/")[2] or event.path
            return {
                FileEvent.APPEARS: f"new {what} in {folder}",
                FileEvent.CHANGES: f"changed {what} in {folder}",
                FileEvent.VANISHES: f"{what} gone from {folder}",
            }[event.on]
        case OnSession():
            later = "" if event.delay is None else f" + {interval_in_words(event.delay_ms)}"
            return f"{_SHORT_SESSION_EVENTS.get(event.on, event.on)}{later}"
        case OnWebhook():
            return "webhook"
        case OnChat():
            return f"message to {event.channel}"
        case _:
            assert_never(event)
