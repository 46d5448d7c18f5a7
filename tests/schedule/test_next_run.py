"""Grid points: next, previous, counted."""

from __future__ import annotations

from typing import Any

import pytest
from cases import load_json, utc_ms
from cron_oracle import ZONES, Expression, expressions
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from halo_scheduler import (
    After,
    Cron,
    CronParseError,
    Every,
    Manual,
    Once,
    ScheduleError,
    calculate_next_trigger,
    count_due,
    is_schedule_due,
    next_run,
    previous_run,
)
from halo_scheduler.schedule import single as single_module
from halo_scheduler.schedule.single import jitter_ms

_NOW = utc_ms("2026-11-16T12:00Z")
_INSTANTS = st.integers(0, 4_000_000_000_000)
_EVERY = st.builds(
    lambda number, unit: Every(f"{number}{unit}"), st.integers(1, 999), st.sampled_from("smhd")
)


@pytest.mark.parametrize("case", load_json("every.json"), ids=lambda case: case["case"])
def test_provided_every_case(case: dict[str, Any]) -> None:
    assert next_run(Every(case["every"]), case["now_ms"], anchor_at=case["anchor_at"]) == case["next"]


def test_every_below_ten_seconds_is_raised() -> None:
    assert next_run(Every("1s"), 1_000, anchor_at=0) == 10_000


def test_after_counts_from_the_last_completion() -> None:
    assert next_run(After("5m"), _NOW, last_completed_at=_NOW - 60_000) == _NOW + 240_000


@pytest.mark.parametrize("last_completed_at", [None, 0, _NOW - 300_000])
def test_after_is_due_at_once_when_its_time_has_passed(last_completed_at: int | None) -> None:
    assert next_run(After("5m"), _NOW, last_completed_at=last_completed_at) == _NOW


def test_after_has_no_floor() -> None:
    assert next_run(After("1s"), _NOW, last_completed_at=_NOW) == _NOW + 1_000


def test_once_is_ahead_or_over() -> None:
    assert next_run(Once(_NOW), _NOW - 1) == _NOW
    assert next_run(Once(_NOW), _NOW) is None
    assert next_run(Once("2026-11-16T13:00:00+01:00"), _NOW - 1) == _NOW


def test_manual_is_never_due() -> None:
    assert next_run(Manual(), _NOW) is None
    assert previous_run(Manual(), _NOW) is None
    assert count_due(Manual(), 0, _NOW) == 0


@pytest.mark.usefixtures("machine_in_berlin")
def test_cron_without_a_zone_follows_the_machine() -> None:
    assert next_run(Cron("0 9 * * *"), _NOW) == utc_ms("2026-11-17T08:00Z")


@given(_EVERY, _INSTANTS, _INSTANTS)
def test_every_stays_on_its_grid(schedule: Every, anchor_at: int, now_ms: int) -> None:
    found = next_run(schedule, now_ms, anchor_at=anchor_at)
    assert found is not None
    assert found > now_ms
    assert found >= anchor_at
    assert (found - anchor_at) % schedule.every_ms == 0
    assert found == anchor_at or found - schedule.every_ms <= now_ms


@given(_EVERY, _INSTANTS, _INSTANTS)
def test_the_previous_point_of_every_is_one_step_before_the_next(
    schedule: Every, anchor_at: int, now_ms: int
) -> None:
    found = previous_run(schedule, now_ms, anchor_at=anchor_at)
    following = next_run(schedule, now_ms, anchor_at=anchor_at)
    assert found == (None if now_ms < anchor_at else (following or 0) - schedule.every_ms)


@given(_EVERY, _INSTANTS, _INSTANTS, st.integers(0, 40))
def test_counting_every_agrees_with_iteration(
    schedule: Every, anchor_at: int, after_at: int, steps: int
) -> None:
    point = after_at
    for _ in range(steps):
        point = next_run(schedule, point, anchor_at=anchor_at) or 0
    assert count_due(schedule, after_at, point, anchor_at=anchor_at) == steps
    assert count_due(schedule, after_at, point - 1, anchor_at=anchor_at) == max(steps - 1, 0)


def test_a_century_of_every_is_counted_by_arithmetic() -> None:
    found = count_due(Every("10s"), 0, 3_155_760_000_000)
    assert found == 315_576_000
    assert not found.capped


@settings(deadline=None)
@given(
    expressions(seconds=False), st.sampled_from(ZONES), st.integers(0, 4_000_000_000_000), st.integers(0, 30)
)
def test_counting_cron_agrees_with_iteration(
    expression: Expression, zone: str, after_at: int, steps: int
) -> None:
    schedule = _cron_or_skip(expression, zone)
    point = after_at
    for _ in range(steps):
        point = next_run(schedule, point) or 0
    assert count_due(schedule, after_at, point) == steps


@settings(deadline=None, max_examples=60)
@given(expressions(seconds=False), st.sampled_from(ZONES), st.integers(2_000_000_000_000, 4_000_000_000_000))
def test_the_previous_run_is_the_last_that_is_not_ahead(
    expression: Expression, zone: str, now_ms: int
) -> None:
    schedule = _cron_or_skip(expression, zone)
    found = previous_run(schedule, now_ms)
    assert found is not None
    assert found <= now_ms
    assert next_run(schedule, found - 1) == found
    following = next_run(schedule, found)
    assert following is not None
    assert following > now_ms
    assert previous_run(schedule, found) == found


def _cron_or_skip(expression: Expression, zone: str) -> Cron:
    try:
        return Cron(expression.text, timezone=zone)
    except CronParseError:
        assume(False)
        raise


def test_counting_cron_stops_at_its_maximum_and_says_so() -> None:
    every_second = Cron("* * * * * *", timezone="UTC")
    found = count_due(every_second, _NOW, _NOW + 100_000, most=50)
    assert (found, found.capped, str(found)) == (50, True, "50+")
    exact = count_due(every_second, _NOW, _NOW + 50_000, most=50)
    assert (exact, exact.capped, str(exact)) == (50, False, "50")


def test_an_empty_span_has_no_points() -> None:
    assert count_due(Every("10s"), _NOW, _NOW) == 0
    assert count_due(Every("10s"), _NOW + 60_000, _NOW) == 0


@pytest.mark.parametrize(("until_at", "count"), [(_NOW - 1, 0), (_NOW, 1), (_NOW + 1, 1)])
def test_once_counts_once(until_at: int, count: int) -> None:
    assert count_due(Once(_NOW), _NOW - 10, until_at) == count
    assert count_due(Once(_NOW), _NOW, until_at + 10) == 0


def test_once_is_its_own_previous_point() -> None:
    assert previous_run(Once(_NOW), _NOW) == _NOW
    assert previous_run(Once(_NOW), _NOW - 1) is None


def test_after_has_one_point_and_only_once_it_ran() -> None:
    assert previous_run(After("5m"), _NOW, last_completed_at=_NOW - 400_000) == _NOW - 100_000
    assert previous_run(After("5m"), _NOW, last_completed_at=_NOW - 100_000) is None
    assert previous_run(After("5m"), _NOW) is None
    assert count_due(After("5m"), _NOW - 400_000, _NOW, last_completed_at=_NOW - 400_000) == 1
    assert count_due(After("5m"), _NOW - 400_000, _NOW) == 0


@pytest.mark.parametrize(
    ("expression", "now", "expected"),
    [
        ("0 0 29 2 *", "2027-11-16T00:00Z", "2024-02-29T00:00Z"),
        ("0 0 * 2 SUN#5", "2128-02-28T00:00Z", "2088-02-29T00:00Z"),
    ],
)
def test_a_rare_run_is_found_far_back(expression: str, now: str, expected: str) -> None:
    assert previous_run(Cron(expression, timezone="UTC"), utc_ms(now)) == utc_ms(expected)


def test_every_ends_with_the_calendar() -> None:
    assert next_run(Every("36500d"), utc_ms("9990-01-01T00:00Z")) is None


def test_the_search_backwards_is_bounded() -> None:
    # A thousand years after the calendar ends, no run lies within reach.
    assert (
        previous_run(
            Cron("0 0 29 2 *", timezone="UTC"), utc_ms("9999-12-01T00:00Z") + 1_000 * 365 * 86_400_000
        )
        is None
    )


@pytest.mark.parametrize(
    ("next_run_at", "due"), [(None, False), (_NOW - 1, True), (_NOW, True), (_NOW + 1, False)]
)
def test_due_means_not_ahead(next_run_at: int | None, due: bool) -> None:
    assert is_schedule_due(next_run_at, _NOW) is due


def test_trigger_of_a_job_that_never_ran_is_now() -> None:
    assert calculate_next_trigger(None, "5m", now_ms=_NOW, jitter_percent=10, key="job") == _NOW


def test_trigger_counts_from_the_last_completion_and_is_never_past() -> None:
    assert calculate_next_trigger(_NOW, "5m", now_ms=_NOW) == _NOW + 300_000
    assert calculate_next_trigger(0, "5m", now_ms=_NOW) == _NOW


def test_trigger_spreads_within_its_percentage() -> None:
    found = {
        calculate_next_trigger(_NOW, "5m", now_ms=_NOW, jitter_percent=10, key=str(key)) for key in range(50)
    }
    assert len(found) > 40
    assert min(found) >= _NOW + 300_000
    assert max(found) <= _NOW + 330_000


def test_trigger_refuses_too_much_jitter() -> None:
    with pytest.raises(ScheduleError, match="between 0 and 10"):
        calculate_next_trigger(_NOW, "5m", now_ms=_NOW, jitter_percent=11)


@given(st.text(), st.integers(0, 10**13), st.integers(0, 10**12), st.integers(0, 10))
def test_a_point_keeps_its_delay_within_the_percentage(
    key: str, point_at: int, distance_ms: int, percent: int
) -> None:
    found = jitter_ms(key, point_at, distance_ms, percent)
    assert found == jitter_ms(key, point_at, distance_ms, percent)
    assert 0 <= found <= distance_ms * percent // 100


def test_delays_differ_by_job_and_by_point() -> None:
    assert len({jitter_ms(key, 0, 10**9, 10) for key in "abcdefgh"}) == 8
    assert len({jitter_ms("a", point, 10**9, 10) for point in range(8)}) == 8


def test_a_delay_is_the_same_in_every_process() -> None:
    assert jitter_ms("job", 1_700_000_000_000, 900_000, 10) == 32_578


@given(
    expressions(seconds=False),
    st.sampled_from(ZONES),
    st.lists(st.integers(0, 3 * 86_400_000), min_size=1, max_size=6),
)
def test_earlier_calls_do_not_change_the_result(expression: Expression, zone: str, steps: list[int]) -> None:
    schedule = _cron_or_skip(expression, zone)
    # Around the clock change of spring 2026, forth and back.
    asked = [utc_ms("2026-03-28T12:00:00Z") + step for step in (*steps, *reversed(steps))]
    found = [next_run(schedule, at) for at in asked]
    for at, answer in zip(asked, found, strict=True):
        single_module._last_answers.clear()
        assert next_run(schedule, at) == answer
