"""SIGTERM and SIGINT as something an event loop can wait for."""

from __future__ import annotations

import signal
import socket
from typing import Self


class StopSignals:
    """Turns the signals that ask a program to stop into a descriptor that becomes readable."""

    def __enter__(self) -> Self:
        self._read, self._write = socket.socketpair()
        for end in (self._read, self._write):
            end.setblocking(False)
        self._old_fd = signal.set_wakeup_fd(self._write.fileno(), warn_on_full_buffer=False)
        self._old = {number: signal.signal(number, _ignore) for number in (signal.SIGTERM, signal.SIGINT)}
        return self

    def __exit__(self, *_: object) -> None:
        for number, handler in self._old.items():
            signal.signal(number, handler)
        signal.set_wakeup_fd(self._old_fd)
        self._read.close()
        self._write.close()

    def fileno(self) -> int:
        return self._read.fileno()

    def is_asked_to_stop(self) -> bool:
        """Take in what arrived; other signals than ours wake the loop too."""
        return bool({signal.SIGTERM, signal.SIGINT} & set(self._read.recv(64)))

    def leave_on_next(self) -> None:
        """Let the next signal end the program at once."""
        for number in self._old:
            signal.signal(number, signal.SIG_DFL)


def _ignore(*_: object) -> None:
    """Let Python write the signal's number to the socket, which is all we need."""
