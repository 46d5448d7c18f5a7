"""Builds the schedule from the clauses of a phrase; refuses a clause without effect."""

from __future__ import annotations

from dataclasses import dataclass, field

from halo_scheduler.errors import PhraseParseError
from halo_scheduler.grammar.cron_writing import DayTables, TimeTables, write_cron
from halo_scheduler.grammar.english import MONTHS, WEEKDAYS, listed, ordinal
from halo_scheduler.grammar.interval import DAY_MS, HOUR_MS, SECOND_MS, format_interval, interval_in_words
from halo_scheduler.grammar.phrases.days import Days
from halo_scheduler.grammar.phrases.times import TimeOfDay, in_part_of_day, require_clear
from halo_scheduler.grammar.phrases.tokens import TWO_SCHEDULES, Cursor
from halo_scheduler.model import Cron, Every, Schedule, Several
from halo_scheduler.model.schedules import combine
from halo_scheduler.schedule.spoken_fields import pace_tables, pace_within, tables_of_times

_EARLY_HOURS = range(5)


@dataclass
class Rule:
    """The clauses of a phrase read so far."""

    pace_ms: int | None = None
    clock_words: str = ""
    past_minute: int | None = None
    start: TimeOfDay | None = None
    end: TimeOfDay | None = None
    times: list[TimeOfDay] = field(default_factory=list)
    fields: TimeTables | None = None
    in_repeated_hour: bool = False
    part_of_day: str = ""
    days: Days = field(default_factory=Days)
    excluded_weekdays: set[int] = field(default_factory=set)
    is_all_but: bool = False
    """Whether weekdays are excluded from every day."""


def build_schedule(cursor: Cursor, rule: Rule, timezone: str | None) -> Schedule | Several:
    """Return the schedule of a rule; refuse unclear clauses and clauses without effect."""
    return _Builder(cursor, rule, timezone).build()


def _are_sides(days: Days) -> bool:
    """Return whether "and" joins two clauses with days of the same months."""
    has_clauses = len(days.parts) > 1 and len(set(days.parts)) == 1
    return has_clauses and not (days.match_both and days.names_dates)


def two_schedules(cursor: Cursor) -> PhraseParseError:
    return cursor.refusal("there are two schedules; separate them with a semicolon", TWO_SCHEDULES)


def _require_clear_days(cursor: Cursor, days: Days, time: str) -> None:
    """Refuse ambiguous days: once or repeatedly, every month or every year, both or either."""
    if days.single_weekday is not None and days.weekdays == {days.single_weekday}:
        name = WEEKDAYS[days.single_weekday]
        if not (days.is_weekly or days.months or days.has_dates):
            raise cursor.refusal(
                f"it is not clear whether every {name} is meant",
                f"every {name} at {time}",
                f"this {name} at {time}",
                f"next {name} at {time}",
            )
    if days.has_dates and not (days.is_monthly or days.months or days.match_both):
        dates = [f"the {ordinal(date)}" for date in sorted(days.dates)] + ["the last day"] * days.last_day
        raise cursor.refusal("it is not clear in which month", f"on {listed(dates)} of every month at {time}")
    if days.dates and len(days.months) == 1 and not (days.last_day or days.is_yearly or days.match_both):
        date, month = min(days.dates), MONTHS[min(days.months) - 1]
        raise cursor.refusal(
            "it is not clear whether that is once or every year",
            f"on {date} {month} every year at {time}",
        )
    if days.has_dates and days.has_weekdays and not (days.match_both or days.is_either):
        raise cursor.refusal(
            "dates and weekdays together are not clear",
            "on the 1st of every month and also on Mondays at 9:00",
        )
    if len(days.parts) > 1 and not days.is_either:
        raise two_schedules(cursor)
    if days.is_either and not _are_sides(days):
        raise two_schedules(cursor)
    if days.is_daily and (days.has_dates or days.has_weekdays):
        raise cursor.refusal(
            "it is not clear whether it runs every day or on chosen days",
            f"every day at {time}",
            f"every weekday at {time}",
        )


class _Builder:
    """Makes the schedule of a rule."""

    def __init__(self, cursor: Cursor, rule: Rule, timezone: str | None) -> None:
        self._cursor = cursor
        self._rule = rule
        self._days = rule.days
        self._timezone = timezone

    def build(self) -> Schedule | Several:
        rule, cursor = self._rule, self._cursor
        self._exclude_weekdays()
        if rule.part_of_day:
            self._require_clear_night()
            rule.times = [in_part_of_day(cursor, time, rule.part_of_day) for time in rule.times]
        first = rule.times[0].text if rule.times else "9:00"
        if (rule.pace_ms or 0) > DAY_MS and self._days.has_weekdays:
            raise self._several_days(rule.pace_ms or 0, first)
        _require_clear_days(cursor, self._days, first)
        self._require_effects()
        if rule.fields is not None:
            return self._of_tables([self._field_tables(rule.fields)])
        if rule.past_minute is not None:
            return self._past_every_hour(rule.past_minute)
        if rule.times:
            return self._at_times()
        if rule.pace_ms is not None:
            return self._at_pace(rule.pace_ms)
        return self._without_time()

    def _require_clear_night(self) -> None:
        """Ask on which day "Sunday night at 1" is."""
        early = [time for time in self._rule.times if time.hour in (*_EARLY_HOURS, 12)]
        if self._rule.part_of_day == "night" and self._days.weekdays and early:
            hour, weekday = early[0].hour % 12, min(self._days.weekdays)
            raise self._cursor.refusal(
                "it is not clear on which day that night is",
                f"every {WEEKDAYS[weekday]} at {hour}:00",
                f"every {WEEKDAYS[(weekday + 1) % 7]} at {hour}:00",
            )

    def _exclude_weekdays(self) -> None:
        """Take "except Sundays" as the other days of the week."""
        days, excluded = self._days, self._rule.excluded_weekdays
        if not excluded:
            return
        named = days.weekdays or set(range(7))
        is_of_month = days.has_dates or days.nth_weekdays or days.last_weekdays
        is_unclear = self._rule.is_all_but and (days.weekdays or self._has_pace)
        if is_of_month or is_unclear or not excluded < named:
            raise self._cursor.refusal("these days cannot be excluded", "every day at 9:00, not on Sundays")
        days.weekdays, days.single_weekday = named - excluded, None

    def _field_tables(self, tables: TimeTables) -> TimeTables:
        rule = self._rule
        if rule.pace_ms is not None or rule.start is not None or rule.past_minute is not None:
            raise two_schedules(self._cursor)
        return tables

    def _require_effects(self) -> None:
        """Refuse a clause that has no effect beside the others."""
        rule, days = self._rule, self._days
        is_of_month = days.has_dates or bool(days.nth_weekdays or days.last_weekdays)
        if not days.is_named and (days.is_weekly or days.is_monthly or days.is_yearly):
            first = rule.times[0].text if rule.times else "9:00"
            raise two_schedules(self._cursor) if self._has_pace else self._missing_days(first)
        for words, is_said, has_effect in (
            ("every week", days.is_weekly, bool(days.weekdays) and not is_of_month),
            ("every month", days.is_monthly, is_of_month and not days.months),
            ("every year", days.is_yearly, bool(days.months)),
            ("if that is …", days.match_both, days.has_weekdays),
            (f"every {rule.part_of_day}", rule.part_of_day, bool(rule.times) or not self._has_pace),
            (rule.clock_words, rule.clock_words, self._is_on_clock()),
            ("also in a repeated hour", rule.in_repeated_hour, not self._is_interval),
        ):
            if is_said and not has_effect:
                raise self._cursor.refusal(f"“{words}” has no effect here; leave it out")

    @property
    def _has_pace(self) -> bool:
        rule = self._rule
        return rule.pace_ms is not None or rule.past_minute is not None or rule.fields is not None

    @property
    def _is_interval(self) -> bool:
        rule = self._rule
        if rule.start is not None or self._days.is_restricted or rule.clock_words or rule.times:
            return False
        has_interval = rule.pace_ms is not None or self._days.is_daily
        return has_interval and rule.past_minute is None and rule.fields is None

    def _is_on_clock(self) -> bool:
        rule = self._rule
        if rule.pace_ms is None or rule.times or rule.past_minute is not None:
            return False
        if rule.clock_words == "on the hour" and rule.pace_ms % HOUR_MS:
            return False
        return rule.start is None or rule.start.seconds * SECOND_MS % min(rule.pace_ms, HOUR_MS) == 0

    def _past_every_hour(self, minute: int) -> Schedule | Several:
        rule = self._rule
        if rule.times or rule.start is not None or rule.pace_ms not in (None, HOUR_MS):
            raise two_schedules(self._cursor)
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
            raise self._several_days(rule.pace_ms, first)
        if not (days.is_named or rule.pace_ms or rule.part_of_day) and len(rule.times) == 1:
            raise self._missing_days(first)
        return self._of_tables(tables_of_times(rule.times))

    def _several_days(self, pace_ms: int, first: str) -> PhraseParseError:
        weekdays = [f"every {WEEKDAYS[weekday]} at {first}" for weekday in sorted(self._days.weekdays)[:1]]
        return self._cursor.refusal(
            "only an interval without weekdays and times can count several days",
            f"every {interval_in_words(pace_ms)}",
            *(weekdays or [f"every day at {first}"]),
        )

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
        if pace_ms > DAY_MS and (days.is_daily or rule.start is not None):
            raise self._several_days(pace_ms, "9:00")
        if self._is_interval:
            return Every(format_interval(pace_ms))
        if pace_ms == DAY_MS and rule.start is None:
            raise self._missing_time()
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
            raise self._missing_time()
        raise self._cursor.token_refusal()

    def _missing_time(self) -> PhraseParseError:
        return self._cursor.refusal(
            "the time of day is missing", "every weekday at 9:00", "every evening at 20:00"
        )

    def _of_tables(self, tables: list[TimeTables]) -> Schedule | Several:
        return combine(self._cron(table) for table in tables)

    def _cron(self, times: TimeTables) -> Cron:
        times = times._replace(is_wildcard=times.is_wildcard or self._rule.in_repeated_hour)
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
