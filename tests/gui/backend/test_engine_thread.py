"""The engine's own thread, with a real engine."""

from __future__ import annotations

from pathlib import Path

import pytest
from commands import shell
from pytestqt.qtbot import QtBot

from halo_scheduler import Manual, Outcome, Scheduler
from halo_scheduler.clock import SystemClock
from ui.backend.engine_thread import EngineThread, ShutdownMode


def _is_success(scheduler: Scheduler, run_id: str) -> bool:
    run = scheduler.get_run(run_id)
    return run is not None and run.outcome is Outcome.SUCCESS


def test_a_stop_that_waits_for_runs_can_be_taken_back(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, qtbot: QtBot
) -> None:
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path))
    monkeypatch.setenv("DBUS_SYSTEM_BUS_ADDRESS", "unix:path=/nonexistent")
    tmp_path.chmod(0o700)
    path = tmp_path / "halo.db"
    thread = EngineThread(path, SystemClock())
    stops: list[bool] = []
    thread.stopped.connect(lambda: stops.append(True))
    with Scheduler.open(path) as scheduler:
        line = "while [ ! -e go ]; do sleep 0.02; done"
        first = scheduler.add_job("first", Manual(), shell(line, directory=str(tmp_path)))
        second = scheduler.add_job("second", Manual(), shell("true"))
        with qtbot.waitSignal(thread.begun):
            thread.start()
        waiting = scheduler.trigger(first)
        qtbot.waitUntil(lambda: bool(scheduler.runs.running()))
        thread.stop(ShutdownMode.WAIT)
        qtbot.waitUntil(lambda: scheduler.status().state == "stopping")
        thread.cancel_stop()
        qtbot.waitUntil(lambda: scheduler.status().state == "running")
        run_id = scheduler.trigger(second)
        qtbot.waitUntil(lambda: _is_success(scheduler, run_id))
        (tmp_path / "go").touch()
        qtbot.waitUntil(lambda: _is_success(scheduler, waiting))
        assert stops == []
        with qtbot.waitSignal(thread.stopped):
            thread.stop(ShutdownMode.LEAVE)
    thread.end()
