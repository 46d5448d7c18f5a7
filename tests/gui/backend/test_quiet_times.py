"""Which planned runs fall into a quiet time."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from job_values import MINUTE, NOW, make_job
from machine import Bench

from halo_scheduler.model import After, Every, InQuietTime, JobStatus, Manual, Policy, Schedule, WaitingFor
from halo_scheduler.model.quiet_times import QuietTime
from halo_scheduler.schedule.quiet_times import Quiet
from ui.backend.quiet_times import QuietHours, next_runs

pytestmark = pytest.mark.usefixtures("machine_in_berlin")
# It is 09:00 in Berlin.
_MEETING = QuietTime(name="Meeting", start="09:10", end="09:40")
_OVER = NOW + 40 * MINUTE


@pytest.fixture
def bench(tmp_path: Path) -> Iterator[Bench]:
    made = Bench(tmp_path / "halo.db", now_ms=NOW)
    yield made
    made.close()


def test_without_quiet_times_nothing_is_quiet() -> None:
    hours = QuietHours()
    assert not hours.are_any
    assert hours.of(make_job()) is None


def test_a_run_that_is_due_in_a_quiet_time_is_found() -> None:
    hours = QuietHours((_MEETING,))
    assert hours.of(make_job(next_run_at=NOW + 9 * MINUTE)) is None
    for at in (NOW + 10 * MINUTE, NOW + 10 * MINUTE + 1, _OVER - 1):
        assert hours.of(make_job(next_run_at=at)) == Quiet(_OVER, _MEETING)
    assert hours.of(make_job(next_run_at=_OVER)) is None


def test_only_the_jobs_of_its_group_are_quiet() -> None:
    hours = QuietHours((QuietTime(group="web", start="00:00", end="24:00"),))
    assert hours.of(make_job(group="web")) is not None
    assert hours.of(make_job(group="home")) is None
    assert hours.of(make_job()) is None


@pytest.mark.parametrize(
    "fields",
    [
        {"next_run_at": None, "schedule": Manual()},
        {"waiting_for": WaitingFor.CONDITION},
        {"status": JobStatus.RUNNING},
        {"status": JobStatus.PAUSED},
    ],
)
def test_of_a_job_that_will_not_just_start_something_else_is_told(fields: dict[str, Any]) -> None:
    all_day = QuietTime(start="00:00", end="24:00")
    assert QuietHours((all_day,)).of(make_job(**fields)) is None


def test_those_of_the_same_times_are_the_same() -> None:
    assert QuietHours((_MEETING,)) == QuietHours((_MEETING,))
    assert hash(QuietHours((_MEETING,))) == hash(QuietHours((_MEETING,)))
    assert QuietHours((_MEETING,)) != QuietHours()
    assert QuietHours() != ()


def _minutes(bench: Bench, schedule: Schedule, in_quiet_time: InQuietTime) -> list[tuple[int, bool]]:
    """Return in how many minutes a job is due, and whether that is quiet."""
    job_id = bench.scheduler.add_job("a", schedule, policy=Policy(in_quiet_time=in_quiet_time))
    job = bench.scheduler.get_job(job_id)
    assert job is not None
    found = next_runs(bench.scheduler, job, QuietHours((_MEETING,)), 5)
    return [((at - NOW) // MINUTE, quiet is not None) for at, quiet in found]


def test_what_falls_due_while_a_run_waits_for_the_end_is_passed_over(bench: Bench) -> None:
    assert _minutes(bench, Every("10m"), InQuietTime.WAIT) == [
        (10, True),
        (50, False),
        (60, False),
        (70, False),
        (80, False),
    ]


def test_what_is_skipped_is_followed_by_what_is_skipped(bench: Bench) -> None:
    assert _minutes(bench, Every("10m"), InQuietTime.SKIP) == [
        (10, True),
        (20, True),
        (30, True),
        (40, False),
        (50, False),
    ]


def test_what_counts_from_the_end_of_a_run_that_waits_is_not_known(bench: Bench) -> None:
    assert _minutes(bench, After("15m"), InQuietTime.WAIT) == [(0, False), (15, True)]


def test_a_job_that_is_never_due_has_no_times(bench: Bench) -> None:
    assert _minutes(bench, Manual(), InQuietTime.WAIT) == []
