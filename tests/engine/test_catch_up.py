"""Catching up what was missed while Halo was off or the computer slept: once, each of it, or nothing."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from machine import START, Bench

from halo_scheduler import (
    Backoff,
    Callback,
    Cron,
    Entry,
    Every,
    Limits,
    Outcome,
    Overlap,
    Policy,
    Retry,
    Run,
    ScheduleError,
    Scheduler,
    Source,
)
from halo_scheduler.clock import ManualClock
from halo_scheduler.model import CatchUp, SkipReason

_MINUTE = 60_000
_HOUR = 60 * _MINUTE
_ALL = Policy(catch_up=CatchUp.ALL, catch_up_limit=3, backoff=Backoff.none())


@pytest.fixture
def bench(tmp_path: Path, dead_processes: None) -> Iterator[Bench]:  # noqa: ARG001 - they die before it opens
    found = Bench(tmp_path / "halo.db")
    yield found
    found.close()


def _hours(bench: Bench, job_id: str) -> list[float]:
    """Return the hours of the recorded slots, oldest first."""
    runs = bench.scheduler.get_run_log(job_id, limit=1_000)
    return [((run.slot_at or 0) - START) / _HOUR for run in reversed(runs)]


def _end_all(bench: Bench) -> None:
    """End runs at once until none is under way."""
    while bench.open_runs:
        bench.end(next(run for run in bench.started if run.id in bench.open_runs))


def _oldest_first(bench: Bench, job_id: str) -> list[Run]:
    return list(reversed(bench.scheduler.get_run_log(job_id, limit=1_000)))


def _sleep(bench: Bench, for_ms: int, *, by_restart: bool) -> None:
    """Let time pass in which no engine is awake."""
    if by_restart:
        bench.crash()
    bench.tick(for_ms)


@pytest.mark.parametrize("by_restart", [True, False])
def test_each_missed_time_runs_oldest_first_up_to_the_limit(bench: Bench, *, by_restart: bool) -> None:
    job_id = bench.scheduler.add_job("job", Every("1h"), policy=_ALL)
    bench.tick()

    _sleep(bench, 5 * _HOUR + 30 * _MINUTE, by_restart=by_restart)
    _end_all(bench)

    runs = _oldest_first(bench, job_id)
    assert _hours(bench, job_id) == [3, 4, 5]
    assert [run.source for run in runs] == [Source.CATCH_UP] * 3
    assert [run.passed_over for run in runs] == [2, 0, 0]
    assert [run.late_ms // _MINUTE for run in runs] == [150, 90, 30]
    assert bench.job(job_id).next_run_at == START + 6 * _HOUR


def test_every_missed_time_runs_once_over_crashes(bench: Bench) -> None:
    job_id = bench.scheduler.add_job("job", Every("1h"), policy=_ALL)
    bench.tick()
    bench.crash()
    bench.tick(4 * _HOUR)

    for _ in range(3):
        bench.crash()
        bench.tick(1_000)
    _end_all(bench)

    assert _hours(bench, job_id) == [2, 3, 4]
    assert bench.job(job_id).next_run_at == START + 5 * _HOUR


def test_times_missed_while_catching_up_become_pending(bench: Bench) -> None:
    job_id = bench.scheduler.add_job("job", Every("1h"), policy=_ALL)
    bench.tick()
    bench.crash()
    bench.tick(3 * _HOUR)

    bench.crash()
    bench.tick(2 * _HOUR)
    _end_all(bench)

    assert _hours(bench, job_id) == [1, 2, 3, 4, 5]


def test_a_job_that_waits_for_a_limit_catches_up_times_missed_meanwhile(bench: Bench) -> None:
    bench.scheduler.set_group_limit("group", 1)
    other = bench.scheduler.add_job("other", Every("1h"), group="group", job_id="0")
    job_id = bench.scheduler.add_job("job", Every("1h"), policy=_ALL, group="group", job_id="1")
    bench.tick(_HOUR)
    assert [run.job_id for run in bench.started] == [other]

    bench.crash()
    bench.tick(2 * _HOUR)
    _end_all(bench)

    assert _hours(bench, job_id) == [1, 2, 3]


def test_times_missed_by_seconds_run_too(bench: Bench) -> None:
    job_id = bench.scheduler.add_job("job", Every("30s"), policy=_ALL)
    bench.tick()

    bench.crash()
    bench.tick(_MINUTE)
    _end_all(bench)

    assert [run.late_ms for run in _oldest_first(bench, job_id)] == [30_000, 0]


def test_missed_times_that_are_too_old_are_counted(bench: Bench) -> None:
    policy = Policy(catch_up=CatchUp.ALL, catch_up_max_age="2h")
    job_id = bench.scheduler.add_job("job", Every("1h"), policy=policy)
    bench.tick()

    bench.crash()
    bench.tick(5 * _HOUR + 30 * _MINUTE)
    _end_all(bench)

    assert _hours(bench, job_id) == [4, 5]
    assert _oldest_first(bench, job_id)[0].passed_over == 3


@pytest.mark.parametrize("way", ["pause", "disable", "edit"])
def test_pausing_disabling_and_editing_end_the_catch_up(bench: Bench, way: str) -> None:
    job_id = bench.scheduler.add_job("job", Every("1h"), policy=_ALL)
    bench.tick()
    bench.crash()
    bench.tick(3 * _HOUR)

    if way == "pause":
        bench.scheduler.pause_job(job_id)
        bench.scheduler.resume_job(job_id)
    elif way == "disable":
        bench.scheduler.update_job(job_id, enabled=False)
        bench.scheduler.update_job(job_id, enabled=True)
    else:
        bench.scheduler.update_job(job_id, schedule=Every("2h"))
    _end_all(bench)

    assert _hours(bench, job_id) == [1]
    assert (bench.job(job_id).next_run_at or 0) > START + 3 * _HOUR


def test_missed_times_run_after_a_run_that_a_crash_ended(bench: Bench) -> None:
    job_id = bench.scheduler.add_job("job", Every("1h"), policy=_ALL)
    bench.tick(_HOUR)

    bench.crash()
    bench.tick(2 * _HOUR)
    _end_all(bench)

    assert _hours(bench, job_id) == [1, 2, 3]
    assert [run.outcome for run in _oldest_first(bench, job_id)] == [
        Outcome.INTERRUPTED,
        Outcome.SUCCESS,
        Outcome.SUCCESS,
    ]


def test_a_missed_retry_keeps_its_slot(bench: Bench) -> None:
    policy = Policy(
        catch_up=CatchUp.ALL, retry=Retry(attempts=1, delay_ms=10 * _MINUTE), backoff=Backoff.none()
    )
    job_id = bench.scheduler.add_job("job", Every("1h"), policy=policy)
    (run,) = bench.tick(_HOUR)
    bench.end(run, Outcome.FAILURE)

    bench.crash()
    bench.tick(2 * _HOUR)
    _end_all(bench)

    assert _hours(bench, job_id) == [1, 1, 2, 3]
    assert [run.attempt for run in _oldest_first(bench, job_id)] == [1, 2, 1, 1]


@pytest.mark.parametrize(
    ("catch_up", "hours"), [(CatchUp.ALL, [1, 2, 3, 4, 5]), (CatchUp.ONCE, [1, 2, 5]), (CatchUp.SKIP, [1, 2])]
)
def test_a_queued_time_that_was_delayed_is_kept_over_a_downtime(
    bench: Bench, catch_up: CatchUp, hours: list[float]
) -> None:
    policy = Policy(catch_up=catch_up, limits=Limits(min_ms=10 * _MINUTE))
    job_id = bench.scheduler.add_job("job", [Entry(Every("1h"), on_overlap=Overlap.QUEUE)], policy=policy)
    (run,) = bench.tick(_HOUR)
    bench.clock.advance(_HOUR)
    bench.end(run)

    bench.crash()
    bench.tick(3 * _HOUR)
    for _ in range(5):
        _end_all(bench)
        bench.tick(10 * _MINUTE)

    assert _hours(bench, job_id) == hours


def test_one_run_for_each_set_of_parameters_catches_up_oldest_first(bench: Bench) -> None:
    entries = [
        Entry(Every("1h"), key="quick"),
        Entry(Cron("0 */3 * * *", timezone="UTC"), key="full", parameters={"mode": "full"}),
        Entry(Cron("30 * * * *", timezone="UTC"), key="half"),
    ]
    job_id = bench.scheduler.add_job("job", entries, parameters={"mode": "quick"})
    bench.tick()

    bench.crash()
    bench.tick(5 * _HOUR)
    _end_all(bench)

    runs = _oldest_first(bench, job_id)
    assert _hours(bench, job_id) == [3, 5]
    assert [run.schedule_keys for run in runs] == [("full",), ("quick",)]
    assert [run.parameters["mode"] for run in runs] == ["full", "quick"]
    assert [run.passed_over for run in runs] == [5, 3]


def test_a_run_by_a_hint_with_other_parameters_is_caught_up_too(bench: Bench) -> None:
    entries = [Entry(Every("1h"), key="full", parameters={"mode": "full"})]
    job_id = bench.scheduler.add_job("job", entries, parameters={"mode": "quick"})
    bench.tick()
    bench.scheduler.propose_next_run(job_id, START + 30 * _MINUTE)

    bench.crash()
    bench.tick(2 * _HOUR)
    _end_all(bench)

    assert [run.parameters["mode"] for run in _oldest_first(bench, job_id)] == ["quick", "full"]


def test_all_missed_times_of_an_unsupported_job_are_skipped_at_once(tmp_path: Path) -> None:
    clock = ManualClock(START)
    with Scheduler.open(tmp_path / "halo.db", clock=clock) as scheduler:
        job_id = scheduler.add_job("job", Every("1h"), Callback("elsewhere"), policy=_ALL)
        scheduler.tick()
        clock.advance(3 * _HOUR)
        scheduler.tick()
        while scheduler.engine.get_engine().drain_inbox():
            scheduler.tick()
        runs = scheduler.get_run_log(job_id)
    assert [run.slot_at for run in runs] == [START + 3 * _HOUR, START + 2 * _HOUR, START + _HOUR]
    assert {run.reason for run in runs} == {SkipReason.UNSUPPORTED_TYPE}


def test_the_limit_is_checked() -> None:
    with pytest.raises(ScheduleError, match="catch_up_limit: must be between 1 and 100"):
        Policy(catch_up_limit=0)
