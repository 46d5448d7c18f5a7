"""A daemon that lives in the past: `python past_daemon.py` with HALO_HOME and HALO_BACK_MS set."""

from __future__ import annotations

import os
import sys

from halo_scheduler.cli.commands.daemon import run_daemon
from halo_scheduler.clock import SystemClock


class PastClock:
    """The machine's clock, as it stood some time ago."""

    def __init__(self, back_ms: int) -> None:
        self._back_ms = back_ms

    def now_ms(self) -> int:
        return SystemClock().now_ms() - self._back_ms

    def monotonic_ms(self) -> int:
        return SystemClock().monotonic_ms()


if __name__ == "__main__":
    sys.exit(run_daemon(clock=PastClock(int(os.environ["HALO_BACK_MS"]))))
