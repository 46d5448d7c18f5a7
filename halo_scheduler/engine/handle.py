"""The engine as its runs see it: its clock, its threads, and where they report what happened."""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import replace

from halo_scheduler.actions.run_services import Ended
from halo_scheduler.actions.threads import DaemonPool, Inbox
from halo_scheduler.clock import Clock
from halo_scheduler.engine.active_runs import ActiveRuns
from halo_scheduler.engine.held_lease import HeldLease
from halo_scheduler.errors import StoreUnavailableError
from halo_scheduler.model import Run, WaitingFor
from halo_scheduler.model.changes import Change, ChangeKind
from halo_scheduler.store.store import Store

_LOG = logging.getLogger(__name__)


class Handle:
    """Given to runs, work sources and conditions; the engine drains what they post."""

    def __init__(
        self,
        store: Store,
        clock: Clock,
        pool: DaemonPool,
        *,
        lease: HeldLease,
        runs: ActiveRuns,
        publish: Callable[[Change], None],
    ) -> None:
        self._store = store
        self._clock = clock
        self._pool = pool
        self._lease = lease
        self._runs = runs
        self._publish = publish
        self._inbox = Inbox()
        self.ended: list[Ended] = []
        """Ends that are known and not recorded yet."""
        self.wake: Callable[[], None] = lambda: None
        """Called from whatever thread when something was posted."""

    def now_ms(self) -> int:
        """Return the current instant."""
        return self._clock.now_ms()

    def submit(self, work: Callable[[], None]) -> None:
        """Do something that may block, on another thread."""
        self._pool.submit(work)

    def is_in_charge(self) -> bool:
        """Tell, on whatever thread, whether nobody else can have taken over meanwhile."""
        return self._lease.is_surely_held()

    def post(self, news: Callable[[], None]) -> None:
        """Do something on the engine's thread, from whatever thread."""
        self._inbox.put(news)
        self._wake_once()

    def drain(self) -> None:
        """Do what was posted, on the engine's thread."""
        self._inbox.take_in()

    def wait(self, timeout_s: float) -> bool:
        """Wait until something is posted and do it, for those who have no event loop; tell whether it was."""
        return self._inbox.wait(timeout_s)

    def end(self, ended: Ended) -> None:
        """Take in the end of a run, on the engine's thread."""
        self.ended.append(ended)
        self._wake_once()

    def _wake_once(self) -> None:
        if self._inbox.needs_wake():
            self.wake()

    def note_start_wait(self, run: Run, waiting_for: WaitingFor | None, reason: str = "") -> None:
        """Show what the start of a run waits for, on the engine's thread; None once it has started."""
        try:
            with self._lease.transaction():
                self.save_start_wait(run.id, waiting_for, reason)
            if waiting_for is not None:
                self.note_on(run, f"it waited for {reason}")
        except StoreUnavailableError as error:
            # Its end carries the reason, too; a full disk must not keep the run from being started.
            _LOG.warning("What a start waits for could not be recorded: %s", error)
        self._publish(Change(ChangeKind.JOB, job_id=run.job_id))

    def save_start_wait(self, run_id: str, waiting_for: WaitingFor | None, reason: str = "") -> None:
        """Store what the start of a run waits for, within a transaction of the caller."""
        self._store.jobs.save_start_wait(run_id, waiting_for, reason)
        self._store.runs.save_start_wait(run_id, "" if waiting_for is None else f"waiting for {reason}")

    def note_item(self, run_id: str, work_id: str, title: str, url: str) -> None:
        """Store which item a run works on, on the engine's thread."""
        with self._lease.transaction():
            self._store.runs.save_work(run_id, work_id, title, url)
        active_run = self._runs.get(run_id)
        if active_run is not None:
            run = replace(active_run.run, work_id=work_id, work_title=title, work_url=url)
            self._runs.add(active_run._replace(run=run))
            self._publish(Change(ChangeKind.RUN_PROGRESS, job_id=run.job_id, run_id=run_id))

    def note_on(self, run: Run, sentence: str) -> None:
        """Add a note to a run, be it under way or recorded; each sentence once, also over a restart."""
        recorded = self._store.runs.get(run.id)
        if recorded is None or sentence in recorded.note:
            return
        with self._lease.transaction():
            self._store.runs.add_note(run.id, sentence)
        kind = ChangeKind.RUN_PROGRESS if run.id in self._runs else ChangeKind.RUN_FINISHED
        self._publish(Change(kind, job_id=run.job_id, run_id=run.id))
