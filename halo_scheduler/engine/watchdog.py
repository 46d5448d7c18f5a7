"""The watchdog: detects that the engine's loop hangs, or that due jobs do not start."""

from __future__ import annotations

import logging
import sys
import threading
import traceback
from collections.abc import Callable
from pathlib import Path

from halo_scheduler.clock import Clock
from halo_scheduler.errors import StoreError
from halo_scheduler.model.alarms import Alarm
from halo_scheduler.store.connection import Database
from halo_scheduler.store.events import EventKind, EventTable

_LOG = logging.getLogger(__name__)
STUCK_MS = 120_000
# The only wake-up of an idle engine beside its own tick each minute.
LOOK_S = 60.0
# A watchdog that wakes this late was suspended with the whole process; the loop gets time to tick first.
_OVERSLEPT_MS = 30_000
_BETWEEN_LOOKS_MS = 30_000


class LoopWatch:
    """Watches from its own thread whether the loop ticks, because a hanging loop cannot notice that itself."""

    def __init__(self, clock: Clock, alarm: Callable[[], None]) -> None:
        """`alarm` is called on the watching thread, once each time the loop stops responding."""
        self._clock = clock
        self._alarm = alarm
        self._ticked_ms = self._looked_ms = clock.monotonic_ms()
        self._is_silent = False
        self._is_over = threading.Event()
        self._watched: int | None = None

    def start(self) -> None:
        """Watch the calling thread."""
        self._watched = threading.get_ident()
        self.beat()
        threading.Thread(target=self._watch, name="halo-watchdog", daemon=True).start()

    def beat(self) -> None:
        """Note that the loop has ticked."""
        self._ticked_ms = self._clock.monotonic_ms()

    def stop(self) -> None:
        self._is_over.set()

    def _watch(self) -> None:
        self._looked_ms = self._clock.monotonic_ms()
        while not self._is_over.wait(LOOK_S):
            self._look()

    def _look(self) -> None:
        now_ms = self._clock.monotonic_ms()
        since_look_ms, self._looked_ms = now_ms - self._looked_ms, now_ms
        was_silent, silent_ms = self._is_silent, now_ms - self._ticked_ms
        if silent_ms < STUCK_MS:
            self._is_silent = False
            if was_silent:
                _LOG.warning("The engine ticks again.")
        elif not was_silent and since_look_ms < LOOK_S * 1_000 + _OVERSLEPT_MS:
            self._is_silent = True
            _LOG.error(
                "The engine has not ticked for %d s; it is here:\n%s", silent_ms // 1_000, self._stack()
            )
            self._alarm()

    def _stack(self) -> str:
        frame = None if self._watched is None else sys._current_frames().get(self._watched)  # noqa: SLF001 - public, for debuggers
        return "".join(traceback.format_stack(frame)) if frame is not None else "its thread has ended"


class StartWatch:
    """Detects over several ticks that something could start, but nothing does."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._looked_ms = clock.monotonic_ms()
        self._stuck_since: int | None = None
        self._is_told = False

    def is_stuck(self, *, has_started: bool, is_overlooking: Callable[[], bool]) -> bool:
        """Return, once per incident, that nothing was started for too long; `is_overlooking` queries the store."""
        now_ms = self._clock.monotonic_ms()
        if not has_started and now_ms - self._looked_ms < _BETWEEN_LOOKS_MS:
            return False
        self._looked_ms = now_ms
        if has_started or not is_overlooking():
            self._stuck_since, self._is_told = None, False
            return False
        self._stuck_since = now_ms if self._stuck_since is None else self._stuck_since
        was_told, self._is_told = self._is_told, now_ms - self._stuck_since >= STUCK_MS
        return self._is_told and not was_told


def record_alarm(path: Path, alarm: Alarm) -> None:
    """Add an alarm to the journal through a separate connection, because the engine's may be what hangs."""
    try:
        database = Database.open(path, must_exist=True)
        try:
            EventTable(database).append(alarm.at, EventKind.ENGINE_ALARM, alarm=alarm.kind)
        finally:
            database.close()
    except StoreError as error:
        _LOG.error("The alarm could not be recorded: %s", error)
