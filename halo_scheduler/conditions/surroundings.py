"""What is known about the conditions of waiting jobs."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Collection
from dataclasses import dataclass
from functools import partial
from time import monotonic
from typing import NamedTuple, Protocol

from halo_scheduler.conditions.probes import ProbeResult, probe
from halo_scheduler.grammar.interval import SECOND_MS
from halo_scheduler.host.observer import Happening, Interest, Observer, system_observer
from halo_scheduler.model.conditions import Condition, Idle, MainsPower, Network, PathExists
from halo_scheduler.model.messages import Message, MessageKind, message

_LOG = logging.getLogger(__name__)
_FRESH_MS = 10_000


class Finding(NamedTuple):
    """Whether a condition is met (None: unknown), and what was found instead."""

    holds: bool | None
    state: Message | None = None


_NOT_YET = Finding(None, message(MessageKind.NO_RESULT))
# The events after which a kind of condition is checked again; there is none for the load.
_TOLD_BY: dict[type[Condition], Happening] = {
    MainsPower: Happening.POWER,
    Network: Happening.NETWORK,
    Idle: Happening.IDLE,
    PathExists: Happening.MOUNTS,
}


class Surroundings(Protocol):
    """Tells whether conditions are met, without blocking."""

    def find(self, condition: Condition, now_ms: int) -> Finding:
        """Return a fresh result; else return that it is unknown, and start a probe."""

    def watch(self, conditions: Collection[Condition]) -> None:
        """Watch for changes that affect the given conditions; with none, stop watching."""

    def close(self) -> None:
        """Release all resources."""


@dataclass(slots=True)
class _Sight:
    """The last result for a condition, with the start and duration of its probe."""

    finding: Finding = _NOT_YET
    at: int | None = None
    took_ms: int = 0
    is_probing: bool = False
    is_doubted: bool = False
    is_awaited: bool = False

    def is_fresh(self, now_ms: int) -> bool:
        """A slow probe's result dates from its end; sleep in between does not count."""
        if self.at is None or self.is_doubted:
            return False
        return 0 <= now_ms - self.at <= _FRESH_MS + self.took_ms


class ObservedSurroundings:
    """Conditions of this computer, probed on request and again when the system reports a change.

    Only one probe per condition runs at a time; one that never ends, on a dead drive, occupies one thread.
    """

    def __init__(
        self,
        submit: Callable[[Callable[[], None]], None],
        changed: Callable[[], None],
        *,
        look: Callable[[Condition], ProbeResult] = probe,
        observer: Callable[[Callable[[Collection[Happening]], None]], Observer] = system_observer,
        stopwatch: Callable[[], float] = monotonic,
    ) -> None:
        """`submit` runs blocking work on a thread; `changed` is called there when a result changes."""
        self._submit = submit
        self._changed = changed
        self._probe = look
        self._stopwatch = stopwatch
        self._lock = threading.Lock()
        self._sights: dict[Condition, _Sight] = {}
        self._now_ms = 0
        self._observer = observer(self._doubt)

    def find(self, condition: Condition, now_ms: int) -> Finding:
        with self._lock:
            self._now_ms = now_ms
            sight = self._sights.setdefault(condition, _Sight())
            if sight.is_fresh(now_ms):
                return sight.finding
            sight.is_awaited = True
        self._start_probe(condition, sight)
        return _NOT_YET

    def watch(self, conditions: Collection[Condition]) -> None:
        wanted = frozenset(conditions)
        with self._lock:
            self._sights = {
                item: sight for item, sight in self._sights.items() if item in wanted or sight.is_probing
            }
        told_by = {kind for item in wanted if (kind := _TOLD_BY.get(type(item))) is not None}
        idle_ms = {item.idle_ms for item in wanted if isinstance(item, Idle)}
        self._observer.follow(Interest(frozenset(told_by), frozenset(idle_ms)))

    def close(self) -> None:
        self.watch(())
        self._observer.close()

    def _doubt(self, happenings: Collection[Happening]) -> None:
        """Probe again everything that these events may have changed."""
        with self._lock:
            doubted = {
                item: sight for item, sight in self._sights.items() if _TOLD_BY.get(type(item)) in happenings
            }
            for sight in doubted.values():
                sight.is_doubted = True
        for condition, sight in doubted.items():
            self._start_probe(condition, sight)

    def _start_probe(self, condition: Condition, sight: _Sight) -> None:
        """Start a probe unless one is running; without a free thread, the next request starts it."""
        with self._lock:
            if sight.is_probing:
                return
            sight.is_probing = True
        try:
            self._submit(partial(self._run_probe, condition, sight))
        except RuntimeError as error:
            _LOG.warning("A condition check could not start: %s", error)
            with self._lock:
                sight.is_probing = False

    def _run_probe(self, condition: Condition, sight: _Sight) -> None:
        """Probe until nothing happened meanwhile that could change the result."""
        is_over = False
        while not is_over:
            with self._lock:
                sight.is_doubted = False
                # Dated by the last tick, so that it never seems fresher than it is.
                at, begun_s = self._now_ms, self._stopwatch()
            finding = self._finding(condition)
            with self._lock:
                sight.took_ms = int((self._stopwatch() - begun_s) * SECOND_MS)
                is_news = sight.is_awaited or finding.holds != sight.finding.holds
                sight.finding, sight.at = finding, at
                sight.is_awaited = False
                is_over = not sight.is_doubted
                sight.is_probing = not is_over
            if is_news:
                self._changed()

    def _finding(self, condition: Condition) -> Finding:
        try:
            found = self._probe(condition)
        except Exception as error:  # noqa: BLE001 - whatever goes wrong here, the job waits and says so
            _LOG.exception("A condition check failed.")
            return Finding(None, message(MessageKind.NOT_PROBED, error=type(error).__name__))
        return Finding(found.holds, found.state)
