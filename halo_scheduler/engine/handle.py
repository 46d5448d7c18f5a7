"""The engine as runs, work queues and conditions see it: its lease, clock, threads and inbox."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace

from halo_scheduler.actions.run_services import Ended
from halo_scheduler.actions.threads import DaemonPool, Inbox
from halo_scheduler.clock import Clock
from halo_scheduler.engine.active_runs import ActiveRuns
from halo_scheduler.errors import EngineHeldError, StaleEngineError, StoreError, StoreUnavailableError
from halo_scheduler.host.disk_space import disk_space
from halo_scheduler.host.process import is_alive, own_identity
from halo_scheduler.model import Run
from halo_scheduler.model.alarms import StoreTrouble, TroubleKind
from halo_scheduler.model.changes import Change, ChangeKind
from halo_scheduler.model.messages import Message, MessageKind, message
from halo_scheduler.model.runs import new_run_id
from halo_scheduler.model.words import Shortage
from halo_scheduler.store.events import EventKind
from halo_scheduler.store.lease import LEASE_MS, EngineRow
from halo_scheduler.store.requests import Request, RequestKind
from halo_scheduler.store.store import Store

_SURELY_OURS_MS = 1_000
_LOG = logging.getLogger(__name__)


class HeldLease:
    """The lease of this engine: its generation, and when it was last renewed."""

    def __init__(self, store: Store, clock: Clock) -> None:
        self._store = store
        self._clock = clock
        self.generation = 0
        self.renewed_at = 0
        self.renewed_ms = clock.monotonic_ms()
        """When it was renewed, by the monotonic clock."""
        self._in_place_ms: int | None = None

    @property
    def is_held(self) -> bool:
        return self.generation > 0

    def take(self, owner: str, zone: str, now_ms: int) -> EngineRow | None:
        """Take the lease if it is free or its holder is gone; EngineHeldError names a living holder.

        Runs inside the engine's start transaction. Returns the row as the previous engine left it.
        """
        before = self._store.lease.read()
        if before is not None and before.is_held(now_ms) and is_alive(before.pid, before.process_start):
            raise EngineHeldError(f"the jobs are run by {before.owner} (process {before.pid})")
        self.generation = 1 if before is None else before.generation + 1
        self._store.lease.take(self._row(owner, zone, now_ms))
        self._store.events.append(
            now_ms,
            EventKind.ENGINE_STARTED,
            owner=owner,
            generation=self.generation,
            awake_until=None if before is None else before.awake_until,
        )
        return before

    def _row(self, owner: str, zone: str, now_ms: int) -> EngineRow:
        pid, process_start = own_identity()
        return EngineRow(
            generation=self.generation,
            owner=owner,
            pid=pid,
            process_start=process_start,
            expires_at=now_ms + LEASE_MS,
            started_at=now_ms,
            stopped_at=None,
            last_tick_at=now_ms,
            ticks=0,
            runs=0,
            zone=zone,
            file=self._store.database.identity,
        )

    def note_renewed(self, now_ms: int) -> None:
        """Note the renewal of the lease, after its commit."""
        self.renewed_at = now_ms
        self.renewed_ms = self._clock.monotonic_ms()
        self._in_place_ms = None

    def is_surely_held(self) -> bool:
        """Return, on any thread, whether the lease cannot have expired since its last renewal.

        Both clocks must agree: other engines judge by the wall clock, which may be set while this process is suspended.
        """
        by_wall_ms = abs(self._clock.now_ms() - self.renewed_at)
        return max(by_wall_ms, self._clock.monotonic_ms() - self.renewed_ms) < LEASE_MS

    def check_before_start(self) -> None:
        """Raise StaleEngineError if another engine has taken over; called right before each start.

        A lease renewed within the last second is not checked. Otherwise the store is read: this process may have been
        suspended for longer than the lease lasts. If the database file or its journal was replaced, another engine
        may run the same slot; thousands may start at once, so the files are checked once per millisecond.
        """
        if abs(self._clock.now_ms() - self.renewed_at) > _SURELY_OURS_MS:
            self._store.lease.check(self.generation)
        now_ms = self._clock.monotonic_ms()
        if now_ms != self._in_place_ms:
            self._store.database.require_in_place()
            self._in_place_ms = now_ms

    def note_stopping(self) -> bool:
        """Record that the engine is stopping; return whether that could be recorded."""
        try:
            with self.transaction():
                self._store.lease.note_stopping(self.generation, self._clock.now_ms())
        except (StaleEngineError, StoreError) as error:
            _LOG.debug("The stop of the engine could not be recorded: %s", error)
            return False
        return True

    def note_resumed(self) -> None:
        """Record that the engine continues after all."""
        with self.transaction():
            self._store.lease.note_stopping(self.generation, None)

    @contextmanager
    def transaction(self) -> Iterator[None]:
        """Open a transaction outside a tick, provided that this engine still holds the lease."""
        with self._store.transaction():
            self._store.lease.check(self.generation)
            yield

    def release(self, running: int) -> None:
        """Release the lease."""
        now_ms = self._clock.now_ms()
        with self._store.transaction():
            if self._store.lease.give_up(self.generation, now_ms):
                self._store.events.append(now_ms, EventKind.ENGINE_STOPPED, running=running)

    def forget(self) -> None:
        """Forget the lease, whether or not its release could be written."""
        self.generation = 0


class StartWaits:
    """What the starts of runs wait for, kept until it is recorded; and whether they found the disk full."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._waiting: dict[str, Shortage] = {}
        self._unrecorded: dict[str, Shortage | None] = {}
        self._full_since: int | None = None
        self._has_lacked_disk = False

    @property
    def has_news(self) -> bool:
        """Whether a tick is due: something is not recorded, or a start found the disk full."""
        return bool(self._unrecorded) or (self._lacks_disk and not self._has_lacked_disk)

    @property
    def _lacks_disk(self) -> bool:
        return Shortage.DISK in self._waiting.values()

    def note(self, run_id: str, shortage: Shortage | None) -> None:
        """Note what the start of a run waits for; None once it has started."""
        self._unrecorded[run_id] = shortage
        self._waiting.pop(run_id, None)
        if shortage is not None:
            self._waiting[run_id] = shortage

    def end(self, run_id: str) -> None:
        """Forget the start of a run that has ended."""
        self._waiting.pop(run_id, None)
        self._unrecorded.pop(run_id, None)

    def record(self) -> None:
        """Store what is not recorded yet, inside the caller's transaction."""
        for run_id, shortage in self._unrecorded.items():
            self.save(run_id, shortage)
            recorded = None if shortage is None else self._store.runs.get(run_id)
            note = message(MessageKind.WAITED_FOR_SHORTAGE, shortage=shortage)
            if recorded is not None and note not in recorded.notes:
                self._store.runs.add_note(run_id, note)

    def save(self, run_id: str, shortage: Shortage | None) -> None:
        """Store what the start of a run waits for, inside the caller's transaction."""
        self._store.jobs.save_start_wait(run_id, shortage)
        waiting = message(MessageKind.WAITING_FOR_SHORTAGE, shortage=shortage)
        self._store.runs.save_start_wait(run_id, None if shortage is None else waiting)

    def note_recorded(self) -> None:
        """Note that the transaction was committed."""
        self._unrecorded.clear()

    def trouble(self, now_ms: int) -> StoreTrouble | None:
        """Return that the disk is full, or almost: runs lack space, but none has failed to start for that reason."""
        path = self._store.database.path
        space = disk_space(str(path.parent))
        if not self._lacks_disk and (space is None or not space.is_full):
            self._full_since, self._has_lacked_disk = None, False
            return None
        if self._full_since is None or self._lacks_disk > self._has_lacked_disk:
            self._full_since = now_ms
        self._has_lacked_disk |= self._lacks_disk
        if self._has_lacked_disk:
            return StoreTrouble(
                TroubleKind.FULL, self._full_since, f"the disk of {path} is full; free some space"
            )
        detail = f"the disk of {path} has almost no free space, so jobs may fail"
        return StoreTrouble(TroubleKind.ALMOST_FULL, self._full_since, detail)


class Handle:
    """What the engine passes to runs, work queues and conditions; the engine drains what they post."""

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
        self.start_waits = StartWaits(store)
        self.wake: Callable[[], None] = lambda: None
        """Called from whatever thread when something was posted."""

    def now_ms(self) -> int:
        """Return the current instant."""
        return self._clock.now_ms()

    def submit(self, work: Callable[[], None]) -> None:
        """Run a call that may block on another thread."""
        self._pool.submit(work)

    def is_in_charge(self) -> bool:
        """Return, on any thread, whether this engine certainly still holds the lease."""
        return self._lease.is_surely_held()

    def post(self, news: Callable[[], None]) -> None:
        """Run a call on the engine's thread, from any thread."""
        self._inbox.put(news)
        self._wake_once()

    def drain(self) -> None:
        """Run the posted calls, on the engine's thread."""
        self._inbox.take_in()

    def wait(self, timeout_s: float) -> bool:
        """Wait for a posted call and run it, for callers without an event loop; return whether there was one."""
        return self._inbox.wait(timeout_s)

    def end(self, ended: Ended) -> None:
        """Take the end of a run, on the engine's thread."""
        self.start_waits.end(ended.run_id)
        # While the store cannot be written, the end is recorded much later.
        self.ended.append(ended if ended.finished_at is not None else self.timed(ended))
        self._wake_once()

    def timed(self, ended: Ended) -> Ended:
        """Return the end of a run as one that happens now."""
        at = self._clock.now_ms()
        return ended._replace(finished_at=at, clock_step_ms=self._runs.clock_step_ms(ended.run_id, at))

    def _wake_once(self) -> None:
        if self._inbox.needs_wake():
            self.wake()

    @property
    def has_news(self) -> bool:
        """Whether a tick is due for what runs reported."""
        return bool(self.ended) or self.start_waits.has_news

    def forget_recorded(self) -> None:
        """Forget what a tick has recorded, after its commit."""
        self.ended = []
        self.start_waits.note_recorded()

    def note_start_wait(self, run: Run, shortage: Shortage | None) -> None:
        """Show what the start of a run waits for, on the engine's thread; None once it has started."""
        self.start_waits.note(run.id, shortage)
        try:
            with self._lease.transaction():
                self.start_waits.record()
        except StoreUnavailableError as error:
            # The run starts nevertheless, and the next tick tries again, which reports what is wrong.
            _LOG.debug("The wait of a run could not be recorded: %s", error)
        else:
            self.start_waits.note_recorded()
        self._publish(Change(ChangeKind.JOB, job_id=run.job_id))

    def snooze(self, job_id: str, for_ms: int) -> None:
        """Ask for another run of a job that starts no earlier than then, on the engine's thread."""
        at = self._clock.now_ms() + for_ms
        request = Request(kind=RequestKind.LATER, job_id=job_id, run_id=new_run_id(), at=at)
        with self._lease.transaction():
            self._store.requests.append(request)
        self._publish(Change(ChangeKind.JOB, job_id=job_id))

    def save_progress(self, news: Sequence[tuple[str, float, str]]) -> None:
        """Store the progress of runs; a failed write is reported by the next tick."""
        try:
            with self._lease.transaction():
                self._store.runs.save_progress(news)
        except StoreUnavailableError as error:
            _LOG.debug("Progress could not be recorded: %s", error)
            return
        for run_id, _, _ in news:
            job_id = self._runs[run_id].run.job_id
            self._publish(Change(ChangeKind.RUN_PROGRESS, job_id=job_id, run_id=run_id))

    def note_item(self, run_id: str, work_id: str, title: str, url: str) -> None:
        """Store which work item a run has taken, on the engine's thread."""
        with self._lease.transaction():
            self._store.runs.save_work(run_id, work_id, title, url)
        active_run = self._runs.get(run_id)
        if active_run is not None:
            run = replace(active_run.run, work_id=work_id, work_title=title, work_url=url)
            self._runs.add(active_run._replace(run=run))
            self._publish(Change(ChangeKind.RUN_PROGRESS, job_id=run.job_id, run_id=run_id))

    def note_on(self, run: Run, note: Message) -> None:
        """Add a note to an active or recorded run; the same note is added once, even across restarts."""
        recorded = self._store.runs.get(run.id)
        if recorded is None or note in recorded.notes:
            return
        with self._lease.transaction():
            self._store.runs.add_note(run.id, note)
        kind = ChangeKind.RUN_PROGRESS if run.id in self._runs else ChangeKind.RUN_FINISHED
        self._publish(Change(kind, job_id=run.job_id, run_id=run.id))
