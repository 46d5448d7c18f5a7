"""A scheduler that runs real commands, and what tests ask of them."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from pytestqt.qtbot import QtBot

from halo_scheduler import Command, Manual, Outcome, Policy, Run
from halo_scheduler.actions.spool import Spool, spool_folder
from halo_scheduler.model import Action
from halo_scheduler.service.scheduler import Scheduler

_LONG_MS = 60_000


def shell(line: str, **rest: Any) -> Command:
    """Return a command that is a line for the plain shell."""
    return Command(line=line, shell="/bin/sh", **rest)  # noqa: S604 - not subprocess


class Workshop:
    """Runs commands in a folder, under a Qt event loop, and waits for what becomes of them."""

    def __init__(self, scheduler: Scheduler, folder: Path, qtbot: QtBot) -> None:
        self.scheduler = scheduler
        self.folder = folder
        self._qtbot = qtbot
        self._count = 0

    def until(self, condition: Callable[[], object], timeout_ms: int = _LONG_MS) -> None:
        """Let the event loop go on until something is so."""
        self._qtbot.waitUntil(lambda: bool(condition()), timeout=timeout_ms)

    def begin(self, action: Action, **policy: Any) -> str:
        """Start a command by hand, and return its run's id."""
        self._count += 1
        job_id = self.scheduler.add_job(f"job {self._count}", Manual(), action, policy=Policy(**policy))
        return self.scheduler.trigger(job_id)

    def run(self, action: Action, **policy: Any) -> Run:
        """Run a command by hand to its end."""
        return self.end_of(self.begin(action, **policy))

    def end_of(self, run_id: str) -> Run:
        """Wait for the end of a run."""
        self.until(lambda: self.is_over(run_id))
        return self.get(run_id)

    def get(self, run_id: str) -> Run:
        run = self.scheduler.get_run(run_id)
        assert run is not None
        return run

    def is_over(self, run_id: str) -> bool:
        run = self.scheduler.get_run(run_id)
        return run is not None and run.outcome is not Outcome.RUNNING

    def text(self, run: Run) -> str:
        """Return what a run printed."""
        return self.scheduler.get_output(run.id).decode()

    def has_exit_code(self, run_id: str) -> bool:
        """Tell whether the shim of a run wrote down its exit code, be it that nobody looks."""
        return Spool(spool_folder(self.scheduler.path), run_id).read_code() is not None

    def spooled(self) -> list[str]:
        """Return the names of the files that runs have left."""
        return sorted(path.name for path in spool_folder(self.scheduler.path).glob("*"))
