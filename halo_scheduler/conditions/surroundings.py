"""What is known of the surroundings of the jobs that wait."""

from __future__ import annotations

import threading
from collections.abc import Callable, Collection
from typing import NamedTuple, Protocol

from halo_scheduler.conditions.looking import Look, look_at
from halo_scheduler.model.conditions import Condition

_FRESH_MS = 10_000
_NOT_YET = "it is not known yet"


class Finding(NamedTuple):
    """Whether a condition holds; `words` say how things stand when it does not, or why it is not known (None)."""

    holds: bool | None
    words: str


class Surroundings(Protocol):
    """Tells whether conditions hold, without ever waiting to find out."""

    def find(self, condition: Condition, now_ms: int) -> Finding:
        """Return what is known and fresh; else that it is not known, and begin to look."""

    def watch(self, conditions: Collection[Condition]) -> None:
        """Follow what bears on the conditions that something waits for; for none, follow nothing any more."""

    def close(self) -> None:
        """Let go of everything."""


class _Known(NamedTuple):
    finding: Finding
    at: int


class ObservedSurroundings:
    """The surroundings of this machine: looked at when asked about, and again when the system tells of a change."""

    def __init__(
        self,
        submit: Callable[[Callable[[], None]], None],
        changed: Callable[[], None],
        *,
        look: Callable[[Condition], Look] = look_at,
    ) -> None:
        """`submit` runs what may block on some thread; `changed` is called there when something new is known."""
        self._submit = submit
        self._changed = changed
        self._look_at = look
        self._lock = threading.Lock()
        self._known: dict[Condition, _Known] = {}
        self._looking: set[Condition] = set()

    def find(self, condition: Condition, now_ms: int) -> Finding:
        with self._lock:
            known = self._known.get(condition)
            if known is not None and 0 <= now_ms - known.at <= _FRESH_MS:
                return known.finding
            if condition in self._looking:
                return Finding(None, _NOT_YET)
            self._looking.add(condition)
        self._submit(lambda: self._look(condition, now_ms))
        return Finding(None, _NOT_YET)

    def watch(self, conditions: Collection[Condition]) -> None:
        wanted = frozenset(conditions)
        with self._lock:
            self._known = {item: known for item, known in self._known.items() if item in wanted}

    def close(self) -> None:
        self.watch(())

    def _look(self, condition: Condition, now_ms: int) -> None:
        look = self._look_at(condition)
        with self._lock:
            self._looking.discard(condition)
            self._known[condition] = _Known(Finding(look.holds, look.words), now_ms)
        self._changed()
