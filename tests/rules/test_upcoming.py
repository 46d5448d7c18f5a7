"""What comes next, across all jobs."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from machine import START, Bench

from halo_scheduler import After, Every, Manual, Policy, ScheduleError
from halo_scheduler.model import InQuietTime
from halo_scheduler.model.settings import QuietTime

_MINUTE = 60_000
_HOUR = 60 * _MINUTE


@pytest.fixture
def bench(tmp_path: Path) -> Iterator[Bench]:
    bench = Bench(tmp_path / "halo.db")
    yield bench
    bench.scheduler.close()


def _times(bench: Bench, count: int) -> list[tuple[str, int]]:
    return [(run.job.name, (run.at - START) // _MINUTE) for run in bench.scheduler.jobs.upcoming(count)]


def test_the_runs_of_all_jobs_come_in_the_order_of_their_times(bench: Bench) -> None:
    bench.scheduler.add_job("slow", Every("25m"))
    bench.scheduler.add_job("quick", Every("10m"))
    bench.scheduler.add_job("by hand", Manual())
    assert _times(bench, 4) == [("quick", 10), ("quick", 20), ("slow", 25), ("quick", 30)]
    planned = [(run.job.name, run.is_planned) for run in bench.scheduler.jobs.upcoming(3)]
    assert planned == [("quick", True), ("quick", False), ("slow", True)]


def test_a_job_that_runs_every_minute_hides_no_other(bench: Bench) -> None:
    bench.scheduler.add_job("minute", Every("1m"))
    bench.scheduler.add_job("hour", Every("1h"))
    bench.scheduler.add_job("day", Every("1d"))
    assert _times(bench, 2) == [("minute", 1), ("hour", 60)]
    assert _times(bench, 5) == [("minute", 1), ("minute", 2), ("minute", 3), ("hour", 60), ("day", 1440)]
    goes_on = [run.goes_on for run in bench.scheduler.jobs.upcoming(5)]
    assert goes_on == [False, False, True, True, False]
    assert not any(run.goes_on for run in bench.scheduler.jobs.upcoming(1))


def test_an_after_job_continues_too(bench: Bench) -> None:
    bench.scheduler.add_job("chain", After("5m"))
    bench.scheduler.add_job("soon", Every("4m"))
    assert [(run.job.name, run.goes_on) for run in bench.scheduler.jobs.upcoming(2)] == [
        ("chain", False),
        ("soon", False),
    ]
    assert [(run.job.name, run.goes_on) for run in bench.scheduler.jobs.upcoming(3)] == [
        ("chain", True),
        ("soon", False),
        ("soon", False),
    ]


def test_of_a_job_that_counts_from_its_end_only_the_next_run_is_known(bench: Bench) -> None:
    bench.scheduler.add_job("chain", After("5m"))
    assert _times(bench, 5) == [("chain", 0)]


def test_some_jobs_can_be_chosen(bench: Bench) -> None:
    chosen = bench.scheduler.add_job("chosen", Every("1h"))
    bench.scheduler.add_job("other", Every("10m"))
    assert [run.job.name for run in bench.scheduler.jobs.upcoming(2, [chosen])] == ["chosen", "chosen"]
    assert bench.scheduler.jobs.upcoming(2, []) == []


def test_jobs_without_a_scheduled_run_are_not_listed(bench: Bench) -> None:
    paused = bench.scheduler.add_job("paused", Every("10m"))
    bench.scheduler.add_job("disabled", Every("10m"), enabled=False)
    removed = bench.scheduler.add_job("removed", Every("10m"))
    bench.scheduler.pause_job(paused)
    bench.scheduler.remove_job(removed)
    assert bench.scheduler.jobs.upcoming() == []


def test_a_job_that_runs_comes_again_at_its_next_point(bench: Bench) -> None:
    bench.scheduler.add_job("long", Every("10m"))
    bench.scheduler.add_job("endless", After("10m"))
    bench.tick(10 * _MINUTE)
    assert {run.job_id for run in bench.started} == {job.id for job in bench.scheduler.list_jobs()}
    found = bench.scheduler.jobs.upcoming(1)
    assert [(run.job.name, run.at, run.is_planned) for run in found] == [
        ("long", START + 20 * _MINUTE, False)
    ]


def test_a_run_in_quiet_hours_is_marked_and_coalesces_slots_meanwhile(bench: Bench) -> None:
    nights = QuietTime(name="Nights", start="01:00", end="06:00", timezone="UTC")
    bench.scheduler.settings.change(quiet_times=(nights,))
    bench.scheduler.add_job("waits", Every("2h"))
    found = bench.scheduler.jobs.upcoming(3)
    assert [(run.at - START) // _HOUR for run in found] == [2, 8, 10]
    assert [run.quiet and (run.quiet.until - START) // _HOUR for run in found] == [6, None, None]


def test_slots_skipped_in_quiet_hours_are_listed_one_by_one(bench: Bench) -> None:
    nights = QuietTime(name="Nights", start="01:00", end="06:00", timezone="UTC")
    bench.scheduler.settings.change(quiet_times=(nights,))
    bench.scheduler.add_job("skips", Every("2h"), policy=Policy(in_quiet_time=InQuietTime.SKIP))
    found = bench.scheduler.jobs.upcoming(4)
    assert [((run.at - START) // _HOUR, run.quiet is not None) for run in found] == [
        (2, True),
        (4, True),
        (6, False),
        (8, False),
    ]


def test_none_at_all_is_refused(bench: Bench) -> None:
    with pytest.raises(ScheduleError, match="count: must be at least 1"):
        bench.scheduler.jobs.upcoming(0)
