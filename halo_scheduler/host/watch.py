"""Learning when a process is gone, without an event loop: a thread waits for it."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Protocol


class Watch(Protocol):
    """Tells when processes are gone."""

    def add(self, pid: int, wait: Callable[[], object], gone: Callable[[], None]) -> None:
        """Call `gone` on the engine's thread once that process is.

        `wait` blocks until then, for those who have nothing better.
        """


class ThreadWatch:
    """A thread for each process: for systems, and for programs, without descriptors of processes to wait on."""

    def __init__(self, post: Callable[[Callable[[], None]], None]) -> None:
        self._post = post

    def add(self, pid: int, wait: Callable[[], object], gone: Callable[[], None]) -> None:
        def watch() -> None:
            wait()
            self._post(gone)

        threading.Thread(target=watch, name=f"halo-watch-{pid}", daemon=True).start()
