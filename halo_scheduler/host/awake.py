"""Keeping the machine awake while runs need it."""

from __future__ import annotations

import threading
from collections.abc import Callable


class KeepAwake:
    """Holds the machine awake for each run that wants it, from `hold` to `release`; neither ever waits."""

    def __init__(self, submit: Callable[[Callable[[], None]], None]) -> None:
        """`submit` runs what may block on some thread."""
        self._submit = submit
        self._lock = threading.Lock()
        self._held: set[str] = set()

    def hold(self, run_id: str, why: str, failed: Callable[[str], None]) -> None:
        """Keep the machine awake for a run; `failed` gets a sentence, on any thread, when that cannot be had."""
        with self._lock:
            self._held.add(run_id)
        self._submit(lambda: failed(f"The machine could not be kept awake for this run: {why}"))

    def release(self, run_id: str) -> None:
        """Let the machine sleep as far as this run is concerned; a run that holds nothing is fine."""
        with self._lock:
            self._held.discard(run_id)

    def close(self) -> None:
        """Let go of everything."""
        with self._lock:
            self._held.clear()
