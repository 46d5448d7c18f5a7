"""Advice in words."""

from __future__ import annotations

from typing import Any

import pytest
from job_values import HOUR, MINUTE, NOW, make_job

from halo_scheduler.model import Hints, HintSource
from ui.main_window.details.job_sections import hint_line, hint_origin

pytestmark = pytest.mark.usefixtures("machine_in_berlin", "qapp")


_PACE: Any = {"interval_ms": 60_000, "expires_at": NOW + 5}


@pytest.mark.parametrize(
    ("hints", "words"),
    [
        (Hints(), ""),
        (Hints(expires_at=NOW + HOUR), ""),
        (Hints(interval_ms=2 * MINUTE), ""),
        (Hints(interval_ms=2 * MINUTE, expires_at=NOW), ""),
        (Hints(interval_ms=MINUTE, expires_at=NOW + HOUR), "Every minute, until 10:00"),
        (Hints(next_at=NOW + MINUTE, expires_at=NOW + HOUR), "A run at 09:01 (active until 10:00)"),
        (
            Hints(next_at=NOW + 25 * HOUR, expires_at=NOW + 26 * HOUR),
            "A run tomorrow at 10:00 (active until tomorrow 11:00)",
        ),
        (
            Hints(interval_ms=2 * MINUTE, next_at=NOW + MINUTE, expires_at=NOW + HOUR),
            "Every 2 minutes and a run at 09:01 (active until 10:00)",
        ),
        (
            Hints(
                interval_ms=2 * MINUTE,
                expires_at=NOW + HOUR,
                next_at=NOW + MINUTE,
                next_expires_at=NOW + 2 * HOUR,
            ),
            "Every 2 minutes, until 10:00\nA run at 09:01 (active until 11:00)",
        ),
    ],
)
def test_advice_is_reported_while_it_counts(hints: Hints, words: str) -> None:
    assert hint_line(make_job(hints=hints), NOW) == words


@pytest.mark.parametrize(
    ("hints", "words"),
    [
        (Hints(), ""),
        (Hints(**_PACE, source=HintSource.JOB), "From the job itself"),
        (Hints(**_PACE, reason="a long\nqueue"), "a long ↵ queue"),
        (Hints(**_PACE, reason="x", source=HintSource.USER), "From you: x"),
        (
            Hints(**_PACE, reason="x").with_advice(Hints(next_at=NOW + 9, expires_at=NOW + 10, reason="y")),
            "x\ny",
        ),
    ],
)
def test_the_source_of_a_hint_is_shown_with_the_reason(hints: Hints, words: str) -> None:
    assert hint_origin(make_job(hints=hints), NOW) == words
