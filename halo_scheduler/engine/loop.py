"""The loop: one precise single-shot timer that wakes the engine."""

from __future__ import annotations

import logging
import sys
from collections.abc import Callable
from typing import Protocol

from PySide6.QtCore import QEventLoop, QObject, Qt

from halo_scheduler.clock import Clock
from halo_scheduler.engine.engine import MAX_DELAY_MS, Engine
from halo_scheduler.engine.maintenance import Maintenance
from halo_scheduler.engine.watchdog import LoopWatch, StartWatch, record_alarm
from halo_scheduler.errors import (
    SchedulerError,
    StaleEngineError,
    StoreDamagedError,
    StoreError,
    StoreReplacedError,
)
from halo_scheduler.host.event_loop import HAS_PIDFD, Mailbox, Notifier, NotifierWatch, Timer
from halo_scheduler.host.process import ThreadWatch
from halo_scheduler.host.signals import ClockChanges
from halo_scheduler.ipc.server import ChangeServer
from halo_scheduler.model.alarms import Alarm, AlarmKind, StoreTrouble, TroubleKind
from halo_scheduler.model.changes import Change, ChangeKind
from halo_scheduler.store.store import Store
from halo_scheduler.triggers.watching import Watching

_LOG = logging.getLogger(__name__)
_AFTER_FAULT_MS = 5_000
# Failed attempts to record the last ends before a stop proceeds without them.
_MOST_FAULTS = 2
# The shortest sleep between heartbeats, so that the loop does not spin.
_LEAST_SLEEP_MS = 50
_LONGEST_WAIT_MS = 2**31 - 1


class WakeSource(Protocol):
    """A system descriptor that becomes readable when the engine may have to tick."""

    def fileno(self) -> int: ...

    def take(self) -> bool:
        """Return whether it fired since the last call; OSError if it has failed for good."""

    def close(self) -> None: ...


class Listener(QObject):
    """Listens to a wake source; without one, the engine notices the change at its next tick, within a minute."""

    def __init__(
        self,
        open_source: Callable[[], WakeSource | None],
        heard: Callable[[], None],
        parent: QObject | None = None,
    ) -> None:
        """`open_source` returns None where the system has no such source."""
        super().__init__(parent)
        self._open_source = open_source
        self._heard = heard
        self._source: WakeSource | None = None
        self._notifier: Notifier | None = None

    def start(self) -> bool:
        """Start listening; return whether there is a source."""
        self._source = self._open_source()
        if self._source is None:
            return False
        self._notifier = Notifier(self._source.fileno(), self._take, self)
        return True

    def close(self) -> None:
        """Stop listening."""
        if self._source is None or self._notifier is None:
            return
        self._notifier.setEnabled(False)
        self._source.close()
        self._source = None

    def _take(self) -> None:
        if self._source is None:
            return
        try:
            has_happened = self._source.take()
        except OSError as error:
            _LOG.info("System events are no longer received: %s", error)
            self.close()
            return
        if has_happened:
            self._heard()


def _open_wake_events() -> WakeSource | None:
    """Return the source that reports wake-ups of the computer; None without a system bus."""
    if sys.platform != "linux":
        return None
    from halo_scheduler.host.bus_events import WakeEvents  # noqa: PLC0415 - only on Linux

    try:
        return WakeEvents()
    except OSError as error:
        _LOG.debug("Sleep cannot be observed: %s", error)
        return None


class EngineLoop(QObject):
    """Drives an engine from a Qt event loop.

    The loop and its parts have no signal connections, so they can be destroyed off the window's thread (docs/adr/0010).
    """

    def __init__(
        self,
        engine: Engine,
        clock: Clock,
        store: Store,
        *,
        changed: Callable[[Change], None],
        lost: Callable[[SchedulerError], None],
        heartbeat: Callable[[], None] = lambda: None,
        heartbeat_ms: int | None = None,
        alarmed: Callable[[Alarm], None] = lambda _alarm: None,
    ) -> None:
        """`changed` gets changes made by other processes; `lost` gets the error that made this engine stop for good.

        `heartbeat` is called whenever the loop works, at least every `heartbeat_ms`.

        `alarmed` is called on any thread when the engine hangs or starts nothing.
        """
        super().__init__()
        self._engine = engine
        # Several calls from other threads make one tick.
        self._mailbox = Mailbox(self)
        self._watch = NotifierWatch(self._mailbox.post, self) if HAS_PIDFD else None
        engine.resources.equip(self._watch or ThreadWatch(engine.handle.post))
        self._clock = clock
        self._path = store.database.path
        self._maintenance = Maintenance(store)
        self._server = ChangeServer(store.database.path, self._hear_change, self, stop_wanted=self.stop_run)
        self._watching = Watching(
            store,
            clock,
            generation=lambda: engine.generation,
            post=self._mailbox.post,
            stored=self._take_events,
            is_output_awaited=engine.is_output_awaited,
        )
        self._wake_listener = Listener(_open_wake_events, self.look_again, self)
        self._clock_listener = Listener(ClockChanges.open, self.look_again, self)
        self._changed = changed
        self._lost = lost
        self._heartbeat = heartbeat
        self._longest_sleep_ms = min(max(heartbeat_ms or MAX_DELAY_MS, _LEAST_SLEEP_MS), MAX_DELAY_MS)
        self._alarmed = alarmed
        self._loop_watch = LoopWatch(clock, lambda: self._raise_alarm(AlarmKind.SILENT))
        self._start_watch = StartWatch(clock)
        self._timer = Timer(self._wake_up, self, Qt.TimerType.PreciseTimer)
        # No child: an engine that is lost while `stop` waits is destroyed before the wait returns.
        self._waiting = QEventLoop()
        self._wait_limit = Timer(self._waiting.quit, self._waiting)
        self._must_tick = True
        self._is_stopped = False
        self._faults = 0
        self._trouble: StoreTrouble | None = None
        self._retry_ms = 0

    def start(self) -> None:
        """Take the lease and start ticking."""
        self._engine.start()
        self._engine.handle.wake = lambda: self._mailbox.post(self._drain_inbox)
        self._engine.resources.read_environment()
        self._server.start()
        self._wake_listener.start()
        self._clock_listener.start()
        self._loop_watch.start()
        self._timer.start(0)

    def look_again(self) -> None:
        """Tick as soon as the event loop is free, because something changed."""
        if not self._is_stopped:
            self._must_tick = True
            self._timer.start(0)

    def stop(self) -> None:
        """Stop ticking for good."""
        self._is_stopped = True
        self._waiting.quit()
        self._timer.stop()
        self._loop_watch.stop()
        self._watching.close()
        self._wake_listener.close()
        self._clock_listener.close()
        self._server.stop()
        self._maintenance.finish()
        self._engine.handle.wake = lambda: None
        self._engine.leave_runs()
        if self._watch is not None:
            self._watch.close()
        self._mailbox.close()

    def wait_until_idle(self, timeout_ms: int) -> int:
        """Run the event loop until all runs are recorded or the time is up; return how many have not ended.

        Ended runs that cannot be recorded are not waited for: the next engine records them.
        """
        if self._engine.running_count:
            self._wait_limit.start(min(max(0, timeout_ms), _LONGEST_WAIT_MS))
            self._waiting.exec()
            self._wait_limit.stop()
        return self._engine.living_count

    def stop_waiting(self) -> None:
        """Let `wait_until_idle` return."""
        self._waiting.quit()

    def tell(self, change: Change) -> None:
        """Send a change to the listeners in other processes."""
        self._server.tell(change)

    def _hear_change(self, change: Change) -> None:
        # Several changes cause one tick: the timer fires only after all of them are read.
        self.look_again()
        self._changed(change)

    def _take_events(self, changes: list[Change]) -> None:
        """Publish the changes that watchers stored, and tick: their runs are due."""
        for change in changes:
            self._changed(change)
        self.look_again()

    def _keep_house(self) -> None:
        try:
            self._maintenance.tick(self._clock.now_ms())
        except Exception:  # noqa: BLE001 - maintenance must never keep jobs from running
            _LOG.exception("Housekeeping failed.")

    def _drain_inbox(self) -> None:
        """Run the calls posted by other threads; tick at once only if a run ended."""
        if self._is_stopped:
            return
        if self._engine.drain_inbox():
            self.look_again()
        elif not self._must_tick:
            self._timer.start(min(self._engine.poll_delay_ms(), max(self._timer.remainingTime(), 0)))

    def _wake_up(self) -> None:
        """Tick, or only poll the runs if nothing else is due."""
        try:
            is_tick_due = self._engine.poll() or self._must_tick or self._engine.delay_ms() == 0
            rest_ms = self._retry_ms - self._clock.monotonic_ms()
            if self._trouble is not None and rest_ms > 0:
                delay_ms = min(rest_ms, self._engine.poll_delay_ms())
            else:
                if is_tick_due:
                    self._tick()
                delay_ms = min(self._engine.delay_ms(), self._engine.poll_delay_ms())
                delay_ms = min(delay_ms, self._find_full_disk())
        except (StaleEngineError, StoreReplacedError, StoreDamagedError) as error:
            self._lose(error)
            return
        except StoreError as error:
            # Nothing is lost: ends are kept until they can be recorded.
            self._retry_ms = self._clock.monotonic_ms() + _AFTER_FAULT_MS
            self._tell_trouble(self._engine.trouble(error))
            self._faults += 1
            self._must_tick, delay_ms = True, min(_AFTER_FAULT_MS, self._engine.poll_delay_ms())
            # The loop works; only the store does not.
            self._loop_watch.beat()
            self._heartbeat()
        except Exception:  # noqa: BLE001 - the loop continues after any error: jobs depend on it
            _LOG.exception("A tick failed.")
            self._must_tick, delay_ms = True, _AFTER_FAULT_MS
        else:
            self._heartbeat()
        if not self._is_stopped:
            self._timer.start(min(max(delay_ms, 0), self._longest_sleep_ms))
        is_stuck = self._faults >= _MOST_FAULTS and not self._engine.living_count
        if is_stuck or not self._engine.running_count:
            self._waiting.quit()

    def _tick(self) -> None:
        self._must_tick = False
        started = self._engine.tick()
        self._loop_watch.beat()
        if self._start_watch.is_stuck(has_started=bool(started), is_overlooking=self._engine.is_overlooking):
            _LOG.error("A run is due and the limit allows it, but none is started.")
            self._raise_alarm(AlarmKind.STARVED)
        self._watching.follow()
        self._keep_house()

    def _find_full_disk(self) -> int:
        """Report whether the disk is full, after a tick that could be recorded; return when to check again."""
        self._faults = 0
        trouble = self._engine.handle.start_waits.trouble(self._clock.now_ms())
        self._tell_trouble(trouble)
        return MAX_DELAY_MS if trouble is None else _AFTER_FAULT_MS

    def _tell_trouble(self, trouble: StoreTrouble | None) -> None:
        """Report a problem with the store, or None when it is over, once per change."""
        if trouble is not None and (self._trouble is None or self._trouble.detail != trouble.detail):
            has_stopped = trouble.kind is not TroubleKind.ALMOST_FULL
            effect = " No jobs start and no run is recorded until then." if has_stopped else ""
            _LOG.error("%s.%s", trouble.detail, effect)
        if trouble != self._trouble:
            self._trouble = trouble
            self._server.tell_trouble(trouble)

    def stop_run(self, run_id: str) -> None:
        """Stop a run without going through the store."""
        self._engine.stop_run(run_id)
        self.look_again()

    def _lose(self, error: SchedulerError) -> None:
        _LOG.error("%s; this engine stops.", error)
        self.stop()
        self._lost(error)

    # --- The watchdog --------------------------------------------------------------------------------

    def _raise_alarm(self, kind: AlarmKind) -> None:
        """Record and publish, on any thread, that the engine hangs or starts nothing; then try once to recover."""
        alarm = Alarm(kind, self._clock.now_ms())
        record_alarm(self._path, alarm)
        self._mailbox.post(lambda: self._go_on(kind))
        self._alarmed(alarm)

    def _go_on(self, kind: AlarmKind) -> None:
        """Tick now, with all state cached for claims discarded."""
        if self._is_stopped:
            return
        if kind is AlarmKind.STARVED:
            self._engine.reset_claims()
        self.look_again()
        self._changed(Change(ChangeKind.ENGINE))
