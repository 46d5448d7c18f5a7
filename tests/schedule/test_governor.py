"""The governor, rule by rule."""

from __future__ import annotations

from typing import Any

import pytest
from cases import load_json
from hypothesis import given, settings
from hypothesis import strategies as st

from halo_scheduler import (
    After,
    Backoff,
    Cron,
    Every,
    Hints,
    Limits,
    Manual,
    Once,
    Plan,
    Retry,
    ScheduleError,
    Source,
    next_run,
    plan_next_run,
    schedule_from_dict,
)
from halo_scheduler.model import Rule, Schedule
from halo_scheduler.schedule.single import jitter_ms

_NOW = 1_735_689_600_000  # 2025-01-01T00:00Z
_FOREVER = _NOW + 10**12
_BACKOFFS = {"double": Backoff.double(), "none": Backoff.none(), "ladder": Backoff.ladder()}
_EVERY = Every("15m")


def _rules(plan: Plan) -> list[Rule]:
    return [step.rule for step in plan.trail]


@pytest.mark.parametrize("case", load_json("governor.json"), ids=lambda case: case["case"])
def test_provided_case(case: dict[str, Any]) -> None:
    plan = plan_next_run(
        schedule_from_dict(case["schedule"]),
        case["now_ms"],
        last_completed_at=case["last_completed_at"],
        errors=case["errors"],
        finished_at=case["finished_at"],
        hints=Hints(**case["hints"]),
        limits=Limits(**case["limits"]),
        backoff=_BACKOFFS[case["backoff"]],
        paused_until=case["paused_until"],
    )
    assert (plan.at, plan.source) == (case["expect"]["at"], case["expect"]["source"])


@pytest.mark.parametrize(
    ("schedule", "at", "source"),
    [
        (_EVERY, _NOW + 900_000, Source.EVERY),
        (After("5m"), _NOW, Source.AFTER),
        (Cron("0 9 * * *", timezone="UTC"), _NOW + 9 * 3_600_000, Source.CRON),
        (Once(_NOW + 1), _NOW + 1, Source.ONCE),
    ],
)
def test_a_job_without_history_follows_its_schedule(schedule: Schedule, at: int, source: Source) -> None:
    plan = plan_next_run(schedule, _NOW)
    assert (plan.at, plan.source, plan.attempt) == (at, source, 1)
    assert _rules(plan) == [Rule.BASELINE]


@pytest.mark.parametrize(("schedule", "source"), [(Manual(), Source.MANUAL), (Once(_NOW), Source.ONCE)])
def test_a_schedule_that_is_never_due_has_no_plan_and_takes_no_hints(
    schedule: Schedule, source: Source
) -> None:
    hints = Hints(interval_ms=60_000, next_at=_NOW + 1, expires_at=_FOREVER)
    plan = plan_next_run(schedule, _NOW, errors=3, hints=hints, limits=Limits(max_ms=1))
    assert plan == Plan(None, source)


def test_a_hint_is_in_the_trail_with_the_value_it_replaced() -> None:
    plan = plan_next_run(_EVERY, _NOW, hints=Hints(interval_ms=60_000, expires_at=_FOREVER))
    assert [(step.rule, step.at, step.source, step.duration_ms) for step in plan.trail] == [
        (Rule.BASELINE, _NOW + 900_000, Source.EVERY, None),
        (Rule.HINT, _NOW + 60_000, Source.HINT_INTERVAL, 60_000),
    ]


@pytest.mark.parametrize("expires_at", [None, _NOW - 1, _NOW])
def test_an_expired_hint_does_not_count(expires_at: int | None) -> None:
    plan = plan_next_run(
        _EVERY, _NOW, hints=Hints(interval_ms=1_000, next_at=_NOW + 1, expires_at=expires_at)
    )
    assert plan.source is Source.EVERY


def test_a_one_shot_in_the_past_becomes_now() -> None:
    plan = plan_next_run(_EVERY, _NOW, hints=Hints(next_at=_NOW - 5_000, expires_at=_FOREVER))
    assert (plan.at, plan.source) == (_NOW, Source.HINT_ONCE)
    assert _rules(plan) == [Rule.BASELINE, Rule.HINT, Rule.NEVER_PAST]


def test_of_two_hints_the_one_shot_wins_only_if_earlier() -> None:
    earlier = Hints(interval_ms=60_000, next_at=_NOW + 59_999, expires_at=_FOREVER)
    assert plan_next_run(_EVERY, _NOW, hints=earlier).source is Source.HINT_ONCE
    later = Hints(interval_ms=60_000, next_at=_NOW + 60_001, expires_at=_FOREVER)
    assert plan_next_run(_EVERY, _NOW, hints=later).source is Source.HINT_INTERVAL


def test_a_waiting_once_follows_hints() -> None:
    plan = plan_next_run(Once(_NOW + 10_000), _NOW, hints=Hints(next_at=_NOW + 5_000, expires_at=_FOREVER))
    assert (plan.at, plan.source) == (_NOW + 5_000, Source.HINT_ONCE)


@pytest.mark.parametrize(
    ("errors", "delay_ms"),
    [(1, 30_000), (2, 60_000), (3, 300_000), (4, 900_000), (5, 3_600_000), (9, 3_600_000)],
)
def test_the_ladder_climbs_and_its_last_rung_repeats(errors: int, delay_ms: int) -> None:
    plan = plan_next_run(Every("10s"), _NOW, errors=errors, finished_at=_NOW)
    assert (plan.at, plan.source) == (_NOW + delay_ms, Source.BACKOFF)
    assert plan.trail[-1].duration_ms == delay_ms


def test_backoff_leaves_a_slower_schedule_alone() -> None:
    plan = plan_next_run(Every("1d"), _NOW, errors=1, finished_at=_NOW)
    assert plan.source is Source.EVERY


def test_backoff_delays_hints_too() -> None:
    plan = plan_next_run(
        _EVERY, _NOW, errors=2, finished_at=_NOW, hints=Hints(next_at=_NOW, expires_at=_FOREVER)
    )
    assert (plan.at, plan.source) == (_NOW + 60_000, Source.BACKOFF)


def test_backoff_counts_from_the_end_of_the_failed_run() -> None:
    plan = plan_next_run(Every("10s"), _NOW, errors=1, finished_at=_NOW - 15_000)
    assert plan.at == _NOW + 15_000
    without = plan_next_run(Every("10s"), _NOW, errors=1, last_completed_at=_NOW - 15_000)
    assert without.at == _NOW + 15_000
    assert plan_next_run(Every("10s"), _NOW, errors=1).at == _NOW + 30_000


def test_backoff_can_be_disabled() -> None:
    assert plan_next_run(Every("10s"), _NOW, errors=9, backoff=Backoff.none()).source is Source.EVERY


def test_a_ladder_of_ones_own() -> None:
    plan = plan_next_run(
        Every("10s"), _NOW, errors=2, finished_at=_NOW, backoff=Backoff.ladder(1_000, 20_000)
    )
    assert plan.at == _NOW + 20_000


@pytest.mark.parametrize(("errors", "factor"), [(0, 1), (1, 2), (3, 8), (5, 32), (6, 32), (50, 32)])
def test_doubling_stretches_the_interval(errors: int, factor: int) -> None:
    after = plan_next_run(
        After("60s"), _NOW, last_completed_at=_NOW - 1_000, errors=errors, backoff=Backoff.double()
    )
    assert (after.at, after.source) == (_NOW - 1_000 + 60_000 * factor, Source.AFTER)
    every = plan_next_run(Every("60s"), _NOW + 5, anchor_at=_NOW, errors=errors, backoff=Backoff.double())
    assert (every.at, every.source) == (_NOW + 60_000 * factor, Source.EVERY)
    assert _rules(every) == [Rule.BASELINE, *([Rule.BACKOFF] if factor > 1 else [])]


def test_doubling_leaves_cron_and_first_runs_alone() -> None:
    cron = plan_next_run(Cron("* * * * *", timezone="UTC"), _NOW, errors=5, backoff=Backoff.double())
    assert (cron.at, cron.source) == (_NOW + 60_000, Source.CRON)
    assert plan_next_run(After("60s"), _NOW, errors=5, backoff=Backoff.double()).at == _NOW


def test_doubling_that_changes_nothing_leaves_no_trace() -> None:
    plan = plan_next_run(Every("60s"), _NOW, anchor_at=_NOW + 10**10, errors=2, backoff=Backoff.double())
    assert _rules(plan) == [Rule.BASELINE]


def test_a_failed_slot_is_retried() -> None:
    retry = Retry(attempts=2, delay_ms=5_000)
    first = plan_next_run(_EVERY, _NOW, failed=True, attempt=1, finished_at=_NOW, retry=retry)
    assert (first.at, first.source, first.attempt) == (_NOW + 5_000, Source.RETRY, 2)
    second = plan_next_run(_EVERY, _NOW, failed=True, attempt=2, finished_at=_NOW, retry=retry)
    assert second.attempt == 3
    spent = plan_next_run(_EVERY, _NOW, failed=True, attempt=3, finished_at=_NOW, retry=retry)
    assert (spent.source, spent.attempt) == (Source.EVERY, 1)


def test_a_retry_needs_a_failure_and_must_come_first() -> None:
    retry = Retry(attempts=1, delay_ms=900_000)
    assert plan_next_run(_EVERY, _NOW, failed=False, finished_at=_NOW, retry=retry).source is Source.EVERY
    assert plan_next_run(_EVERY, _NOW, failed=True, finished_at=_NOW, retry=retry).source is Source.EVERY


def test_a_retry_is_never_past() -> None:
    plan = plan_next_run(_EVERY, _NOW, failed=True, finished_at=_NOW - 10**9, retry=Retry(attempts=1))
    assert (plan.at, plan.source) == (_NOW, Source.RETRY)


def test_a_retry_comes_before_the_backoff() -> None:
    plan = plan_next_run(
        Every("10s"), _NOW, errors=5, failed=True, finished_at=_NOW, retry=Retry(attempts=1, delay_ms=5_000)
    )
    assert (plan.at, plan.source) == (_NOW + 5_000, Source.RETRY)


def test_a_once_that_is_over_has_its_retries() -> None:
    retry = Retry(attempts=1, delay_ms=5_000)
    plan = plan_next_run(
        Once(_NOW - 10), _NOW, failed=True, finished_at=_NOW, retry=retry, limits=Limits(min_ms=60_000)
    )
    assert (plan.at, plan.source, plan.attempt) == (_NOW + 5_000, Source.RETRY, 2)


def test_a_failed_manual_run_is_not_retried() -> None:
    assert plan_next_run(Manual(), _NOW, failed=True, finished_at=_NOW, retry=Retry(attempts=9)).at is None


def test_limits_apply_to_everything_but_once() -> None:
    limits = Limits(min_ms=60_000, max_ms=120_000)
    low = plan_next_run(_EVERY, _NOW, limits=limits, hints=Hints(next_at=_NOW, expires_at=_FOREVER))
    assert (low.at, low.source) == (_NOW + 60_000, Source.CLAMPED_MIN)
    high = plan_next_run(_EVERY, _NOW, limits=limits)
    assert (high.at, high.source) == (_NOW + 120_000, Source.CLAMPED_MAX)
    retry = plan_next_run(_EVERY, _NOW, limits=limits, failed=True, retry=Retry(attempts=1, delay_ms=0))
    assert (retry.at, retry.source, retry.attempt) == (_NOW + 60_000, Source.CLAMPED_MIN, 2)
    assert plan_next_run(Once(_NOW + 1), _NOW, limits=limits).source is Source.ONCE


def test_a_pause_wins_over_everything() -> None:
    plan = plan_next_run(
        _EVERY, _NOW, failed=True, retry=Retry(attempts=5), limits=Limits(max_ms=1_000), paused_until=_NOW + 5
    )
    assert (plan.at, plan.source, plan.attempt) == (_NOW + 5, Source.PAUSED, 1)
    assert plan.trail[-1].rule is Rule.PAUSE


def test_a_pause_without_an_end_leaves_no_plan() -> None:
    assert plan_next_run(_EVERY, _NOW, paused=True).at is None


@pytest.mark.parametrize("paused", [True, False])
def test_a_pause_that_ended_does_not_pause(paused: bool) -> None:
    assert plan_next_run(_EVERY, _NOW, paused=paused, paused_until=_NOW).source is Source.EVERY


@pytest.mark.parametrize(
    ("schedule", "distance_ms"),
    [(_EVERY, 900_000), (After("15m"), 900_000), (Cron("*/15 * * * *", timezone="UTC"), 900_000)],
)
def test_jitter_delays_by_a_tenth_at_most(schedule: Schedule, distance_ms: int) -> None:
    plain = plan_next_run(schedule, _NOW, last_completed_at=_NOW).at or 0
    plans = [
        plan_next_run(schedule, _NOW, last_completed_at=_NOW, jitter_percent=10, key=str(key))
        for key in range(50)
    ]
    delays = {(plan.at or 0) - plain for plan in plans}
    assert len(delays) > 40
    assert min(delays) >= 0
    assert distance_ms // 20 < max(delays) <= distance_ms // 10
    assert {plan.source for plan in plans} == {plan_next_run(schedule, _NOW).source}


def _delays(schedule: Schedule, most_ms: int, *, is_fixed: bool = False, key: str = "job") -> list[int]:
    """Return how much later than its grid points each of 50 runs in a row is."""
    found, at = [], _NOW
    for _ in range(50):
        point = plan_next_run(schedule, at).at or 0
        plan = plan_next_run(schedule, at, jitter_ms=most_ms, is_jitter_fixed=is_fixed, key=key)
        found.append((plan.at or 0) - point)
        at = plan.at or 0
    return found


@pytest.mark.parametrize("schedule", [Every("1d"), Cron("0 9 * * *", timezone="UTC")])
def test_jitter_may_be_a_duration(schedule: Schedule) -> None:
    delays = _delays(schedule, 3_600_000)
    assert len(set(delays)) == 50
    assert 0 <= min(delays) < 1_000_000
    assert 2_600_000 < max(delays) <= 3_600_000


@pytest.mark.parametrize("schedule", [Every("1m"), Cron("* * * * *", timezone="UTC")])
def test_jitter_never_reaches_the_following_point(schedule: Schedule) -> None:
    delays = _delays(schedule, 3_600_000)
    assert 30_000 < max(delays) < 60_000


def test_a_duration_may_delay_by_more_than_the_time_between_two_runs() -> None:
    plan = plan_next_run(After("1m"), _NOW, last_completed_at=_NOW, jitter_ms=3_600_000, key="job")
    assert _NOW + 120_000 < (plan.at or 0) <= _NOW + 3_660_000


def test_fixed_jitter_delays_every_run_of_a_job_by_the_same_time() -> None:
    daily = Cron("0 9 * * *", timezone="UTC")
    found = {key: set(_delays(daily, 3_600_000, is_fixed=True, key=key)) for key in "abcdefgh"}
    assert {len(delays) for delays in found.values()} == {1}
    assert len(set().union(*found.values())) == 8
    percent = plan_next_run(daily, _NOW, jitter_percent=10, is_jitter_fixed=True, key="a")
    later = plan_next_run(daily, percent.at or 0, jitter_percent=10, is_jitter_fixed=True, key="a")
    assert (later.at or 0) - (percent.at or 0) == 86_400_000


@pytest.mark.parametrize("schedule", [Once(_NOW + 10**6), After("15m"), Manual()])
def test_once_and_jobs_due_at_once_have_no_jitter(schedule: Schedule) -> None:
    assert plan_next_run(schedule, _NOW, jitter_percent=10, key="x") == plan_next_run(schedule, _NOW)


def test_hints_have_no_jitter() -> None:
    hints = Hints(interval_ms=600_000, expires_at=_FOREVER)
    plans = [plan_next_run(_EVERY, _NOW, hints=hints, jitter_percent=10, key=str(key)) for key in range(20)]
    assert {plan.at for plan in plans} == {_NOW + 600_000}


def test_jitter_of_cron_follows_the_distance_to_the_following_point() -> None:
    daily = Cron("0 9 * * *", timezone="UTC")
    delays = [
        (plan_next_run(daily, _NOW, jitter_percent=10, key=str(key)).at or 0) - _NOW - 9 * 3_600_000
        for key in range(50)
    ]
    assert 4_000_000 < max(delays) <= 8_640_000


def test_jitter_belongs_to_the_point_that_doubling_leads_to() -> None:
    stretched = plan_next_run(
        Every("60s"), _NOW, errors=3, backoff=Backoff.double(), jitter_percent=10, key="x"
    )
    point = _NOW + 480_000
    assert stretched.at == point + jitter_ms("x", point, 60_000, 10)


@pytest.mark.parametrize("wrong", [{"errors": -1}, {"attempt": 0}, {"jitter_ms": -1}])
def test_impossible_counts_are_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(ScheduleError):
        plan_next_run(_EVERY, _NOW, **wrong)


def test_jitter_is_off_when_the_calendar_ends() -> None:
    nearly_over = 253_370_764_800_000 - 30_000
    plan = plan_next_run(Cron("* * * * *", timezone="UTC"), nearly_over, jitter_percent=10)
    assert _rules(plan) == [Rule.BASELINE]


def test_too_much_jitter_is_refused() -> None:
    with pytest.raises(ScheduleError, match="jitter_percent: must be between 0 and 10"):
        plan_next_run(_EVERY, _NOW, jitter_percent=50)


# --- What holds for every plan ------------------------------------------------------------------------

_MS = st.integers(1, 10**10)
_AT = st.integers(_NOW - 10**10, _NOW + 10**10)
_SCHEDULES: st.SearchStrategy[Schedule] = st.one_of(
    st.builds(lambda seconds: Every(f"{seconds}s"), st.integers(1, 10**6)),
    st.builds(lambda seconds: After(f"{seconds}s"), st.integers(1, 10**6)),
    st.sampled_from(
        [Cron(text, timezone="Europe/Berlin") for text in ("* * * * *", "0 9 * * 1-5", "30 2 * * *")]
    ),
    st.builds(Once, _AT),
    st.just(Manual()),
)
_LIMITS = st.builds(
    lambda low, more: Limits(min_ms=low, max_ms=None if more is None else (low or 1) + more),
    st.none() | _MS,
    st.none() | _MS,
)
_INPUTS = st.fixed_dictionaries(
    {
        "anchor_at": _AT,
        "last_completed_at": st.none() | st.integers(_NOW - 10**10, _NOW),
        "errors": st.integers(0, 10),
        "failed": st.booleans(),
        "attempt": st.integers(1, 5),
        "finished_at": st.none() | st.integers(_NOW - 10**10, _NOW),
        "hints": st.builds(
            Hints, interval_ms=st.none() | _MS, next_at=st.none() | _AT, expires_at=st.none() | _AT
        ),
        "limits": _LIMITS,
        "backoff": st.sampled_from(list(_BACKOFFS.values())),
        "retry": st.builds(Retry, attempts=st.integers(0, 5), delay_ms=_MS),
        "jitter_percent": st.integers(0, 10),
        "is_jitter_fixed": st.booleans(),
        "key": st.text(max_size=5),
        "paused": st.booleans(),
        "paused_until": st.none() | _AT,
    }
)


@settings(max_examples=500)
@given(_SCHEDULES, _INPUTS)
def test_a_plan_is_never_past_keeps_its_limits_and_ends_its_trail(
    schedule: Schedule, inputs: dict[str, Any]
) -> None:
    plan = plan_next_run(schedule, _NOW, **inputs)
    assert plan == plan_next_run(schedule, _NOW, **inputs)
    assert [(step.at, step.source) for step in plan.trail][-1:] in ([], [(plan.at, plan.source)])
    if plan.at is None:
        return
    assert plan.at >= _NOW
    limits: Limits = inputs["limits"]
    if plan.source is not Source.PAUSED and not isinstance(schedule, Once):
        assert plan.at >= _NOW + (limits.min_ms or 0)
        assert limits.max_ms is None or plan.at <= _NOW + limits.max_ms


@settings(max_examples=300)
@given(_SCHEDULES, _INPUTS)
def test_backoff_never_advances(schedule: Schedule, inputs: dict[str, Any]) -> None:
    inputs = {**inputs, "jitter_percent": 0}
    with_errors = plan_next_run(schedule, _NOW, **inputs)
    without = plan_next_run(schedule, _NOW, **{**inputs, "errors": 0})
    if with_errors.at is not None:
        assert without.at is not None
        assert with_errors.at >= without.at


@given(_SCHEDULES, _INPUTS)
def test_the_trail_records_changes_only(schedule: Schedule, inputs: dict[str, Any]) -> None:
    plan = plan_next_run(schedule, _NOW, **inputs)
    if plan.trail and plan.trail[0].rule is Rule.BASELINE:
        expected = next_run(
            schedule, _NOW, anchor_at=inputs["anchor_at"], last_completed_at=inputs["last_completed_at"]
        )
        assert plan.trail[0].at == expected
    for earlier, later in zip(plan.trail, plan.trail[1:], strict=False):
        assert (earlier.at, earlier.source) != (later.at, later.source)
