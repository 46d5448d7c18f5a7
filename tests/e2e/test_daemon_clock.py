"""A real daemon whose wall clock is set while it waits: only the monotonic clock goes on as before."""

from __future__ import annotations

import sys
from collections.abc import Collection, Iterator
from functools import partial
from pathlib import Path

import pytest
from commands import shell
from daemons import House
from process_probe import living_in, pids_in, until
from shifted_clock import ShiftedClock

from halo_scheduler import Cron, Outcome, Run
from halo_scheduler.grammar.interval import HOUR_MS, MINUTE_MS, SECOND_MS, YEAR_MS
from halo_scheduler.store.events import EventKind

_DAEMON = (sys.executable, Path(__file__).parents[1] / "support" / "kill_daemon.py")
_SECONDLY = Cron("* * * * * *", timezone="UTC")
# Where the clock is put, one after the other: steps of 1 s to 20 years, both ways.
_AHEAD_MS = (
    *(SECOND_MS, 0, -2 * SECOND_MS, -HOUR_MS, HOUR_MS),
    *(10 * YEAR_MS, -HOUR_MS, -10 * YEAR_MS, 10 * YEAR_MS, 0),
)


@pytest.fixture
def clock(tmp_path: Path) -> ShiftedClock:
    return ShiftedClock(tmp_path)


@pytest.fixture
def house(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[House]:
    found = House(tmp_path, monkeypatch)
    yield found
    found.close()


def _has_run_since(house: House, job_id: str, at: int, known: Collection[str] = ()) -> bool:
    """Tell whether a job was started soon after an instant of the daemon's clock, by a run that is not known yet."""
    starts = [
        run.started_at
        for run in house.scheduler.get_run_log(job_id, limit=10_000)
        if run.started_at is not None and run.id not in known
    ]
    return any(at <= started_at < at + HOUR_MS // 2 for started_at in starts)


def _runs(house: House) -> list[Run]:
    return house.scheduler.get_run_log(limit=10_000)


def test_jobs_keep_running_whatever_the_wall_clock_is_set_to(house: House, clock: ShiftedClock) -> None:
    job_id = house.scheduler.add_job("job", _SECONDLY)
    house.start(_DAEMON, clock.environment)
    for ahead_ms in (0, *_AHEAD_MS):
        known = {run.id for run in _runs(house)}
        clock.set(ahead_ms)
        at = clock.now_ms()
        until(partial(_has_run_since, house, job_id, at, known), seconds=20)
    assert house.stop() == 0
    assert "Traceback" not in house.log()
    slots = [(run.job_id, run.slot_at) for run in _runs(house) if run.attempt == 1]
    assert len(slots) == len(set(slots))
    assert len(house.scheduler._store.events.of_kinds(None, [EventKind.CLOCK_JUMP])) >= 3


def test_a_daemon_starts_after_a_last_tick_years_ahead(house: House, clock: ShiftedClock) -> None:
    clock.set(10 * YEAR_MS)
    job_id = house.scheduler.add_job("job", _SECONDLY)
    house.start(_DAEMON, clock.environment)
    at = clock.now_ms()
    until(lambda: _has_run_since(house, job_id, at))
    house.crash()
    clock.set(0)
    at = clock.now_ms()
    house.start(_DAEMON, clock.environment)
    until(partial(_has_run_since, house, job_id, at), seconds=20)


def test_a_run_that_outlived_a_step_back_still_has_its_time_limit(house: House, clock: ShiftedClock) -> None:
    clock.set(10 * YEAR_MS)
    house.start(environment=clock.environment)
    pid_file = house.folder / "job.pid"
    run_id = house.begin(shell(f"echo $$ >{pid_file}; sleep 1000"), time_limit="3s")
    until(lambda: pids_in(house.folder) and house.spooled(".ticket"))
    house.crash()
    clock.set(0)
    house.start(environment=clock.environment)
    assert house.end_of(run_id).outcome is Outcome.TIMEOUT
    assert not living_in(house.folder)


@pytest.mark.parametrize("ahead_ms", [-HOUR_MS, 10 * YEAR_MS])
def test_the_duration_of_a_process_does_not_depend_on_the_wall_clock(
    house: House, clock: ShiftedClock, ahead_ms: int
) -> None:
    house.start(environment=clock.environment)
    goes_on = house.folder / "goes-on"
    run_id = house.begin(shell(f"until [ -e {goes_on} ]; do sleep 0.1; done"))
    until(lambda: house.spooled(".ticket"))
    clock.set(ahead_ms)
    goes_on.touch()
    run = house.end_of(run_id)
    assert run.outcome is Outcome.SUCCESS
    assert 0 < (run.duration_ms or 0) < MINUTE_MS


@pytest.mark.parametrize("ahead_ms", [-HOUR_MS, 10 * YEAR_MS])
@pytest.mark.parametrize("is_seen", [True, False])
def test_the_duration_of_an_adopted_process_does_not_depend_on_the_wall_clock(
    house: House, clock: ShiftedClock, ahead_ms: int, is_seen: bool
) -> None:
    """The clock is set while the first engine lives, which notices it, or after its crash."""
    house.start(environment=clock.environment)
    goes_on = house.folder / "goes-on"
    run_id = house.begin(shell(f"until [ -e {goes_on} ]; do sleep 0.1; done"), time_limit="5m")
    until(lambda: house.spooled(".ticket"))
    if is_seen:
        clock.set(ahead_ms)
        kinds = [EventKind.CLOCK_JUMP, EventKind.SLEEP_GAP]
        until(lambda: house.scheduler._store.events.of_kinds(None, kinds), seconds=70)
    house.crash()
    clock.set(ahead_ms)
    house.start(environment=clock.environment)
    until(lambda: house.scheduler.status().running == 1)
    goes_on.touch()
    run = house.end_of(run_id)
    assert run.outcome is Outcome.SUCCESS
    assert 0 < (run.duration_ms or 0) < MINUTE_MS * 3
