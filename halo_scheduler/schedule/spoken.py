"""Schedules in plain words: "every weekday at 9", "first Monday of the month at 7:30", "in 20 minutes".

Nothing is guessed: a phrase that is not understood, that leaves something open or that no schedule says exactly is
refused with phrases that are understood. Everything that `describe` writes is read back with the same meaning.
"""

from __future__ import annotations

import re
from contextlib import suppress
from dataclasses import replace
from datetime import date, datetime, time
from itertools import islice

from halo_scheduler.errors import PhraseParseError, ScheduleError
from halo_scheduler.grammar.checks import require_instant, require_text
from halo_scheduler.grammar.english import shown
from halo_scheduler.grammar.interval import DAY_MS, SECOND_MS, format_interval, interval_in_words
from halo_scheduler.grammar.phrases.days import DAY_NAMES
from halo_scheduler.grammar.phrases.times import TimeOfDay, in_part_of_day, read_duration, read_time
from halo_scheduler.grammar.phrases.tokens import (
    EXAMPLES,
    LONGEST_PHRASE,
    TWO_SCHEDULES,
    Cursor,
    TokenKind,
    refusal,
)
from halo_scheduler.grammar.zone import find_zone, local_time, to_instant, wall_seconds
from halo_scheduler.model import After, Cron, Entry, Manual, Once, Schedule, Several
from halo_scheduler.model.schedules import MOST_SCHEDULES, combine, entries_of, schedules_of
from halo_scheduler.model.time_rules import Dated
from halo_scheduler.schedule.spoken_dates import day_words, read_day, take_calendar, take_span
from halo_scheduler.schedule.spoken_events import EVENT_EXAMPLES, read_event, split_phrases
from halo_scheduler.schedule.spoken_repairs import repaired_phrases
from halo_scheduler.schedule.spoken_rules import read_rule
from halo_scheduler.schedule.spoken_sources import take_sources

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
_MOST_SUGGESTIONS = 3
# Each is read to see whether it is understood.
_MOST_REPAIRS = 4
_EVENTS = ("when", "whenever", "if")
_AFTER = re.compile(
    r"after (the |each |every )?(it|job|run|previous run|last run|one|previous one|last one)?"
    r" ?(has |is )?(finishes|finished|ends|ended|end|is over|over|completes|completed|done)?"
)


def parse_schedule(
    text: str, *, now_ms: int, timezone: str | None = None, country: str | None = None
) -> Schedule | Several:
    """Return the schedule that plain English words mean; several, separated by semicolons, become one value.

    Times are read in `timezone` (None: the computer's), unless the words name a zone. Holidays and business days
    are those of `country`, like DE, unless the words name one. PhraseParseError, a ScheduleError, says what is not
    understood or ambiguous, and has suggestions.
    """
    require_text("", text, longest=LONGEST_PHRASE)
    parts = split_phrases(text)
    if not parts:
        raise PhraseParseError(f"say when the job runs, like “{EXAMPLES[0]}”", text, EXAMPLES)
    if len(parts) > MOST_SCHEDULES:
        raise PhraseParseError(f"a job has at most {MOST_SCHEDULES} schedules", text)
    found = [_parse_part(part, now_ms, timezone, country) for part in parts]
    if len(found) == 1:
        return found[0]
    return combine(replace(entry, key="") for item in found for entry in entries_of(item))


def _parse_part(text: str, now_ms: int, timezone: str | None, country: str | None) -> Schedule | Several:
    def is_understood(phrase: str) -> bool:
        with suppress(ScheduleError):
            parts = split_phrases(phrase)
            return bool(parts) and all(_read_part(part, now_ms, timezone, country) for part in parts)
        return False

    try:
        return _read_part(text, now_ms, timezone, country)
    except PhraseParseError as error:
        today = local_time(now_ms, timezone).date()
        nearest = list(filter(is_understood, islice(repaired_phrases(text, today), _MOST_REPAIRS)))
        others = [phrase for phrase in error.suggestions if phrase in EXAMPLES or is_understood(phrase)]
        if nearest:
            others = [phrase for phrase in others if phrase not in (*EXAMPLES, TWO_SCHEDULES)]
        advice = tuple(dict.fromkeys((*nearest, *others)))[:_MOST_SUGGESTIONS]
        if advice == error.suggestions:
            raise
        raise refusal(error.phrase, error.fault, *advice) from None


def _read_part(text: str, now_ms: int, timezone: str | None, country: str | None) -> Schedule | Several:
    if (event := read_event(text)) is not None:
        return event
    sources = take_sources(text, country)
    words, zone = _split_zone(sources.text)
    if _CRON.fullmatch(words):
        return Cron(words, zone or timezone)
    cursor = Cursor(words, sources.items)
    today = local_time(now_ms, zone or timezone).date()
    calendar = take_calendar(cursor, today, sources.only, sources.shift)
    first, last = (None if day is None else day.isoformat() for day in take_span(cursor, today))
    found = _parse_words(cursor, words, zone, timezone, now_ms)
    if first is None and last is None and not calendar.has_days:
        return found
    if not all(isinstance(item, Dated) for item in schedules_of(found)):
        raise cursor.refusal("a start or end date has no effect here; leave it out")
    try:
        return Several(
            tuple(
                Entry(item, from_date=first, until_date=last, calendar=calendar)
                for item in schedules_of(found)
            )
        )
    except ScheduleError as error:
        raise cursor.refusal(error.message) from None


def _parse_words(
    cursor: Cursor, words: str, zone: str | None, timezone: str | None, now_ms: int
) -> Schedule | Several:
    if " ".join(words.lower().split()).removesuffix(".") in _MANUAL:
        return _without_zone(cursor, zone, Manual())
    if cursor.peek().text in _EVENTS:
        raise cursor.refusal("this event is not understood", *EVENT_EXAMPLES)
    if (relative := _from_now(cursor, now_ms) or _after(cursor, now_ms)) is not None:
        return _without_zone(cursor, zone, relative)
    if (once := read_once(cursor, now_ms, zone or timezone, has_zone=zone is not None)) is not None:
        return once
    rule = read_rule(cursor, zone or timezone)
    return rule if isinstance(rule, Cron | Several) else _without_zone(cursor, zone, rule)


def _split_zone(text: str) -> tuple[str, str | None]:
    match = _ZONE.search(text)
    if match is None:
        return text, None
    name = match["name"] or match["plain"]
    if name.partition("/")[0].lower() in DAY_NAMES:
        return text, None
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
    is_once = bool(cursor.accept("once"))
    if cursor.accept("in") and (ahead_ms := read_duration(cursor)) is not None:
        if is_once and ahead_ms >= DAY_MS:
            length = interval_in_words(ahead_ms)
            raise cursor.refusal(
                "it is not clear whether this is one run or many", f"in {length}", f"every {length}"
            )
        cursor.accept_all("from now")
        if cursor.is_over:
            return Once(require_instant("", now_ms + ahead_ms))
        if ahead_ms % DAY_MS:
            raise cursor.token_refusal()
    cursor.position = start
    return None


def _after(cursor: Cursor, now_ms: int) -> After | Once | None:
    """Read "5 minutes after it finishes", "5 minutes from now"; refuse "5 minutes"."""
    start = cursor.position
    is_every = bool(cursor.accept("every"))
    pause_ms = read_duration(cursor)
    if pause_ms is not None and not is_every:
        if cursor.accept_all("from now") and cursor.is_over:
            return Once(require_instant("", now_ms + pause_ms))
        if cursor.is_over:
            length = interval_in_words(pause_ms)
            fault = "it is not clear whether that is once or repeatedly"
            raise cursor.refusal(fault, f"every {length}", f"in {length}")
    if pause_ms is not None and cursor.peek().text == "after":
        words = []
        while not cursor.is_over:
            words.append(cursor.take().text)
        if _AFTER.fullmatch(" ".join(words)) and len(words) > 1:
            return After(format_interval(pause_ms))
        raise cursor.refusal("after what is not clear", "5 minutes after it finishes")
    cursor.position = start
    return None


def read_once(cursor: Cursor, now_ms: int, timezone: str | None, *, has_zone: bool = False) -> Once | None:
    """Return the single run that a phrase means; None, without moving, if it names no date.

    `has_zone` says that the phrase names a time zone; an offset from UTC is then refused.
    """
    start = cursor.position
    is_once = bool(cursor.accept("once"))
    if is_once and cursor.accept("a", "per", "every", "each"):
        raise cursor.refusal(
            "“once” means a single run; leave it out", "every day at 9:00", "every Monday at 9:00"
        )
    cursor.accept(",")
    at = _time(cursor)
    cursor.accept(",")
    today = local_time(now_ms, timezone).date()
    is_today = cursor.peek().text in ("today", "tonight", "this")
    part = "night" if cursor.peek().text == "tonight" else ""
    day = read_day(cursor, today)
    is_today = is_today and day == today
    if day is None:
        if is_once:
            raise cursor.refusal("the date is missing", "today at 18:00", "24 Dec 2026 at 18:00")
        cursor.position = start
        return None
    part = part or cursor.accept("morning", "afternoon", "evening", "night")
    cursor.accept(",")
    at = at or _time(cursor)
    if at is None:
        raise cursor.refusal("the time is missing", f"{day_words(day)} at 9:00")
    at = in_part_of_day(cursor, at, part) if part else at
    instant = _instant(cursor, day, at, timezone, has_zone=has_zone)
    if is_today and instant <= now_ms:
        raise cursor.refusal(f"{at.text} is over today", f"tomorrow at {at.text}")
    return Once(instant)


def _time(cursor: Cursor) -> TimeOfDay | None:
    start = cursor.position
    has_at = bool(cursor.accept("at"))
    if not has_at and cursor.peek().kind is TokenKind.NUMBER and cursor.peek(1).text not in ("am", "pm"):
        return None  # A bare number may be a date.
    found = read_time(cursor)
    if found is None:
        cursor.position = start
    return found


def _instant(cursor: Cursor, day: date, at: TimeOfDay, timezone: str | None, *, has_zone: bool) -> int:
    wall_s = wall_seconds(datetime.combine(day, time(at.hour, at.minute, at.second)))
    offset_s = _offset_s(cursor)
    if not cursor.is_over:
        raise cursor.token_refusal()
    if offset_s is not None and has_zone:
        raise cursor.refusal("there is an offset from UTC and a time zone; leave one out")
    if offset_s is not None:
        return (wall_s - offset_s) * SECOND_MS
    return to_instant(find_zone(timezone), wall_s) * SECOND_MS


def _offset_s(cursor: Cursor) -> int | None:
    if cursor.accept("utc", "gmt", "z"):
        return 0
    sign = cursor.accept("+", "-")
    if not sign:
        return None
    token = cursor.take_kind(TokenKind.CLOCK)
    if token is None:
        raise cursor.refusal("the offset from UTC is missing", "24 Dec 2026 at 18:00 +01:00")
    hours, minutes = (int(part) for part in token.text.split(":")[:2])
    return (3600 * hours + 60 * minutes) * (-1 if sign == "-" else 1)
