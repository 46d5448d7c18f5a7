"""Days in plain words: "weekdays", "Mon, Wed and Fri", "the first Monday of the month", "24 December every year"."""

from __future__ import annotations

from dataclasses import dataclass, field

from halo_scheduler.grammar.english import WEEKDAYS, ordinal
from halo_scheduler.grammar.phrases.tokens import (
    MONTH_WORDS,
    ORDINALS,
    WEEKDAY_PLURALS,
    WEEKDAY_WORDS,
    Cursor,
    TokenKind,
)

_LAST = 0
"""Stands for "last" among ordinals."""
_MOST_NTH = 5
_MOST_DAYS = 31
_GROUPS = {
    "weekday": (1, 2, 3, 4, 5),
    "weekdays": (1, 2, 3, 4, 5),
    "weekend": (0, 6),
    "weekends": (0, 6),
}
DAY_NAMES = frozenset(_GROUPS) | frozenset(WEEKDAY_WORDS) | frozenset(WEEKDAY_PLURALS)
"""The words that name days of the week."""
_TO = ("to", "through", "thru", "till", "until", "–", "-")


@dataclass
class Days:
    """The days named so far in a phrase; `has_dates` and `has_weekdays` are their kinds."""

    is_daily: bool = False
    is_monthly: bool = False
    is_yearly: bool = False
    is_weekly: bool = False
    match_both: bool = False
    names_dates: bool = False
    """Whether a clause names dates; those of "if that is the 13th" only limit other days."""
    is_either: bool = False
    weekdays: set[int] = field(default_factory=set)
    nth_weekdays: set[tuple[int, int]] = field(default_factory=set)
    last_weekdays: set[int] = field(default_factory=set)
    dates: set[int] = field(default_factory=set)
    last_day: bool = False
    months: set[int] = field(default_factory=set)
    single_weekday: int | None = None
    parts: list[frozenset[int]] = field(default_factory=list)
    """The months of each clause that names days."""

    @property
    def has_dates(self) -> bool:
        return bool(self.dates or self.last_day)

    @property
    def has_weekdays(self) -> bool:
        return bool(self.weekdays or self.nth_weekdays or self.last_weekdays)

    @property
    def is_restricted(self) -> bool:
        return self.has_dates or self.has_weekdays or bool(self.months)

    @property
    def is_named(self) -> bool:
        return self.is_restricted or self.is_daily


def read_days(cursor: Cursor, days: Days, *, after_every: bool = False) -> bool:
    """Add the days at the cursor; False, without moving, if there are none."""
    start = cursor.position
    if not after_every and (_combination(cursor, days) or _period(cursor, days)):
        return True
    if not after_every:
        cursor.accept("on")
        after_every = bool(cursor.accept("every", "each"))
    if _named_days(cursor, days, after_every=after_every) or _months(cursor, days, after_every=after_every):
        return True
    cursor.position = start
    return False


def _named_days(cursor: Cursor, days: Days, *, after_every: bool) -> bool:
    before, days.months = days.months, set()
    had_dates = days.has_dates
    is_named = (
        _weekdays(cursor, days, after_every=after_every)
        or _dates_of_month(cursor, days)
        or _ordinals(cursor, days)
    )
    if is_named:
        days.parts.append(frozenset(days.months))
        days.names_dates |= days.has_dates and not had_dates
    days.months |= before
    return is_named


def _combination(cursor: Cursor, days: Days) -> bool:
    """Read how dates and weekdays combine: ", if that is the 1st" and "and also on Fridays"."""
    if cursor.accept_all("if that is") or cursor.accept_all("if it is"):
        days.match_both = True
        if not _ordinals(cursor, days):
            raise cursor.token_refusal()
        return True
    start = cursor.position
    if days.parts and cursor.accept("and", "or") and (cursor.accept("also") or cursor.peek().text == "on"):
        days.is_either = True
        return True
    cursor.position = start
    return False


def _period(cursor: Cursor, days: Days) -> bool:
    if cursor.accept("daily"):
        days.is_daily = True
    elif cursor.accept("monthly"):
        days.is_monthly = True
    elif cursor.accept("yearly", "annually"):
        days.is_yearly = True
    elif cursor.accept("weekly"):
        days.is_weekly = True
    elif (
        cursor.accept_all("of every month")
        or cursor.accept_all("of each month")
        or cursor.accept_all("of the month")
    ):
        days.is_monthly = True
    else:
        return False
    return True


# --- Weekdays -----------------------------------------------------------------------------------------


def _weekdays(cursor: Cursor, days: Days, *, after_every: bool) -> bool:
    start = cursor.position
    has_from = bool(cursor.accept("from"))
    first = cursor.position
    found, is_repeated = _weekday_item(cursor)
    if not found or (has_from and cursor.position == first + 1):
        # "From" begins a range.
        cursor.position = start
        return False
    items = 1
    while (more := _further_weekdays(cursor)) is not None:
        found |= more
        items += 1
    if not (after_every or is_repeated or items > 1 or len(found) > 1):
        days.single_weekday = next(iter(found))
    days.weekdays |= found
    _in_months(cursor, days)
    return True


def _further_weekdays(cursor: Cursor) -> set[int] | None:
    before = cursor.position
    is_next = all(cursor.peek(ahead).text in WEEKDAY_WORDS for ahead in (-1, 0))
    if is_next or cursor.accept(",", "and", "&"):
        cursor.accept("and")
        cursor.accept("on")
        cursor.accept("every", "each")
        found, _ = _weekday_item(cursor)
        if found:
            return found
    cursor.position = before
    return None


def _weekday_item(cursor: Cursor) -> tuple[set[int], bool]:
    """Return the weekdays of a name, a range or a group, and whether the word means each of them."""
    token = cursor.peek()
    if token.text in _GROUPS:
        cursor.take()
        return set(_GROUPS[token.text]), True
    if (plural := cursor.accept_from(WEEKDAY_PLURALS)) is not None:
        return _up_to(cursor, plural), True
    first = cursor.accept_from(WEEKDAY_WORDS)
    return (set(), False) if first is None else (_up_to(cursor, first), False)


def _up_to(cursor: Cursor, first: int) -> set[int]:
    before = cursor.position
    if cursor.accept(*_TO):
        last = cursor.accept_from(WEEKDAY_WORDS | WEEKDAY_PLURALS)
        if last is not None:
            return {(first + step) % 7 for step in range((last - first) % 7 + 1)}
    cursor.position = before
    return {first}


# --- Days of the month --------------------------------------------------------------------------------


def _ordinals(cursor: Cursor, days: Days) -> bool:
    """Read "the 1st and the 15th", "the first and third Monday", "the last day", each with its months."""
    start = cursor.position
    pending: list[int] = []
    while (item := _ordinal_item(cursor)) is not None:
        pending += item
        pending = _take_noun(cursor, days, pending)
        before = cursor.position
        if not cursor.accept(",", "and", "&", "or"):
            break
        cursor.accept("and", "or")
        if not _is_ordinal_ahead(cursor):
            cursor.position = before
            break
    if cursor.position == start:
        return False
    _add_dates(cursor, days, pending)
    _of_months(cursor, days)
    return True


def _ordinal_item(cursor: Cursor) -> list[int] | None:
    start = cursor.position
    cursor.accept("on")
    cursor.accept("the")
    first = _ordinal(cursor)
    if first is None:
        cursor.position = start
        return None
    before = cursor.position
    if cursor.accept(*_TO):
        cursor.accept("the")
        last = _ordinal(cursor)
        if last is not None and last > first:
            return list(range(first, last + 1))
        cursor.position = before
    return [first]


def _is_ordinal_ahead(cursor: Cursor) -> bool:
    start = cursor.position
    is_ahead = _ordinal_item(cursor) is not None
    cursor.position = start
    return is_ahead


def _ordinal(cursor: Cursor) -> int | None:
    if cursor.accept("last"):
        return _LAST
    # Before a unit or at the end, "second" is not an ordinal.
    if (token := cursor.take_kind(TokenKind.ORDINAL)) is not None:
        return token.number
    return cursor.accept_from(ORDINALS)


def _take_noun(cursor: Cursor, days: Days, pending: list[int]) -> list[int]:
    """Give the ordinals so far to the noun that follows, if one does, and return those that still need one."""
    if cursor.accept("day", "days"):
        _add_dates(cursor, days, pending)
        return []
    if cursor.peek().text in _GROUPS:
        raise cursor.refusal(
            f"the n-th {cursor.peek().text} of a month is not supported", "first Monday of the month at 9:00"
        )
    weekday = cursor.accept_from(WEEKDAY_WORDS | WEEKDAY_PLURALS)
    if weekday is None:
        return pending
    for nth in pending:
        if nth == _LAST:
            days.last_weekdays.add(weekday)
        elif nth <= _MOST_NTH:
            days.nth_weekdays.add((weekday, nth))
        else:
            raise cursor.refusal(
                f"no month has a {ordinal(nth)} {WEEKDAYS[weekday]}",
                f"last {WEEKDAYS[weekday]} of the month at 9:00",
            )
    return []


def _add_dates(cursor: Cursor, days: Days, dates: list[int]) -> None:
    for date in dates:
        if date > _MOST_DAYS or (date == _LAST and cursor.peek(-1).text not in ("day", "days")):
            raise cursor.refusal(
                "after last, name a day or a weekday of a month"
                if date == _LAST
                else f"no month has a {ordinal(date)} day",
                "last day of the month at 9:00",
            )
    days.last_day |= _LAST in dates
    days.dates |= {date for date in dates if date != _LAST}


def _dates_of_month(cursor: Cursor, days: Days) -> bool:
    """Read "1 January", "1, 2 and 15 June", "1 to 5 June", "December 24", "December 24th"."""
    start = cursor.position
    month = cursor.accept_from(MONTH_WORDS)
    if month is not None:
        token = cursor.take_kind(TokenKind.NUMBER) or cursor.take_kind(TokenKind.ORDINAL)
        if token is not None and cursor.peek().text not in ("am", "pm"):
            days.months.add(month)
            _add_dates(cursor, days, [token.number])
            _of_months(cursor, days)
            return True
        cursor.position = start
        return False
    dates = _number_list(cursor)
    month = cursor.accept_from(MONTH_WORDS) if dates else None
    if month is None:
        cursor.position = start
        return False
    _add_dates(cursor, days, dates)
    days.months.add(month)
    _of_months(cursor, days)
    return True


def _number_list(cursor: Cursor) -> list[int]:
    numbers: list[int] = []
    while (token := cursor.take_kind(TokenKind.NUMBER)) is not None:
        numbers.append(token.number)
        if cursor.accept(*_TO):
            last = cursor.take_kind(TokenKind.NUMBER)
            if last is None or last.number <= token.number:
                return []
            numbers += range(token.number + 1, min(last.number, _MOST_DAYS + 1) + 1)
        if not cursor.accept(",", "and", "&"):
            break
    return numbers


# --- Months -------------------------------------------------------------------------------------------


def _of_months(cursor: Cursor, days: Days) -> None:
    """Read "of every month", "of January and July", "in July", "December", "every year"."""
    start = cursor.position
    has_of = bool(cursor.accept("of", "in"))
    if has_of and cursor.accept("every", "each", "the", "a"):
        if cursor.accept("month"):
            days.is_monthly = True
        else:
            cursor.position = start
    elif not _month_list(cursor, days):
        cursor.position = start
    _every_year(cursor, days)


def _every_year(cursor: Cursor, days: Days) -> None:
    if cursor.accept_all("every year") or cursor.accept_all("each year"):
        days.is_yearly = True


def _in_months(cursor: Cursor, days: Days) -> None:
    start = cursor.position
    if cursor.accept("in", "of") and not _month_list(cursor, days):
        cursor.position = start


def _months(cursor: Cursor, days: Days, *, after_every: bool) -> bool:
    start = cursor.position
    if cursor.accept("in") or after_every:
        cursor.accept("every", "each")
        if _month_list(cursor, days):
            return True
    cursor.position = start
    return False


def _month_list(cursor: Cursor, days: Days) -> bool:
    month = cursor.accept_from(MONTH_WORDS)
    if month is None:
        return False
    while month is not None:
        before = cursor.position
        last = cursor.accept_from(MONTH_WORDS) if cursor.accept(*_TO) else None
        if last is None:
            cursor.position = before
        days.months |= {(month - 1 + step) % 12 + 1 for step in range(((last or month) - month) % 12 + 1)}
        before = cursor.position
        month = None
        if cursor.accept(",", "and", "&"):
            cursor.accept("and")
            month = cursor.accept_from(MONTH_WORDS)
        if month is None:
            cursor.position = before
    return True
