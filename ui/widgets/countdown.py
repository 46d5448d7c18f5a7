"""Countdowns without polling: the time until a shown text changes."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from PySide6.QtCore import QObject, Qt, QTimer, Signal

from halo_scheduler.grammar.interval import DAY_MS, HOUR_MS, MINUTE_MS, SECOND_MS
from halo_scheduler.grammar.zone import local_time
from halo_scheduler.model.situation import LATE_MS, is_late

# Texts with days change at midnight; clock changes are noticed within the hour.
LONGEST_WAIT_MS = HOUR_MS
_HALF_MINUTE_MS = MINUTE_MS // 2


def until_next_changes(at: int, now_ms: int) -> int:
    """Return how long "in 4 min", "now" or "overdue by 4 min" stays true."""
    ahead_ms = at - now_ms
    if is_late(-ahead_ms):
        return until_ago_changes(at, now_ms)
    if ahead_ms < SECOND_MS:
        return ahead_ms + LATE_MS + 1
    if ahead_ms < MINUTE_MS:
        return ahead_ms % SECOND_MS + 1
    rounded_ms = ahead_ms + _HALF_MINUTE_MS
    if rounded_ms >= HOUR_MS:
        return min(rounded_ms - HOUR_MS + 1, _until_midnight(now_ms))
    return min(rounded_ms % MINUTE_MS, ahead_ms - MINUTE_MS) + 1


def until_ago_changes(at: int, now_ms: int) -> int:
    """Return how long "4 min ago" stays true."""
    past_ms = max(0, now_ms - at)
    if past_ms < HOUR_MS:
        return MINUTE_MS - past_ms % MINUTE_MS
    if past_ms < DAY_MS // 2:
        return HOUR_MS - past_ms % HOUR_MS
    return _until_midnight(now_ms)


def _until_midnight(now_ms: int) -> int:
    local = local_time(now_ms)
    gone_ms = ((local.hour * 60 + local.minute) * 60 + local.second) * SECOND_MS + now_ms % SECOND_MS
    return max(SECOND_MS, DAY_MS - gone_ms)


class Countdown(QObject):
    """One single-shot timer for all visible texts; stopped while none is visible."""

    due = Signal()
    """A visible text is out of date."""

    def __init__(self, parent: QObject) -> None:
        super().__init__(parent)
        self._sources: list[Callable[[], Iterable[int | None]]] = []
        self._is_running = False
        self._timer = QTimer(self)
        self._timer.setSingleShot(True)
        self._timer.setTimerType(Qt.TimerType.PreciseTimer)
        self._timer.timeout.connect(self._fire)

    def add(self, waits: Callable[[], Iterable[int | None]]) -> None:
        """Add a source that returns how long each of its texts stays true."""
        self._sources.append(waits)

    @property
    def is_armed(self) -> bool:
        """Whether the timer is running."""
        return self._timer.isActive()

    def set_running(self, running: bool) -> None:  # noqa: FBT001 - it is what the name says
        """Start or stop the timer."""
        self._is_running = running
        if running:
            self.arm()
        else:
            self._timer.stop()

    def arm(self, shortest_ms: int = 1) -> None:
        """Start the timer for the next change of any text."""
        if not self._is_running:
            return
        waits = [wait for source in self._sources for wait in source() if wait is not None]
        if waits:
            self._timer.start(min(max(min(waits), shortest_ms), LONGEST_WAIT_MS))
        else:
            self._timer.stop()

    def _fire(self) -> None:
        self.due.emit()
        # At most one update per second, however many rows count seconds.
        self.arm(SECOND_MS)
