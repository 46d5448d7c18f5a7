"""The instants of cron expressions."""

from __future__ import annotations

import sys
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, date, datetime, time, timedelta
from typing import Any

import pytest
from cases import load_json, load_lines, utc_ms
from cron_oracle import HOURLY_ZONES, ZONES, Expression, days_between, expressions
from cronsim import CronSim
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st
from timing import at_most_ms

from halo_scheduler import Cron, CronParseError, next_run
from halo_scheduler.grammar import cron as cron_module
from halo_scheduler.grammar.cron import next_cron_instant, parse_cron
from halo_scheduler.grammar.zone import clock_changes, find_zone, wall_time

_DAY_S = 86_400
_SOME_A_DAY = 30
_MANY_A_DAY = 5_000
_SLOW = settings(
    max_examples=150, deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much]
)


def _iterate(text: str, zone: str, after_s: int, until_s: int) -> list[int]:
    expression, tz = parse_cron(text), find_zone(zone)
    found: list[int] = []
    instant = next_cron_instant(expression, tz, after_s)
    while instant is not None and instant <= until_s:
        found.append(instant)
        instant = next_cron_instant(expression, tz, instant)
    return found


@pytest.mark.parametrize(
    "case", load_lines("cron.jsonl"), ids=lambda case: f"{case['class']}: {case['expr']}"
)
def test_provided_case(case: dict[str, Any]) -> None:
    schedule = Cron(case["expr"], timezone=case["tz"])
    now_ms = case["now_ms"]
    for expected in case["next_ms"]:
        assert next_run(schedule, now_ms) == expected
        now_ms = expected


@pytest.mark.parametrize("case", load_json("cron_syntax.json")["accept"], ids=lambda case: case["expr"])
def test_provided_expression_is_accepted(case: dict[str, Any]) -> None:
    schedule = Cron(case["expr"], timezone=case["tz"])
    now_ms = utc_ms(case["now"])
    for expected in case["next"]:
        assert next_run(schedule, now_ms) == utc_ms(expected)
        now_ms = utc_ms(expected)


@pytest.mark.parametrize(
    ("expression", "now", "expected"),
    [
        # Forward, 28 March 2027, 02:00 to 03:00 (01:00Z).
        ("30 2 * * *", "2027-03-27T12:00Z", ["2027-03-28T01:00Z", "2027-03-29T00:30Z"]),
        ("15,30,45 2 * * *", "2027-03-28T00:00Z", ["2027-03-28T01:00Z", "2027-03-29T00:15Z"]),
        ("0 3 * * *", "2027-03-28T00:00Z", ["2027-03-28T01:00Z", "2027-03-29T01:00Z"]),
        ("0 2,3 * * *", "2027-03-28T00:00Z", ["2027-03-28T01:00Z", "2027-03-29T00:00Z"]),
        ("30 * * * *", "2027-03-28T00:00Z", ["2027-03-28T00:30Z", "2027-03-28T01:30Z"]),
        ("* 2 * * *", "2027-03-28T00:00Z", ["2027-03-29T00:00Z", "2027-03-29T00:01Z"]),
        ("*/20 * 30 2 * *", "2027-03-28T00:00Z", []),
        # Back, 31 October 2027, 03:00 to 02:00 (01:00Z).
        ("30 2 * * *", "2027-10-31T00:00Z", ["2027-10-31T00:30Z", "2027-11-01T01:30Z"]),
        ("30 2 * * *", "2027-10-31T01:10Z", ["2027-11-01T01:30Z"]),
        ("0 3 * * *", "2027-10-31T01:10Z", ["2027-10-31T02:00Z", "2027-11-01T02:00Z"]),
        (
            "*/30 2 * * *",
            "2027-10-30T23:59Z",
            [
                "2027-10-31T00:00Z",
                "2027-10-31T00:30Z",
                "2027-10-31T01:00Z",
                "2027-10-31T01:30Z",
                "2027-11-01T01:00Z",
            ],
        ),
        ("0 * * * *", "2027-10-31T00:30Z", ["2027-10-31T01:00Z", "2027-10-31T02:00Z"]),
        ("* 9 * * *", "2027-10-31T00:30Z", ["2027-10-31T08:00Z"]),
        ("0 0 * * * *", "2027-10-31T00:30Z", ["2027-10-31T01:00Z", "2027-10-31T02:00Z"]),
        ("30 30 2 * * *", "2027-10-31T00:00Z", ["2027-10-31T00:30:30Z", "2027-11-01T01:30:30Z"]),
    ],
)
def test_clock_changes_in_berlin(expression: str, now: str, expected: list[str]) -> None:
    if not expected:
        with pytest.raises(CronParseError):
            parse_cron(expression)
        return
    schedule = Cron(expression, timezone="Europe/Berlin")
    now_ms = utc_ms(now)
    for instant in expected:
        assert next_run(schedule, now_ms) == utc_ms(instant)
        now_ms = utc_ms(instant)


def test_a_day_that_never_was_runs_at_its_end() -> None:
    # Samoa went from 29 December 2011 straight to the 31st.
    schedule = Cron("0 12 30 12 *", timezone="Pacific/Apia")
    assert next_run(schedule, utc_ms("2011-12-01T00:00Z")) == utc_ms("2011-12-30T10:00Z")


def test_a_full_list_beside_last_day_means_every_day() -> None:
    schedule = Cron("0 0 *,L * *", timezone="UTC")
    assert next_run(schedule, utc_ms("2027-01-05T00:00Z")) == utc_ms("2027-01-06T00:00Z")


def test_the_longest_wait_is_found() -> None:
    # 29 February on a Sunday: 2088, and because 2100 is no leap year not again before 2128.
    schedule = Cron("0 0 * 2 SUN#5", timezone="UTC")
    with at_most_ms(50):
        assert next_run(schedule, utc_ms("2088-02-29T00:00Z")) == utc_ms("2128-02-29T00:00Z")


@pytest.mark.parametrize("expression", ["* * * * *", "0 0 1 1 *", "0 0 29 2 *"])
def test_the_calendar_ends_quietly(expression: str) -> None:
    schedule = Cron(expression, timezone="Pacific/Kiritimati")
    assert next_run(schedule, utc_ms("9999-06-01T00:00Z")) is None


@pytest.mark.parametrize("expression", ["0 0 29 2 *", "* * 29 2 *"])
def test_nothing_is_found_past_the_last_year(expression: str) -> None:
    assert next_run(Cron(expression, timezone="UTC"), utc_ms("9997-01-01T00:00Z")) is None


def test_threads_do_not_disturb_each_other() -> None:
    texts = ["0 9 * * 1-5", "0 0 1,15 * *", "0 0 * * MON#2", "0 0 L * *"]
    start_s, end_s = utc_ms("2031-01-01T00:00Z") // 1_000, utc_ms("2033-01-01T00:00Z") // 1_000
    expected = [_iterate(text, "UTC", start_s, end_s) for text in texts * 2]
    interval_s = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        for _ in range(3):
            # Nothing remembered: all threads ask croniter's few objects at the same time.
            cron_module._first_day_in_sample.cache_clear()
            with ThreadPoolExecutor(8) as pool:
                futures = [pool.submit(_iterate, text, "UTC", start_s, end_s) for text in texts * 2]
                assert [future.result(timeout=60) for future in futures] == expected
    finally:
        sys.setswitchinterval(interval_s)


def _check_against_oracle(expression: Expression, zone: str, first: date, last: date) -> None:
    """Compare every run of some days with those of the oracle."""
    expected = expression.instants(zone, days_between(first, last))
    try:
        parse_cron(expression.text)
    except CronParseError:
        assert expected == []
        return
    midnights = (datetime.combine(day, time(), find_zone(zone)) for day in (first, last + timedelta(days=1)))
    start_s, end_s = (int(midnight.timestamp()) for midnight in midnights)
    assert _iterate(expression.text, zone, start_s - 1, end_s - 1) == expected


def _days_around_changes(zone: str, year: int) -> list[date]:
    first_s = int(datetime(year, 1, 3, tzinfo=UTC).timestamp())
    changes = clock_changes(find_zone(zone), first_s, first_s + 360 * _DAY_S)
    return [wall_time(change.wall_start_s).date() for change in changes] or [date(year, 6, 1)]


@_SLOW
@given(expressions(seconds=False), st.sampled_from(ZONES))
def test_no_run_is_skipped_or_doubled(expression: Expression, zone: str) -> None:
    if len(expression.minute.values) * len(expression.hour.values) <= _SOME_A_DAY:
        _check_against_oracle(expression, zone, date(2027, 1, 2), date(2027, 12, 30))
        return
    # A year of these would take minutes: the days around the clock changes are where mistakes live.
    for day in _days_around_changes(zone, 2027):
        _check_against_oracle(expression, zone, day - timedelta(days=1), day + timedelta(days=1))


@_SLOW
@given(expressions(seconds=True), st.sampled_from(ZONES))
def test_no_run_with_seconds_is_skipped_or_doubled(expression: Expression, zone: str) -> None:
    assert expression.second is not None
    assume(
        len(expression.second.values) * len(expression.minute.values) * len(expression.hour.values)
        <= _MANY_A_DAY
    )
    for day in _days_around_changes(zone, 2028):
        _check_against_oracle(expression, zone, day, day)


@_SLOW
@given(
    expressions(seconds=False, special_days=False),
    st.sampled_from(HOURLY_ZONES),
    st.integers(0, 400 * _DAY_S),
)
def test_cronsim_agrees(expression: Expression, zone: str, offset_s: int) -> None:
    try:
        parse_cron(expression.text)
    except CronParseError:
        assume(False)
    start = datetime.fromtimestamp(
        int(datetime(2026, 12, 1, tzinfo=UTC).timestamp()) + offset_s, find_zone(zone)
    )
    instant_s = int(start.timestamp())
    for _, moment in zip(range(20), CronSim(expression.text, start), strict=False):
        found = next_cron_instant(parse_cron(expression.text), find_zone(zone), instant_s)
        assert found == int(moment.timestamp())
        instant_s = found


@settings(deadline=None)
@given(expressions(seconds=False), st.sampled_from(ZONES), st.integers(0, 4_000_000_000_000))
def test_the_next_time_is_strictly_after_now(expression: Expression, zone: str, now_ms: int) -> None:
    try:
        schedule = Cron(expression.text, timezone=zone)
    except CronParseError:
        assume(False)
    found = next_run(schedule, now_ms)
    assert found is not None
    assert found > now_ms
