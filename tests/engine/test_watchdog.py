"""The watchdog, with engines that are broken for real: a loop that hangs, a claim that forgets what is due."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from concurrent.futures import Future
from pathlib import Path

import pytest
from machine import START
from process_probe import until
from pytestqt.qtbot import QtBot

from halo_scheduler import Cron, Every, Manual, Policy
from halo_scheduler.clock import ManualClock
from halo_scheduler.engine import watchdog
from halo_scheduler.engine.engine import Engine
from halo_scheduler.engine.watchdog import STUCK_MS, LoopWatch, StartWatch
from halo_scheduler.model.alarms import Alarm, AlarmKind
from halo_scheduler.model.changes import ChangeKind
from halo_scheduler.model.conditions import PathExists
from halo_scheduler.model.settings import QuietTime
from halo_scheduler.service.scheduler import Scheduler

_MINUTE = 60_000


@pytest.fixture(autouse=True)
def _runtime(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "run").mkdir(mode=0o700)
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path / "run"))
    monkeypatch.setenv("DBUS_SYSTEM_BUS_ADDRESS", "unix:path=/nonexistent")


@pytest.fixture
def scheduler(tmp_path: Path) -> Iterator[Scheduler]:
    found = Scheduler.open(tmp_path / "halo.db")
    found.on_job_due(lambda *_: None)
    yield found
    found.close()


@pytest.fixture
def alarms() -> list[Alarm]:
    return []


@pytest.fixture
def _in_a_hurry(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the watchdog look every few milliseconds, and be alarmed after half a second."""
    monkeypatch.setattr(watchdog, "LOOK_S", 0.02)
    monkeypatch.setattr(watchdog, "STUCK_MS", 500)
    monkeypatch.setattr(watchdog, "_BETWEEN_LOOKS_MS", 10)


def _engine(scheduler: Scheduler) -> Engine:
    assert scheduler.engine._engine is not None
    return scheduler.engine._engine


# --- A loop that does not tick ---------------------------------------------------------------------------


@pytest.mark.usefixtures("qapp", "_in_a_hurry")
def test_a_loop_that_hangs_is_noticed_while_it_hangs(
    scheduler: Scheduler, alarms: list[Alarm], qtbot: QtBot, caplog: pytest.LogCaptureFixture
) -> None:
    scheduler.start(alarmed=alarms.append)
    hung = threading.Event()

    def hang_here() -> None:
        until(lambda: alarms)
        hung.set()

    _engine(scheduler).handle.post(hang_here)
    qtbot.waitUntil(hung.is_set)
    assert [alarm.kind for alarm in alarms] == [AlarmKind.SILENT]
    assert "hang_here" in caplog.text
    assert scheduler.runs.alarms(0) == alarms
    # It is told once, and ticks again at once.
    ticks = scheduler.status().ticks
    qtbot.waitUntil(lambda: scheduler.status().ticks > ticks)
    qtbot.waitUntil(lambda: "ticks again" in caplog.text)


@pytest.mark.usefixtures("qapp", "_in_a_hurry")
def test_a_loop_whose_timer_was_lost_is_woken_again(
    scheduler: Scheduler, alarms: list[Alarm], qtbot: QtBot
) -> None:
    heard: list[ChangeKind] = []
    scheduler.start(alarmed=alarms.append)
    scheduler.subscribe(lambda change: heard.append(change.kind))
    loop = scheduler._session.loop
    assert loop is not None
    loop._timer.stop()
    qtbot.waitUntil(lambda: bool(alarms))
    qtbot.waitUntil(lambda: scheduler.status().ticks == 1)
    qtbot.waitUntil(lambda: ChangeKind.ENGINE in heard)


@pytest.mark.usefixtures("qapp", "_in_a_hurry")
def test_a_tick_that_fails_again_and_again_is_an_alarm(
    scheduler: Scheduler, alarms: list[Alarm], qtbot: QtBot, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("halo_scheduler.engine.loop._AFTER_FAULT_MS", 20)
    scheduler.start(alarmed=alarms.append)
    monkeypatch.setattr(_engine(scheduler), "_claim", lambda *_: 1 / 0)
    scheduler.add_job("job", Every("1h"))
    qtbot.waitUntil(lambda: [alarm.kind for alarm in alarms] == [AlarmKind.SILENT])


@pytest.mark.usefixtures("qapp", "_in_a_hurry")
def test_a_store_problem_raises_no_alarm(
    scheduler: Scheduler, alarms: list[Alarm], qtbot: QtBot, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("halo_scheduler.engine.loop._AFTER_FAULT_MS", 20)
    scheduler.start(alarmed=alarms.append)
    scheduler.add_job("job", Every("1h"))
    scheduler._store.database.rows("PRAGMA query_only = ON")
    qtbot.wait(1_200)
    scheduler._store.database.rows("PRAGMA query_only = OFF")
    assert not alarms


def test_an_alarm_is_raised_once_until_the_loop_ticks_again() -> None:
    clock, raised = ManualClock(START), []
    watch = LoopWatch(clock, lambda: raised.append(clock.monotonic_ms()))
    for _ in range(6):
        clock.advance(_MINUTE)
        watch._look()
    assert raised == [STUCK_MS]
    watch.beat()
    for _ in range(3):
        clock.advance(_MINUTE)
        watch._look()
    assert raised == [STUCK_MS, 8 * _MINUTE]


def test_neither_sleep_nor_a_stopped_process_raises_an_alarm() -> None:
    clock, raised = ManualClock(START), []
    watch = LoopWatch(clock, lambda: raised.append(1))
    clock.sleep(8 * 60 * _MINUTE)
    watch._look()
    # Stopped by a signal: neither the loop nor the watchdog had a turn.
    clock.advance(60 * _MINUTE)
    watch._look()
    assert not raised


@pytest.mark.usefixtures("qapp")
def test_the_watchdog_ends_with_its_loop(scheduler: Scheduler) -> None:
    def watching() -> list[str]:
        return [thread.name for thread in threading.enumerate() if thread.name == "halo-watchdog"]

    before = len(watching())
    scheduler.start()
    assert len(watching()) == before + 1
    scheduler.stop()
    until(lambda: len(watching()) == before)


# --- An engine that does not start what is due -----------------------------------------------------------


@pytest.mark.usefixtures("qapp", "_in_a_hurry")
def test_a_claim_that_forgets_a_due_job_is_detected_and_repaired(
    scheduler: Scheduler, alarms: list[Alarm], qtbot: QtBot, caplog: pytest.LogCaptureFixture
) -> None:
    scheduler.start(alarmed=alarms.append)
    claims = _engine(scheduler)._claims
    claims.claim = lambda *_: []  # type: ignore[method-assign]
    job_id = scheduler.add_job("job", Cron("* * * * * *", timezone="UTC"))

    def has_alarm() -> bool:
        # Alone, the loop would not tick before the next minute.
        assert scheduler._session.loop is not None
        scheduler._session.loop.look_again()
        return bool(alarms)

    qtbot.waitUntil(has_alarm)
    assert [alarm.kind for alarm in alarms] == [AlarmKind.STARVED]
    assert "none is started" in caplog.text
    # The engine claims anew, so what was broken is gone.
    qtbot.waitUntil(lambda: bool(scheduler.get_run_log(job_id)))
    assert scheduler.runs.alarms(0) == alarms


@pytest.mark.usefixtures("qapp")
def test_only_jobs_that_are_ready_to_start_count_as_forgotten(scheduler: Scheduler, qtbot: QtBot) -> None:
    scheduler.start()
    engine = _engine(scheduler)
    assert not engine.is_overlooking()
    engine._claims.claim = lambda *_: []  # type: ignore[method-assign]
    run_id = scheduler.trigger(scheduler.add_job("job", Manual()))
    qtbot.waitUntil(engine.is_overlooking)
    engine.reset_claims()
    engine.tick()
    assert scheduler.get_run(run_id) is not None
    assert not engine.is_overlooking()


@pytest.mark.parametrize("waits_for", ["condition", "quiet time", "place", "group"])
def test_a_waiting_job_does_not_count_as_forgotten(tmp_path: Path, waits_for: str) -> None:
    clock = ManualClock(START)
    with Scheduler.open(
        tmp_path / "halo.db", clock=clock, max_concurrent=2 if waits_for == "group" else 1
    ) as scheduler:
        scheduler.on_job_due(lambda *_: Future())
        conditions = (PathExists(path="/nonexistent/file"),) if waits_for == "condition" else ()
        scheduler.add_job("job", Every("1h"), group="group", policy=Policy(conditions=conditions))
        if waits_for == "quiet time":
            scheduler.settings.change(quiet_times=(QuietTime(start="00:00", end="23:59"),))
        if waits_for == "place":
            scheduler.add_job("first", Every("30m"))
        if waits_for == "group":
            scheduler.set_group_limit("group", 1)
            scheduler.add_job("first", Every("30m"), group="group")
        for _ in range(4):
            clock.advance(30 * _MINUTE)
            scheduler.tick()
        assert scheduler.list_jobs()[0].waiting_for is not None
        assert not _engine(scheduler).is_overlooking()


def test_starting_something_ends_the_watch_for_it() -> None:
    clock = ManualClock(START)
    watch = StartWatch(clock)
    told = []
    for minute in range(12):
        clock.advance(_MINUTE)
        told.append(watch.is_stuck(has_started=minute == 5, is_overlooking=lambda: True))
    # Overlooked since the first minute, told two later; once more after something was started in between.
    assert [minute for minute, is_told in enumerate(told) if is_told] == [2, 8]
