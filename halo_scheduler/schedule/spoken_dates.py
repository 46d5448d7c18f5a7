"""Reads single days in plain words, and the days that a repeating schedule is limited to."""

from __future__ import annotations

import re
from collections.abc import Iterable
from contextlib import suppress
from datetime import date, datetime, time, timedelta

from halo_scheduler.errors import PhraseParseError, ScheduleError
from halo_scheduler.grammar.english import WEEKDAYS, short_date
from halo_scheduler.grammar.interval import DAY_MS
from halo_scheduler.grammar.phrases.times import PARTS_OF_DAY, read_duration
from halo_scheduler.grammar.phrases.tokens import MONTH_WORDS, WEEKDAY_WORDS, Cursor, TokenKind
from halo_scheduler.model.calendars import DAY_GROUPS, Calendar, Shift

_DAYS_AHEAD = {"today": 0, "tonight": 0, "tomorrow": 1}
_YEAR_DIGITS = 4
_WEEK = 7
_MOST_AHEAD_MS = 10_000 * DAY_MS
_FIRST_YEAR, _LAST_YEAR = 1970, 9998
_FROM = ("from", "starting", "beginning")
_UNTIL = ("until", "till", "through", "ending")
_TO = (*_UNTIL, "to", "–", "-")
_THIS_OR_NEXT = re.compile(r"\b(?:this|next)\s+[a-z]+", re.IGNORECASE)


def day_words(day: date) -> str:
    """Return a day as it is written in a phrase: "24 Dec 2026"."""
    return short_date(datetime.combine(day, time()))


# --- The first and the last day -------------------------------------------------------------------------


def take_span(cursor: Cursor, today: date) -> tuple[date | None, date | None]:
    """Take "from 1 May 2026" and "until 31 Dec 2026", at any position, and return these days.

    Words without a date after them are left to the other clauses.
    """
    first: date | None = None
    last: date | None = None
    start = cursor.position
    while not cursor.is_over:
        at = cursor.position
        begins, ends = _clause(cursor, today)
        if begins is None and ends is None:
            cursor.position = at + 1
            continue
        if (begins and first) or (ends and last):
            raise cursor.refusal("there are two start dates, or two end dates; leave one out")
        first, last = begins or first, ends or last
        cursor.cut(at - 1 if at and cursor.peek_at(at - 1).text == "," else at)
    cursor.position = start
    if first is not None and last is not None and last < first:
        raise cursor.refusal(f"{day_words(last)} lies before {day_words(first)}")
    return first, last


def _clause(cursor: Cursor, today: date) -> tuple[date | None, date | None]:
    if cursor.accept("between"):
        first = _full_day(cursor, today)
        last = _full_day(cursor, today) if first is not None and cursor.accept("and") else None
        return (first, last) if last is not None else (None, None)
    if cursor.accept(*_FROM):
        cursor.accept("from", "on")
        first = _full_day(cursor, today)
        if first is None:
            return None, None
        at = cursor.position
        cursor.accept(",")
        last = _full_day(cursor, today, "until") if cursor.accept(*_TO) else None
        if last is None:
            cursor.position = at
        return first, last
    if cursor.accept(*_UNTIL):
        cursor.accept("on", "and")
        cursor.accept_all("including")
        return None, _full_day(cursor, today, "until")
    return None, None


def _full_day(cursor: Cursor, today: date, opening: str = "from") -> date | None:
    """Return a day with its year; refuse one without a year."""
    if (found := read_day(cursor, today)) is not None:
        return found
    at = cursor.position
    cursor.accept("the")
    day, month = _day_and_month(cursor)
    is_date = day is not None and month is not None
    cursor.position = at
    if not is_date or day is None or month is None:
        return None
    raise _without_year(cursor, today, (day, month), opening)


def _without_year(cursor: Cursor, today: date, named: tuple[int, int], opening: str) -> PhraseParseError:
    if (ahead := _next_date(today, *named)) is None:
        return cursor.refusal("there is no such date", "every day at 9:00 until 31 Dec 2026")
    return cursor.refusal("the year is missing", f"every day at 9:00 {opening} {day_words(ahead)}")


def _next_date(today: date, day: int, month: int) -> date | None:
    for year in range(today.year, today.year + 9):  # 29 February may be eight years ahead.
        with suppress(ValueError):
            if (ahead := date(year, month, day)) >= today:
                return ahead
    return None


def with_year(words: str, today: date) -> str:
    """Return a day without a year, like "24 Dec", as the next such day: "24 Dec 2026"; or the words as they are."""
    cursor = Cursor(words)
    day, month = _day_and_month(cursor)
    ahead = None if day is None or month is None else _next_date(today, day, month)
    return words if ahead is None else day_words(ahead)


def _day_and_month(cursor: Cursor) -> tuple[int | None, int | None]:
    """Read "24 Dec", "24th of December" or "December 24"."""
    day = _day_number(cursor)
    cursor.accept("of")
    month = cursor.accept_from(MONTH_WORDS)
    return (_day_number(cursor) if day is None and month is not None else day), month


# --- Calendars ------------------------------------------------------------------------------------------


def take_calendar(
    cursor: Cursor, today: date, only: Iterable[str] = (), shift: Shift | None = None
) -> Calendar:
    """Take "only on weekdays", "not on 24 Dec 2026" and "moved to the next allowed day", at any position.

    `only` and `shift` come from other clauses.
    """
    days: dict[str, list[str]] = {"only": list(only), "not": []}
    start = cursor.position
    while not cursor.is_over:
        at = cursor.position
        kind = _opening(cursor)
        found = _listed_days(cursor, today, kind) if kind else []
        moves = _shift(cursor) if not found else None
        if not found and moves is None:
            cursor.position = at + 1
            continue
        if moves is not None and shift is not None:
            raise cursor.refusal("times cannot move to two days; leave one out")
        days[kind or "not"] += found
        shift = moves or shift
        cursor.cut(at - 1 if at and cursor.peek_at(at - 1).text == "," else at)
    cursor.position = start
    try:
        return Calendar(only=tuple(days["only"]), excluded=tuple(days["not"]), shift=shift)
    except ScheduleError as error:
        raise cursor.refusal(f"the calendar {error.message}") from None


def _opening(cursor: Cursor) -> str:
    if cursor.accept_all("only on"):
        return "only"
    is_excluding = cursor.accept_all("not on") or cursor.accept_all("except on") or cursor.accept("except")
    return "not" if is_excluding else ""


def _listed_days(cursor: Cursor, today: date, kind: str) -> list[str]:
    """Read "weekends, 24 Dec 2026 or 2027-01-01"."""
    found: list[str] = []
    end = cursor.position
    while (item := _listed_day(cursor, today, f"{kind} on")) is not None:
        found.append(item)
        end = cursor.position
        cursor.accept(",")
        cursor.accept("and", "or")
        cursor.accept("on")
    cursor.position = end
    return found


def _listed_day(cursor: Cursor, today: date, opening: str) -> str | None:
    if group := cursor.accept(*DAY_GROUPS):
        return group
    if (mark := cursor.take_kind(TokenKind.SOURCE)) is not None:
        return cursor.sources[mark.text]
    day = _full_day(cursor, today, opening)
    return None if day is None else day.isoformat()


def _shift(cursor: Cursor) -> Shift | None:
    """Read "moved to the next allowed day", "otherwise on the previous day"."""
    if not any(map(cursor.accept_all, ("moved to the", "otherwise on the", "else on the"))):
        return None
    which = cursor.accept(*Shift)
    cursor.accept("allowed", "possible")
    return Shift(which) if which and cursor.accept("day") else None


# --- Days ---------------------------------------------------------------------------------------------


def read_day(cursor: Cursor, today: date) -> date | None:
    """Return the day that a phrase names; None, without moving, if it names none."""
    start = cursor.position
    if (ahead := cursor.accept_from(_DAYS_AHEAD)) is not None:
        return today + timedelta(days=ahead)
    if cursor.accept_all("the day after tomorrow") or cursor.accept_all("day after tomorrow"):
        return today + timedelta(days=2)
    if cursor.peek().text == "this" and cursor.peek(1).text in PARTS_OF_DAY:
        cursor.take()
        return today
    if (ahead := _days_ahead(cursor)) is not None:
        return today + timedelta(days=ahead)
    cursor.accept("on")
    if (token := cursor.take_kind(TokenKind.DATE)) is not None:
        return _numeric_date(cursor, token.text)
    found = _coming_weekday(cursor, today) or _written_date(cursor)
    if found is None:
        cursor.position = start
    return found


def _days_ahead(cursor: Cursor) -> int | None:
    """Read "in 2 days"; other lengths of time are left to other clauses."""
    start = cursor.position
    ahead_ms = read_duration(cursor) if cursor.accept("in") else None
    if ahead_ms is not None and ahead_ms % DAY_MS == 0 and ahead_ms <= _MOST_AHEAD_MS:
        return ahead_ms // DAY_MS
    cursor.position = start
    return None


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
            _on_day(cursor.phrase, day),
            _on_day(cursor.phrase, later),
        )
    if which == "this" and not is_this_week:
        raise cursor.refusal(f"{WEEKDAYS[weekday]} of this week is over", _on_day(cursor.phrase, day))
    return day


def _on_day(phrase: str, day: date) -> str:
    """Return a phrase with a date in place of "next Friday"."""
    named = _THIS_OR_NEXT.sub(day_words(day), phrase, count=1)
    return named if named.strip() != day_words(day) else f"{named} at 9:00"


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
    day, month = _day_and_month(cursor)
    cursor.accept(",")
    year = cursor.take_kind(TokenKind.NUMBER) if day is not None and month is not None else None
    if day is None or month is None or year is None or len(year.text) != _YEAR_DIGITS:
        cursor.position = start
        return None
    return _valid_date(cursor, year.number, month, day)


def _day_number(cursor: Cursor) -> int | None:
    token = cursor.take_kind(TokenKind.NUMBER) or cursor.take_kind(TokenKind.ORDINAL)
    return None if token is None else token.number
