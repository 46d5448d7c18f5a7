"""Events in plain words: "when a pdf appears in ~/Inbox", "at login", "5 minutes after the computer wakes up"."""

from __future__ import annotations

import re

from halo_scheduler.errors import PhraseParseError, ScheduleError
from halo_scheduler.grammar.interval import format_interval
from halo_scheduler.grammar.phrases.times import read_duration
from halo_scheduler.grammar.phrases.tokens import Cursor
from halo_scheduler.model import FileEvent, OnChat, OnFile, OnSession, OnWebhook, SessionEvent
from halo_scheduler.model.chat import CHANNEL_PATTERN, PERSON_PATTERN
from halo_scheduler.model.events import USUAL_SETTLE

EVENT_EXAMPLES = ("when a pdf appears in ~/Inbox", "at login", "when the computer wakes up")

_QUOTED = r'"(?:[^"]|"")*"'
_PART = re.compile(rf'(?:[^;"]|{_QUOTED}|")+')
_WHEN = r"(?:when|whenever|each time|every time|if)"
_FILE = re.compile(
    rf"""
    {_WHEN}\s+(?:a|an|any|the)?\s*(?:new\s+)?
    (?:(?P<ending>(?!files?\b)\w{{1,10}})(?:\s+files?)?|files?)
    (?:\s+(?:named|called|like|matching)\s+(?P<match>{_QUOTED}|\S+))?
    \s+(?:
        (?P<appears>appears?|arrives?|shows\s+up|is\s+added|is\s+created|comes)
        |(?P<changes>changes?|is\s+changed|is\s+modified|is\s+saved)
        |(?P<vanishes>vanish(?:es)?|disappears?|is\s+(?:deleted|removed|gone))
    )
    \s+(?:in|into|to|from)\s+(?P<path>{_QUOTED}|.+?)
    (?:\s+and\s+is\s+unchanged\s+for\s+(?P<settle>[^"/]+))?
    """,
    re.VERBOSE | re.IGNORECASE,
)
_COMPUTER = r"(?:the\s+|my\s+)?(?:computer|machine|laptop|pc)"
_HAPPENINGS = {
    SessionEvent.LOGIN: r"log-?in|log-?on|i\s+log\s+in|logging\s+in",
    SessionEvent.BOOT: rf"boot|reboot|start-?up|{_COMPUTER}\s+(?:starts(?:\s+up)?|boots(?:\s+up)?)",
    SessionEvent.WAKE: rf"wake(?:-?up)?|waking\s+up|resume|{_COMPUTER}\s+wakes(?:\s+up)?",
    SessionEvent.UNLOCK: r"unlock|the\s+screen\s+is\s+unlocked|i\s+unlock(?:\s+the\s+screen)?",
    SessionEvent.NETWORK: (
        r"network|online|(?:the\s+)?network\s+(?:comes\s+up|is\s+up|is\s+there|connects)|"
        rf"(?:i\s+am|{_COMPUTER}\s+is)\s+online"
    ),
    SessionEvent.MAINS: rf"(?:mains|ac)\s+power|(?:(?:{_COMPUTER}|the\s+charger)\s+is\s+)?plugged\s+in",
}
_SESSION = {
    event: re.compile(rf"(?:{_WHEN}|at|on|after|(?P<delay>.+)\s+after)\s+(?:{words})", re.IGNORECASE)
    for event, words in _HAPPENINGS.items()
}
_WEBHOOK = re.compile(
    rf"(?:by|on|per)\s+(?:a\s+)?webhook|webhook|{_WHEN}\s+(?:(?:its|the|a)\s+)?webhook\s+is\s+called",
    re.IGNORECASE,
)
_PERSON = re.compile(PERSON_PATTERN, re.ASCII)
_CHAT = re.compile(
    rf"""
    (?i:{_WHEN})\s+
    (?:(?P<who>{PERSON_PATTERN}(?:\s*(?:,|\bor\b)\s*(?:or\s+)?{PERSON_PATTERN})*)
    |(?i:somebody|someone|anybody|anyone)(?i:\s+(?:permitted|allowed))?)
    \s+(?i:writes?|sends?\s+a\s+message)\s+to\s+(?P<channel>{CHANNEL_PATTERN})
    """,
    re.VERBOSE | re.ASCII,
)
_CHAT_LIKE = re.compile(rf"{_WHEN}\s+.+\s+(?:writes?|sends?\s+a\s+message)\s+to\s+.+", re.IGNORECASE)
_CHAT_EXAMPLES = (
    "when somebody permitted writes to family/direct",
    "when 123456789 writes to family/-100123",
)


def split_phrases(text: str) -> list[str]:
    """Return the phrases of several schedules; a semicolon in quotes belongs to a path."""
    return [part.strip() for part in _PART.findall(text) if part.strip()]


def read_event(phrase: str) -> OnFile | OnSession | OnWebhook | OnChat | None:
    """Return the event that a phrase names; None if it names none."""
    if phrase.lower() == "@reboot":
        return OnSession(SessionEvent.BOOT)
    plain = phrase if phrase.endswith('"') else phrase.removesuffix(".")
    found = _FILE.fullmatch(plain)
    if found is not None:
        return _on_file(phrase, found)
    for event, pattern in _SESSION.items():
        if (match := pattern.fullmatch(plain)) is not None:
            return OnSession(event, match["delay"] and _interval(phrase, match["delay"]))
    if (chat := _CHAT.fullmatch(plain)) is not None:
        return OnChat(chat["channel"], tuple(_PERSON.findall(chat["who"] or "")))
    if _CHAT_LIKE.fullmatch(plain):
        raise PhraseParseError(
            "name people by their id or @name, and a bot with a conversation", phrase, _CHAT_EXAMPLES
        )
    return OnWebhook() if _WEBHOOK.fullmatch(plain) else None


def _interval(phrase: str, words: str) -> str:
    cursor = Cursor(words)
    milliseconds = read_duration(cursor)
    if milliseconds is None or not cursor.is_over:
        raise PhraseParseError(f"“{words}” is not a length of time; write one like 5 minutes", phrase)
    return format_interval(milliseconds)


def _on_file(phrase: str, found: re.Match[str]) -> OnFile:
    kind = next(kind for kind in FileEvent if found[kind] is not None)
    match = f"*.{found['ending'].lower()}" if found["ending"] else "*"
    if found["match"] is not None:
        match = _unquoted(found["match"])
    settle = USUAL_SETTLE if found["settle"] is None else _interval(phrase, found["settle"])
    path = _unquoted(found["path"])
    try:
        return OnFile(path, match, kind, settle)
    except ScheduleError as error:
        raise PhraseParseError(
            f"cannot watch the folder “{path}”: it {error.message}", phrase, EVENT_EXAMPLES[:1]
        ) from None


def _unquoted(text: str) -> str:
    return text[1:-1].replace('""', '"') if text.startswith('"') and text.endswith('"') else text
