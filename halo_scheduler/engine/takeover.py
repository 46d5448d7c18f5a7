"""Taking the engine's row, inside the transaction in which an engine starts."""

from __future__ import annotations

from typing import NamedTuple

from halo_scheduler.errors import EngineHeldError
from halo_scheduler.host.process import is_alive, own_identity
from halo_scheduler.store.events import EventKind
from halo_scheduler.store.lease import LEASE_MS, EngineRow
from halo_scheduler.store.store import Store


class Takeover(NamedTuple):
    """The row as the last engine left it, if there was one, and the number of the new one."""

    before: EngineRow | None
    generation: int

    @property
    def awake_until(self) -> int:
        """When the last engine ticked last."""
        return 0 if self.before is None else self.before.last_tick_at


def take_over(store: Store, owner: str, zone: str, now_ms: int) -> Takeover:
    """Take the row from nobody, or from an engine that is gone; EngineHeldError names one that is not."""
    before = store.lease.read()
    if before is not None and before.is_held(now_ms) and is_alive(before.pid, before.process_start):
        raise EngineHeldError(f"the jobs are run by {before.owner} (process {before.pid})")
    pid, process_start = own_identity()
    generation = 1 if before is None else before.generation + 1
    store.lease.take(
        EngineRow(
            generation=generation,
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
            file=store.database.identity,
        )
    )
    store.events.append(
        now_ms,
        EventKind.ENGINE_STARTED,
        owner=owner,
        generation=generation,
        awake_until=None if before is None else before.awake_until,
    )
    return Takeover(before, generation)
