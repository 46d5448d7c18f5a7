"""A request's line to the network: any thread can cut it, and it gives up at its deadline.

The library above reads and writes as if it had an ordinary socket. Below, nothing blocks but a poll, which also hears
the bell that `cut` rings. So a server cannot hold a thread, however slowly or quickly it talks.
"""

from __future__ import annotations

import errno
import io
import ipaddress
import os
import select
import socket
import sys
import threading
from collections.abc import Callable
from contextlib import suppress
from math import ceil
from time import monotonic, sleep
from typing import Any, Self

# Most answers are shorter, and never wait for a turn.
_FREE_BYTES = 16 << 10
_BYTES_PER_S = 64 << 20
_LONGEST_PAUSE_S = 0.05
_CHECK_EVERY_S = 0.1
_TURN = threading.Lock()

_LONGEST_HEAD = 256 << 10
# With several addresses, one that is silent must not use up the patience for all.
_PATIENCE_PER_ADDRESS_S = 5.0
_CONNECTING = frozenset({errno.EINPROGRESS, errno.EWOULDBLOCK, getattr(errno, "WSAEWOULDBLOCK", -1)})


class Turns:
    """The share of one connection: what it has received is worked on only while it has the turn.

    All threads share the interpreter and the disk. So one large answer is worked on at a time, at most half of the
    time and at no more than 64 MB/s.
    """

    def __init__(self) -> None:
        self._received = 0
        self._since: float | None = None
        self._size = 0

    def take(self, size: int, check: Callable[[], None]) -> None:
        """Wait for the turn to work on some bytes; `check` raises when there is nothing more to wait for."""
        self._received += size
        if self._received <= _FREE_BYTES:
            return
        while not _TURN.acquire(timeout=_CHECK_EVERY_S):
            check()
        self._since, self._size = monotonic(), size

    def give_back(self) -> None:
        """Rest as long as the work took, then let the next one have the turn."""
        if self._since is None:
            return
        pause_s = max(monotonic() - self._since, self._size / _BYTES_PER_S)
        sleep(min(pause_s, _LONGEST_PAUSE_S))
        self.leave()

    def leave(self) -> None:
        """Let the next one have the turn at once: nothing more is received here."""
        if self._since is not None:
            self._since = None
            _TURN.release()


class LineCutError(Exception):
    """Somebody cut the line; neither an OSError nor an HTTPException, so that no library takes it for its own."""


class DeadlineError(Exception):
    """The time for the whole request is over; its argument is how many seconds that was."""


class HeadTooLongError(Exception):
    """The head of an answer is longer than anybody needs."""


class Line:
    """One connection at a time, used by one thread and cut by any; leaving the block closes it."""

    def __init__(self, patience_s: float | None = None) -> None:
        self._patience_s = patience_s
        self._deadline = None if patience_s is None else monotonic() + patience_s
        self._lock = threading.Lock()
        self._is_cut = False
        self._is_closed = False
        self._has_news = threading.Event()
        self._ear, self._bell = socket.socketpair()
        self._ear.setblocking(False)
        self._socket: socket.socket | None = None
        self._head_left: int | None = None
        self._turns = Turns()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._hang_up()
        with self._lock:
            self._is_closed = True
            self._ear.close()
            self._bell.close()

    def cut(self) -> None:
        """End all waiting on this line, now and later; the thread that uses it closes its connection at once."""
        with self._lock:
            if not self._is_cut and not self._is_closed:
                self._bell.send(b"!")
            self._is_cut = True
        self._has_news.set()

    def check(self) -> None:
        """Raise LineCutError or DeadlineError if there is nothing more to wait for."""
        if self._is_cut:
            raise LineCutError
        if self._deadline is not None and monotonic() >= self._deadline:
            raise DeadlineError(self._patience_s)

    # --- Calling -------------------------------------------------------------------------------------

    def dial(self, host: str, port: int) -> Wire:
        """Connect to the first address of a host that answers; a connection made before is closed."""
        self._hang_up()
        self.check()
        addresses = self._look_up(host, port)
        failure: OSError = socket.gaierror(socket.EAI_NONAME, "no address")
        for index, (family, kind, protocol, _, address) in enumerate(addresses):
            is_last = index == len(addresses) - 1
            try:
                self._connect(
                    socket.socket(family, kind, protocol),
                    address,
                    None if is_last else _PATIENCE_PER_ADDRESS_S,
                )
            except OSError as error:
                self._hang_up()
                failure = error
            else:
                return Wire(self)
        raise failure

    def _look_up(self, host: str, port: int) -> list[Any]:
        """Return the addresses of a host; asking for a name cannot be ended, so a thread is left alone with it."""
        if _is_number(host):
            return list(socket.getaddrinfo(host, port, type=socket.SOCK_STREAM))
        found: list[list[Any] | Exception] = []

        def look_up() -> None:
            try:
                found.append(list(socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)))
            except (OSError, UnicodeError) as error:
                found.append(error)
            self._has_news.set()

        threading.Thread(target=look_up, name="halo-name-lookup", daemon=True).start()
        self._has_news.wait(_left_s(self._deadline))
        self.check()
        (addresses,) = found
        if isinstance(addresses, Exception):
            raise addresses
        # Cleared only now: should somebody cut the line meanwhile, that is noticed by `check`.
        self._has_news.clear()
        return addresses

    def _connect(self, made: socket.socket, address: Any, patience_s: float | None) -> None:
        self._socket = made
        made.setblocking(False)
        made.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        # A server that has vanished without a word is noticed, be it after hours.
        made.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
        code = made.connect_ex(address)
        if code in _CONNECTING:
            self._wait(for_writing=True, patience_s=patience_s)
            code = made.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR)
        if code:
            raise OSError(code, os.strerror(code))

    def _hang_up(self) -> None:
        self._turns.leave()
        if self._socket is not None:
            self._socket.close()
            self._socket = None

    # --- Talking -------------------------------------------------------------------------------------

    def expect_head(self) -> None:
        """Take no more than the head of an answer may be long, until the body is allowed."""
        self._head_left = _LONGEST_HEAD

    def allow_body(self) -> None:
        """Take whatever comes: the head was read."""
        self._head_left = None

    def receive_into(self, buffer: Any) -> int:
        """Read what there is, at least one byte; 0 when the other side has closed the connection."""
        self._turns.give_back()
        while True:
            self.check()
            with suppress(BlockingIOError, InterruptedError):
                return self._counted(self._open_socket.recv_into(buffer))
            self._wait()

    def send(self, data: Any) -> None:
        """Send all of it."""
        with memoryview(data).cast("B") as rest:
            sent = 0
            while sent < len(rest):
                self.check()
                try:
                    sent += self._open_socket.send(rest[sent:])
                except (BlockingIOError, InterruptedError):
                    self._wait(for_writing=True)

    @property
    def _open_socket(self) -> socket.socket:
        if self._socket is None:
            raise ConnectionAbortedError(errno.ECONNABORTED, os.strerror(errno.ECONNABORTED))
        return self._socket

    def _counted(self, size: int) -> int:
        if self._head_left is not None:
            self._head_left -= size
            if self._head_left < 0:
                raise HeadTooLongError
        self._turns.take(size, self.check)
        return size

    def _wait(self, *, for_writing: bool = False, patience_s: float | None = None) -> None:
        """Wait until the socket is ready; TimeoutError when that takes longer than the patience for this step."""
        step_ends = None if patience_s is None else monotonic() + patience_s
        while True:
            timeout_s = _sooner(_left_s(self._deadline), _left_s(step_ends))
            is_ready = _is_ready(self._open_socket, self._ear, timeout_s, for_writing=for_writing)
            self.check()
            if is_ready:
                return
            if step_ends is not None and monotonic() >= step_ends:
                raise TimeoutError(errno.ETIMEDOUT, os.strerror(errno.ETIMEDOUT))


class Wire:
    """What the HTTP library takes for a socket; closing it is the line's own affair."""

    def __init__(self, line: Line) -> None:
        self._line = line
        self._io_refs = 0

    def recv(self, size: int) -> bytes:
        buffer = bytearray(size)
        return bytes(memoryview(buffer)[: self._line.receive_into(buffer)])

    def recv_into(self, buffer: Any) -> int:
        return self._line.receive_into(buffer)

    def sendall(self, data: Any) -> None:
        self._line.send(data)

    def makefile(self, _mode: str) -> io.BufferedReader:
        return io.BufferedReader(socket.SocketIO(self, "r"))  # type: ignore[arg-type] # all it uses is here

    def settimeout(self, _seconds: float | None) -> None:
        """Keep to the line's own deadline."""

    def close(self) -> None:
        """Stay open: the library closes what it uses once before it has read the answer's body."""

    def _decref_socketios(self) -> None:
        """Count nothing: see `close`."""


def _is_number(host: str) -> bool:
    with suppress(ValueError):
        ipaddress.ip_address(host)
        return True
    return False


def _left_s(deadline: float | None) -> float | None:
    return None if deadline is None else max(deadline - monotonic(), 0.0)


def _sooner(one: float | None, other: float | None) -> float | None:
    return min((limit for limit in (one, other) if limit is not None), default=None)


def _is_ready(
    wanted: socket.socket, ear: socket.socket, timeout_s: float | None, *, for_writing: bool
) -> bool:
    """Wait until a socket can be used, or somebody rings; tell whether either is so."""
    if sys.platform == "win32":  # where a connection that failed is told of as an exception.
        writers = [wanted] if for_writing else []
        return any(select.select([ear] if for_writing else [ear, wanted], writers, writers, timeout_s))
    poll = select.poll()
    poll.register(ear, select.POLLIN)
    poll.register(wanted, select.POLLOUT if for_writing else select.POLLIN)
    return bool(poll.poll(None if timeout_s is None else ceil(timeout_s * 1_000)))
