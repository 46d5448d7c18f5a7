"""Each grid point without a run of its own is counted with what really kept the job from running then."""

from __future__ import annotations

import errno
import os
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from machine import START, Bench

from halo_scheduler import Callback, Command, Cron, Outcome, Policy, Run
from halo_scheduler.actions import process
from halo_scheduler.actions.run_services import Ended
from halo_scheduler.cli.terminal.following import run_line
from halo_scheduler.model import Limits, PathExists, Trigger, WaitingFor
from halo_scheduler.model.words import Shortage
from halo_scheduler.why.runs import run_sentences

_SECOND = 1_000
_EACH_SECOND = Cron("* * * * * *")
_NEVER = Policy(time_limit=None)


@pytest.fixture
def bench(tmp_path: Path, dead_processes: None) -> Iterator[Bench]:  # noqa: ARG001 - they die before it opens
    found = Bench(tmp_path / "halo.db", max_concurrent=1)
    yield found
    found.close()


def _add(bench: Bench, policy: Policy = _NEVER) -> str:
    job_id = bench.scheduler.add_job("often", _EACH_SECOND, Callback(), policy=policy)
    bench.tick()
    return job_id


def _passed(run: Run) -> tuple[int, str]:
    return run.passed_over, run.passed_reason


def _next_of(bench: Bench, run: Run) -> Run:
    """End a run, and return the next one, which counts what was passed over."""
    bench.end(run)
    (after,) = bench.tick(_SECOND)
    return bench.recorded(after.id)


def _off(bench: Bench, for_ms: int) -> list[Run]:
    bench.crash()
    return bench.tick(for_ms)


def test_slots_during_a_short_downtime_are_not_coalesced_as_running(bench: Bench) -> None:
    _add(bench)
    bench.end(bench.tick(_SECOND)[0])
    (late,) = _off(bench, 30 * _SECOND)
    assert _passed(_next_of(bench, late)) == (29, "downtime")


def test_a_run_after_a_short_time_off_accounts_only_for_its_own_time(bench: Bench) -> None:
    _add(bench)
    bench.end(bench.tick(_SECOND)[0])
    (late,) = _off(bench, 30 * _SECOND)
    bench.tick(20 * _SECOND)
    assert _passed(_next_of(bench, late)) == (49, "29 downtime, 20 running")


def test_a_run_that_died_with_halo_did_not_run_while_halo_was_off(bench: Bench) -> None:
    _add(bench)
    bench.tick(_SECOND)
    bench.tick(4 * _SECOND)
    assert _off(bench, 30 * _SECOND) == []
    (after,) = bench.tick(_SECOND)
    assert _passed(bench.recorded(after.id)) == (34, "4 running, 30 downtime")


def test_a_long_time_off_is_distinguished_from_the_run_before_it(bench: Bench) -> None:
    _add(bench)
    (run,) = bench.tick(_SECOND)
    bench.tick(9 * _SECOND)
    bench.end(run)
    (caught_up,) = _off(bench, 100 * _SECOND)
    assert _passed(bench.recorded(caught_up.id)) == (108, "9 running, 99 downtime")


def test_slots_while_the_limit_was_reached_are_not_coalesced_as_running(bench: Bench) -> None:
    long_id = bench.scheduler.add_job("long", Cron("0 0 1 1 *"), Callback(), policy=_NEVER)
    job_id = _add(bench)
    bench.scheduler.trigger(long_id)
    (long,) = bench.tick()
    bench.tick(_SECOND)
    bench.tick(29 * _SECOND)
    bench.end(long)
    (late,) = [run for run in bench.started if run.job_id == job_id]
    assert _passed(_next_of(bench, late)) == (29, "at capacity")


def test_slots_while_the_engine_was_delayed_are_not_coalesced_as_running(bench: Bench) -> None:
    _add(bench)
    (late,) = bench.tick(30 * _SECOND)
    assert _passed(_next_of(bench, late)) == (29, "delayed")


def test_slots_coalesced_after_an_error_are_distinguished_from_those_during_the_run(bench: Bench) -> None:
    job_id = _add(bench)
    (run,) = bench.tick(_SECOND)
    bench.tick(5 * _SECOND)
    bench.end(run, Outcome.FAILURE)
    assert bench.job(job_id).next_run_at == START + 36 * _SECOND
    (after,) = bench.tick(30 * _SECOND)
    assert _passed(bench.recorded(after.id)) == (34, "5 running, 29 backoff")


def test_slots_of_a_back_off_that_a_person_ended_are_not_called_disabled(bench: Bench) -> None:
    job_id = _add(bench)
    (run,) = bench.tick(_SECOND)
    bench.end(run, Outcome.FAILURE)
    bench.tick(10 * _SECOND)
    bench.scheduler.resume_job(job_id)
    (after,) = bench.tick(_SECOND)
    assert _passed(bench.recorded(after.id)) == (10, "backoff")


def test_slots_coalesced_by_limits_name_the_limits(bench: Bench) -> None:
    _add(bench, Policy(time_limit=None, limits=Limits(min_ms=60 * _SECOND)))
    (run,) = bench.tick(60 * _SECOND)
    bench.tick(5 * _SECOND)
    bench.end(run)
    (after,) = bench.tick(60 * _SECOND)
    assert _passed(bench.recorded(after.id)) == (64, "5 running, 59 limits")


def test_slots_during_a_manual_run_are_coalesced_as_running(bench: Bench) -> None:
    job_id = _add(bench)
    bench.scheduler.trigger(job_id)
    (by_hand,) = bench.tick()
    assert by_hand.trigger is Trigger.MANUAL
    bench.tick(30 * _SECOND)
    bench.end(by_hand)
    assert _passed(_next_of(bench, bench.started[-1])) == (29, "running")


def test_slots_before_a_manual_start_of_a_waiting_job_are_not_coalesced_as_running(bench: Bench) -> None:
    condition = PathExists(path="/mnt/backup")
    job_id = _add(bench, Policy(time_limit=None, conditions=(condition,)))
    assert bench.tick(_SECOND) == []
    bench.tick(20 * _SECOND)
    bench.scheduler.trigger(job_id)
    (by_hand,) = bench.tick()
    bench.tick(10 * _SECOND)
    bench.surroundings.truths[condition] = True
    bench.end(by_hand)
    assert _passed(_next_of(bench, bench.started[-1])) == (30, "20 condition, 10 running")


@pytest.mark.parametrize(
    ("held_up_by", "reason"),
    [(WaitingFor.RESOURCES, "no resources"), (WaitingFor.DISK_SPACE, "disk full")],
)
def test_slots_while_a_start_was_retried_are_not_coalesced_as_running(
    bench: Bench, held_up_by: WaitingFor, reason: str
) -> None:
    _add(bench)
    (run,) = bench.tick(_SECOND)
    bench.open_runs.pop(run.id)
    bench.clock.advance(20 * _SECOND)
    bench.scheduler.engine.get_engine().handle.end(
        Ended(run_id=run.id, outcome=Outcome.INTERRUPTED, held_up_by=held_up_by)
    )
    bench.tick()
    (after,) = bench.tick(_SECOND)
    assert _passed(bench.recorded(after.id)) == (20, reason)


# --- A start that the machine has no room for --------------------------------------------------------


class _Gate:
    """Stands for the pause between two tries of a start, which lasts as long as a test wants."""

    def __init__(self) -> None:
        self.is_reached = threading.Event()
        self.opens = threading.Event()

    def sleep(self, _seconds: float) -> None:
        self.is_reached.set()
        assert self.opens.wait(60)


@pytest.fixture
def gate(monkeypatch: pytest.MonkeyPatch) -> Iterator[_Gate]:
    """Let the system refuse the first start of a job for want of processes."""
    if sys.platform == "win32":
        pytest.skip("the commands are those of POSIX")
    found, real, refused = _Gate(), subprocess.Popen, list[int]()

    def popen(argv: list[str], **rest: Any) -> Any:
        if rest.get("env", {}).get(b"HALO_RUN_ID") and not refused:
            refused.append(errno.EAGAIN)
            raise OSError(errno.EAGAIN, os.strerror(errno.EAGAIN))
        return real(argv, **rest)

    monkeypatch.setattr("halo_scheduler.actions.launch.subprocess.Popen", popen)
    monkeypatch.setattr(process, "sleep", found.sleep)
    yield found
    found.opens.set()


def _until(bench: Bench, is_so: Callable[[], bool]) -> None:
    for _ in range(600):
        if is_so():
            return
        bench.scheduler.engine.get_engine().wait_for_end(0.1)
    raise AssertionError("it did not happen")


def test_a_start_that_is_retried_waits_and_does_not_run(bench: Bench, gate: _Gate) -> None:
    job_id = bench.scheduler.add_job("often", _EACH_SECOND, Command(argv=("true",)))
    bench.tick()
    bench.tick(_SECOND)
    assert gate.is_reached.wait(60)
    _until(bench, lambda: bench.job(job_id).is_starting)
    job = bench.job(job_id)
    assert (job.waiting_for, job.waiting_details.name) == (
        WaitingFor.RESOURCES,
        Shortage.PROCESSES,
    )
    (run,) = bench.scheduler.get_run_log(job_id)
    assert run_line(run) == "waiting for room for another process to start"
    assert run_sentences(bench.scheduler._store, run, bench.clock.now_ms())[0].endswith(
        " and is waiting for room for another process to start."
    )
    bench.tick(20 * _SECOND)
    gate.opens.set()
    _until(bench, lambda: not bench.job(job_id).is_starting)
    engine = bench.scheduler.engine.get_engine()
    _until(bench, lambda: engine.living_count == 0)
    bench.tick()
    (first,) = bench.scheduler.get_run_log(job_id)
    assert (first.outcome, first.error) == (Outcome.SUCCESS, "")
    assert first.note == "it waited for room for another process to start"
    bench.tick(_SECOND)
    assert _passed(bench.scheduler.get_run_log(job_id)[0]) == (20, "no resources")
    _until(bench, lambda: engine.living_count == 0)


def test_a_run_whose_engine_left_during_its_start_leaves_no_job_waiting(bench: Bench, gate: _Gate) -> None:
    job_id = bench.scheduler.add_job("often", _EACH_SECOND, Command(argv=("true",)))
    bench.tick()
    bench.tick(_SECOND)
    assert gate.is_reached.wait(60)
    _until(bench, lambda: bench.job(job_id).is_starting)
    bench.tick(4 * _SECOND)
    bench.scheduler.engine.get_engine().leave_runs()
    bench.crash()
    bench.tick(10 * _SECOND)
    assert not bench.job(job_id).is_starting
    assert bench.scheduler.get_run_log(job_id)[-1].outcome is Outcome.INTERRUPTED
    bench.tick(_SECOND)
    assert _passed(bench.scheduler.get_run_log(job_id)[0]) == (14, "4 no resources, 10 downtime")
