"""Times of day written as cron and read back, and the anchors of intervals."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from halo_scheduler import Cron, Once, next_run
from halo_scheduler.grammar.when import parse_when
from halo_scheduler.grammar.zone import local_time
from ui.editor.when.times import (
    ALL_DAYS,
    WEEKEND,
    WORK_DAYS,
    DayTimes,
    clock_words,
    iso_text,
    midnight,
    read_cron,
    read_crons,
    typed_text,
    write_crons,
)

_WEEKDAYS = st.frozensets(st.integers(0, 6), min_size=1)
_HOURS = st.frozensets(st.integers(0, 23), min_size=1)
_TIMES = st.lists(st.tuples(st.integers(0, 23), st.integers(0, 59)), min_size=1, max_size=24)
_SUMMER = 1_784_000_000_000
_WINTER = 1_767_000_000_123


def _day_times(weekdays: frozenset[int], hours: frozenset[int], minute: int) -> DayTimes:
    return DayTimes(weekdays, tuple((hour, minute) for hour in sorted(hours)))


def _written(day_times: DayTimes) -> str:
    (expression,) = write_crons(day_times)
    return expression


@given(_WEEKDAYS, _HOURS, st.integers(0, 59))
def test_what_is_written_is_read_back(weekdays: frozenset[int], hours: frozenset[int], minute: int) -> None:
    chosen = _day_times(weekdays, hours, minute)
    assert read_cron(_written(chosen)) == chosen


@given(_WEEKDAYS, _HOURS, st.integers(0, 59))
def test_what_is_written_runs_once_per_time_of_the_clock(
    weekdays: frozenset[int], hours: frozenset[int], minute: int
) -> None:
    fields = Cron(_written(_day_times(weekdays, hours, minute))).expression.fields
    assert not fields.is_wildcard
    assert (fields.minutes, fields.hours, fields.weekdays) == (
        (minute,),
        tuple(sorted(hours)),
        tuple(sorted(weekdays)),
    )


@pytest.mark.parametrize(
    ("weekdays", "times", "expected"),
    [
        (ALL_DAYS, ((9, 0),), "0 9 * * *"),
        (WORK_DAYS, ((9, 30), (14, 30)), "30 9,14 * * 1-5"),
        (WEEKEND, ((7, 0), (8, 0), (9, 0)), "0 7-9 * * 0,6"),
        (frozenset({1, 3, 5}), ((0, 0),), "0 0 * * 1,3,5"),
        (ALL_DAYS, tuple((hour, 5) for hour in range(24)), "5 0-23 * * *"),
        (ALL_DAYS, ((8, 0), (8, 30), (18, 0), (18, 30)), "0,30 8,18 * * *"),
    ],
)
def test_it_writes_what_a_person_would(
    weekdays: frozenset[int], times: tuple[tuple[int, int], ...], expected: str
) -> None:
    assert _written(DayTimes(weekdays, times)) == expected


@pytest.mark.parametrize(
    ("expression", "weekdays", "times"),
    [
        ("0 9 * * MON-FRI", WORK_DAYS, ((9, 0),)),
        ("@daily", ALL_DAYS, ((0, 0),)),
        ("@weekly", frozenset({0}), ((0, 0),)),
        ("0 15 6 * * 7", frozenset({0}), ((6, 15),)),
        ("0 8-10 * 1-12 0-6", ALL_DAYS, ((8, 0), (9, 0), (10, 0))),
        ("0,30 9,17 * * *", ALL_DAYS, ((9, 0), (9, 30), (17, 0), (17, 30))),
    ],
)
def test_it_reads_what_others_wrote(
    expression: str, weekdays: frozenset[int], times: tuple[tuple[int, int], ...]
) -> None:
    assert read_cron(expression) == DayTimes(weekdays, times)


@pytest.mark.parametrize(
    "expression",
    [
        "*/15 * * * *",
        "0 * * * *",
        "0 */6 * * *",
        "0-24 9 * * *",
        "0,30 0-12 * * *",
        "30 0 9 * * *",
        "0 9 1 * *",
        "0 9 L * *",
        "0 9 1-31 * 1",
        "0 9 * 12 *",
        "0 9 * * MON#2",
        "0 9 * * 5L",
        "@hourly",
        "@monthly",
        "nonsense",
        "",
    ],
)
def test_what_says_more_than_times_and_weekdays_is_left_to_the_expression(expression: str) -> None:
    assert read_cron(expression) is None


@given(_WEEKDAYS, _TIMES)
def test_any_times_are_written_and_read_back(weekdays: frozenset[int], times: list[tuple[int, int]]) -> None:
    chosen = DayTimes(weekdays, tuple(times)).ordered()
    written = write_crons(chosen)
    assert read_crons(written) == chosen
    assert len(written) <= len({minute for _, minute in times})
    # No time is in two expressions.
    assert sum(len(part.times) for part in chosen.parts()) == len(chosen.times)


@pytest.mark.parametrize(
    ("times", "written"),
    [
        (((8, 0), (8, 30)), ["0,30 8 * * *"]),
        (((8, 0), (8, 30), (9, 0), (9, 30)), ["0,30 8,9 * * *"]),
        (((9, 0), (14, 30)), ["0 9 * * *", "30 14 * * *"]),
        (((8, 0), (8, 30), (9, 0)), ["0 8,9 * * *", "30 8 * * *"]),
        (((9, 0), (12, 30), (15, 0)), ["0 9,15 * * *", "30 12 * * *"]),
    ],
)
def test_times_with_different_minutes_are_several_expressions(
    times: tuple[tuple[int, int], ...], written: list[str]
) -> None:
    assert write_crons(DayTimes(ALL_DAYS, times)) == written


@pytest.mark.parametrize(
    "expressions",
    [
        [],
        ["0 9 * * *", "30 14 * * 1-5"],
        ["0 9 * * *", "*/5 * * * *"],
        ["0 0-23 * * *", "30 5 * * *"],
    ],
)
def test_expressions_that_are_more_than_times_on_the_same_days_stay_apart(expressions: list[str]) -> None:
    assert read_crons(expressions) is None


def test_a_time_given_twice_counts_once() -> None:
    assert DayTimes(ALL_DAYS, ((9, 0), (8, 0), (9, 0))).ordered().times == ((8, 0), (9, 0))


def test_the_written_expression_runs_at_its_times() -> None:
    schedule = Cron(_written(DayTimes(frozenset({2}), ((14, 30),))), "UTC")
    # 1 January 1970 was a Thursday: the first Tuesday is the 6th.
    assert next_run(schedule, 0) == ((5 * 24 + 14) * 60 + 30) * 60_000


@pytest.mark.parametrize(
    ("every_ms", "words"),
    [
        (900_000, "on the quarter hour (00:00, 00:15, 00:30 …)"),
        (1_800_000, "on the half hour (00:00, 00:30, 01:00 …)"),
        (3_600_000, "on the hour (00:00, 01:00, 02:00 …)"),
        (7_200_000, "from midnight (00:00, 02:00, 04:00 …)"),
        (86_400_000, "at midnight"),
        (10_000, "from midnight"),
        (172_800_000, "from midnight"),
        (57_600_000, "from midnight (00:00, 16:00 …)"),
    ],
)
def test_round_times_have_a_name(every_ms: int, words: str) -> None:
    assert clock_words(every_ms) == words


@pytest.mark.usefixtures("machine_in_berlin")
@pytest.mark.parametrize("now_ms", [_SUMMER, _WINTER])
def test_midnight_is_the_machines(now_ms: int) -> None:
    at = midnight(now_ms)
    assert 0 <= now_ms - at < 86_400_000
    assert f"{local_time(at):%H:%M:%S}" == "00:00:00"


@pytest.mark.usefixtures("machine_in_berlin")
@pytest.mark.parametrize(
    ("at", "text"), [(_SUMMER, "2026-07-14T05:33:20+02:00"), (_WINTER, "2025-12-29T10:20:00+01:00")]
)
def test_an_instant_is_stored_with_its_offset(at: int, text: str) -> None:
    assert iso_text(at) == text
    assert Once(text).due_at == at // 1_000 * 1_000


@pytest.mark.parametrize(("zone", "text"), [("America/St_Johns", "-02:30"), ("Asia/Kathmandu", "+05:45")])
def test_odd_offsets_are_kept(monkeypatch: pytest.MonkeyPatch, zone: str, text: str) -> None:
    from zoneinfo import ZoneInfo  # noqa: PLC0415

    monkeypatch.setattr("ui.editor.when.times.find_zone", lambda _name: ZoneInfo(zone))
    assert iso_text(_SUMMER).endswith(text)


@pytest.mark.usefixtures("machine_in_berlin")
@pytest.mark.parametrize("at", [_SUMMER, 1_784_001_600_000])
def test_an_instant_is_typed_as_it_is_read(at: int) -> None:
    assert parse_when(typed_text(at), 0) == at
