"""A database with runs of the past, for tests of what shows them."""

from __future__ import annotations

import os
import zlib
from pathlib import Path
from typing import Any

from halo_scheduler import Manual, Outcome, Run, Scheduler, Source, Trigger
from halo_scheduler.actions.spool import Spool, spool_folder
from halo_scheduler.store.outputs import StoredOutput
from halo_scheduler.store.runs import RunEnd

NOW = 1_800_000_000_000  # Fri 15 Jan 2027, 08:00 UTC
MINUTE = 60_000
DAY = 86_400_000


class Past:
    """Jobs and runs, written as the engine would have."""

    def __init__(self, scheduler: Scheduler) -> None:
        self.scheduler = scheduler
        self._count = 0

    def job(self, name: str = "backup") -> str:
        return self.scheduler.add_job(name, Manual())

    def run(self, job_id: str, at: int = NOW - MINUTE, *, output: bytes = b"", **rest: Any) -> Run:
        """Record a run that succeeded unless said otherwise."""
        self._count += 1
        given: dict[str, Any] = {
            "id": f"run{self._count:05}",
            "trigger": Trigger.MANUAL,
            "source": Source.MANUAL,
            "outcome": Outcome.SUCCESS,
            "started_at": at,
            "finished_at": at + 1_000,
        }
        run = Run(job_id=job_id, **(given | rest))
        self.scheduler._store.runs.insert([run], 1)
        if output:
            self._store_output(run.id, output)
        return run

    def runs(self, job_id: str, count: int, first_at: int = NOW - DAY) -> list[Run]:
        """Record many runs, a second after each other, oldest first."""
        with self.scheduler._store.transaction():
            return [self.run(job_id, first_at + index * 1_000) for index in range(count)]

    def begin(self, job_id: str, printed: bytes = b"", **rest: Any) -> Run:
        """Record a run that is under way, and what it has printed so far."""
        run = self.run(job_id, NOW, outcome=Outcome.RUNNING, finished_at=None, **rest)
        descriptor = Spool(spool_folder(self.scheduler.path), run.id).create()
        os.write(descriptor, printed)
        os.close(descriptor)
        return run

    def write(self, run: Run, printed: bytes) -> None:
        """Let a run that is under way print some more."""
        with Path(Spool(spool_folder(self.scheduler.path), run.id).output_path).open("ab") as file:
            file.write(printed)

    def end(self, run: Run, output: bytes = b"", outcome: Outcome = Outcome.SUCCESS) -> None:
        """Do what the engine does at the end of a run."""
        self.scheduler._store.runs.finish([(run.id, RunEnd(outcome=outcome, finished_at=NOW + 5_000))])
        self._store_output(run.id, output)
        Spool(spool_folder(self.scheduler.path), run.id).remove()

    def _store_output(self, run_id: str, output: bytes) -> None:
        stored = StoredOutput(run_id=run_id, content=zlib.compress(output), total_bytes=len(output))
        self.scheduler._store.outputs.insert([stored])
