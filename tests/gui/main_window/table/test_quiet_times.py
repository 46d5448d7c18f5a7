"""Which planned runs fall into a quiet time."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from job_values import MINUTE, NOW
from machine import Bench

from halo_scheduler.model import After, Every, InQuietTime, Manual, Policy, Schedule
from halo_scheduler.model.settings import QuietTime
from halo_scheduler.schedule.calendar import QuietHours
from ui.main_window.table.cells import next_runs

pytestmark = pytest.mark.usefixtures("machine_in_berlin")
# It is 09:00 in Berlin.
_MEETING = QuietTime(name="Meeting", start="09:10", end="09:40")
_OVER = NOW + 40 * MINUTE


@pytest.fixture
def bench(tmp_path: Path) -> Iterator[Bench]:
    made = Bench(tmp_path / "halo.db", now_ms=NOW)
    yield made
    made.close()


def _minutes(bench: Bench, schedule: Schedule, in_quiet_time: InQuietTime) -> list[tuple[int, bool]]:
    """Return in how many minutes a job is due, and whether that is quiet."""
    job_id = bench.scheduler.add_job("a", schedule, policy=Policy(in_quiet_time=in_quiet_time))
    job = bench.scheduler.get_job(job_id)
    assert job is not None
    found = next_runs(bench.scheduler, job, QuietHours((_MEETING,)), 5)
    return [((at - NOW) // MINUTE, quiet is not None) for at, quiet in found]


def test_slots_due_while_a_run_waits_for_quiet_hours_are_coalesced(bench: Bench) -> None:
    assert _minutes(bench, Every("10m"), InQuietTime.WAIT) == [
        (10, True),
        (50, False),
        (60, False),
        (70, False),
        (80, False),
    ]


def test_skipped_slots_are_followed_by_later_skipped_ones(bench: Bench) -> None:
    assert _minutes(bench, Every("10m"), InQuietTime.SKIP) == [
        (10, True),
        (20, True),
        (30, True),
        (40, False),
        (50, False),
    ]


def test_slots_after_the_end_of_an_unknown_run_are_not_shown(bench: Bench) -> None:
    assert _minutes(bench, After("15m"), InQuietTime.WAIT) == [(0, False)]


def test_a_job_that_is_never_due_has_no_times(bench: Bench) -> None:
    assert _minutes(bench, Manual(), InQuietTime.WAIT) == []
