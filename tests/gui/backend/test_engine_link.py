"""Who runs the jobs, told from the window's side."""

from __future__ import annotations

import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from time import monotonic

import pytest
from PySide6.QtCore import QObject, QTimer, Signal
from pytestqt.qtbot import QtBot

from halo_scheduler import Every, Scheduler
from halo_scheduler.clock import ManualClock
from halo_scheduler.errors import SchedulerError, StoreDamagedError, StoreReplacedError, StoreUnavailableError
from halo_scheduler.ipc.client import poke, socket_path
from halo_scheduler.ipc.server import ChangeServer
from halo_scheduler.model.alarms import StoreTrouble, TroubleKind
from halo_scheduler.model.changes import Change, ChangeKind
from ui.backend.backend import Backend
from ui.backend.engine_link import EngineLink, EnginePlace, EngineState
from ui.backend.engine_thread import EngineThread, ShutdownMode, _Host

_NOW = 1_800_000_000_000


class FakeThread(QObject):
    """Says what a test tells it to; the real one is met in tests/e2e."""

    begun = Signal()
    held = Signal(str)
    failed = Signal(object)
    lost = Signal()
    stopped = Signal()

    def __init__(self) -> None:
        super().__init__()
        self.starts = 0
        self.farewells: list[ShutdownMode] = []

    def start(self) -> None:
        self.starts += 1

    def stop(self, shutdown_mode: ShutdownMode) -> None:
        self.farewells.append(shutdown_mode)


class Stage:
    """A link with everything around it."""

    def __init__(self, path: Path) -> None:
        self.scheduler = Scheduler.open(path, clock=ManualClock(_NOW))
        self.backend = Backend.inline(self.scheduler, ManualClock(_NOW))
        self.thread = FakeThread()
        self.link = EngineLink(self.backend, self.thread)  # type: ignore[arg-type] # a stand-in
        self.server = ChangeServer(path)
        self.states: list[EngineState] = []
        self.link.state_changed.connect(self.states.append)


@pytest.fixture
def stage(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, qtbot: QtBot) -> Iterator[Stage]:  # noqa: ARG001 - a loop
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path))
    made = Stage(tmp_path / "halo.db")
    yield made
    made.link._disconnect()
    made.server.stop()
    made.scheduler.close()


def _is_heard(stage: Stage) -> bool:
    return any(client.is_subscriber for client in stage.server._clients)


def test_changes_sent_by_the_engine_reach_the_window(stage: Stage, qtbot: QtBot) -> None:
    stage.server.start()
    stage.link.start()
    stage.thread.begun.emit()
    qtbot.waitUntil(lambda: _is_heard(stage))
    with qtbot.waitSignal(stage.backend.changed) as heard:
        stage.server.tell(Change(ChangeKind.RUN_STARTED, "job", "run"))
    assert heard.args == [Change(ChangeKind.RUN_STARTED, "job", "run")]
    assert stage.link.state.place is EnginePlace.HERE


def test_a_store_in_trouble_is_known_at_once_and_until_it_is_over(stage: Stage, qtbot: QtBot) -> None:
    trouble = StoreTrouble(TroubleKind.FULL, _NOW, "the disk is full")
    stage.server.start()
    stage.server.tell_trouble(trouble)
    stage.thread.begun.emit()
    # Whoever subscribes later hears it, too.
    qtbot.waitUntil(lambda: stage.backend.trouble == trouble)
    stage.server.tell_trouble(None)
    qtbot.waitUntil(lambda: stage.backend.trouble is None)


def test_a_store_that_is_gone_is_trouble_as_well(stage: Stage) -> None:
    stage.thread.failed.emit(StoreReplacedError("it was deleted"))
    assert stage.backend.trouble == StoreTrouble(TroubleKind.GONE, _NOW, "it was deleted")
    stage.thread.begun.emit()
    assert stage.backend.trouble is None


def test_changes_before_the_first_subscriber_are_read_again(stage: Stage, qtbot: QtBot) -> None:
    stage.server.start()
    with qtbot.waitSignal(stage.backend.changed) as told:
        stage.thread.begun.emit()
    assert told.args == [Change(ChangeKind.JOB)]


def test_another_engine_is_named(stage: Stage) -> None:
    stage.thread.held.emit("the jobs are run by halo (process 7)")
    assert stage.states == [EngineState(EnginePlace.ELSEWHERE, "the jobs are run by halo (process 7)")]


def test_the_death_of_another_engine_is_noticed_soon(
    stage: Stage, qtbot: QtBot, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("ui.backend.engine_link._RETRY_MS", 10)
    stage.server.start()
    stage.thread.held.emit("the jobs are run by halo (process 7)")
    qtbot.waitUntil(lambda: _is_heard(stage))
    stage.server.stop()
    qtbot.waitUntil(lambda: stage.thread.starts == 1)
    with qtbot.waitSignal(stage.link.taken_over):
        stage.thread.begun.emit()
    assert stage.link.state.place is EnginePlace.HERE


_FLOODS = """
import socket, sys
listener = socket.socket(socket.AF_UNIX)
listener.bind(sys.argv[1])
listener.listen()
print(flush=True)
connection, _ = listener.accept()
lines = b"".join(b'{"kind":"job","job_id":"%d"}\\n' % number for number in range(100_000))
while True:
    connection.sendall(lines)
"""


def test_a_flood_of_changes_does_not_block_the_window(stage: Stage, qtbot: QtBot) -> None:
    """Who sends without an end gets a bounded part of the window's time, and of its memory."""
    path = socket_path(stage.scheduler.path)
    with subprocess.Popen([sys.executable, "-c", _FLOODS, path], stdout=subprocess.PIPE) as flooding:
        assert flooding.stdout is not None
        flooding.stdout.readline()
        heard: list[Change] = []
        stage.backend.changed.connect(heard.append)
        stage.thread.begun.emit()
        qtbot.waitUntil(lambda: len(heard) > 20)
        stream = stage.link._stream
        assert stream is not None
        beats: list[float] = []
        beat = QTimer()
        beat.timeout.connect(lambda: beats.append(monotonic()))
        begun, looked = monotonic(), len(heard)
        beat.start(10)
        qtbot.waitUntil(lambda: len(beats) > 20)
        beat.stop()
        looks = (monotonic() - begun) / 0.05 + 1
        assert len(heard) - looked <= looks * len(ChangeKind)
        assert len(stream._buffer) <= 4_096
        stage.link._disconnect()
        flooding.kill()


def test_a_client_that_sends_an_endless_line_is_disconnected(stage: Stage, qtbot: QtBot) -> None:
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(socket_path(stage.scheduler.path)))
        listener.listen()
        stage.thread.begun.emit()
        connection, _ = listener.accept()
        with connection:
            qtbot.waitUntil(lambda: stage.link._stream is not None)
            connection.sendall(b"x" * 10_000)
            qtbot.waitUntil(lambda: stage.link._stream is None)


def test_the_first_start_is_not_a_takeover(stage: Stage, qtbot: QtBot) -> None:
    with qtbot.assertNotEmitted(stage.link.taken_over):
        stage.thread.begun.emit()


def test_a_silent_engine_is_checked(stage: Stage, qtbot: QtBot, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ui.backend.engine_link._POLL_MS", 10)
    # There is no socket to listen to, and nobody holds the engine's row.
    stage.thread.held.emit("the jobs are run by halo (process 7)")
    qtbot.waitUntil(lambda: stage.thread.starts >= 1)


def test_a_database_that_cannot_be_run_is_retried(
    stage: Stage, qtbot: QtBot, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("ui.backend.engine_link._POLL_MS", 10)
    stage.thread.failed.emit(StoreUnavailableError("the disk is full"))
    assert stage.link.state == EngineState(EnginePlace.NOWHERE, "the disk is full", can_start=True)
    qtbot.waitUntil(lambda: stage.thread.starts >= 1)


def test_a_damaged_database_is_not_tried_again_but_reported(
    stage: Stage, qtbot: QtBot, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("ui.backend.engine_link._POLL_MS", 10)
    with qtbot.waitSignal(stage.link.damaged):
        stage.thread.failed.emit(StoreDamagedError("it is damaged"))
    qtbot.wait(50)
    assert stage.thread.starts == 0


def test_a_replaced_database_is_reported_and_not_run_behind_the_windows_back(
    stage: Stage, qtbot: QtBot, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("ui.backend.engine_link._RETRY_MS", 10)
    stage.server.start()
    stage.thread.begun.emit()
    qtbot.waitUntil(lambda: _is_heard(stage))
    # Its engine hangs up, as one that stops does.
    stage.server.stop()
    stage.thread.failed.emit(StoreReplacedError("halo.db was deleted or replaced"))
    qtbot.wait(100)
    assert stage.link.state == EngineState(EnginePlace.NOWHERE, "halo.db was deleted or replaced")
    assert stage.thread.starts == 0


def test_a_database_that_is_put_back_is_run_again(
    stage: Stage, tmp_path: Path, qtbot: QtBot, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("ui.backend.engine_link._POLL_MS", 10)
    path = stage.scheduler.path
    host = _Host(path, ManualClock(_NOW))
    host.failed.connect(stage.link._on_failed)
    host.start()
    path.rename(tmp_path / "away.db")
    path.touch()
    assert poke(path)
    qtbot.waitUntil(lambda: stage.link.state.place is EnginePlace.NOWHERE)
    qtbot.wait(50)
    assert stage.thread.starts == 0
    (tmp_path / "away.db").rename(path)
    qtbot.waitUntil(lambda: stage.thread.starts > 0)
    host.begun.connect(stage.link._on_begun)
    with qtbot.waitSignal(host.begun), qtbot.assertNotEmitted(stage.link.taken_over):
        host.start()
    assert stage.link.state.place is EnginePlace.HERE
    host.stop(ShutdownMode.STOP)


@pytest.mark.usefixtures("stage")
def test_an_engine_beside_the_window_says_that_its_database_was_replaced(
    tmp_path: Path, qtbot: QtBot
) -> None:
    path = tmp_path / "run.db"
    host = _Host(path, ManualClock(_NOW))
    failures: list[SchedulerError] = []
    host.failed.connect(failures.append)
    with qtbot.waitSignal(host.begun):
        host.start()
    path.rename(tmp_path / "away.db")
    Scheduler.open(path).close()
    assert poke(path)
    qtbot.waitUntil(lambda: bool(failures))
    assert isinstance(failures[0], StoreReplacedError)


def test_nothing_is_taken_over_while_leaving(stage: Stage, qtbot: QtBot) -> None:
    stage.server.start()
    stage.thread.held.emit("the jobs are run by halo (process 7)")
    qtbot.waitUntil(lambda: _is_heard(stage))
    stage.link.stop(ShutdownMode.LEAVE)
    with qtbot.waitSignal(stage.link.stopped):
        stage.server.stop()
        stage.thread.stopped.emit()
    assert stage.thread.farewells == [ShutdownMode.LEAVE]
    assert stage.thread.starts == 0


def test_a_stranger_on_the_socket_is_not_taken_for_the_engine(
    stage: Stage, tmp_path: Path, qtbot: QtBot, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A socket that hangs up at once must not make the window spin."""
    monkeypatch.setattr("ui.backend.engine_link._RETRY_MS", 200)
    stage.server.start()
    path = next(tmp_path.glob("halo-*"))
    stage.server.stop()
    with socket.socket(socket.AF_UNIX) as stranger:
        stranger.bind(str(path))
        stranger.listen()
        stage.thread.held.emit("the jobs are run by halo (process 7)")
        qtbot.waitUntil(lambda: stage.link._stream is not None)
        peer, _ = stranger.accept()
        peer.close()
        qtbot.waitUntil(lambda: stage.link._stream is None)
        assert stage.thread.starts == 0
        assert stage.link._poll.remainingTime() > 100
        qtbot.waitUntil(lambda: stage.thread.starts == 1)


def test_a_change_made_in_the_window_travels_once(
    tmp_path: Path, qtbot: QtBot, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It reaches the engine without the socket, and the window hears of it once; others' changes still arrive."""
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path))
    path, clock = tmp_path / "run.db", ManualClock(_NOW)
    backend, thread = Backend(path, clock), EngineThread(path, clock)
    link = EngineLink(backend, thread)
    link.start()
    qtbot.waitUntil(lambda: link._stream is not None)
    heard: list[Change] = []
    backend.changed.connect(heard.append)
    ticks: list[int] = []
    backend.ask(lambda scheduler: scheduler.status().ticks, ticks.append)
    qtbot.waitUntil(lambda: len(ticks) == 1)
    connections: list[Path] = []
    monkeypatch.setattr("halo_scheduler.ipc.client._connected", connections.append)
    added: list[str] = []
    backend.ask(lambda scheduler: scheduler.add_job("backup", Every("1h")), added.append)
    qtbot.waitUntil(lambda: len(added) == 1)

    def has_ticked() -> bool:
        backend.ask(lambda scheduler: scheduler.status().ticks, ticks.append)
        return ticks[-1] > ticks[0]

    qtbot.waitUntil(has_ticked)
    assert connections == []
    # What comes after the change on the same way has arrived: nothing of it is still to come.
    with socket.socket(socket.AF_UNIX) as other:
        other.connect(str(socket_path(path)))
        other.sendall(b'{"say":"changed","kind":"settings"}\n')
        qtbot.waitUntil(lambda: Change(ChangeKind.SETTINGS) in heard)
    assert heard.count(Change(ChangeKind.JOB, added[0])) == 1
    with qtbot.waitSignal(link.stopped):
        link.stop(ShutdownMode.LEAVE)
    thread.end()
    backend.close()
