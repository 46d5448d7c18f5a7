"""Trying a condition for somebody who asks whether it could ever hold here."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import NamedTuple

from halo_scheduler.conditions.looking import Look, look_at
from halo_scheduler.model.conditions import Condition
from halo_scheduler.wording.conditions import describe_condition

# Longer than any look takes that ends by itself.
_LIMIT_S = 8.0


class ConditionState(NamedTuple):
    """Whether this system can know about a condition, whether it holds (None: not known), and that in a sentence."""

    is_observable: bool
    holds: bool | None
    sentence: str


class Prober:
    """Looks at conditions for those who wait for the answer, but not for ever.

    There is one look at a condition at a time: those at a drive that has gone do not pile up.
    """

    def __init__(self, look: Callable[[Condition], Look] = look_at, limit_s: float = _LIMIT_S) -> None:
        self._look = look
        self._limit_s = limit_s
        self._lock = threading.Lock()
        self._under_way: dict[Condition, _Probe] = {}

    def check(self, condition: Condition) -> ConditionState:
        """Look at a condition, or wait for the look that somebody else has begun."""
        with self._lock:
            probe = self._under_way.get(condition)
            if probe is None:
                probe = _Probe()
                thread = threading.Thread(
                    target=self._run, args=(condition, probe), name="halo-probe", daemon=True
                )
                thread.start()
                self._under_way[condition] = probe
        probe.is_over.wait(self._limit_s)
        found = probe.look
        if found is None:
            words = describe_condition(condition)
            sentence = f"There is no answer yet; a job that starts only {words} would wait."
            return ConditionState(is_observable=True, holds=None, sentence=sentence)
        return ConditionState(found.is_observable, found.holds, _sentence(found.words))

    def _run(self, condition: Condition, probe: _Probe) -> None:
        try:
            probe.look = self._look(condition)
        finally:
            with self._lock:
                del self._under_way[condition]
            probe.is_over.set()


class _Probe:
    """A look that is under way."""

    def __init__(self) -> None:
        self.is_over = threading.Event()
        self.look: Look | None = None


def _sentence(words: str) -> str:
    first, _, _ = words.partition(" ")
    # The name of a host or a path stays as it is.
    return f"{words[0].upper()}{words[1:]}." if first.isalpha() else f"{words}."


_PROBER = Prober()


def check_condition(condition: Condition) -> ConditionState:
    """Look at a condition now; this may take some seconds, also where the look itself never ends."""
    return _PROBER.check(condition)
