"""Schedules in plain words: phrases that people type, the words of `describe`, and what is refused."""

from __future__ import annotations

import os
import re
from contextlib import suppress
from datetime import date, datetime
from pathlib import Path

import pytest
from cases import utc_ms
from cron_oracle import ZONES, Expression, expressions
from hypothesis import given, settings
from hypothesis import strategies as st
from spec_strategies import CALENDARS, EVENTS

from halo_scheduler import (
    After,
    Cron,
    CronParseError,
    Entry,
    Every,
    Manual,
    Once,
    PhraseParseError,
    ScheduleError,
    describe,
    parse_schedule,
)
from halo_scheduler.model import Calendar, Schedule, Several, Shift
from halo_scheduler.model.schedules import combine
from halo_scheduler.model.time_rules import Dated, calendar_for
from halo_scheduler.schedule.normal import normal

_NOW = utc_ms("2026-11-18T10:00Z")  # a Wednesday


def _cron(expression: Expression, with_seconds: bool, zone: str | None) -> Cron | None:
    text = expression.text if with_seconds else expression.text.partition(" ")[2]
    try:
        return Cron(text, zone)
    except CronParseError:
        return None


def _once(moment: datetime, offset_minutes: int) -> Once:
    sign = "-" if offset_minutes < 0 else "+"
    hours, minutes = divmod(abs(offset_minutes), 60)
    return Once(f"{moment:%Y-%m-%dT%H:%M:%S}{sign}{hours:02}:{minutes:02}")


_CRONS = st.builds(
    _cron, expressions(seconds=True), st.booleans(), st.none() | st.sampled_from(ZONES)
).filter(lambda cron: cron is not None)
_INTERVALS = st.builds(lambda number, unit: f"{number}{unit}", st.integers(1, 5_000), st.sampled_from("smhd"))
_ONCES = st.builds(
    _once,
    st.datetimes(datetime(1971, 1, 2), datetime(2099, 12, 30)),  # noqa: DTZ001 - a wall time
    st.integers(-14 * 60, 14 * 60),
) | st.integers(utc_ms("1973-01-01T00:00Z"), utc_ms("2100-01-01T00:00Z")).map(Once)
_TIMED = st.one_of(_CRONS, _CRONS, _CRONS, st.builds(Every, _INTERVALS), st.builds(After, _INTERVALS), _ONCES)


def _dated(schedule: Schedule, days: list[str], is_from: bool, is_until: bool, calendar: Calendar) -> Entry:
    if not isinstance(schedule, Dated):
        return Entry(schedule)
    first, last = sorted(days)
    return Entry(
        schedule,
        from_date=first if is_from else None,
        until_date=last if is_until else None,
        calendar=calendar_for(schedule, calendar),
    )


_DAYS = st.dates(date(1970, 1, 1), date(9998, 12, 31)).map(date.isoformat)
_PLACES = st.sampled_from(
    ["DE", "DE-BW", "US", "AG", "SH-TA", "GN", "GQ", "BE-German", "TL", "IN-AN", "CH-GE", "RE", "CI"]
)
_SOURCES = st.one_of(
    st.builds("{} {}".format, st.sampled_from(["holidays", "business days"]), _PLACES),
    st.sampled_from(
        ["ics ~/My days, all; and more.ics", "ics /holidays in Germany at 9.ics", "ics C:\\a.ics"]
    ),
    st.sampled_from(["weekdays", "weekends", "2026-12-24"]),
)
_SOURCED = st.builds(
    lambda only, excluded, shift: Calendar(only=only, excluded=excluded, shift=shift),
    only=st.lists(_SOURCES, max_size=3).map(lambda items: ["business days FI-01", *items]),
    excluded=st.lists(_SOURCES.filter(lambda item: item[0] in "hi"), max_size=3),
    shift=st.none() | st.sampled_from(Shift),
)
_ENTRIES = st.builds(Entry, _TIMED | EVENTS) | st.builds(
    _dated,
    _TIMED,
    st.lists(_DAYS, min_size=2, max_size=2),
    st.booleans(),
    st.booleans(),
    CALENDARS | _SOURCED,
)

# In long mode 100 000 schedules, in parts that each end within the time limit of a test.
_PARTS = pytest.mark.parametrize("part", range(50 if "HALO_EXPLORE" in os.environ else 1))
_EXAMPLES = 2_000 if "HALO_EXPLORE" in os.environ else 100


@_PARTS
@settings(max_examples=_EXAMPLES)
@given(schedule=_TIMED | EVENTS | st.just(Manual()))
def test_the_words_of_a_schedule_are_read_back_with_the_same_meaning(part: int, schedule: Schedule) -> None:  # noqa: ARG001
    words = describe(schedule)
    assert normal(parse_schedule(words, now_ms=_NOW)) == normal(schedule), words


@_PARTS
@settings(max_examples=max(100, _EXAMPLES // 5))
@given(
    schedules=st.lists(_ENTRIES, min_size=1, max_size=5, unique_by=lambda entry: normal(Several((entry,))))
)
def test_the_words_of_several_schedules_are_read_back_with_the_same_meaning(
    part: int,  # noqa: ARG001
    schedules: list[Entry],
) -> None:
    several = combine(schedules)
    words = describe(several)
    assert normal(parse_schedule(words, now_ms=_NOW)) == normal(several), words


# --- Phrases that people type -------------------------------------------------------------------------

_BERLIN = "Europe/Berlin"
_SPAN = re.compile(r" (?P<first>[0-9-]{10})? ?\.\. ?(?P<last>[0-9-]{10})?$")
_PHRASES = [
    tuple(line.split(" = ", 1))
    for line in (Path(__file__).parents[1] / "data" / "phrases.txt").read_text("utf-8").splitlines()
    if not line.startswith("#")
]
_UNDERSTOOD = [(phrase, meaning) for phrase, meaning in _PHRASES if not meaning.startswith("asks ")]
_ASKED = [
    (phrase, meaning.removeprefix("asks ")) for phrase, meaning in _PHRASES if meaning.startswith("asks ")
]


def _expected(meaning: str) -> Schedule | Several:
    return _combined([_one_expected(text) for text in meaning.split(" | ")])


def _combined(schedules: list[Schedule | Entry]) -> Schedule | Several:
    return schedules[0] if isinstance(schedules[0], Manual) else combine(schedules)


def _one_expected(text: str) -> Schedule | Entry:
    match = _SPAN.search(text)
    if match is None:
        return _schedule_expected(text)
    schedule = _schedule_expected(text[: match.start()])
    return Entry(schedule, from_date=match["first"], until_date=match["last"])


def _schedule_expected(text: str) -> Schedule:
    kind, _, value = text.partition(" ")
    if kind == "cron":
        *fields, last = value.split(" ")
        has_zone = ("/" in last and last[0].isalpha()) or last == "UTC"
        return Cron(" ".join(fields), last) if has_zone else Cron(value, _BERLIN)
    if kind == "manual":
        return Manual()
    return Every(value) if kind == "every" else After(value) if kind == "after" else Once(value)


def test_there_are_phrases_of_every_sort() -> None:
    assert len(_PHRASES) >= 300
    assert len(_UNDERSTOOD) >= 250
    assert len(_ASKED) >= 50


@pytest.mark.parametrize(("phrase", "meaning"), _UNDERSTOOD)
def test_a_phrase_has_this_meaning(phrase: str, meaning: str) -> None:
    schedule = parse_schedule(phrase, now_ms=_NOW, timezone=_BERLIN)
    assert normal(schedule) == normal(_expected(meaning))


@pytest.mark.parametrize(("phrase", "reason"), _ASKED)
def test_a_phrase_without_one_exact_meaning_is_refused(phrase: str, reason: str) -> None:
    with pytest.raises(ScheduleError) as refusal:
        parse_schedule(phrase, now_ms=_NOW, timezone=_BERLIN)
    assert reason in str(refusal.value)
    # What is suggested is understood.
    for suggestion in refusal.value.suggestions if isinstance(refusal.value, PhraseParseError) else ():
        parse_schedule(suggestion, now_ms=_NOW, timezone=_BERLIN)


_FIRST_DAY, _LAST_DAY = "on the 1st of every month", "on the last day of every month"
_ON, _BACK = ", moved to the next allowed day", ", moved to the previous allowed day"


@pytest.mark.parametrize(
    ("phrase", "words"),
    [
        (
            "every weekday at 9, not on holidays in Germany",
            "at 09:00 on weekdays, not on holidays in Germany",
        ),
        (
            "at 9 daily except public holidays in Bavaria",
            "at 09:00 every day, not on holidays in Germany (Bavaria)",
        ),
        ("every weekday at 9 not on holidays", "at 09:00 on weekdays, not on holidays in Austria"),
        ("every business day at 9", "at 09:00 every day, only on business days in Austria"),
        ("on business days in the UK at 9", "at 09:00 every day, only on business days in United Kingdom"),
        ("at 9 on workdays in June", "at 09:00 every day in June, only on business days in Austria"),
        ("every 15 minutes on business days", "every 15 minutes, only on business days in Austria"),
        (
            "last business day of the month at 18:00",
            f"at 18:00 {_LAST_DAY}, only on business days in Austria{_BACK}",
        ),
        (
            "the first working day in Germany of every month at 9 (Europe/Berlin)",
            f"at 09:00 {_FIRST_DAY}, only on business days in Germany{_ON} (Europe/Berlin)",
        ),
        (
            "first business day of each month in DE-BY at 9",
            f"at 09:00 {_FIRST_DAY}, only on business days in Germany (Bavaria){_ON}",
        ),
        (
            'every day at 9, only on days in the calendar file "~/a, b; c.ics"',
            'at 09:00 every day, only on days in "~/a, b; c.ics"',
        ),
        ('every day at 9, not on ics "/a.ics"', 'at 09:00 every day, not on days in "/a.ics"'),
        (
            "every day at 9 only on business days in Germany and holidays in Austria or 24 Dec 2026",
            "at 09:00 every day, only on 24 Dec 2026, business days in Germany and holidays in Austria",
        ),
    ],
)
def test_phrases_name_holidays_and_business_days(phrase: str, words: str) -> None:
    found = parse_schedule(phrase, now_ms=_NOW, country="AT")
    assert describe(found) == words
    assert parse_schedule(words, now_ms=_NOW) == found


@pytest.mark.parametrize(
    ("phrase", "suggestions"),
    [
        ("Friday at 17:30", ("every Friday at 17:30", "this Friday at 17:30")),
        ("Tuesday at 17:30", ("every Tuesday at 17:30", "next Tuesday at 17:30")),
        ("next Friday at 17:30", ("20 Nov 2026 at 17:30", "27 Nov 2026 at 17:30")),
        ("at 9 next fri", ("at 9 20 Nov 2026", "at 9 27 Nov 2026")),
        ("next friday", ("20 Nov 2026 at 9:00", "27 Nov 2026 at 9:00")),
        ("this Monday at 8", ("23 Nov 2026 at 8",)),
    ],
)
def test_the_suggested_days_are_those_of_the_phrase(phrase: str, suggestions: tuple[str, ...]) -> None:
    with pytest.raises(PhraseParseError) as refusal:
        parse_schedule(phrase, now_ms=_NOW)
    assert refusal.value.suggestions == suggestions


def test_business_days_without_a_country_may_be_weekdays() -> None:
    with pytest.raises(PhraseParseError) as refusal:
        parse_schedule("workdays at 8:30", now_ms=_NOW)
    assert refusal.value.suggestions == (
        "workdays in Germany at 8:30",
        "weekdays at 8:30",
        "every day at 9:00, only on business days in Germany",
    )


def test_marks_of_sources_are_not_read_as_such() -> None:
    with pytest.raises(PhraseParseError, match="there is a sign that no schedule contains"):
        parse_schedule("every day at 9, not on \ue000", now_ms=_NOW)
    many = ", not on holidays in Germany" * 41
    with pytest.raises(PhraseParseError, match="too many countries, regions and files"):
        parse_schedule(f"every day at 9{many}", now_ms=_NOW)


_TWO_SCHEDULES = "there are two schedules"
_NOT_HERE = "is not understood"


@pytest.mark.parametrize(
    ("phrase", "reason"),
    [
        ("at 9:00 every Friday, if that is never", "“never” is not understood"),
        ("at 9:00 of the month", "the day of the month is missing"),
        ("every Monday to foo at 9:00", _NOT_HERE),
        ("on the 5th to the 3rd at 9:00", _NOT_HERE),
        ("at 9:00 on the last day 1 to foo", _NOT_HERE),
        ("at 9:00 on the 1st of every week", _NOT_HERE),
        ("on Mondays in 5 at 9:00", _NOT_HERE),
        ("at 9:00 in January to 5", _NOT_HERE),
        ("at 9:00 and foo", _NOT_HERE),
        ("in 5 minutes foo", _NOT_HERE),
        ("24 Dec 2026 at 18:00 foo", _NOT_HERE),
        ("at every foo minute", _NOT_HERE),
        ("at every 99th minute", _NOT_HERE),
        ("also in a repeated hour", "the phrase ends too early"),
        (" ; ", "say when the job runs"),
        ("every hour on the hour on the clock", _TWO_SCHEDULES),
        ("every 90 minutes on the hour", "“on the hour” has no effect"),
        ("every 0.5 seconds", "whole seconds"),
        ("at 8:00, 10:00 … every day", "the last time after … is missing"),
        ("at 8:00, 10:00 … 17:00 every day", "not evenly spaced"),
        ("24 Dec 2026 at 18:00 +", "the offset from UTC is missing"),
        ("24 Dec 1960 at 18:00", "between 1970 and 9998"),
        ("at hour 9", "name the minutes and the hours"),
        ("at minute 70 of every hour", "minutes go from 0 to 59"),
        ("at minutes 0, 7 … 57 of every hour", "not evenly spaced"),
        ("at minutes 5–99 of every hour", "minutes go from 0 to 59"),
        ("every hour at :70", "there is no minute 70"),
        ("every other blue moon", "every other one of these is not supported"),
        ("every 5 minutes every 10 minutes", _TWO_SCHEDULES),
        ("every 15 minutes between 8:00", "the end of the time span is missing"),
        ("every 5 minutes from 8:10", "the end of the time span is missing"),
        ("every 15 minutes from 8:00 to 9:00 from 10:00 to 11:00", _TWO_SCHEDULES),
        ("at 9:00 at minutes 5 of every hour", _TWO_SCHEDULES),
        ("every 5 minutes at minutes 5 of every hour", _TWO_SCHEDULES),
        ("every hour at :30 at 9:00", _TWO_SCHEDULES),
        ("every 5 minutes weekly", _TWO_SCHEDULES),
        ("at between 8:00 and 10:00", "a time span needs an interval"),
        ("; ".join(["every day at 9:00"] * 101), "at most 100 schedules"),
    ],
)
def test_a_phrase_with_one_error_is_refused_with_the_reason(phrase: str, reason: str) -> None:
    with pytest.raises(PhraseParseError) as refusal:
        parse_schedule(phrase, now_ms=_NOW)
    assert reason in str(refusal.value)
    for suggestion in refusal.value.suggestions:
        parse_schedule(suggestion, now_ms=_NOW)


@pytest.mark.parametrize(
    ("phrase", "nearest"),
    [
        ("last day of the month", "last day of the month at 9:00"),
        ("Tomorrow ", "Tomorrow at 9:00"),
        ("every weekday, not on weekends", "every weekday, not on weekends at 9:00"),
        ("at 9:30:05 every day, also in a repeated hour", "at 9:30:05 every day"),
        ("on 24.12. at 18:00", "on 24 Dec 2026 at 18:00"),
        ("1.5 at 9", "1 May 2027 at 9"),
        ("24/12 at 9:00", "24 Dec 2026 at 9:00"),
        ("9/12 at 9:00", "9 Dec 2026 at 9:00"),
        ("12/24 at 9:00", "24 Dec 2026 at 9:00"),
        ("24.12.26 at 9:00", "24.12.2026 at 9:00"),
        ("every day at 9 until 24.12.", "every day at 9 until 24 Dec 2026"),
        ("every day at 9 CET", "every day at 9 (Europe/Berlin)"),
        ("9:00 EST every weekday", "9:00 every weekday (America/New_York)"),
        ("every day at 9:00 GMT", "every day at 9:00 (UTC)"),
        ("every day at 9 in Berlin", "every day at 9 (Europe/Berlin)"),
        ("every day at 9 in San Francisco", "every day at 9 (America/Los_Angeles)"),
        ("every day at 9, Tokyo time", "every day at 9 (Asia/Tokyo)"),
        ("tomorrow at 9 in new york", "tomorrow at 9 (America/New_York)"),
        ("next week", "23 Nov 2026 at 9:00"),
        ("next week at 10", "23 Nov 2026 at 10"),
        ("next week Friday at 10:00", "27 Nov 2026 at 10:00"),
        ("Sunday next week at 10:00", "29 Nov 2026 at 10:00"),
        ("next month", "1 Dec 2026 at 9:00"),
        ("At 9:30:05 on Mondays, Also in a repeated hour (UTC)", "At 9:30:05 on Mondays (UTC)"),
    ],
)
def test_the_phrase_itself_is_suggested_if_one_clause_makes_it_clear(phrase: str, nearest: str) -> None:
    with pytest.raises(PhraseParseError) as refusal:
        parse_schedule(phrase, now_ms=_NOW)
    assert refusal.value.suggestions[0] == nearest
    assert f"write “{nearest}”" in str(refusal.value)
    assert len(refusal.value.suggestions) <= 3
    parse_schedule(nearest, now_ms=_NOW)


@pytest.mark.parametrize(
    ("phrase", "meaning"),
    [
        ("on the 5th at 9:00 of each month", Cron("0 9 5 * *")),
        ("on the 5th, at 9:00 of each month", Cron("0 9 5 * *")),
        ("24 Dec 2026 at 18:00 GMT", Once("2026-12-24T18:00:00+00:00")),
        ("at every second minute of hour 9", Cron("*/2 9 * * *")),
        ("at every 3rd minute of every 2nd hour", Cron("*/3 */2 * * *")),
        ("at 9:00 every day in January to March", Cron("0 9 * 1-3 *")),
        ("at minutes 5, of every hour", Cron("5 * * * *")),
    ],
)
def test_an_unusual_phrase_has_its_meaning(phrase: str, meaning: Schedule) -> None:
    assert normal(parse_schedule(phrase, now_ms=_NOW)) == normal(meaning)


_WORDS = sorted({word for phrase, _ in _PHRASES for word in phrase.split()} | set(",;-–…()&+:"))


@given(st.lists(st.sampled_from(_WORDS), max_size=12).map(" ".join) | st.text(max_size=40))
def test_any_words_are_understood_or_refused(phrase: str) -> None:
    with suppress(ScheduleError):
        schedule = parse_schedule(phrase, now_ms=_NOW, timezone=_BERLIN)
        # What was understood has words that mean the same.
        assert normal(parse_schedule(describe(schedule), now_ms=_NOW)) == normal(schedule)


@pytest.mark.parametrize("phrase", ["every 1.{}h", "every {}.5 h", "on the {}th", "in {} minutes"])
def test_a_number_of_thousands_of_digits_is_refused(phrase: str) -> None:
    with pytest.raises(ScheduleError, match="cannot read"):
        parse_schedule(phrase.format("9" * 5_000), now_ms=0, timezone="UTC")


def test_a_long_phrase_is_refused() -> None:
    with pytest.raises(ScheduleError, match="longer than 10000"):
        parse_schedule("every " * 2_000, now_ms=_NOW)


# --- Calendars ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("phrase", "words"),
    [
        (
            "on the 1st of every month at 9 only on weekdays otherwise on the next day",
            "at 09:00 on the 1st of every month, only on weekdays, moved to the next allowed day",
        ),
        ("every 15 minutes except weekends", "every 15 minutes, not on weekends"),
        (
            "every day at 9 until 31 Dec 2027 except on weekends, on 24 Dec 2026 and 2027-01-01",
            "at 09:00 every day, not on 24 Dec 2026, 1 Jan 2027 or weekends, until 31 Dec 2027",
        ),
        (
            "only on weekdays, last day of the month at 18:00, else on the previous possible day (UTC)",
            "at 18:00 on the last day of every month, only on weekdays, moved to the previous allowed day (UTC)",
        ),
    ],
)
def test_excluded_days_are_read(phrase: str, words: str) -> None:
    assert describe(parse_schedule(phrase, now_ms=_NOW)) == words


def test_schedules_with_the_same_runs_are_described_once() -> None:
    several = combine([Every("2s"), Every("10s"), Every("1h"), Every("60m")])
    assert describe(several) == "every 10 seconds; every hour"
    assert normal(parse_schedule(describe(several), now_ms=_NOW)) == normal(several)
    # These run twice an hour.
    assert describe(combine([Every("1h"), Entry(Every("60m"), anchor_at=5)])) == "every hour; every hour"
