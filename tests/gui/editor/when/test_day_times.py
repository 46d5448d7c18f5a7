"""Days and times of day written as cron and read back."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from halo_scheduler import Cron, next_run
from halo_scheduler.grammar.cron_fields import parse_fields
from halo_scheduler.wording.cron import describe_cron
from ui.editor.when.day_times import (
    ALL_DAYS,
    LAST_DAY,
    LAST_PLACE,
    WEEKEND,
    WORK_DAYS,
    Days,
    DayTimes,
    MonthDays,
    MonthWeekdays,
    WeekDays,
    merged,
    read_cron,
    read_crons,
    write_crons,
)

_EVERY_DAY = WeekDays(ALL_DAYS)
_WEEKDAYS = st.frozensets(st.integers(0, 6), min_size=1)
_DAYS = st.one_of(
    st.builds(WeekDays, _WEEKDAYS),
    st.builds(MonthWeekdays, st.frozensets(st.integers(1, LAST_PLACE), min_size=1), _WEEKDAYS),
    # All days of the month are every day, and the last one adds nothing to them.
    st.frozensets(st.integers(1, LAST_DAY), min_size=1)
    .filter(lambda days: not days.issuperset(range(1, LAST_DAY)))
    .map(MonthDays),
)
_TIMES = st.lists(st.tuples(st.integers(0, 23), st.integers(0, 59)), min_size=1, max_size=24, unique=True)
_GROUPS = st.lists(
    st.builds(lambda days, times: DayTimes(days, tuple(times)), _DAYS, _TIMES),
    min_size=1,
    max_size=4,
    unique_by=lambda group: group.days,
)


def _written(day_times: DayTimes) -> str:
    (expression,) = write_crons([day_times])
    return expression


@given(_GROUPS)
def test_any_groups_are_written_and_read_back(groups: list[DayTimes]) -> None:
    written = write_crons(groups)
    assert read_crons(written) == merged(groups)
    assert len(written) == len(set(written))
    # No time of a group is in two expressions.
    assert all(sum(len(part.times) for part in group.parts()) == len(group.times) for group in groups)


@given(_DAYS, st.frozensets(st.integers(0, 23), min_size=1), st.integers(0, 59))
def test_written_expressions_run_once_per_clock_time(days: Days, hours: frozenset[int], minute: int) -> None:
    fields = Cron(_written(DayTimes(days, tuple((hour, minute) for hour in hours)))).expression.fields
    assert not fields.is_wildcard
    assert (fields.minutes, fields.hours) == ((minute,), tuple(sorted(hours)))


@pytest.mark.parametrize(
    ("days", "times", "expected"),
    [
        (_EVERY_DAY, ((9, 0),), "0 9 * * *"),
        (WeekDays(WORK_DAYS), ((9, 30), (14, 30)), "30 9,14 * * 1-5"),
        (WeekDays(WEEKEND), ((7, 0), (8, 0), (9, 0)), "0 7-9 * * 0,6"),
        (WeekDays(frozenset({1, 3, 5})), ((0, 0),), "0 0 * * 1,3,5"),
        (_EVERY_DAY, tuple((hour, 5) for hour in range(24)), "5 0-23 * * *"),
        (_EVERY_DAY, ((8, 0), (8, 30), (18, 0), (18, 30)), "0,30 8,18 * * *"),
        (MonthWeekdays(frozenset({1}), frozenset({1})), ((7, 30),), "30 7 * * 1#1"),
        (
            MonthWeekdays(frozenset({2, LAST_PLACE}), frozenset({1, 5})),
            ((8, 0),),
            "0 8 * * 1#2,5#2,1L,5L",
        ),
        (MonthDays(frozenset({1, 15})), ((8, 30),), "30 8 1,15 * *"),
        (MonthDays(frozenset({LAST_DAY})), ((18, 0),), "0 18 L * *"),
        (MonthDays(frozenset({1, 2, 3, LAST_DAY})), ((0, 0),), "0 0 1-3,L * *"),
    ],
)
def test_expressions_are_written_as_a_person_would(
    days: Days, times: tuple[tuple[int, int], ...], expected: str
) -> None:
    assert _written(DayTimes(days, times)) == expected


@pytest.mark.parametrize(
    ("expression", "days", "times"),
    [
        ("0 9 * * MON-FRI", WeekDays(WORK_DAYS), ((9, 0),)),
        ("@daily", _EVERY_DAY, ((0, 0),)),
        ("@weekly", WeekDays(frozenset({0})), ((0, 0),)),
        ("@monthly", MonthDays(frozenset({1})), ((0, 0),)),
        ("0 15 6 * * 7", WeekDays(frozenset({0})), ((6, 15),)),
        ("0 8-10 * 1-12 0-6", _EVERY_DAY, ((8, 0), (9, 0), (10, 0))),
        ("0 9 1-31 * *", _EVERY_DAY, ((9, 0),)),
        ("0 9 */10 * *", MonthDays(frozenset({1, 11, 21, 31})), ((9, 0),)),
        ("0 9 * * */2", WeekDays(frozenset({0, 2, 4, 6})), ((9, 0),)),
        ("0,30 9,17 * * *", _EVERY_DAY, ((9, 0), (9, 30), (17, 0), (17, 30))),
        ("0 18 L * *", MonthDays(frozenset({LAST_DAY})), ((18, 0),)),
        ("0 18 L,15 * 0-7", None, ()),
        ("0 9 * * MON#2", MonthWeekdays(frozenset({2}), frozenset({1})), ((9, 0),)),
        ("0 9 * * 5L,FRI#1", MonthWeekdays(frozenset({1, LAST_PLACE}), frozenset({5})), ((9, 0),)),
    ],
)
def test_expressions_of_others_are_read(
    expression: str, days: Days | None, times: tuple[tuple[int, int], ...]
) -> None:
    assert read_cron(expression) == (None if days is None else DayTimes(days, times))


@given(
    st.sampled_from(["*", "L", "1", "15,31", "1-31", "*/2", "28-31,L", "*/40"]),
    st.sampled_from(["*", "1-5", "0", "MON#1", "5L", "1#1,5#3", "1#1,1#2,1L", "1,1#2", "*/3", "0-7"]),
    st.sampled_from(["*", "1-12", "12"]),
    st.sampled_from(["0 9", "0,30 8,9", "*/5 9", "0 *"]),
)
def test_a_schedule_that_the_form_writes_back_has_the_same_runs(
    date: str, weekday: str, month: str, time: str
) -> None:
    expression = f"{time} {date} {month} {weekday}"
    found = read_cron(expression)
    if found is not None:
        written = describe_cron(parse_fields(_written(found)))
        assert describe_cron(parse_fields(expression)) == written


@pytest.mark.parametrize(
    "expression",
    [
        "*/15 * * * *",
        "0 * * * *",
        "0 */6 * * *",
        "0-24 9 * * *",
        "0,30 0-12 * * *",
        "30 0 9 * * *",
        "0 9 1 * 1",
        "0 9 1-31 * 1",
        "0 9 * 12 *",
        "0 9 */2 * 1",
        "0 9 * * 1,MON#2",
        "0 9 * * 1#1,5#3",
        "@hourly",
        "@yearly",
        "nonsense",
        "",
    ],
)
def test_expressions_beyond_days_and_times_are_left_as_cron(expression: str) -> None:
    assert read_cron(expression) is None


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
    assert write_crons([DayTimes(_EVERY_DAY, times)]) == written


def test_other_days_have_other_times() -> None:
    office = DayTimes(WeekDays(WORK_DAYS), ((9, 0),))
    market = DayTimes(WeekDays(frozenset({6})), ((11, 0), (11, 30)))
    assert write_crons([office, market]) == ["0 9 * * 1-5", "0,30 11 * * 6"]


@pytest.mark.parametrize(
    "expressions",
    [
        [],
        ["0 9 * * *", "*/5 * * * *"],
        ["0 0-23 * * *", "30 5 * * *"],
        [f"0 9 {day} * *" for day in range(1, 12)],
    ],
)
def test_expressions_that_are_more_than_days_and_times_stay_apart(expressions: list[str]) -> None:
    assert read_crons(expressions) is None


def test_the_same_days_are_one_group() -> None:
    groups = [DayTimes(_EVERY_DAY, ((9, 0), (8, 0))), DayTimes(_EVERY_DAY, ((9, 0), (7, 0)))]
    assert merged(groups) == (DayTimes(_EVERY_DAY, ((7, 0), (8, 0), (9, 0))),)


def test_the_written_expression_runs_at_its_times() -> None:
    schedule = Cron(_written(DayTimes(WeekDays(frozenset({2})), ((14, 30),))), "UTC")
    # 1 January 1970 was a Thursday: the first Tuesday is the 6th.
    assert next_run(schedule, 0) == ((5 * 24 + 14) * 60 + 30) * 60_000
