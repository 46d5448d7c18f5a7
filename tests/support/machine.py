"""A scheduler whose time and whose runs are in the test's hands."""

from __future__ import annotations

from collections.abc import Collection
from concurrent.futures import Future
from pathlib import Path

from halo_scheduler.actions.run_services import Ended
from halo_scheduler.clock import ManualClock
from halo_scheduler.conditions.surroundings import Finding
from halo_scheduler.model import Condition, Job, Outcome, Proposal, Run, SkipReason
from halo_scheduler.model.messages import text_message
from halo_scheduler.service.scheduler import Scheduler

START = 1_735_689_600_000  # 2025-01-01T00:00Z


class FakeSurroundings:
    """Surroundings that are as the test says; what it says nothing about does not hold."""

    def __init__(self) -> None:
        self.truths: dict[Condition, bool | None] = {}
        self.asked: list[Condition] = []
        self.watched: frozenset[Condition] = frozenset()

    def find(self, condition: Condition, now_ms: int) -> Finding:
        assert now_ms
        self.asked.append(condition)
        truth = self.truths.get(condition, False)
        return Finding(truth, text_message({True: "", False: "it is not so", None: "unknown"}[truth]))

    def watch(self, conditions: Collection[Condition]) -> None:
        self.watched = frozenset(conditions)

    def close(self) -> None:
        self.watched = frozenset()


class Bench:
    """A scheduler, its clock, and the runs that were started and are still under way."""

    def __init__(self, path: Path, *, max_concurrent: int | None = None, now_ms: int = START) -> None:
        self.path = path
        self.max_concurrent = max_concurrent
        self.clock = ManualClock(now_ms)
        self.started: list[Run] = []
        self.open_runs: dict[str, Future[Outcome | None]] = {}
        self.surroundings = FakeSurroundings()
        self.scheduler = self._open()

    def _open(self) -> Scheduler:
        scheduler = Scheduler.open(self.path, clock=self.clock, max_concurrent=self.max_concurrent)
        scheduler.on_job_due(self._begin)
        scheduler.engine.surroundings = self.surroundings
        return scheduler

    def _begin(self, _job: Job, run: Run) -> Future[Outcome | None]:
        future: Future[Outcome | None] = Future()
        self.open_runs[run.id] = future
        self.started.append(run)
        return future

    def tick(self, advance_ms: int = 0) -> list[Run]:
        """Move on, tick, and return the runs that this started."""
        self.clock.advance(advance_ms)
        before = len(self.started)
        self.scheduler.tick()
        return self.started[before:]

    def finish(self, run: Run, outcome: Outcome | None = None, *, error: Exception | None = None) -> None:
        """End a run, and let the engine record it."""
        future = self.open_runs.pop(run.id)
        if error is not None:
            future.set_exception(error)
        else:
            future.set_result(outcome)
        self.tick()

    def end(
        self,
        run: Run,
        outcome: Outcome = Outcome.SUCCESS,
        *,
        cost: float | None = None,
        question: str = "",
        reason: SkipReason | None = None,
        proposal: Proposal | None = None,
    ) -> None:
        """End a run as a process could that says something about itself, and let the engine record it."""
        self.open_runs.pop(run.id)
        ended = Ended(
            run_id=run.id, outcome=outcome, cost=cost, question=question, reason=reason, proposal=proposal
        )
        self.scheduler.engine.get_engine().handle.end(ended)
        self.tick()

    def job(self, job_id: str) -> Job:
        """Return a job as it stands."""
        job = self.scheduler.get_job(job_id)
        assert job is not None
        return job

    def recorded(self, run_id: str) -> Run:
        """Return a run as far as it is recorded."""
        run = self.scheduler.get_run(run_id)
        assert run is not None
        return run

    def crash(self) -> None:
        """Lose the process: nothing is recorded, nothing given up, and a new one comes."""
        self.scheduler._store.close()
        self.open_runs.clear()
        self.scheduler = self._open()

    def close(self) -> None:
        for future in self.open_runs.values():
            future.cancel()
        self.scheduler.close()
