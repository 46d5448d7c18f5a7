"""The loop, in a real Qt event loop, while the wall clock is set: it sleeps and wakes by the monotonic clock."""

from __future__ import annotations

import os
from collections.abc import Iterator
from concurrent.futures import Future
from functools import partial
from pathlib import Path

import pytest
from machine import START
from pytestqt.qtbot import QtBot

from halo_scheduler import Callback, Cron, Every, Manual, Outcome, Policy
from halo_scheduler.clock import ClockSteps, ManualClock
from halo_scheduler.engine.engine import MAX_DELAY_MS
from halo_scheduler.engine.loop import EngineLoop, Listener
from halo_scheduler.grammar.interval import DAY_MS, HOUR_MS, MINUTE_MS, SECOND_MS, YEAR_MS
from halo_scheduler.host.signals import ClockChanges
from halo_scheduler.model import Schedule
from halo_scheduler.service.scheduler import Scheduler
from halo_scheduler.store.events import EventKind

_STEPS_MS = [SECOND_MS, MINUTE_MS, HOUR_MS, DAY_MS, 10 * YEAR_MS]


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock(START)


@pytest.fixture
def scheduler(tmp_path: Path, clock: ManualClock, monkeypatch: pytest.MonkeyPatch) -> Iterator[Scheduler]:
    (tmp_path / "run").mkdir(mode=0o700)
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path / "run"))
    monkeypatch.setenv("DBUS_SYSTEM_BUS_ADDRESS", "unix:path=/nonexistent")
    found = Scheduler.open(tmp_path / "halo.db", clock=clock)
    found.on_job_due(lambda *_: None)
    yield found
    found.close()


def _loop(scheduler: Scheduler) -> EngineLoop:
    assert scheduler._session.loop is not None
    return scheduler._session.loop


def _settle(scheduler: Scheduler, qtbot: QtBot) -> None:
    """Let the loop do what it has to, until it sleeps."""
    loop = _loop(scheduler)
    qtbot.waitUntil(lambda: not loop._must_tick and loop._timer.remainingTime() > 0)


def _wake(scheduler: Scheduler) -> None:
    """Let the timer fire, as Qt does once its interval is over by the monotonic clock."""
    _loop(scheduler)._timer.start(0)


def _has_event(scheduler: Scheduler, kind: EventKind) -> bool:
    return bool(scheduler._store.events.of_kinds(None, [kind]))


def _has_ticked(scheduler: Scheduler, ticks: int) -> bool:
    return scheduler.status().ticks == ticks


def _runs(scheduler: Scheduler, job_id: str) -> int:
    return len(scheduler.get_run_log(job_id, limit=1_000, outcome=Outcome.SUCCESS))


def _has_more_runs(scheduler: Scheduler, job_id: str, runs: int) -> bool:
    return _runs(scheduler, job_id) > runs


@pytest.mark.usefixtures("qapp")
@pytest.mark.parametrize("step_ms", [sign * step for step in _STEPS_MS for sign in (-1, 1)])
def test_a_job_runs_at_its_next_slot_after_the_clock_was_set(
    scheduler: Scheduler, clock: ManualClock, qtbot: QtBot, step_ms: int
) -> None:
    scheduler.start()
    schedules: list[Schedule] = [Cron("*/10 * * * * *", timezone="UTC"), Every("10s")]
    jobs = [scheduler.add_job(schedule.kind, schedule) for schedule in schedules]
    _settle(scheduler, qtbot)
    clock.advance(10 * SECOND_MS)
    _wake(scheduler)
    qtbot.waitUntil(lambda: [_runs(scheduler, job_id) for job_id in jobs] == [1, 1])
    _settle(scheduler, qtbot)
    clock.set(clock.now_ms() + step_ms)
    _wake(scheduler)
    _settle(scheduler, qtbot)
    before = [_runs(scheduler, job_id) for job_id in jobs]
    # A slot that had its run is not run again, so after a step of a second it may be the one after the next.
    for _ in range(2):
        clock.advance(10 * SECOND_MS)
        _wake(scheduler)
        _settle(scheduler, qtbot)
    for job_id, runs in zip(jobs, before, strict=True):
        qtbot.waitUntil(partial(_has_more_runs, scheduler, job_id, runs), timeout=5_000)
    slots = [(run.job_id, run.slot_at) for run in scheduler.get_run_log(limit=1_000)]
    assert len(slots) == len(set(slots))


@pytest.mark.usefixtures("qapp")
def test_a_step_is_noticed_as_soon_as_the_loop_wakes(
    scheduler: Scheduler, clock: ManualClock, qtbot: QtBot
) -> None:
    scheduler.start()
    scheduler.add_job("job", Every("1h"))
    _settle(scheduler, qtbot)
    for step_ms, kind in ((-HOUR_MS, EventKind.CLOCK_JUMP), (HOUR_MS, EventKind.SLEEP_GAP)):
        clock.set(clock.now_ms() + step_ms)
        _wake(scheduler)
        qtbot.waitUntil(partial(_has_event, scheduler, kind))
        _settle(scheduler, qtbot)


@pytest.mark.usefixtures("qapp")
def test_the_loop_ticks_after_a_minute_of_the_monotonic_clock(
    scheduler: Scheduler, clock: ManualClock, qtbot: QtBot
) -> None:
    scheduler.start()
    _settle(scheduler, qtbot)
    engine = scheduler.engine._engine
    assert engine is not None
    assert engine.delay_ms() == MAX_DELAY_MS
    clock.advance(20_000)
    assert engine.delay_ms() == MAX_DELAY_MS - 20_000
    clock.set(START - YEAR_MS)
    # Set in the moment before the loop goes to sleep: it does not.
    assert engine.delay_ms() == 0
    clock.set(START + 20_000)
    ticks = scheduler.status().ticks
    clock.advance(MAX_DELAY_MS - 20_000)
    _wake(scheduler)
    qtbot.waitUntil(lambda: scheduler.status().ticks == ticks + 1)


@pytest.mark.usefixtures("qapp")
@pytest.mark.parametrize("step_ms", [10 * YEAR_MS, -10 * YEAR_MS])
def test_a_time_limit_does_not_depend_on_the_wall_clock(
    scheduler: Scheduler, clock: ManualClock, qtbot: QtBot, step_ms: int
) -> None:
    scheduler.on_job_due(lambda *_: Future())
    scheduler.start()
    run_id = scheduler.trigger(scheduler.add_job("job", Manual(), policy=Policy(time_limit="2h")))
    qtbot.waitUntil(lambda: scheduler.get_run(run_id) is not None)
    _settle(scheduler, qtbot)
    for advanced_ms, outcome in ((HOUR_MS, Outcome.RUNNING), (HOUR_MS + 1, Outcome.TIMEOUT)):
        clock.set(clock.now_ms() + step_ms)
        clock.advance(advanced_ms)
        _wake(scheduler)
        _settle(scheduler, qtbot)
        run = scheduler.get_run(run_id)
        assert run is not None
        assert run.outcome is outcome


def test_sleep_and_steps_are_distinguished_from_time_that_passes(clock: ManualClock) -> None:
    steps = ClockSteps(clock)
    clock.advance(HOUR_MS)
    assert steps.take() == 0
    clock.sleep(HOUR_MS)
    assert steps.take() == HOUR_MS
    clock.set(clock.now_ms() - SECOND_MS)
    assert steps.take() == -SECOND_MS
    clock.set(clock.now_ms() + SECOND_MS - 1)
    assert steps.take() == 0


# --- What the kernel tells: nobody sets the machine's clock for a test ------------------------------------


class _FakeChanges(ClockChanges):
    """A pipe in the place of the kernel's timer: readable when the test says that the clock was set."""

    def __init__(self) -> None:
        read, self._write = os.pipe()
        os.set_blocking(read, False)
        super().__init__(read)

    def set_clock(self) -> None:
        os.write(self._write, b"\0" * 8)

    def close(self) -> None:
        os.close(self._write)
        super().close()

    def _arm(self) -> bool:
        return True


@pytest.mark.usefixtures("qapp")
def test_the_loop_ticks_at_once_when_the_kernel_reports_that_the_clock_was_set(
    scheduler: Scheduler, qtbot: QtBot, monkeypatch: pytest.MonkeyPatch
) -> None:
    changes = _FakeChanges()
    monkeypatch.setattr(ClockChanges, "open", lambda: changes)
    scheduler.start()
    _settle(scheduler, qtbot)
    for ticks in (scheduler.status().ticks, scheduler.status().ticks + 1):
        changes.set_clock()
        qtbot.waitUntil(partial(_has_ticked, scheduler, ticks + 1))
        _settle(scheduler, qtbot)


@pytest.mark.usefixtures("qapp")
def test_a_closed_listener_hears_nothing(qtbot: QtBot) -> None:
    changes = _FakeChanges()
    heard: list[str] = []
    listener = Listener(lambda: changes, lambda: heard.append("heard"))
    assert listener.start()
    changes.set_clock()
    listener.close()
    qtbot.wait(50)
    assert not heard


def test_an_anchor_that_was_chosen_to_lie_ahead_is_waited_for(
    scheduler: Scheduler, clock: ManualClock
) -> None:
    job_id = scheduler.add_job("job", Every("10s"), anchor_at=START + HOUR_MS)
    clock.set(START - DAY_MS)
    scheduler.tick()
    job = scheduler.get_job(job_id)
    assert job is not None
    assert job.next_run_at == START + HOUR_MS


@pytest.mark.usefixtures("qapp")
def test_a_pause_keeps_its_length_when_the_clock_is_set_back(
    scheduler: Scheduler, clock: ManualClock, qtbot: QtBot
) -> None:
    scheduler.start()
    job_id, other = scheduler.add_job("job", Every("1h")), scheduler.add_job("other", Every("1h"))
    long_ago = scheduler.add_job("paused before the new time", Every("1h"))
    scheduler.pause_job(long_ago, clock.now_ms() + DAY_MS)
    clock.advance(3 * HOUR_MS)
    _wake(scheduler)
    _settle(scheduler, qtbot)
    scheduler.pause_job(job_id, clock.now_ms() + 20 * SECOND_MS)
    scheduler.pause_job(other)
    _settle(scheduler, qtbot)
    clock.set(clock.now_ms() - 2 * HOUR_MS)
    _wake(scheduler)
    _settle(scheduler, qtbot)
    paused = scheduler._store.jobs.get_many([job_id, other, long_ago])
    assert paused[job_id].paused_until == clock.now_ms() + 20 * SECOND_MS
    assert paused[other].paused_until is None
    assert paused[long_ago].paused_until == START + DAY_MS
    clock.advance(20 * SECOND_MS)
    _wake(scheduler)
    _settle(scheduler, qtbot)
    paused = scheduler._store.jobs.get_many([job_id, other])
    assert not paused[job_id].paused
    assert paused[other].paused


@pytest.mark.usefixtures("qapp")
@pytest.mark.parametrize("step_ms", [sign * step for step in _STEPS_MS for sign in (-1, 1)])
@pytest.mark.parametrize("is_noticed_before_the_end", [True, False])
def test_the_duration_of_a_run_does_not_depend_on_the_wall_clock(
    scheduler: Scheduler, clock: ManualClock, qtbot: QtBot, step_ms: int, is_noticed_before_the_end: bool
) -> None:
    running: Future[None] = Future()
    scheduler.on_job_due(lambda *_: running, "slow")
    job_id = scheduler.add_job("job", Manual(), Callback("slow"))
    scheduler.start()
    run_id = scheduler.trigger(job_id)
    _settle(scheduler, qtbot)
    clock.advance(2 * SECOND_MS)
    clock.set(clock.now_ms() + step_ms)
    if is_noticed_before_the_end:
        _wake(scheduler)
        _settle(scheduler, qtbot)
    clock.advance(3 * SECOND_MS)
    running.set_result(None)
    qtbot.waitUntil(lambda: bool(_runs(scheduler, job_id)))
    run = scheduler.get_run(run_id)
    assert run is not None
    assert run.duration_ms == 5 * SECOND_MS
    assert scheduler.get_run_stats(job_id).average_ms == 5 * SECOND_MS
    assert [point.duration_ms for point in scheduler.runs.trends([job_id])[job_id]] == [5 * SECOND_MS]
    assert run.started_at is not None
    assert run.finished_at == max(run.started_at, clock.now_ms())


@pytest.mark.usefixtures("qapp")
def test_the_duration_of_a_timed_out_function_does_not_depend_on_the_wall_clock(
    scheduler: Scheduler, clock: ManualClock, qtbot: QtBot
) -> None:
    scheduler.on_job_due(lambda *_: Future(), "slow")
    scheduler.start()
    run_id = scheduler.trigger(
        scheduler.add_job("job", Manual(), Callback("slow"), policy=Policy(time_limit="1m"))
    )
    _settle(scheduler, qtbot)
    clock.set(clock.now_ms() - HOUR_MS)
    clock.advance(MINUTE_MS)
    _wake(scheduler)
    qtbot.waitUntil(lambda: scheduler.status().running == 0)
    run = scheduler.get_run(run_id)
    assert run is not None
    assert (run.outcome, run.duration_ms) == (Outcome.TIMEOUT, MINUTE_MS)
