"""When nobody was awake to run the jobs, or could record what happened."""

from __future__ import annotations

from dataclasses import dataclass

from halo_scheduler.host.process import is_alive
from halo_scheduler.store.events import EventKind
from halo_scheduler.store.store import Store
from halo_scheduler.wording.plans import moment_in_words

# A clock that was set back puts the journal out of order: the first entry need not be the right one.
_LOOKED_AT = 20


@dataclass(frozen=True, slots=True)
class EngineGap:
    """A time without an engine that is awake; it has no beginning before the first, no end after the last."""

    began_at: int | None
    ended_at: int | None
    is_sleep: bool = False
    is_outage: bool = False

    def words(self, now_ms: int) -> str:
        """Return "Halo was not running from 22:00 to 07:30"."""
        if self.ended_at is None:
            began = "" if self.began_at is None else f" since {moment_in_words(self.began_at, now_ms)}"
            return f"Halo has not been running{began}"
        what = "the machine slept" if self.is_sleep else "Halo was not running"
        if self.is_outage:
            what = "the database could not be written"
        ended = moment_in_words(self.ended_at, now_ms)
        if self.began_at is None:
            return f"{what} until {ended}"
        return f"{what} from {moment_in_words(self.began_at, now_ms)} to {ended}"


def is_awake(store: Store, now_ms: int) -> bool:
    """Tell whether some engine runs the jobs, in whatever process."""
    row = store.lease.read()
    return row is not None and row.is_held(now_ms) and is_alive(row.pid, row.process_start)


def gap_at(store: Store, at: int, now_ms: int) -> EngineGap | None:
    """Return the time without an engine in which an instant lies."""
    for event in store.events.of_kinds(None, [EventKind.STORE_OUTAGE]):
        if event.detail["since"] <= at < event.at:
            return EngineGap(event.detail["since"], event.at, is_outage=True)
    for event in store.events.gaps_after(at, _LOOKED_AT):
        is_sleep = event.kind is EventKind.SLEEP_GAP
        began_at = event.detail.get("since" if is_sleep else "awake_until")
        if began_at is None or began_at < at:
            return EngineGap(began_at, event.at, is_sleep)
    if is_awake(store, now_ms):
        return None
    row = store.lease.read()
    if row is None:
        return EngineGap(None, None)
    return None if at <= row.awake_until else EngineGap(row.awake_until, None)
