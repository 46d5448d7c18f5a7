"""A real daemon among stand-ins for a desktop's services: what jobs wait for, what starts them, who stays awake."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from chain_waits import awaited
from commands import shell
from daemons import House
from process_probe import until
from stand_in_services import Buses, LoginService, PowerService, private_buses

from halo_scheduler import (
    After,
    Every,
    Follower,
    FollowOn,
    MainsPower,
    Manual,
    Once,
    Outcome,
    PathExists,
    Policy,
    Run,
    Source,
    Trigger,
)
from halo_scheduler.clock import SystemClock
from halo_scheduler.model import HintSource, Job, Proposal, WaitingFor
from halo_scheduler.model.settings import QuietTime

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="the stand-ins are those of a Linux desktop")

_HALO = Path(sys.executable).parent / "halo"


@pytest.fixture
def buses() -> Iterator[Buses]:
    with private_buses() as found:
        yield found


@pytest.fixture
def house(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, buses: Buses) -> Iterator[House]:
    found = House(tmp_path, monkeypatch)
    for name, value in buses.environment.items():
        monkeypatch.setenv(name, value)
    yield found
    found.close()


def _job(house: House, job_id: str) -> Job:
    job = house.scheduler.get_job(job_id)
    assert job is not None
    return job


def _runs(house: House, job_id: str) -> list[Run]:
    return [run for run in house.scheduler.get_run_log(job_id) if run.outcome is not Outcome.RUNNING]


def _halo(*arguments: str) -> str:
    return subprocess.run([_HALO, *arguments], capture_output=True, text=True, check=True).stdout


def test_a_job_waits_for_ac_power_and_starts_when_it_is_plugged_in(house: House, buses: Buses) -> None:
    with PowerService(buses, on_battery=True) as power:
        house.start()
        policy = Policy(conditions=(MainsPower(),))
        soon = Once(SystemClock().now_ms() + 1_000)
        job_id = house.scheduler.add_job("backup", soon, shell("echo saved"), policy=policy)
        until(lambda: awaited(_job(house, job_id)) == "AC power")
        assert _job(house, job_id).waiting_for is WaitingFor.CONDITION
        assert "waiting for AC power" in _halo("list")
        assert "AC power" in _halo("why", "backup")
        by_hand = house.end_of(house.scheduler.trigger(job_id))
        assert "AC power" in by_hand.note
        assert [run.trigger for run in _runs(house, job_id)] == [Trigger.MANUAL]
        power.set_on_battery(False)
        until(lambda: len(_runs(house, job_id)) == 2)
    run = _runs(house, job_id)[0]
    assert (run.trigger, run.outcome) == (Trigger.SCHEDULE, Outcome.SUCCESS)
    assert _job(house, job_id).waiting_for is None


def test_the_machine_stays_awake_exactly_as_long_as_the_job_runs(house: House, buses: Buses) -> None:
    with LoginService(buses) as logind:
        house.start()
        line = f"touch {house.folder}/began; while [ ! -e {house.folder}/go ]; do sleep 0.02; done"
        run_id = house.begin(shell(line), keep_awake=True)
        logind.wait_until(lambda: len(logind.inhibitors) == 1)
        until((house.folder / "began").exists)
        assert logind.inhibitors[0].mode == "block"
        assert "job 1" in logind.inhibitors[0].why
        house.crash()
        logind.wait_until_free()
        house.start()
        logind.wait_until(lambda: len(logind.inhibitors) == 1)
        house.touch("go")
        assert house.end_of(run_id).outcome is Outcome.SUCCESS
        logind.wait_until_free()


def test_a_next_job_runs_once_with_the_output_of_the_previous_one_despite_crashes(house: House) -> None:
    tell = (
        'echo "$HALO_CHAIN_JOB $HALO_CHAIN_OUTCOME $HALO_CHAIN_RUN_ID"; cat "$HALO_CHAIN_OUTPUT"; stat -c %a '
    )
    report = house.scheduler.add_job(
        "report",
        Manual(),
        shell(f'{tell} "$HALO_CHAIN_OUTPUT"'),
        policy=Policy(conditions=(PathExists(path=f"{house.folder}/disk"),)),
    )
    followers = (Follower(job_id=report, on=FollowOn.FAILURE),)
    backup = house.scheduler.add_job("backup", Manual(), shell("echo broken; exit 3"), followers=followers)
    house.start()
    cause = house.end_of(house.scheduler.trigger(backup))
    until(lambda: [run for run in house.scheduler.runs.waiting_in_chains() if "disk" in awaited(run)])
    house.crash()
    house.start()
    (house.folder / "disk").mkdir()
    house.stop()
    house.start()
    (run,) = until(lambda: _runs(house, report))
    assert (run.trigger, run.caused_by, run.slot_at) == (Trigger.CHAIN, cause.id, None)
    assert house.text(run.id) == f"backup failure {cause.id}\nbroken\n600\n"
    assert house.scheduler.runs.waiting_in_chains() == []
    house.wait_until_cleared()


def test_a_hint_of_a_run_sets_the_pace_of_its_job(house: House) -> None:
    house.start()
    line = """echo '::halo every=5m ttl=2h reason="queue is long"'"""
    policy = Policy(reads_lines=True)
    job_id = house.scheduler.add_job("poll", Every("6h"), shell(line), policy=policy)
    run = house.end_of(house.scheduler.trigger(job_id))
    expected = Proposal(every_ms=300_000, ttl_ms=7_200_000, reason="queue is long")
    assert run.proposal == expected
    job = _job(house, job_id)
    assert (job.hints.source, job.hints.reason) == (HintSource.JOB, "queue is long")
    assert (job.next_source, job.next_run_at) == (Source.HINT_INTERVAL, (run.finished_at or 0) + 300_000)
    assert "queue is long" in _halo("why", "poll")
    _halo("hint", "poll", "--clear")
    assert _job(house, job_id).next_source is Source.EVERY


def test_nothing_scheduled_starts_in_quiet_hours_and_waiting_runs_start_at_their_end(house: House) -> None:
    house.scheduler.settings.change(quiet_times=(QuietTime(name="Always", start="00:00", end="24:00"),))
    house.start()
    job_id = house.scheduler.add_job("sync", After("1h"), shell("true"))
    until(lambda: _job(house, job_id).waiting_for is WaitingFor.QUIET_TIME)
    assert _job(house, job_id).waiting_details.name == "Always"
    assert "quiet" in _halo("list")
    house.scheduler.settings.change(quiet_times=())
    assert until(lambda: _runs(house, job_id))[0].outcome is Outcome.SUCCESS
