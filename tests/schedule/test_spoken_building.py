"""No word of a phrase is ignored: it changes the meaning, says again what is so, or is refused."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pytest
from cases import utc_ms

from halo_scheduler import Every, PhraseParseError, ScheduleError, parse_schedule
from halo_scheduler.grammar.interval import DAY_MS
from halo_scheduler.model import Several
from halo_scheduler.schedule.normal import CronMeaning, DayRule, Meaning, normal

_NOW = utc_ms("2026-11-18T10:00Z")  # a Wednesday
_LINES = (Path(__file__).parents[1] / "data" / "phrases.txt").read_text("utf-8").splitlines()
_PHRASES = [
    phrase
    for phrase, _, meaning in (line.partition(" = ") for line in _LINES if not line.startswith("#"))
    if not meaning.startswith("asks ")
]
_FIELDS = re.compile(r"[0-9@*]\S* ?\S* .*\*.*|@\w+")
_WORDS = [phrase for phrase in _PHRASES if not _FIELDS.fullmatch(phrase)]


def _meaning(phrase: str) -> Meaning | None:
    try:
        return normal(parse_schedule(phrase, now_ms=_NOW, timezone="Europe/Berlin"))
    except ScheduleError:
        return None


def _items(meaning: Meaning) -> list[Meaning]:
    return list(meaning.value) if isinstance(meaning.value, frozenset) else [meaning]


def _crons(meaning: Meaning) -> list[CronMeaning]:
    return [item.value for item in _items(meaning) if isinstance(item.value, CronMeaning)]


def _is_every_day(meaning: Meaning) -> bool:
    if any(
        item.kind == "every" and isinstance(item.value, int) and item.value <= DAY_MS
        for item in _items(meaning)
    ):
        return True
    return any(cron.days == DayRule(None, None) for cron in _crons(meaning))


def _is_weekly(meaning: Meaning) -> bool:
    return any(
        cron.days.dates is None and cron.days.weekdays and cron.days.weekdays.every
        for cron in _crons(meaning)
    )


def _is_monthly(meaning: Meaning) -> bool:
    return any(
        cron.days.dates is not None
        or (cron.days.weekdays is not None and (cron.days.weekdays.nth or cron.days.weekdays.last))
        for cron in _crons(meaning)
        if len(cron.months) == 12
    )


def _is_yearly(meaning: Meaning) -> bool:
    return any(len(cron.months) < 12 for cron in _crons(meaning))


def _is_wildcard(meaning: Meaning) -> bool:
    return any(cron.is_wildcard for cron in _crons(meaning))


def _is_pace(meaning: Meaning) -> bool:
    return any(len(cron.hours) * len(cron.minutes) > 1 for cron in _crons(meaning))


def _is_whole_hour(meaning: Meaning) -> bool:
    return any(len(cron.hours) > 1 and cron.minutes == (0,) for cron in _crons(meaning))


def _hours(hours: range) -> Callable[[Meaning], bool]:
    return lambda meaning: any(set(cron.hours) <= set(hours) for cron in _crons(meaning))


def _is_never(meaning: Meaning) -> bool:  # noqa: ARG001 - the form of the other conditions
    return False


# A clause, and when a phrase that means the same without it may have it.
_CLAUSES: list[tuple[str, Callable[[Meaning], bool]]] = [
    (", also in a repeated hour", _is_wildcard),
    ("on the clock", _is_pace),
    ("on the hour", _is_whole_hour),
    ("daily", _is_every_day),
    ("every day", _is_every_day),
    ("weekly", _is_weekly),
    ("every week", _is_weekly),
    ("monthly", _is_monthly),
    ("of every month", _is_monthly),
    ("yearly", _is_yearly),
    ("every year", _is_yearly),
    ("every morning", _hours(range(12))),
    ("every night", _hours(range(24))),
    ("on Tuesdays", _is_never),
    ("and also on Fridays", _is_weekly),
    ("on the 29th of every month", _is_never),
    ("in February", _is_never),
    ("if that is the 13th", _is_never),
    ("at 3:17", _is_never),
    ("at :17", _is_never),
    ("at 17 past every hour", _is_never),
    ("at minutes 6 and 20 of every hour", _is_never),
    ("every 7 minutes", _is_never),
    ("every 3 days", lambda meaning: meaning.value == 3 * DAY_MS),
    ("between 3:01 and 4:02", _is_never),
    ("from 0:11", _is_never),
    ("tomorrow", _is_never),
    ("2027-01-01", _is_never),
    ("after it finishes", _is_never),
    ("in 5 minutes", _is_never),
    ("in Asia/Tokyo", _is_never),
    ("and", _is_never),
]


def _undated(meaning: Meaning) -> Meaning:
    """Return a meaning without the first and the last day of each schedule."""
    match meaning.value:
        case frozenset():
            return meaning._replace(value=frozenset(_undated(one) for one in meaning.value))
        case (value, str() | None, str() | None, _):
            return meaning._replace(value=value)
        case _:
            return meaning


@pytest.mark.parametrize(("clause", "may_repeat"), _CLAUSES, ids=[clause for clause, _ in _CLAUSES])
def test_a_clause_more_changes_the_meaning_or_is_refused(
    clause: str, may_repeat: Callable[[Meaning], bool]
) -> None:
    for phrase in _PHRASES:
        alone = _meaning(phrase)
        assert alone is not None
        ignored = [
            longer
            for longer in (f"{phrase} {clause}", f"{clause} {phrase}")
            if _meaning(longer) == alone and not may_repeat(_undated(alone))
        ]
        assert not ignored


def test_no_word_of_a_phrase_can_be_replaced_by_nonsense() -> None:
    for phrase in _WORDS:
        words = phrase.rstrip(" .;").split()
        for index in range(len(words)):
            nonsense = " ".join([*words[:index], "xyzzy", *words[index + 1 :]])
            assert _meaning(nonsense) is None, nonsense


_STRAY = (
    *(
        "from",
        "to",
        "first",
        "second",
        "half",
        "quarter",
        "not",
        "never",
        "about",
        "also",
        "again",
        "twice",
        "no",
    ),
    *("hour", "9", "17", "2027", "+", "-", "(", "#", "xyzzy"),
    *("in a repeated hour", "if possible", "except on holidays", "for a week", "5 times", "in even months"),
)
# A word that says what the phrase says anyway, the first time of a list that has it, or a sign that joins a list.
_SAYS_THE_SAME = re.compile(
    r"and also|, (on )?(9|17)\b|(from|half past|quarter past|quarter to) |"
    r"first.*1st|1st.*first|every first hour|\b(9|17)\b.*\b\3\b| \+ (wed|fri)"
)


@pytest.mark.parametrize("stray", _STRAY)
def test_no_word_between_the_others_is_ignored(stray: str) -> None:
    ignored = []
    for phrase in _WORDS:
        words = phrase.split()
        for index in range(1, len(words)):
            longer = " ".join([*words[:index], stray, *words[index:]])
            if not _SAYS_THE_SAME.search(longer) and _meaning(longer) == _meaning(phrase):
                ignored.append(longer)
    assert not ignored


_SPAN = re.compile(r"every .*(between|from|[0-9]-[0-9])|hourly (from|between)|every hour 9-17")


def test_another_number_is_another_meaning_or_is_refused() -> None:
    for phrase in _WORDS:
        if _SPAN.search(phrase):  # The end of a span need not be a run.
            continue
        for match in re.finditer(r"[0-9]+", phrase):
            other = f"{phrase[: match.start()]}{int(match[0]) + 1:0{len(match[0])}}{phrase[match.end() :]}"
            assert _meaning(other) != _meaning(phrase), other


@pytest.mark.parametrize(
    ("phrase", "reason"),
    [
        ("at 9:30:05 every day, also in a repeated hour", "no single schedule says exactly that"),
        ("every 15 minutes, also in a repeated hour", "leave it out"),
        ("on 1 to 99 June every year at 9:00", "no month has a 32nd day"),
        ("on 5 to 3 June every year at 9:00", "not understood"),
        ("at minutes 40–17 of every hour", "ranges of minutes go up"),
        ("at minutes 10, 20 … 0 of every hour", "not evenly spaced"),
        ("at minute 5 of minute 7 of hour 9 every day", "two schedules"),
        ("every 2 days between 8:00 and 18:00", "several days"),
        ("every 24 hours on weekdays", "the time of day is missing"),
        ("on the 1st of January and on the 15th of July at 9:00", "separate them with a semicolon"),
        ("on Mondays and on the first Friday of January at 9:00", "separate them with a semicolon"),
        ("on Mondays on the first Friday of the month at 9:00", "separate them with a semicolon"),
        ("every day at 9:00 on weekdays", "every day or on chosen days"),
        ("at 9:00 every Monday yearly", "“every year” has no effect"),
        ("at 9:00 every Monday every month", "“every month” has no effect"),
        ("every day at 9:00 weekly", "“every week” has no effect"),
        ("every 15 minutes every night", "“every night” has no effect"),
        ("every hour on the hour at :30", "“on the hour” has no effect"),
        ("24 Dec 2026 at 18:00 -03:30 in Europe/Paris", "time zone"),
        ("every evening every night at 20:00", "two schedules"),
        ("every Monday, Wednesday at 9 and Friday at 10", "separate them with a semicolon"),
        ("every weekday at 9 and Saturday at 11", "separate them with a semicolon"),
        ("every day at 9 and xyzzy", "“and” is not understood"),
        ("and every day at 9", "“and” is not understood"),
        ("once a day", "“once” means a single run"),
        ("every first day at 9:00", "the first one of what is not clear"),
        ("quarter minute past every hour", "not understood"),
        ("every from weekday at 9:00", "not understood"),
        ("once in 3 days", "one run or many"),
    ],
)
def test_a_clause_without_effect_is_refused_with_the_reason(phrase: str, reason: str) -> None:
    with pytest.raises(PhraseParseError) as refusal:
        parse_schedule(phrase, now_ms=_NOW)
    assert reason in str(refusal.value)
    for suggestion in refusal.value.suggestions:
        parse_schedule(suggestion, now_ms=_NOW)


@pytest.mark.parametrize(
    ("phrase", "expression"),
    [
        ("at 9:00 every day, also in a repeated hour", "*/60 0 9 * * *"),
        ("every hour between 9:00 and 17:00, also in a repeated hour", "*/60 0 9-17 * * *"),
        ("every hour on the hour between 9:00 and 17:00", "0 9-17 * * *"),
        ("every morning at 7 on weekdays", "0 7 * * 1-5"),
        ("on Mondays and on the first Friday of every month at 9:00", "0 9 * * 1,5#1"),
    ],
)
def test_clauses_that_fit_have_their_effect(phrase: str, expression: str) -> None:
    schedule = parse_schedule(phrase, now_ms=_NOW)
    assert not isinstance(schedule, Every | Several)
    assert normal(schedule) == normal(parse_schedule(expression, now_ms=_NOW))
