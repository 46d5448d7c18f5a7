"""One date and time in plain words: "tomorrow at 9", "next Monday at 8:00", "24 Dec 2026 at 18:00 UTC"."""

from __future__ import annotations

from datetime import date, datetime, time, timedelta

from halo_scheduler.grammar.english import WEEKDAYS, short_date
from halo_scheduler.grammar.interval import SECOND_MS
from halo_scheduler.grammar.phrases.times import TimeOfDay, in_part_of_day, read_time
from halo_scheduler.grammar.phrases.tokens import MONTH_WORDS, WEEKDAY_WORDS, Cursor, TokenKind
from halo_scheduler.grammar.zone import find_zone, local_time, to_instant, wall_seconds
from halo_scheduler.model import Once

_DAYS_AHEAD = {"today": 0, "tonight": 0, "tomorrow": 1}
_YEAR_DIGITS = 4
_WEEK = 7
_FIRST_YEAR, _LAST_YEAR = 1970, 9998


def read_once(cursor: Cursor, now_ms: int, timezone: str | None) -> Once | None:
    """Return the single run that a phrase means; None, without moving, if it names no date."""
    start = cursor.position
    is_once = bool(cursor.accept("once"))
    cursor.accept(",")
    at = _time(cursor)
    cursor.accept(",")
    today = local_time(now_ms, timezone).date()
    is_today = cursor.peek().text in ("today", "tonight")
    part = "night" if cursor.peek().text == "tonight" else ""
    day = _day(cursor, today)
    if day is None:
        if is_once:
            raise cursor.refusal("the date is missing", "today at 18:00", "24 Dec 2026 at 18:00")
        cursor.position = start
        return None
    part = part or cursor.accept("morning", "afternoon", "evening", "night")
    cursor.accept(",")
    at = at or _time(cursor)
    if at is None:
        raise cursor.refusal("the time is missing", f"{_words(day)} at 9:00")
    at = in_part_of_day(cursor, at, part) if part else at
    instant = _instant(cursor, day, at, timezone)
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


def _words(day: date) -> str:
    return short_date(datetime.combine(day, time()))


def _instant(cursor: Cursor, day: date, at: TimeOfDay, timezone: str | None) -> int:
    wall_s = wall_seconds(datetime.combine(day, time(at.hour, at.minute, at.second)))
    offset_s = _offset_s(cursor)
    if not cursor.is_over:
        raise cursor.token_refusal()
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


# --- Days ---------------------------------------------------------------------------------------------


def _day(cursor: Cursor, today: date) -> date | None:
    start = cursor.position
    if (ahead := cursor.accept_from(_DAYS_AHEAD)) is not None:
        return today + timedelta(days=ahead)
    if cursor.accept_all("the day after tomorrow") or cursor.accept_all("day after tomorrow"):
        return today + timedelta(days=2)
    cursor.accept("on")
    if (token := cursor.take_kind(TokenKind.DATE)) is not None:
        return _numeric_date(cursor, token.text)
    found = _coming_weekday(cursor, today) or _written_date(cursor)
    if found is None:
        cursor.position = start
    return found


def _coming_weekday(cursor: Cursor, today: date) -> date | None:
    start = cursor.position
    which = cursor.accept("next", "this")
    weekday = cursor.accept_from(WEEKDAY_WORDS) if which else None
    if weekday is None:
        cursor.position = start
        return None
    # ISO weekdays: Monday is 1, Sunday 7.
    ahead = (weekday - today.isoweekday()) % _WEEK or _WEEK
    is_this_week = today.isoweekday() + ahead <= _WEEK
    day = today + timedelta(days=ahead)
    if which == "next" and is_this_week:
        later = day + timedelta(days=_WEEK)
        raise cursor.refusal(
            f"it is not clear which {WEEKDAYS[weekday]} is the next one",
            f"{_words(day)} at 9:00",
            f"{_words(later)} at 9:00",
        )
    if which == "this" and not is_this_week:
        raise cursor.refusal(f"{WEEKDAYS[weekday]} of this week is over", f"{_words(day)} at 9:00")
    return day


def _numeric_date(cursor: Cursor, text: str) -> date:
    parts = [int(part) for part in text.replace(".", "-").split("-")]
    year, month, day = parts if "-" in text else reversed(parts)
    return _valid_date(cursor, year, month, day)


def _valid_date(cursor: Cursor, year: int, month: int, day: int) -> date:
    try:
        found = date(year, month, day)
    except ValueError:
        raise cursor.refusal(
            f"there is no such date as {year:04}-{month:02}-{day:02}", "24 Dec 2026 at 18:00"
        ) from None
    if not _FIRST_YEAR <= found.year <= _LAST_YEAR:
        raise cursor.refusal("the date must lie between 1970 and 9998", "24 Dec 2026 at 18:00")
    return found


def _written_date(cursor: Cursor) -> date | None:
    """Read "24 Dec 2026", "24th of December 2026", "December 24, 2026"; without a year it is none."""
    start = cursor.position
    cursor.accept("the")
    day, month = _day_number(cursor), None
    cursor.accept("of")
    month = cursor.accept_from(MONTH_WORDS)
    day = _day_number(cursor) if day is None and month is not None else day
    cursor.accept(",")
    year = cursor.take_kind(TokenKind.NUMBER) if day is not None and month is not None else None
    if day is None or month is None or year is None or len(year.text) != _YEAR_DIGITS:
        cursor.position = start
        return None
    return _valid_date(cursor, year.number, month, day)


def _day_number(cursor: Cursor) -> int | None:
    token = cursor.take_kind(TokenKind.NUMBER) or cursor.take_kind(TokenKind.ORDINAL)
    return None if token is None else token.number
