"""When nobody was awake to run the jobs."""

from __future__ import annotations

from dataclasses import dataclass

from halo_scheduler.host.process import is_alive
from halo_scheduler.schedule.explain import moment_in_words
from halo_scheduler.store.events import EventKind
from halo_scheduler.store.store import Store

# A clock that was set back puts the journal out of order: the first entry need not be the right one.
_LOOKED_AT = 20


@dataclass(frozen=True, slots=True)
class EngineGap:
    """A time without an engine that is awake; it has no beginning before the first, no end after the last."""

    began_at: int | None
    ended_at: int | None
    is_sleep: bool = False

    def words(self, now_ms: int) -> str:
        """Return "Halo was not running from 22:00 to 07:30"."""
        what = "the machine slept" if self.is_sleep else "Halo was not running"
        if self.began_at is not None:
            what += f" from {moment_in_words(self.began_at, now_ms)}"
        if self.ended_at is not None:
            return f"{what} {'until' if self.began_at is None else 'to'} {moment_in_words(self.ended_at, now_ms)}"
        return f"{what} on" if self.began_at is not None else "Halo has never run yet"


def gap_at(store: Store, at: int, now_ms: int) -> EngineGap | None:
    """Return the time without an engine in which an instant lies."""
    for event in store.events.gaps_after(at, _LOOKED_AT):
        is_sleep = event.kind is EventKind.SLEEP_GAP
        began_at = event.detail.get("since" if is_sleep else "awake_until")
        if began_at is None or began_at < at:
            return EngineGap(began_at, event.at, is_sleep)
    row = store.lease.read()
    if row is None:
        return EngineGap(None, None)
    is_running = row.is_held(now_ms) and is_alive(row.pid, row.process_start)
    return None if is_running or at <= row.awake_until else EngineGap(row.awake_until, None)
