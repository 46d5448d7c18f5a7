"""The lease that makes this process the engine of a database: taken at the start, renewed by every tick."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from halo_scheduler.clock import Clock
from halo_scheduler.errors import EngineHeldError
from halo_scheduler.host.process import is_alive, own_identity
from halo_scheduler.store.events import EventKind
from halo_scheduler.store.lease import LEASE_MS, EngineRow
from halo_scheduler.store.store import Store

_SURELY_OURS_MS = 1_000


class HeldLease:
    """Knows the generation of this engine, and when its lease was last renewed."""

    def __init__(self, store: Store, clock: Clock) -> None:
        self._store = store
        self._clock = clock
        self.generation = 0
        self.renewed_at = 0
        self.renewed_ms = clock.monotonic_ms()
        """When it was renewed, by the monotonic clock."""

    @property
    def is_held(self) -> bool:
        return self.generation > 0

    def take(self, owner: str, zone: str, now_ms: int) -> EngineRow | None:
        """Take it from nobody, or from an engine that is gone; EngineHeldError names one that is not.

        This is done inside the transaction in which the engine starts. Return it as the last engine left it.
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
        """Remember that it was renewed, once that is committed."""
        self.renewed_at = now_ms
        self.renewed_ms = self._clock.monotonic_ms()

    def is_surely_held(self) -> bool:
        """Tell, on whatever thread, whether it cannot have run out since it was last renewed.

        Others judge it by the wall clock, which may have been set while this process stood still.
        """
        by_wall_ms = abs(self._clock.now_ms() - self.renewed_at)
        return max(by_wall_ms, self._clock.monotonic_ms() - self.renewed_ms) < LEASE_MS

    def check_before_start(self) -> None:
        """Raise StaleEngineError if another engine has taken over; right before each start, once more.

        Nobody takes over a lease that was renewed within this second; but this process may have been frozen since,
        for longer than the lease lasts.
        """
        if abs(self._clock.now_ms() - self.renewed_at) > _SURELY_OURS_MS:
            self._store.lease.check(self.generation)

    @contextmanager
    def transaction(self) -> Iterator[None]:
        """Write something beside a tick, as long as this engine holds the lease."""
        with self._store.transaction():
            self._store.lease.check(self.generation)
            yield

    def release(self, running: int) -> None:
        """Leave it to others."""
        now_ms = self._clock.now_ms()
        with self._store.transaction():
            if self._store.lease.give_up(self.generation, now_ms):
                self._store.events.append(now_ms, EventKind.ENGINE_STOPPED, running=running)

    def forget(self) -> None:
        """Hold nothing any more, whether or not that could be written."""
        self.generation = 0
