"""Real daemons on a home of their own, to be killed and started again."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from process_probe import LONG_S, end_all, pids_in, until

from halo_scheduler import Manual, Outcome, Policy, Run
from halo_scheduler.actions.spool import spool_folder
from halo_scheduler.host.process_tree import marked_processes
from halo_scheduler.ipc.client import poke
from halo_scheduler.model import Action
from halo_scheduler.service.scheduler import Scheduler

_DAEMON = (sys.executable, "-m", "halo_scheduler", "daemon")


class House:
    """A database whose jobs a daemon runs, in a folder where the jobs leave word of themselves."""

    def __init__(self, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.folder = folder
        self.log_path = folder / "daemon.log"
        for name in ("run", "home", "halo"):
            (folder / name).mkdir(mode=0o700)
        for name, value in {
            "HALO_HOME": f"{folder}/halo",
            "XDG_RUNTIME_DIR": f"{folder}/run",
            "HOME": f"{folder}/home",
            "SHELL": "/bin/sh",
            "DBUS_SYSTEM_BUS_ADDRESS": "unix:path=/nonexistent",
        }.items():
            monkeypatch.setenv(name, value)
        self.scheduler = Scheduler.open()
        self._daemon: subprocess.Popen[bytes] | None = None
        self._count = 0
        self.second_job = ""

    @property
    def pid(self) -> int:
        """The daemon's process."""
        assert self._daemon is not None
        return self._daemon.pid

    def start(
        self, argv: tuple[str | Path, ...] = _DAEMON, environment: Mapping[str, str] | None = None
    ) -> None:
        """Start a daemon and wait until it runs the jobs."""
        with self.log_path.open("ab") as log:
            self._daemon = subprocess.Popen(argv, stderr=log, env={**os.environ, **(environment or {})})
        until(lambda: self._is_held_by(self.pid))

    def _is_held_by(self, pid: int) -> bool:
        assert self._daemon is not None
        assert self._daemon.poll() is None, self.log()
        row = self.scheduler._store.lease.read()
        # It is told of changes only a moment after it has the row.
        return row is not None and row.pid == pid and row.stopped_at is None and poke(self.scheduler.path)

    def log(self) -> str:
        """Return what the daemons said."""
        return self.log_path.read_text()

    def crash(self) -> None:
        """Kill the daemon, as kill -9 does."""
        assert self._daemon is not None
        self._daemon.kill()
        self._daemon.wait()

    def stop(self) -> int:
        """Ask the daemon to end, and return its exit code."""
        assert self._daemon is not None
        self._daemon.terminate()
        return self._daemon.wait(LONG_S)

    def begin(self, action: Action, **policy: Any) -> str:
        """Ask for a run of a new job, and return its id."""
        self._count += 1
        job_id = self.scheduler.add_job(f"job {self._count}", Manual(), action, policy=Policy(**policy))
        return self.scheduler.trigger(job_id)

    def get(self, run_id: str) -> Run:
        run = self.scheduler.get_run(run_id)
        assert run is not None
        return run

    def is_over(self, run_id: str) -> bool:
        run = self.scheduler.get_run(run_id)
        return run is not None and run.outcome is not Outcome.RUNNING

    def end_of(self, run_id: str) -> Run:
        """Wait for the end of a run."""
        until(lambda: self.is_over(run_id))
        return self.get(run_id)

    def text(self, run_id: str) -> str:
        """Return what a run printed, or has printed by now."""
        return self.scheduler.get_output(run_id).decode()

    def spooled(self, ending: str = "") -> list[str]:
        """Return the names of the files that runs have in the spool."""
        return sorted(path.name for path in spool_folder(self.scheduler.path).glob(f"*{ending}"))

    def wait_until_cleared(self) -> None:
        """Wait until the spool is empty: the files of a run are deleted once its end is recorded."""
        until(lambda: not self.spooled())

    def touch(self, name: str) -> None:
        """Let a job go on that waits for a file."""
        (self.folder / name).touch()

    def close(self) -> None:
        """End the daemon and all that its jobs have left."""
        if self._daemon is not None:
            self.crash()
        run_ids = [run.id for run in self.scheduler.get_run_log(limit=100_000)]
        end_all(
            [*pids_in(self.folder), *(pid for pids in marked_processes(run_ids).values() for pid in pids)]
        )
        self.scheduler.close()
