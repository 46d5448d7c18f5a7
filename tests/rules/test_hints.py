"""Who takes advice, and what a proposal of its own run makes of it."""

import pytest

from halo_scheduler.model import (
    After,
    Cron,
    Every,
    Hints,
    HintSource,
    JobSpec,
    Manual,
    Once,
    Proposal,
    Schedule,
)
from halo_scheduler.rules.hints import (
    hints_after,
    still_counting,
    takes_hints,
    usual_ttl,
    usual_ttl_of_pace,
)

NOW = 1_700_000_000_000
MINUTE = 60_000
HOUR = 60 * MINUTE


@pytest.mark.parametrize("schedule", [Every("15m"), After("5m"), Cron("0 9 * * *"), Once(NOW + 1)])
def test_a_job_that_is_due_by_itself_takes_hints(schedule: Schedule) -> None:
    assert takes_hints(JobSpec(name="a", schedule=schedule), NOW)


@pytest.mark.parametrize("schedule", [Manual(), Once(NOW), Once(NOW - 1)])
def test_a_job_that_is_not_due_by_itself_takes_no_hints(schedule: Schedule) -> None:
    assert not takes_hints(JobSpec(name="a", schedule=schedule), NOW)


def test_a_proposal_counts_from_the_end_of_its_run() -> None:
    proposal = Proposal(every_ms=5 * MINUTE, next_ms=MINUTE, ttl_ms=2 * HOUR, reason="long queue")

    hints = hints_after(Hints(), proposal, NOW)

    assert hints == Hints(
        interval_ms=5 * MINUTE,
        next_at=NOW + MINUTE,
        expires_at=NOW + 2 * HOUR,
        reason="long queue",
        source=HintSource.JOB,
    )


def test_a_proposal_is_kept_above_ten_seconds() -> None:
    hints = hints_after(Hints(), Proposal(every_ms=1_000, next_ms=1_000), NOW)

    assert (hints.interval_ms, hints.next_at) == (10_000, NOW + 10_000)


def test_a_hint_keeps_values_it_does_not_name() -> None:
    before = Hints(interval_ms=MINUTE, next_at=NOW + HOUR, expires_at=NOW + 1, source=HintSource.USER)

    faster = hints_after(before, Proposal(every_ms=2 * MINUTE), NOW)
    sooner = hints_after(before, Proposal(next_ms=2 * MINUTE), NOW)

    assert (faster.interval_ms, faster.next_at) == (2 * MINUTE, NOW + HOUR)
    assert (sooner.interval_ms, sooner.next_at) == (MINUTE, NOW + 2 * MINUTE)


def test_a_proposal_of_one_run_leaves_a_pace_its_time() -> None:
    # A job may say so after each run: the pace that somebody asked for would end with the first, or never.
    before = Hints(interval_ms=MINUTE, expires_at=NOW + 10 * MINUTE, source=HintSource.USER)

    later = hints_after(before, Proposal(next_ms=30 * MINUTE, ttl_ms=HOUR), NOW)
    shorter = hints_after(before, Proposal(next_ms=MINUTE, ttl_ms=2 * MINUTE), NOW)
    another_pace = hints_after(before, Proposal(every_ms=2 * MINUTE, ttl_ms=HOUR), NOW)

    assert (later.interval_ms, later.expires_at) == (MINUTE, NOW + 10 * MINUTE)
    assert (shorter.interval_ms, shorter.expires_at) == (MINUTE, NOW + 10 * MINUTE)
    assert another_pace.expires_at == NOW + HOUR


def test_a_hint_does_not_restore_expired_values() -> None:
    before = Hints(interval_ms=MINUTE, next_at=NOW + HOUR, expires_at=NOW, reason="old")

    hints = hints_after(before, Proposal(next_ms=2 * MINUTE), NOW)

    assert hints.interval_ms is None
    assert hints.reason == ""


def test_a_due_one_shot_is_used_up() -> None:
    before = Hints(interval_ms=MINUTE, next_at=NOW, expires_at=NOW + 1)

    assert still_counting(before, NOW) == Hints(interval_ms=MINUTE, expires_at=NOW + 1)


def test_a_valid_hint_is_not_changed() -> None:
    before = Hints(interval_ms=MINUTE, next_at=NOW + 1, expires_at=NOW + 1)

    assert still_counting(before, NOW) is before


@pytest.mark.parametrize(
    ("ahead_ms", "ttl"),
    [(0, "1h"), (-5, "1h"), (HOUR, "1h"), (HOUR + 1, "3601s"), (25 * HOUR, "25h"), (48 * HOUR, "2d")],
)
def test_advice_counts_for_an_hour_or_until_the_run_it_asks_for(ahead_ms: int, ttl: str) -> None:
    assert usual_ttl(ahead_ms) == ttl


def test_a_pace_counts_for_two_runs_at_least() -> None:
    assert usual_ttl_of_pace(MINUTE) == "1h"
    assert usual_ttl_of_pace(3 * HOUR) == "6h"
