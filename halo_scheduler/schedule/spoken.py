"""Schedules in plain words: "every weekday at 9", "first Monday of the month at 7:30", "in 20 minutes".

Nothing is guessed: a phrase that is not understood, that leaves something open or that no schedule says exactly is
refused with phrases that are understood. Everything that `describe` writes is read back with the same meaning.
"""

from __future__ import annotations

import re
from contextlib import suppress

from halo_scheduler.errors import PhraseParseError, ScheduleError
from halo_scheduler.grammar.checks import require_instant, require_text
from halo_scheduler.grammar.english import shown
from halo_scheduler.grammar.interval import format_interval
from halo_scheduler.grammar.phrases.times import read_duration
from halo_scheduler.grammar.phrases.tokens import EXAMPLES, LONGEST_PHRASE, Cursor
from halo_scheduler.grammar.zone import find_zone
from halo_scheduler.model import After, Cron, Manual, Once, Schedule, Several
from halo_scheduler.model.schedules import MOST_SCHEDULES, combine
from halo_scheduler.schedule.spoken_dates import read_once
from halo_scheduler.schedule.spoken_rules import read_rule

_ZONE = re.compile(
    r"\s*(?:\((?P<name>[^()]+)\)|\b(?:in\s+)?(?P<plain>[A-Za-z]+(?:/[A-Za-z0-9_+-]+)+|UTC|utc)(?:\s+time)?)\s*$"
)
_CRON = re.compile(r"[0-9*,/-]+\s+[0-9*,/-]+(\s+[0-9a-zA-Z*,/#-]+){3,4}|@[a-zA-Z]+", re.ASCII)
_MANUAL = (
    "manual only",
    "manual",
    "manually",
    "only manually",
    "by hand",
    "only by hand",
    "on demand",
    "never",
)
_EVENTS = ("when", "whenever", "if")
_AFTER = re.compile(
    r"after (the |each |every )?(it|job|run|previous run|last run|one|previous one|last one)?"
    r" ?(has |is )?(finishes|finished|ends|ended|end|is over|over|completes|completed|done)?"
)


def parse_schedule(text: str, *, now_ms: int, timezone: str | None = None) -> Schedule | Several:
    """Return the schedule that plain English words mean; several, separated by semicolons, become one value.

    Times are read in `timezone` (None: the computer's), unless the words name a zone. PhraseParseError, a
    ScheduleError, tells what is not understood or not clear, and has suggestions.
    """
    require_text("", text, longest=LONGEST_PHRASE)
    parts = [part for part in text.split(";") if part.strip()]
    if not parts:
        raise PhraseParseError(f"say when the job runs, like “{EXAMPLES[0]}”", text, EXAMPLES)
    if len(parts) > MOST_SCHEDULES:
        raise PhraseParseError(f"a job has at most {MOST_SCHEDULES} schedules", text)
    found = [_parse_part(part.strip(), now_ms, timezone) for part in parts]
    return found[0] if len(found) == 1 else combine(found)


def _parse_part(text: str, now_ms: int, timezone: str | None) -> Schedule | Several:
    words, zone = _split_zone(text)
    if _CRON.fullmatch(words):
        return Cron(words, zone or timezone)
    cursor = Cursor(words)
    if " ".join(words.lower().split()).removesuffix(".") in _MANUAL:
        return _without_zone(cursor, zone, Manual())
    if cursor.peek().text in _EVENTS:
        raise cursor.refusal("only times can be told in words, not events", *EXAMPLES)
    if (relative := _from_now(cursor, now_ms) or _after(cursor)) is not None:
        return _without_zone(cursor, zone, relative)
    if (once := read_once(cursor, now_ms, zone or timezone)) is not None:
        return once
    rule = read_rule(cursor, zone or timezone)
    return rule if isinstance(rule, Cron | Several) else _without_zone(cursor, zone, rule)


def _split_zone(text: str) -> tuple[str, str | None]:
    match = _ZONE.search(text)
    if match is None:
        return text, None
    name = match["name"] or match["plain"]
    for spelling in (name, name.title(), name.upper()):
        with suppress(ScheduleError):
            find_zone(spelling)
            return text[: match.start()], spelling
    raise PhraseParseError(f"unknown time zone {shown(name)}; try one like Europe/Berlin", text)


def _without_zone(cursor: Cursor, zone: str | None, schedule: Schedule) -> Schedule:
    if zone is not None:
        raise cursor.refusal(
            "a time zone has no effect here; leave it out", "every 15 minutes", "every day at 9:00"
        )
    return schedule


def _from_now(cursor: Cursor, now_ms: int) -> Once | None:
    start = cursor.position
    cursor.accept("once")
    if cursor.accept("in") and (ahead_ms := read_duration(cursor)) is not None:
        cursor.accept_all("from now")
        if cursor.is_over:
            return Once(require_instant("", now_ms + ahead_ms))
        raise cursor.token_refusal()
    cursor.position = start
    return None


def _after(cursor: Cursor) -> After | None:
    start = cursor.position
    cursor.accept("every")
    pause_ms = read_duration(cursor)
    if pause_ms is not None and cursor.peek().text == "after":
        words = []
        while not cursor.is_over:
            words.append(cursor.take().text)
        if _AFTER.fullmatch(" ".join(words)) and len(words) > 1:
            return After(format_interval(pause_ms))
        raise cursor.refusal("after what is not clear", "5 minutes after it finishes")
    cursor.position = start
    return None
