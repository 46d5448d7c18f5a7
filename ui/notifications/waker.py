"""Waking a thread that waits for a socket, and ending it."""

from __future__ import annotations

import socket
from contextlib import suppress

_READ_SIZE = 4_096


class EndWantedError(Exception):
    """The thread that waits is to end."""


class Waker:
    """Wakes a thread that waits for `reader`; with `end`, for the last time."""

    def __init__(self) -> None:
        self.reader, self._writer = socket.socketpair()
        self.reader.setblocking(False)
        self._writer.setblocking(False)
        self._is_ending = False

    def wake(self) -> None:
        """Wake the thread; safe to call from any other."""
        # A full pair wakes as well as one more byte would, and one that is closed has nobody to wake.
        with suppress(OSError):
            self._writer.send(b"\0")

    def end(self) -> None:
        """Make the thread leave whatever it waits for."""
        self._is_ending = True
        self.wake()

    def answer(self) -> None:
        """Note, in the thread, that it was woken."""
        with suppress(BlockingIOError):
            while self.reader.recv(_READ_SIZE):
                pass
        if self._is_ending:
            raise EndWantedError

    def close(self) -> None:
        """Let go of the sockets, when no thread waits any more."""
        self.reader.close()
        self._writer.close()
