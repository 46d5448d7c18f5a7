"""The loop: the engine driven by a real Qt event loop and the real clock."""

from __future__ import annotations

import errno
import logging
import os
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest
from process_probe import LONG_S
from pytestqt.qtbot import QtBot
from shiboken6 import isValid
from stand_in_services import LoginService, private_buses

from halo_scheduler import Cron, Every, Job, Outcome, Run, SchedulerShutdownError
from halo_scheduler.engine.loop import EngineLoop
from halo_scheduler.errors import EngineHeldError, StaleEngineError
from halo_scheduler.ipc import client as ipc
from halo_scheduler.ipc.client import ChangeStream, poke, receive_here, socket_path
from halo_scheduler.ipc.server import ChangeServer
from halo_scheduler.model.changes import Change, ChangeKind
from halo_scheduler.service.scheduler import Scheduler


@pytest.fixture(autouse=True)
def _runtime(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "run").mkdir(mode=0o700)
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path / "run"))
    monkeypatch.setenv("DBUS_SYSTEM_BUS_ADDRESS", "unix:path=/nonexistent")


@pytest.fixture
def scheduler(tmp_path: Path) -> Iterator[Scheduler]:
    found = Scheduler.open(tmp_path / "halo.db")
    yield found
    found.close()


@pytest.mark.usefixtures("qapp")
def test_a_due_job_starts_at_its_slot(scheduler: Scheduler, qtbot: QtBot) -> None:
    scheduler.on_job_due(lambda *_: None)
    scheduler.start()
    scheduler.add_job("job", Cron("* * * * * *", timezone="UTC"))
    qtbot.waitUntil(lambda: len(scheduler.get_run_log(outcome=Outcome.SUCCESS)) >= 2)
    assert all(run.late_ms >= 0 for run in scheduler.get_run_log())
    # On a machine that is busy now, one of the next is in time.
    qtbot.waitUntil(lambda: any(run.late_ms < 500 for run in scheduler.get_run_log()))


@pytest.mark.usefixtures("qapp")
def test_changes_wake_the_loop_and_are_reported(scheduler: Scheduler, qtbot: QtBot) -> None:
    heard: list[ChangeKind] = []
    scheduler.on_job_due(lambda *_: None)
    scheduler.subscribe(lambda change: heard.append(change.kind))
    scheduler.start()
    run_id = scheduler.trigger(scheduler.add_job("job", Every("1h")))
    qtbot.waitUntil(lambda: scheduler.get_run(run_id) is not None)
    qtbot.waitUntil(lambda: ChangeKind.RUN_FINISHED in heard)


@pytest.mark.usefixtures("qapp")
def test_changes_of_another_connection_arrive_through_the_socket(scheduler: Scheduler, qtbot: QtBot) -> None:
    scheduler.on_job_due(lambda *_: None)
    scheduler.start()
    other = Scheduler.open(scheduler.path)
    run_id = other.trigger(other.add_job("job", Every("1h")))
    qtbot.waitUntil(lambda: (run := other.get_run(run_id)) is not None and run.finished_at is not None)
    other.close()


@pytest.mark.usefixtures("qapp")
def test_without_an_engine_no_notification_is_sent(scheduler: Scheduler) -> None:
    assert not poke(scheduler.path)
    stale = socket.socket(socket.AF_UNIX)
    stale.bind(str(socket_path(scheduler.path)))
    stale.close()
    assert not poke(scheduler.path)
    with pytest.raises(ConnectionRefusedError):
        ChangeStream.connect(scheduler.path)
    scheduler.start()
    assert poke(scheduler.path)


@pytest.mark.usefixtures("qapp")
def test_stopping_keeps_the_event_loop_running_until_runs_end(scheduler: Scheduler, qtbot: QtBot) -> None:
    def slow(_job: Job, _run: Run) -> None:
        time.sleep(0.2)

    scheduler.on_job_due(slow)
    scheduler.start()
    run_id = scheduler.trigger(scheduler.add_job("job", Every("1h")))
    qtbot.waitUntil(lambda: scheduler.get_run(run_id) is not None)
    scheduler.stop(timeout_ms=10_000)
    run = scheduler.get_run(run_id)
    assert run is not None
    assert run.outcome is Outcome.SUCCESS


@pytest.mark.usefixtures("qapp")
def test_stopping_gives_up_on_a_hung_run(scheduler: Scheduler, qtbot: QtBot) -> None:
    scheduler.on_job_due(lambda *_: time.sleep(30))
    scheduler.start()
    run_id = scheduler.trigger(scheduler.add_job("job", Every("1h")))
    qtbot.waitUntil(lambda: scheduler.get_run(run_id) is not None)
    with pytest.raises(SchedulerShutdownError):
        scheduler.stop(timeout_ms=50)


@pytest.mark.usefixtures("qapp")
def test_an_engine_lost_while_stopping_is_waited_for_no_longer(scheduler: Scheduler, qtbot: QtBot) -> None:
    release = threading.Event()
    scheduler.on_job_due(lambda *_: release.wait(LONG_S))
    scheduler.start()
    loop = scheduler._session.loop
    assert isinstance(loop, EngineLoop)
    run_id = scheduler.trigger(scheduler.add_job("job", Every("1h")))
    qtbot.waitUntil(lambda: scheduler.get_run(run_id) is not None)
    scheduler._store.database.rows("UPDATE scheduler_engine SET generation = generation + 1")
    loop._mailbox.post(loop.look_again)
    began = time.monotonic()
    with pytest.raises(SchedulerShutdownError):
        scheduler.stop(timeout_ms=10_000)
    release.set()
    assert time.monotonic() - began < 5
    assert isinstance(scheduler.engine.lost_by, StaleEngineError)
    qtbot.waitUntil(lambda: not isValid(loop))


@pytest.mark.usefixtures("qapp")
def test_a_store_error_in_one_tick_does_not_stop_the_loop(
    scheduler: Scheduler, qtbot: QtBot, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("halo_scheduler.engine.loop._AFTER_FAULT_MS", 50)
    scheduler.on_job_due(lambda *_: None)
    scheduler.start()
    run_id = scheduler.trigger(scheduler.add_job("job", Every("1h")))
    scheduler._store.database.rows("PRAGMA query_only = ON")
    with caplog.at_level(logging.ERROR):
        qtbot.waitUntil(lambda: "cannot be written" in caplog.text)
    scheduler._store.database.rows("PRAGMA query_only = OFF")
    qtbot.waitUntil(lambda: scheduler.get_run(run_id) is not None)


@pytest.mark.usefixtures("qapp")
def test_a_fault_of_ours_in_one_tick_does_not_stop_the_loop(
    scheduler: Scheduler, qtbot: QtBot, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("halo_scheduler.engine.loop._AFTER_FAULT_MS", 50)
    scheduler.on_job_due(lambda *_: None)
    scheduler.start()
    engine = scheduler.engine._engine
    assert engine is not None
    real = engine._claim
    monkeypatch.setattr(engine, "_claim", lambda *_: 1 / 0)
    run_id = scheduler.trigger(scheduler.add_job("job", Every("1h")))
    qtbot.waitUntil(lambda: "A tick failed" in caplog.text)
    monkeypatch.setattr(engine, "_claim", real)
    qtbot.waitUntil(lambda: scheduler.get_run(run_id) is not None)


@pytest.mark.usefixtures("qapp")
def test_housekeeping_that_fails_does_not_stop_the_loop(
    scheduler: Scheduler, qtbot: QtBot, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("halo_scheduler.engine.maintenance.Maintenance.tick", lambda *_: 1 / 0)
    scheduler.on_job_due(lambda *_: None)
    scheduler.start()
    run_id = scheduler.trigger(scheduler.add_job("job", Every("1h")))
    qtbot.waitUntil(lambda: scheduler.get_run(run_id) is not None)
    assert "Housekeeping failed" in caplog.text


def _count_epolls() -> int:
    # Of a descriptor that was closed since it was listed, nothing is known.
    return sum("eventpoll" in os.path.realpath(link) for link in Path("/proc/self/fd").iterdir())


@pytest.mark.usefixtures("qapp")
@pytest.mark.skipif(not Path("/proc/self/fd").exists(), reason="only Linux lists the open descriptors")
def test_a_failed_start_leaves_no_descriptor_open(scheduler: Scheduler) -> None:
    scheduler.start()
    with Scheduler.open(scheduler.path) as other:
        before = _count_epolls()
        for _ in range(3):
            with pytest.raises(EngineHeldError):
                other.start()
        assert _count_epolls() <= before
        scheduler.stop()
        other.start()
        assert other.engine.is_running


@pytest.mark.usefixtures("qapp")
def test_a_second_start_changes_nothing(scheduler: Scheduler, qtbot: QtBot) -> None:
    scheduler.on_job_due(lambda *_: None)
    scheduler.start()
    loop, started_at = scheduler._session.loop, scheduler.status().started_at
    scheduler.start()
    assert (scheduler._session.loop, scheduler.status().started_at) == (loop, started_at)
    run_id = scheduler.trigger(scheduler.add_job("job", Every("1h")))
    qtbot.waitUntil(lambda: (run := scheduler.get_run(run_id)) is not None and run.outcome is Outcome.SUCCESS)


@pytest.mark.usefixtures("qapp")
def test_jobs_run_without_a_folder_for_the_socket(
    scheduler: Scheduler,
    qtbot: QtBot,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    monkeypatch.delenv("XDG_RUNTIME_DIR")
    scheduler.path.with_name(f"{scheduler.path.stem}-run").touch()
    monkeypatch.setattr(ipc, "_LONGEST_PLACE", 1_000)
    scheduler.on_job_due(lambda *_: None)
    scheduler.start()
    run_id = scheduler.trigger(scheduler.add_job("job", Every("1h")))
    qtbot.waitUntil(lambda: scheduler.get_run(run_id) is not None)
    assert "No private socket" in caplog.text
    assert poke(scheduler.path)
    receive_here(scheduler.path, None)
    assert not poke(scheduler.path)


@pytest.mark.usefixtures("qapp")
def test_an_engine_that_lost_its_lease_leaves_the_socket_of_the_new_one(tmp_path: Path) -> None:
    old, new = ChangeServer(tmp_path / "halo.db"), ChangeServer(tmp_path / "halo.db")
    assert old.start()
    assert new.start()
    old.stop()
    assert poke(tmp_path / "halo.db")
    new.stop()
    assert not socket_path(tmp_path / "halo.db").exists()


@pytest.mark.usefixtures("qapp")
def test_a_stranger_is_turned_away(tmp_path: Path, qtbot: QtBot, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("halo_scheduler.ipc.server.is_own_peer", lambda _connection: False)
    heard: list[Change] = []
    server = ChangeServer(tmp_path / "halo.db", heard.append)
    assert server.start()
    receive_here(tmp_path / "halo.db", None)
    poke(tmp_path / "halo.db")
    qtbot.wait(200)
    assert not heard
    server.stop()


def _is_hung_up(client: socket.socket) -> bool:
    with suppress(BlockingIOError):
        return client.recv(1) == b""
    return False


@pytest.mark.usefixtures("qapp")
def test_a_client_that_says_nothing_is_dropped(
    tmp_path: Path, qtbot: QtBot, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("halo_scheduler.ipc.server._SILENCE_MS", 50)
    server = ChangeServer(tmp_path / "halo.db")
    assert server.start()
    with socket.socket(socket.AF_UNIX) as silent:
        silent.connect(str(socket_path(tmp_path / "halo.db")))
        silent.setblocking(False)
        qtbot.waitUntil(lambda: _is_hung_up(silent))
        assert not server._clients
    server.stop()


@pytest.mark.usefixtures("qapp")
@pytest.mark.parametrize("line", [b"[" * 4_095, b"{", b"\xff", b"7"])
def test_a_client_that_talks_nonsense_is_dropped_without_a_word(
    tmp_path: Path, qtbot: QtBot, caplog: pytest.LogCaptureFixture, line: bytes
) -> None:
    server = ChangeServer(tmp_path / "halo.db")
    assert server.start()
    with socket.socket(socket.AF_UNIX) as client:
        client.connect(str(socket_path(tmp_path / "halo.db")))
        client.sendall(line + b"\n")
        client.setblocking(False)
        qtbot.waitUntil(lambda: _is_hung_up(client))
    assert not server._clients
    assert not caplog.records
    server.stop()


@pytest.mark.usefixtures("qapp")
def test_without_descriptors_clients_are_refused_for_a_moment_and_then_accepted(
    tmp_path: Path, qtbot: QtBot, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("halo_scheduler.ipc.server._REST_MS", 60_000)
    heard: list[Change] = []
    server = ChangeServer(tmp_path / "halo.db", heard.append)
    assert server.start()
    receive_here(tmp_path / "halo.db", None)
    tries: list[socket.socket] = []

    def find_no_descriptor(listener: socket.socket) -> tuple[socket.socket, object]:
        tries.append(listener)
        raise OSError(errno.EMFILE, "Too many open files")

    with monkeypatch.context() as context:
        context.setattr(socket.socket, "accept", find_no_descriptor)
        poke(tmp_path / "halo.db")
        qtbot.waitUntil(lambda: bool(tries))
        qtbot.wait(30)
        assert len(tries) == 1, "it tried again without a pause"
    assert not heard
    server._rest.start(0)
    qtbot.waitUntil(lambda: bool(heard))
    server.stop()


@pytest.mark.usefixtures("qapp")
def test_a_lost_engine_stops(scheduler: Scheduler, qtbot: QtBot, caplog: pytest.LogCaptureFixture) -> None:
    scheduler.on_job_due(lambda *_: None)
    scheduler.start()
    loop = scheduler._session.loop
    assert isinstance(loop, EngineLoop)
    scheduler._store.database.rows("UPDATE scheduler_engine SET generation = generation + 1")
    with caplog.at_level(logging.ERROR):
        loop.look_again()
        qtbot.waitUntil(lambda: scheduler.engine.lost_by is not None)
    assert not scheduler.engine.is_running
    run_id = scheduler.trigger(scheduler.add_job("job", Every("1h")))
    qtbot.wait(50)
    assert scheduler.get_run(run_id) is None


@pytest.mark.usefixtures("qapp")
def test_idle_the_loop_sleeps_for_a_minute(scheduler: Scheduler, qtbot: QtBot) -> None:
    scheduler.add_job("job", Every("1d"))
    scheduler.start()
    loop = scheduler._session.loop
    assert isinstance(loop, EngineLoop)
    qtbot.waitUntil(lambda: loop._timer.remainingTime() > 50_000)
    ticks = scheduler.status().ticks
    qtbot.wait(300)
    assert scheduler.status().ticks == ticks


@pytest.mark.usefixtures("qapp")
def test_an_idle_loop_reports_that_it_is_alive_as_often_as_requested(
    scheduler: Scheduler, qtbot: QtBot
) -> None:
    beats: list[int] = []
    scheduler.add_job("job", Every("1d"))
    scheduler.start(heartbeat=lambda: beats.append(1), heartbeat_ms=50)
    loop = scheduler._session.loop
    assert isinstance(loop, EngineLoop)
    qtbot.waitUntil(lambda: not loop._must_tick and len(beats) > 1)
    ticks = scheduler.status().ticks
    before = len(beats)
    qtbot.waitUntil(lambda: len(beats) >= before + 4)
    assert loop._timer.remainingTime() <= 50
    assert scheduler.status().ticks == ticks


@pytest.mark.usefixtures("qapp")
def test_a_backup_is_made_on_the_first_day(scheduler: Scheduler, qtbot: QtBot) -> None:
    scheduler.start()
    folder = scheduler.path.parent / "backups"
    qtbot.waitUntil(lambda: len(list(folder.glob("halo-*.db"))) == 1)


@pytest.mark.usefixtures("qapp")
def test_logind_wakes_the_engine(scheduler: Scheduler, qtbot: QtBot, monkeypatch: pytest.MonkeyPatch) -> None:
    with private_buses() as buses, LoginService(buses) as logind:
        monkeypatch.setenv("DBUS_SYSTEM_BUS_ADDRESS", buses.address)
        scheduler.start()
        loop = scheduler._session.loop
        assert isinstance(loop, EngineLoop)
        qtbot.waitUntil(lambda: not loop._must_tick and loop._timer.remainingTime() > 0)
        ticks = scheduler.status().ticks

        def has_ticked() -> bool:
            # Until the bus knows that the engine listens, it drops the signal.
            logind.tell_of_sleep(is_going_to_sleep=False)
            return scheduler.status().ticks > ticks

        qtbot.waitUntil(has_ticked)


@pytest.mark.usefixtures("qapp")
def test_a_closed_system_bus_is_no_longer_watched(
    scheduler: Scheduler, qtbot: QtBot, monkeypatch: pytest.MonkeyPatch
) -> None:
    with private_buses() as buses:
        monkeypatch.setenv("DBUS_SYSTEM_BUS_ADDRESS", buses.address)
        scheduler.start()
        loop = scheduler._session.loop
        assert isinstance(loop, EngineLoop)
        assert loop._wake_listener._source is not None
    qtbot.waitUntil(lambda: loop._wake_listener._source is None)
    assert scheduler.engine.is_running
