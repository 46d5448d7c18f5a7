"""Keeping the machine awake while runs need it."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable

from halo_scheduler.host.inhibitors import Grip, NotAwakeError, inhibit_sleep

_LOG = logging.getLogger(__name__)


class _Hold:
    """What one run holds, from the wish until it is let go."""

    def __init__(self) -> None:
        self.is_wanted = True
        self.grip: Grip | None = None


class KeepAwake:
    """Holds the machine awake for each run that wants it, from `hold` to `release`; neither ever waits."""

    def __init__(
        self,
        submit: Callable[[Callable[[], None]], None],
        *,
        inhibit: Callable[[str], Grip] = inhibit_sleep,
    ) -> None:
        """`submit` runs what may block on some thread; `inhibit` keeps the machine awake for a reason."""
        self._submit = submit
        self._inhibit = inhibit
        self._lock = threading.Lock()
        self._holds: dict[str, _Hold] = {}

    def hold(self, run_id: str, why: str, failed: Callable[[str], None]) -> None:
        """Keep the machine awake for a run; `failed` gets a sentence, on any thread, when that cannot be had."""
        hold = _Hold()
        with self._lock:
            if run_id in self._holds:
                return
            self._holds[run_id] = hold
        self._submit(lambda: self._take_hold(hold, why, failed))

    def release(self, run_id: str) -> None:
        """Let the machine sleep as far as this run is concerned; one that holds nothing is fine."""
        with self._lock:
            hold = self._holds.pop(run_id, None)
        if hold is None:
            return
        try:
            self._submit(lambda: self._let_go(hold))
        except RuntimeError:
            # There is no thread to be had; a lock for a run that is over would be worse than a moment's wait.
            self._let_go(hold)

    def close(self) -> None:
        """Let go of everything, at once."""
        with self._lock:
            holds = list(self._holds.values())
            self._holds.clear()
        for hold in holds:
            self._let_go(hold)

    def _take_hold(self, hold: _Hold, why: str, failed: Callable[[str], None]) -> None:
        if not hold.is_wanted:
            return
        try:
            grip = self._inhibit(why)
        except NotAwakeError as error:
            if hold.is_wanted:
                failed(f"The machine could not be kept awake: {error}.")
            return
        with self._lock:
            if hold.is_wanted:
                hold.grip = grip
                return
        # The run ended before the system answered.
        _release(grip)

    def _let_go(self, hold: _Hold) -> None:
        with self._lock:
            hold.is_wanted = False
            grip, hold.grip = hold.grip, None
        if grip is not None:
            _release(grip)


def _release(grip: Grip) -> None:
    try:
        grip.release()
    except OSError as error:
        _LOG.warning("Letting the machine sleep again went wrong: %s", error)
