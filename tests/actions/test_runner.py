"""Taking up what an earlier engine left: whose processes these are, also when numbers were given anew."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from commands import shell
from process_probe import end_all, is_living, living_in, pids_in, until

from halo_scheduler import Manual, Outcome
from halo_scheduler.actions.spool import Spool, Ticket, spool_folder
from halo_scheduler.clock import SystemClock
from halo_scheduler.service import Scheduler

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="the commands are those of POSIX")


@pytest.fixture
def stranger() -> Iterator[int]:
    process = subprocess.Popen(["sleep", "60"], start_new_session=True)
    yield process.pid
    process.kill()
    process.wait()


@pytest.fixture(autouse=True)
def _end_all(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setenv("SHELL", "/bin/sh")
    yield
    end_all(pids_in(tmp_path))


def test_a_session_number_that_is_somebody_elses_by_now_is_left_alone(tmp_path: Path, stranger: int) -> None:
    action = shell(
        "setsid sh -c 'echo $$ >left.pid; exec sleep 60' & echo $PPID >shim.pid; echo $$ >main.pid; wait",
        directory=str(tmp_path),
        grace="1s",
    )
    first = Scheduler.open(tmp_path / "halo.db", clock=SystemClock())
    run_id = first.trigger(first.add_job("job", Manual(), action))
    first.tick()
    until(lambda: len(pids_in(tmp_path)) == 3)
    # As after a crash long ago, since when the shim has died and its number has come round.
    first._get_engine().leave_runs()
    first._store.close()
    for name in ("shim", "main"):
        os.kill(int((tmp_path / f"{name}.pid").read_text()), 9)
    spool = Spool(spool_folder(tmp_path / "halo.db"), run_id)
    spool.write_ticket(Ticket(stranger, "another boot/1", action))
    second = Scheduler.open(tmp_path / "halo.db")
    second._store.database.rows("UPDATE scheduler_engine SET expires_at = 0")
    second.tick()
    second.cancel_run(run_id)

    def is_over() -> bool:
        second.tick()
        run = second.get_run(run_id)
        return run is not None and run.outcome is Outcome.CANCELLED

    until(is_over)
    second.close()
    assert is_living(stranger)
    assert living_in(tmp_path) == []
