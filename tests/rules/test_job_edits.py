"""Edits of a job leave the slots of what they do not change."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from machine import START, Bench

from halo_scheduler import Backoff, Cron, Entry, Every, Manual, Outcome, Policy, Retry
from halo_scheduler.model import CatchUp, Notify

_MINUTE = 60_000
_HOUR = 60 * _MINUTE
_RETRY = Retry(attempts=2, delay_ms=10 * _MINUTE)


@pytest.fixture
def bench(tmp_path: Path, dead_processes: None) -> Iterator[Bench]:  # noqa: ARG001 - they die before it opens
    found = Bench(tmp_path / "halo.db")
    yield found
    found.close()


def _failed_once(bench: Bench) -> str:
    job_id = bench.scheduler.add_job("job", Every("1h"), policy=Policy(retry=_RETRY, backoff=Backoff.none()))
    (run,) = bench.tick(_HOUR)
    bench.finish(run, Outcome.FAILURE)
    return job_id


def test_an_edit_that_moves_no_time_keeps_a_randomly_delayed_slot(bench: Bench) -> None:
    job_id = bench.scheduler.add_job("job", Cron("0 9 * * *", timezone="UTC"), policy=Policy(jitter="1h"))
    planned_at = bench.job(job_id).next_run_at or 0
    # Its point has passed, its delay has not.
    bench.tick(9 * _HOUR + 1_000)
    assert planned_at > bench.clock.now_ms()
    bench.scheduler.update_job(job_id, policy=Policy(jitter="1h", notify=Notify.ALL))
    assert bench.job(job_id).next_run_at == planned_at


@pytest.mark.parametrize(
    "policy",
    [Policy(retry=_RETRY, notify=Notify.ALL), Policy(retry=replace(_RETRY, attempts=1, delay_ms=_MINUTE))],
)
def test_a_policy_that_still_allows_a_retry_keeps_it(bench: Bench, policy: Policy) -> None:
    job_id = _failed_once(bench)
    bench.scheduler.update_job(job_id, policy=policy)
    (again,) = bench.tick(10 * _MINUTE)
    assert (again.slot_at, again.attempt) == (START + _HOUR, 2)


def test_a_retry_dropped_by_a_new_policy_leaves_its_slot_failed(bench: Bench) -> None:
    job_id = _failed_once(bench)
    bench.scheduler.update_job(job_id, policy=Policy())
    assert bench.job(job_id).errors == 1
    assert (bench.job(job_id).next_run_at or 0) > START + _HOUR + 10 * _MINUTE


def _catching_up(bench: Bench) -> str:
    """Return a job whose oldest missed time is due; the others follow."""
    bench.scheduler.set_group_limit("busy", 1)
    other_id = bench.scheduler.add_job("other", Manual(), group="busy")
    policy = Policy(catch_up=CatchUp.ALL)
    schedules: list[Every | Cron] = [Every("1h"), Cron("15 * * * *", timezone="UTC")]
    job_id = bench.scheduler.add_job("job", schedules, group="busy", policy=policy)
    bench.tick()
    bench.crash()
    bench.clock.advance(3 * _HOUR)
    bench.scheduler.trigger(other_id)
    bench.tick()
    assert bench.job(job_id).next_run_at == START + 15 * _MINUTE
    return job_id


def test_a_due_slot_stays_when_an_edit_ends_the_catch_up(bench: Bench) -> None:
    job_id = _catching_up(bench)
    bench.scheduler.update_job(job_id, schedule=[Cron("15 * * * *", timezone="UTC"), Every("2h")])
    _end_all(bench)
    assert [run.slot_at for run in bench.scheduler.get_run_log(job_id)] == [START + 15 * _MINUTE]


def test_another_catch_up_policy_ends_the_catch_up(bench: Bench) -> None:
    job_id = _catching_up(bench)
    bench.scheduler.update_job(job_id, policy=Policy(catch_up=CatchUp.SKIP))
    _end_all(bench)
    assert [run.slot_at for run in bench.scheduler.get_run_log(job_id)] == [START + 15 * _MINUTE]


def _end_all(bench: Bench) -> None:
    while bench.open_runs:
        bench.end(next(run for run in bench.started if run.id in bench.open_runs))


def test_a_due_run_by_a_hint_keeps_the_defaults_after_an_edit(bench: Bench) -> None:
    bench.scheduler.set_group_limit("busy", 1)
    bench.scheduler.add_job("first", Every("30m"), group="busy")
    hourly = Entry(Every("1h"), parameters={"mode": "full"})
    job_id = bench.scheduler.add_job("job", [hourly, Every("7h")], group="busy", parameters={"mode": ""})
    bench.scheduler.propose_next_run(job_id, START + 31 * _MINUTE)
    (first,) = bench.tick(32 * _MINUTE)
    bench.scheduler.update_job(job_id, schedule=[hourly, Every("5h")])
    bench.end(first)
    (run,) = [run for run in bench.started if run.job_id == job_id]
    assert (run.schedule_keys, run.parameters) == ((), {"mode": ""})
