"""Recording runs that never start; always inside the engine's transaction."""

from __future__ import annotations

from dataclasses import replace

from halo_scheduler.model import Outcome, Run, SkipReason
from halo_scheduler.model.changes import Change, ChangeKind
from halo_scheduler.store.store import Store


class SkippedRuns:
    """Writes them for one engine, whose generation every run carries; tells of them once that is true."""

    def __init__(self, store: Store, generation: int) -> None:
        self._store = store
        self._generation = generation
        self._news: list[Change] = []

    def skip(self, run: Run, reason: SkipReason, error: str, now_ms: int) -> None:
        """Record that a run that was to start does not."""
        self._store.runs.insert(
            [
                replace(
                    run,
                    outcome=Outcome.SKIPPED,
                    reason=reason,
                    error=error,
                    started_at=None,
                    finished_at=now_ms,
                )
            ],
            self._generation,
        )
        self.tell(Change(ChangeKind.RUN_FINISHED, job_id=run.job_id, run_id=run.id))

    def tell(self, *changes: Change) -> None:
        """Keep changes to tell of until they are true."""
        self._news += changes

    def take_news(self) -> list[Change]:
        """Return what there is to tell, once."""
        news, self._news = self._news, []
        return news
