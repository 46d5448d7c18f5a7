"""Telling the service manager that started this process how it is, as sd_notify does; silent where there is none."""

from __future__ import annotations

import os
import socket
from collections.abc import MutableMapping
from typing import Self

from halo_scheduler.clock import Clock

_PINGS_PER_LIMIT = 4
# More microseconds than that are no limit, but a mistake.
_MOST_DIGITS = 18


class ServiceManager:
    """The other end of NOTIFY_SOCKET."""

    def __init__(self, address: str, watchdog_ms: int, clock: Clock) -> None:
        """`watchdog_ms` is after how long without a ping the manager takes the process for hung; 0 for never."""
        self._address = address
        self.ping_interval_ms = watchdog_ms // _PINGS_PER_LIMIT
        """How often the manager needs to hear that the process works; 0 for never."""
        self._clock = clock
        self._pinged_ms: int | None = None

    @classmethod
    def take(cls, environment: MutableMapping[str, str], clock: Clock) -> Self:
        """Find the manager, and remove every trace of it from the environment: jobs must not speak for us."""
        address = environment.pop("NOTIFY_SOCKET", "")
        limit_us = environment.pop("WATCHDOG_USEC", "")
        is_ours = environment.pop("WATCHDOG_PID", str(os.getpid())) == str(os.getpid())
        is_limit = limit_us.isdecimal() and len(limit_us) <= _MOST_DIGITS
        watchdog_ms = int(limit_us) // 1_000 if is_limit and is_ours else 0
        return cls(address, watchdog_ms, clock)

    def tell_ready(self, status: str) -> None:
        """Say that the start is done."""
        self._tell(f"READY=1\nSTATUS={_line(status)}")

    def tell_stopping(self, status: str) -> None:
        """Say that the end has begun."""
        self._tell(f"STOPPING=1\nSTATUS={_line(status)}")

    def tell_status(self, status: str) -> None:
        self._tell(f"STATUS={_line(status)}")

    def ping(self) -> None:
        """Say that the process works, but no more often than the manager needs to hear it."""
        now_ms = self._clock.monotonic_ms()
        is_soon = self._pinged_ms is not None and now_ms - self._pinged_ms < self.ping_interval_ms
        if self.ping_interval_ms and not is_soon:
            self._pinged_ms = now_ms
            self._tell("WATCHDOG=1")

    def _tell(self, message: str) -> None:
        if not self._address or not hasattr(socket, "AF_UNIX"):
            return
        # An @ stands for a name that is in no folder.
        address = f"\0{self._address[1:]}" if self._address.startswith("@") else self._address
        try:
            with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as connection:
                connection.setblocking(False)
                connection.sendto(message.encode(), address)
        except OSError:
            return  # Nobody hears it, and that is no reason not to run the jobs.


def _line(text: str) -> str:
    return " ".join(text.split())
