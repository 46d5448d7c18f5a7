"""Repeated runs in plain words: the clauses of a phrase, in any order, collected and made into one schedule."""

from __future__ import annotations

from halo_scheduler.grammar.english import MONTHS, WEEKDAYS, listed, ordinal
from halo_scheduler.grammar.interval import HOUR_MS
from halo_scheduler.grammar.phrases.days import DAY_NAMES, Days, read_days
from halo_scheduler.grammar.phrases.times import (
    PARTS_OF_DAY,
    UNITS,
    read_duration,
    read_time,
    read_times,
    take_named_minutes,
)
from halo_scheduler.grammar.phrases.tokens import ORDINALS, WEEKDAY_WORDS, Cursor, TokenKind
from halo_scheduler.model import Schedule, Several
from halo_scheduler.schedule.spoken_building import Rule, build_schedule, two_schedules
from halo_scheduler.schedule.spoken_fields import read_fields

_HOUR_WORDS = ("the", "every", "each")
_QUARTERS = "on the 1st of January, April, July and October at 9:00"
_OPEN_WORDS = {
    "times": ("at 9:00, 13:00 and 17:00 every day", "every 8 hours"),
    "twice": ("at 9:00 and 17:00 every day", "every Monday and Thursday at 9:00"),
    "biweekly": ("every 14 days", "every Monday and Thursday at 9:00"),
    "quarterly": (_QUARTERS,),
    "except": ("every day at 9:00, not on weekends", "every day at 9:00, not on Sundays"),
    "starting": ("every 2 hours from 8:00 to 18:00",),
    "beginning": ("every 2 hours from 8:00 to 18:00",),
}
"""Words that do not say when, and phrases that do."""


def read_rule(cursor: Cursor, timezone: str | None) -> Schedule | Several:
    """Return the schedule of a phrase that repeats."""
    rule = Rule()
    while not cursor.is_over:
        if cursor.accept(","):
            continue
        if not _clause(cursor, rule):
            raise two_schedules(cursor) if _begins_another(cursor) else cursor.token_refusal()
    return build_schedule(cursor, rule, timezone)


def _begins_another(cursor: Cursor) -> bool:
    """Return whether the rest of a phrase is another schedule, as in "every Monday at 9 and Friday at 10"."""
    start = cursor.position
    is_another = start > 0 and bool(cursor.accept("and")) and _clause(cursor, Rule())
    cursor.position = start
    return is_another


# --- Clauses ------------------------------------------------------------------------------------------


def _clause(cursor: Cursor, rule: Rule) -> bool:
    return (
        _excluded(cursor, rule)
        or _class_words(cursor, rule)
        or _past(cursor, rule)
        or _every(cursor, rule)
        or _span(cursor, rule)
        or _times(cursor, rule)
        or read_days(cursor, rule.days)
        or _refuse_open_word(cursor)
    )


def _refuse_open_word(cursor: Cursor) -> bool:
    word = cursor.peek().text
    if cursor.accept("times") or cursor.peek(1).text in ("times", "x"):
        word = "times"
    if word in _OPEN_WORDS:
        raise cursor.refusal(f"“{word}” leaves the times open", *_OPEN_WORDS[word])
    return False


def _class_words(cursor: Cursor, rule: Rule) -> bool:
    if cursor.accept_all("also in a repeated hour"):
        rule.in_repeated_hour = True
    elif words := next((words for words in ("on the clock", "on the hour") if cursor.accept_all(words)), ""):
        if rule.clock_words:
            raise two_schedules(cursor)
        rule.clock_words = words
    elif cursor.accept("hourly"):
        _set_pace(cursor, rule, HOUR_MS)
    elif part := _part_of_days(cursor):
        _set_part_of_day(cursor, rule, part)
    else:
        return False
    return True


def _part_of_days(cursor: Cursor) -> str:
    """Take "morning" in "every Monday morning"."""
    is_after_days = cursor.position > 0 and cursor.peek(-1).text in DAY_NAMES
    return cursor.accept(*PARTS_OF_DAY) if is_after_days else ""


def _says_every_day_twice(cursor: Cursor) -> bool:
    before = [cursor.peek_at(position).text for position in range(cursor.position)]
    return before.count("daily") + before.count("day") > 1


def _excluded(cursor: Cursor, rule: Rule) -> bool:
    """Read "except Sundays", "not on Mondays and Fridays"."""
    start = cursor.position
    days = Days()
    if (cursor.accept("except") or cursor.accept_all("not on")) and read_days(cursor, days):
        days.single_weekday, days.parts = None, []
        if days == Days(weekdays=days.weekdays) and not _says_every_day_twice(cursor):
            rule.excluded_weekdays |= days.weekdays
            # What else says "every day" is refused beside these days.
            rule.is_all_but = rule.days.is_daily
            rule.days.is_daily = False
            return True
    cursor.position = start
    return False


def _past(cursor: Cursor, rule: Rule) -> bool:
    """Read "30 minutes past every hour", "at :15", "at half past every hour"."""
    start = cursor.position
    cursor.accept("at")
    minute = _past_minute(cursor)
    if minute is None:
        cursor.position = start
        return False
    if rule.past_minute is not None or minute >= 60:  # noqa: PLR2004 - minutes of an hour
        raise cursor.refusal(f"there is no minute {minute}", "every hour at :30")
    rule.past_minute = minute
    return True


def _past_minute(cursor: Cursor) -> int | None:
    if (token := cursor.take_kind(TokenKind.PAST)) is not None:
        return int(token.text[1:])
    named = take_named_minutes(cursor)
    minute = cursor.number() if named is None else named
    if named is None:
        cursor.accept("minutes", "minute", "min")
    if minute is None or not cursor.accept("past"):
        return None
    if cursor.is_over or cursor.peek().text == ",":
        return minute
    return minute if cursor.accept(*_HOUR_WORDS) and cursor.accept("hour") else None


def _every(cursor: Cursor, rule: Rule) -> bool:
    start = cursor.position
    cursor.accept("on")
    if not cursor.accept("every", "each"):
        cursor.position = start
        return False
    if _counted_pace(cursor, rule) or _period(cursor, rule):
        return True
    if read_days(cursor, rule.days, after_every=True):
        return True
    if (number := cursor.number()) is not None and cursor.is_over:
        raise cursor.refusal(
            f"the unit after {number} is missing", f"every {number} minutes", f"every {number} hours"
        )
    cursor.position = start + 1
    raise cursor.token_refusal()


def _counted_pace(cursor: Cursor, rule: Rule) -> bool:
    start = cursor.position
    step = 2 if cursor.accept("other") else _ordinal(cursor)
    if step is not None:
        _require_no_weekday(cursor, step)
        if step == 1 and cursor.peek().text in UNITS:
            raise cursor.refusal("the first one of what is not clear", "the first day of the month at 9:00")
        unit_ms = cursor.accept_from(UNITS)
        if unit_ms is None:
            cursor.position = start
            _refuse_counted_months(cursor)
            if cursor.peek().text == "other":
                raise cursor.refusal(
                    "every other one of these is not supported", "every 2 days", "every 14 days"
                )
            return False
        _set_pace(cursor, rule, step * unit_ms)
        return True
    pace_ms = read_duration(cursor)
    if pace_ms is None and cursor.peek().text in UNITS and cursor.peek().text not in ("day", "week"):
        pace_ms = UNITS[cursor.take().text]
    if pace_ms is None:
        return _quarter_hour(cursor, rule)
    _set_pace(cursor, rule, pace_ms)
    return True


def _quarter_hour(cursor: Cursor, rule: Rule) -> bool:
    if not (cursor.accept_all("quarter of an hour") or cursor.accept_all("quarter hour")):
        return False
    _set_pace(cursor, rule, HOUR_MS // 4)
    return True


def _ordinal(cursor: Cursor) -> int | None:
    if (token := cursor.take_kind(TokenKind.ORDINAL)) is not None:
        return token.number
    following = cursor.peek(1).text
    if following in UNITS or following in WEEKDAY_WORDS:
        return cursor.accept_from(ORDINALS)
    return None


def _require_no_weekday(cursor: Cursor, step: int) -> None:
    """Ask about "every second Friday": of the month, or in every other week."""
    weekday = WEEKDAY_WORDS.get(cursor.peek().text)
    if weekday is None or step == 1 or cursor.peek(1).text in ("of", "in"):
        return
    name = WEEKDAYS[weekday]
    raise cursor.refusal(
        f"it is not clear whether the {ordinal(step)} {name} of every month or every {step} weeks is meant",
        f"the {ordinal(step)} {name} of every month at 9:00" if step <= 5 else f"every {name} at 9:00",  # noqa: PLR2004
        f"every {7 * step} days",
    )


def _period(cursor: Cursor, rule: Rule) -> bool:
    days = rule.days
    if cursor.accept("day"):
        days.is_daily = True
    elif cursor.accept("week"):
        days.is_weekly = True
    elif cursor.accept("month"):
        days.is_monthly = True
    elif cursor.accept("year"):
        days.is_yearly = True
    elif part := cursor.accept(*PARTS_OF_DAY):
        _set_part_of_day(cursor, rule, part)
    else:
        _refuse_counted_months(cursor)
        return False
    return True


def _refuse_counted_months(cursor: Cursor) -> None:
    """Suggest the months of "every 3 months", "every other month", "every quarter"."""
    start = cursor.position
    step = (
        2 if cursor.accept("other") else cursor.accept_from(ORDINALS) or _ordinal(cursor) or cursor.number()
    )
    if unit := cursor.accept("month", "months", "quarter", "year", "years"):
        step = 3 if unit == "quarter" else 12 if unit.startswith("year") else step or 1
        names = listed(MONTHS[::step])
        dates = "1 January every year" if step >= len(MONTHS) else f"the 1st of {names}"
        raise cursor.refusal("name the months instead of counting them", f"on {dates} at 9:00")
    cursor.position = start


def _set_part_of_day(cursor: Cursor, rule: Rule, part: str) -> None:
    if rule.part_of_day:
        raise two_schedules(cursor)
    rule.part_of_day = part


def _set_pace(cursor: Cursor, rule: Rule, pace_ms: int) -> None:
    if rule.pace_ms is not None:
        raise two_schedules(cursor)
    rule.pace_ms = pace_ms


def _span(cursor: Cursor, rule: Rule) -> bool:
    """Read "between 8 and 18", "from 9:00 to 17:45", "from 00:15", "8-18"."""
    start = cursor.position
    opening = cursor.accept("between", "from") or (cursor.accept("starting", "beginning") and "from")
    if opening == "from":
        cursor.accept("at", "from")
    first = read_time(cursor) if opening or _is_time_range(cursor) else None
    if first is None:
        cursor.position = start
        return False
    joint = ("and",) if opening == "between" else ("to", "until", "till", "through", "–", "-")
    last = read_time(cursor) if cursor.accept(*joint) else None
    if last is None and opening != "from":
        raise cursor.refusal("the end of the time span is missing", "every 15 minutes between 8:00 and 18:00")
    if rule.start is not None:
        raise two_schedules(cursor)
    rule.start, rule.end = first, last
    return True


def _is_time_range(cursor: Cursor) -> bool:
    kinds = (TokenKind.NUMBER, TokenKind.CLOCK)
    if cursor.peek().kind not in kinds:
        return False
    ahead = 2 if cursor.peek(1).text in ("am", "pm") else 1
    return cursor.peek(ahead).text in ("–", "-") and cursor.peek(ahead + 1).kind in kinds


def _times(cursor: Cursor, rule: Rule) -> bool:
    start = cursor.position
    has_at = bool(cursor.accept("at"))
    if has_at and (fields := read_fields(cursor)) is not None:
        if rule.times or rule.fields is not None:
            raise two_schedules(cursor)
        rule.fields = fields
        return True
    if has_at and _span(cursor, rule):
        raise cursor.refusal("a time span needs an interval", "every 15 minutes between 8:00 and 18:00")
    is_date = cursor.peek().kind is TokenKind.NUMBER and cursor.peek(1).text not in ("am", "pm", "o'clock")
    times = read_times(cursor) if has_at or not is_date else []
    if not times:
        cursor.position = start
        return False
    if rule.times or rule.fields is not None:
        raise two_schedules(cursor)
    rule.times = times
    return True
