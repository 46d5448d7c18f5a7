"""What a job used up of a day, in words."""

from __future__ import annotations

import pytest
from job_values import NOW

from halo_scheduler.model import Caps
from halo_scheduler.rules.statistics import Usage
from ui.main_window.details.job_sections import is_used_up, usage_words, used_up_words

pytestmark = pytest.mark.usefixtures("qapp")


def _usage(caps: Caps, runs: int = 2, cost: float = 0.34) -> Usage:
    return Usage(day="2027-01-15", runs=runs, cost=cost, caps=caps, resets_at=NOW)


@pytest.mark.parametrize(
    ("caps", "runs", "cost", "words"),
    [
        (
            Caps(runs_per_day=5, cost_per_day=1.0),
            2,
            0.34,
            "2 of 5 runs, 0.34 of 1.00 spent; resets at midnight",
        ),
        (Caps(runs_per_day=5), 2, 0.0, "2 of 5 runs; resets at midnight"),
        (Caps(runs_per_day=5), 7, 0.5, "7 of 5 runs, 0.50 spent; resets at midnight"),
        (Caps(cost_per_day=1.0), 1, 0.0, "1 run, 0.00 of 1.00 spent; resets at midnight"),
        (Caps(), 2, 0.34, "2 runs, 0.34 spent"),
        (Caps(), 2, 0.0, ""),
    ],
)
def test_daily_usage_in_words(caps: Caps, runs: int, cost: float, words: str) -> None:
    assert usage_words(_usage(caps, runs, cost)) == words


@pytest.mark.parametrize(
    ("caps", "is_over"),
    [
        (Caps(), False),
        (Caps(runs_per_day=3, cost_per_day=0.35), False),
        (Caps(runs_per_day=2), True),
        (Caps(cost_per_day=0.34), True),
        (Caps(runs_per_day=9, cost_per_day=0.2), True),
    ],
)
def test_a_daily_limit_is_used_up_when_it_is_reached(caps: Caps, is_over: bool) -> None:
    assert is_used_up(_usage(caps)) is is_over
    assert bool(used_up_words(_usage(caps))) is is_over
