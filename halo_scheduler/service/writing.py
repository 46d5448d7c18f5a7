"""What all that changes something has in common: whoever listens is told."""

from __future__ import annotations

from abc import ABC, abstractmethod

from halo_scheduler.model import Hints
from halo_scheduler.model.changes import Change
from halo_scheduler.rules.chains import ask_instead_of_retry
from halo_scheduler.rules.planning import plan
from halo_scheduler.service.queries import Reader
from halo_scheduler.store.job_records import JobRecord


class Writer(Reader, ABC):
    """Reads and writes; a part of the scheduler, which says how changes are told."""

    @abstractmethod
    def _changed(self, *changes: Change) -> None:
        """Let the engine, in this process or another, look at what we wrote."""

    def _is_in_its_slot(self, record: JobRecord) -> bool:
        """Whether the job runs because it was due: then it is planned when that run ends."""
        return record.run_id is not None and self._store.runs.is_scheduled(record.run_id)

    def _without_hints(self, record: JobRecord, now_ms: int) -> JobRecord:
        """Return a job without advice, planned as its schedule says."""
        cleared = record.evolve(hints=Hints())
        # A retry stays where it is: it belongs to a slot that was due before.
        if record.attempt > 1 or self._is_in_its_slot(record):
            return cleared
        return plan(cleared, now_ms, self._store.runs.has_slot)

    def _ask_instead_of_retry(self, before: JobRecord, after: JobRecord) -> list[Change]:
        """Ask for what follows a failed attempt that a change leaves without the next: it was the last after all."""
        if before.slot_at == after.slot_at and before.attempt == after.attempt:
            return []
        return ask_instead_of_retry(self._store, before.evolve(spec=after.spec))
