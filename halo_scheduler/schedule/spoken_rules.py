"""Repeated runs in plain words: the clauses of a phrase, in any order, collected and made into one schedule."""

from __future__ import annotations

from dataclasses import dataclass, field

from halo_scheduler.errors import PhraseParseError
from halo_scheduler.grammar.cron_writing import DayTables, TimeTables, write_cron
from halo_scheduler.grammar.english import WEEKDAYS, ordinal
from halo_scheduler.grammar.interval import DAY_MS, HOUR_MS, format_interval
from halo_scheduler.grammar.phrases.days import Days, read_days, require_clear_days
from halo_scheduler.grammar.phrases.times import (
    PARTS_OF_DAY,
    UNITS,
    TimeOfDay,
    in_part_of_day,
    read_duration,
    read_time,
    read_times,
    require_clear,
)
from halo_scheduler.grammar.phrases.tokens import ORDINALS, WEEKDAY_WORDS, Cursor, TokenKind
from halo_scheduler.model import Cron, Every, Schedule, Several
from halo_scheduler.model.schedules import combine
from halo_scheduler.schedule.spoken_fields import read_fields
from halo_scheduler.schedule.spoken_times import pace_tables, pace_within, tables_of_times

_HOUR_WORDS = ("the", "every", "each")


@dataclass
class _Rule:
    """What the clauses of a phrase say so far."""

    pace_ms: int | None = None
    is_on_clock: bool = False
    past_minute: int | None = None
    start: TimeOfDay | None = None
    end: TimeOfDay | None = None
    times: list[TimeOfDay] = field(default_factory=list)
    fields: TimeTables | None = None
    in_repeated_hour: bool = False
    part_of_day: str = ""
    days: Days = field(default_factory=Days)


def read_rule(cursor: Cursor, timezone: str | None) -> Schedule | Several:
    """Return the schedule of a phrase that repeats."""
    rule = _Rule()
    while not cursor.is_over:
        if cursor.accept(","):
            continue
        if not _clause(cursor, rule):
            raise cursor.token_refusal()
    return _Builder(cursor, rule, timezone).build()


# --- Clauses ------------------------------------------------------------------------------------------


def _clause(cursor: Cursor, rule: _Rule) -> bool:
    return (
        _class_words(cursor, rule)
        or _past(cursor, rule)
        or _every(cursor, rule)
        or _span(cursor, rule)
        or _times(cursor, rule)
        or read_days(cursor, rule.days)
    )


def _class_words(cursor: Cursor, rule: _Rule) -> bool:
    if cursor.accept_all("also in a repeated hour"):
        rule.in_repeated_hour = True
    elif cursor.accept_all("on the clock") or cursor.accept_all("on the hour"):
        rule.is_on_clock = True
    elif cursor.accept("hourly"):
        _set_pace(cursor, rule, HOUR_MS)
    elif cursor.accept("twice", "fortnightly", "biweekly", "quarterly", "except", "starting", "beginning"):
        word = cursor.peek(-1).text
        raise cursor.refusal(
            f"“{word}” leaves the times open", "at 9:00 and 17:00 every day", "every 14 days"
        )
    else:
        return False
    return True


def _past(cursor: Cursor, rule: _Rule) -> bool:
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
    cursor.accept("a")
    named = {"half": 30, "quarter": 15}.get(cursor.accept("half", "quarter"))
    minute = cursor.number() if named is None else named
    cursor.accept("minutes", "minute", "min")
    if minute is None or not cursor.accept("past"):
        return None
    if cursor.is_over or cursor.peek().text == ",":
        return minute
    return minute if cursor.accept(*_HOUR_WORDS) and cursor.accept("hour") else None


def _every(cursor: Cursor, rule: _Rule) -> bool:
    start = cursor.position
    cursor.accept("on")
    if not cursor.accept("every", "each"):
        cursor.position = start
        return False
    if _counted_pace(cursor, rule) or _period(cursor, rule):
        return True
    if read_days(cursor, rule.days, after_every=True):
        return True
    raise cursor.token_refusal()


def _counted_pace(cursor: Cursor, rule: _Rule) -> bool:
    start = cursor.position
    step = 2 if cursor.accept("other") else _ordinal(cursor)
    if step is not None:
        _require_no_weekday(cursor, step)
        unit_ms = cursor.accept_from(UNITS)
        if unit_ms is None:
            cursor.position = start
            if cursor.peek().text == "other":
                raise cursor.refusal(
                    "every other one of these cannot be told", "every 2 days", "every 14 days"
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


def _quarter_hour(cursor: Cursor, rule: _Rule) -> bool:
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
    if weekday is None or cursor.peek(1).text in ("of", "in"):
        return
    name = WEEKDAYS[weekday]
    raise cursor.refusal(
        f"it is not clear whether the {ordinal(step)} {name} of every month or every {step} weeks is meant",
        f"the {ordinal(step)} {name} of every month at 9:00" if step <= 5 else f"every {name} at 9:00",  # noqa: PLR2004
        f"every {7 * step} days",
    )


def _period(cursor: Cursor, rule: _Rule) -> bool:
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
        days.is_daily, rule.part_of_day = True, part
    else:
        if cursor.peek().text == "months" or cursor.peek(1).text in ("months", "years"):
            raise cursor.refusal(
                "name the months instead of counting them",
                "on the 1st of January, April, July and October at 9:00",
            )
        return False
    return True


def _set_pace(cursor: Cursor, rule: _Rule, pace_ms: int) -> None:
    if rule.pace_ms is not None:
        raise _two_schedules(cursor)
    rule.pace_ms = pace_ms


def _two_schedules(cursor: Cursor) -> PhraseParseError:
    return cursor.refusal(
        "there are two schedules; separate them with a semicolon", "every day at 9:00; every Monday at 10:30"
    )


def _span(cursor: Cursor, rule: _Rule) -> bool:
    """Read "between 8 and 18", "from 9:00 to 17:45", "from 00:15", "8-18"."""
    start = cursor.position
    opening = cursor.accept("between", "from")
    first = read_time(cursor) if opening or _is_time_range(cursor) else None
    if first is None:
        cursor.position = start
        return False
    joint = ("and",) if opening == "between" else ("to", "until", "till", "through", "–", "-")
    last = read_time(cursor) if cursor.accept(*joint) else None
    if last is None and opening != "from":
        raise cursor.refusal("the end of the time span is missing", "every 15 minutes between 8:00 and 18:00")
    if rule.start is not None:
        raise _two_schedules(cursor)
    rule.start, rule.end = first, last
    return True


def _is_time_range(cursor: Cursor) -> bool:
    kinds = (TokenKind.NUMBER, TokenKind.CLOCK)
    if cursor.peek().kind not in kinds:
        return False
    ahead = 2 if cursor.peek(1).text in ("am", "pm") else 1
    return cursor.peek(ahead).text in ("–", "-") and cursor.peek(ahead + 1).kind in kinds


def _times(cursor: Cursor, rule: _Rule) -> bool:
    start = cursor.position
    has_at = bool(cursor.accept("at"))
    if has_at and (fields := read_fields(cursor)) is not None:
        if rule.times or rule.fields is not None:
            raise _two_schedules(cursor)
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
        raise _two_schedules(cursor)
    rule.times = times
    return True


# --- The schedule -------------------------------------------------------------------------------------


class _Builder:
    """Makes the schedule of a rule."""

    def __init__(self, cursor: Cursor, rule: _Rule, timezone: str | None) -> None:
        self._cursor = cursor
        self._rule = rule
        self._days = rule.days
        self._timezone = timezone

    def build(self) -> Schedule | Several:
        rule, cursor = self._rule, self._cursor
        if rule.part_of_day:
            rule.times = [in_part_of_day(cursor, time, rule.part_of_day) for time in rule.times]
        require_clear_days(cursor, self._days, rule.times[0].text if rule.times else "9:00")
        if rule.fields is not None:
            return self._of_tables([self._field_tables(rule.fields)])
        if rule.past_minute is not None:
            return self._past_every_hour(rule.past_minute)
        if rule.times:
            return self._at_times()
        if rule.pace_ms is not None:
            return self._at_pace(rule.pace_ms)
        return self._without_time()

    def _field_tables(self, tables: TimeTables) -> TimeTables:
        if self._rule.pace_ms is not None or self._rule.start is not None:
            raise _two_schedules(self._cursor)
        return tables._replace(is_wildcard=tables.is_wildcard or self._rule.in_repeated_hour)

    def _past_every_hour(self, minute: int) -> Schedule | Several:
        rule = self._rule
        if rule.times or rule.start is not None or rule.pace_ms not in (None, HOUR_MS):
            raise _two_schedules(self._cursor)
        return self._of_tables([TimeTables((0,), (minute,), tuple(range(24)), is_wildcard=True)])

    def _at_times(self) -> Schedule | Several:
        rule, days = self._rule, self._days
        first = rule.times[0].text
        if rule.start is not None or (rule.pace_ms is not None and rule.pace_ms % DAY_MS):
            raise self._cursor.refusal(
                "an interval and times of day together are not clear",
                "every 15 minutes between 8:00 and 18:00",
                f"every day at {first}",
            )
        if rule.pace_ms is not None and rule.pace_ms != DAY_MS:
            raise self._cursor.refusal(
                "only an interval without a time of day can count several days",
                f"every {rule.pace_ms // DAY_MS} days",
                f"every day at {first}",
            )
        if not (days.is_named or rule.pace_ms) and len(rule.times) == 1:
            raise self._missing_days(first)
        return self._of_tables(tables_of_times(rule.times))

    def _missing_days(self, first: str) -> PhraseParseError:
        days = self._days
        if days.is_weekly:
            return self._cursor.refusal("the weekday is missing", f"every Monday at {first}")
        if days.is_monthly:
            return self._cursor.refusal(
                "the day of the month is missing", f"on the 1st of every month at {first}"
            )
        if days.is_yearly:
            return self._cursor.refusal("the date is missing", f"on 1 January every year at {first}")
        return self._cursor.refusal(
            "it is not clear whether that is once or every day",
            f"every day at {first}",
            f"tomorrow at {first}",
        )

    def _at_pace(self, pace_ms: int) -> Schedule | Several:
        rule, days = self._rule, self._days
        if rule.start is None and not days.is_restricted and not rule.is_on_clock:
            if days.is_weekly or days.is_monthly or days.is_yearly:
                raise _two_schedules(self._cursor)
            return Every(format_interval(pace_ms))
        if rule.start is None or rule.end is None:
            return self._of_tables([pace_tables(self._cursor, pace_ms, rule.start)])
        require_clear(self._cursor, (rule.start, rule.end))
        is_whole_day = not days.is_restricted
        return self._of_tables(
            pace_within(self._cursor, pace_ms, rule.start, rule.end, over_midnight=is_whole_day)
        )

    def _without_time(self) -> Schedule | Several:
        rule, days = self._rule, self._days
        if rule.start is not None:
            raise self._cursor.refusal(
                "a time span needs an interval", "every 15 minutes between 8:00 and 18:00"
            )
        if days.is_daily and not days.is_restricted and not rule.part_of_day:
            if "daily" not in self._cursor.phrase.lower():
                return Every("1d")
            raise self._cursor.refusal("the time is missing", "every day at 9:00", "every 24 hours")
        if days.is_restricted or rule.part_of_day:
            raise self._cursor.refusal(
                "the time of day is missing", "every weekday at 9:00", "every evening at 20:00"
            )
        if days.is_weekly or days.is_monthly or days.is_yearly:
            raise self._missing_days("9:00")
        raise self._cursor.token_refusal()

    def _of_tables(self, tables: list[TimeTables]) -> Schedule | Several:
        return combine(self._cron(table) for table in tables)

    def _cron(self, times: TimeTables) -> Cron:
        expression = write_cron(times, _day_tables(self._days))
        if expression is None:
            raise self._cursor.refusal(
                "no single schedule says exactly that",
                "at 9:00 on Mondays",
                "on the 1st of every month at 9:00",
            )
        return Cron(expression, self._timezone)


def _day_tables(days: Days) -> DayTables:
    return DayTables(
        dates=tuple(sorted(days.dates)),
        last_day=days.last_day,
        weekdays=tuple(sorted(days.weekdays)),
        nth_weekdays=tuple(sorted(days.nth_weekdays)),
        last_weekdays=tuple(sorted(days.last_weekdays)),
        months=tuple(sorted(days.months)),
        match_both=days.match_both,
    )
