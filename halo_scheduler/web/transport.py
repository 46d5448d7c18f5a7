"""The transport of a request: a TCP connection that any thread can cancel and that times out at its deadline.

HTTP and TLS use it like an ordinary socket. Underneath, only a poll blocks, which also watches the wakeup socket that
`cancel` writes to. So a server cannot hold a thread, however slowly or quickly it sends.
"""

from __future__ import annotations

import errno
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

# Most responses are shorter, and never wait for a turn.
_FREE_BYTES = 16 << 10
_BYTES_PER_S = 64 << 20
_LONGEST_PAUSE_S = 0.05
_CHECK_EVERY_S = 0.1
# How long the second of two parts of a response may take: the server waits for an ACK of the first.
_PATIENCE_S = 0.05
_TURN = threading.Lock()

# If a host has several addresses, a silent one must not use up the time for all.
_TIMEOUT_PER_ADDRESS_S = 5.0
_CONNECTING = frozenset({errno.EINPROGRESS, errno.EWOULDBLOCK, getattr(errno, "WSAEWOULDBLOCK", -1)})


class Turns:
    """Rate limit of one connection: received data is processed only while it holds the turn.

    All threads share the interpreter and the disk. So only one large response is processed at a time, at most half of
    the time and at no more than 64 MB/s.
    """

    def __init__(self) -> None:
        self._received = 0
        self._since: float | None = None
        self._size = 0

    def take(self, size: int, check: Callable[[], None]) -> None:
        """Wait for the turn to process some bytes; `check` raises if the request is over."""
        self._received += size
        if self._received <= _FREE_BYTES:
            return
        while not _TURN.acquire(timeout=_CHECK_EVERY_S):
            check()
        self._since, self._size = monotonic(), size

    def give_back(self) -> None:
        """Pause as long as the work took, then pass the turn on."""
        if self._since is None:
            return
        pause_s = max(monotonic() - self._since, self._size / _BYTES_PER_S)
        sleep(min(pause_s, _LONGEST_PAUSE_S))
        self.leave()

    def leave(self) -> None:
        """Pass the turn on at once: nothing more is received here."""
        if self._since is not None:
            self._since = None
            _TURN.release()


class RequestCancelledError(Exception):
    """The request was cancelled; neither an OSError nor an HTTPException, so no library handles it as its own."""


class DeadlineError(Exception):
    """The deadline of the whole request has passed; its argument is the limit in seconds."""


class _Wakeup:
    """A socket pair that wakes a poll from another thread; each thread reuses one for all its transports."""

    _spare = threading.local()
    _ends: tuple[socket.socket, ...] = ()

    def __init__(self) -> None:
        self._ends = self.reader, self._writer = socket.socketpair()
        self._is_used = False

    @classmethod
    def take(cls) -> _Wakeup:
        found: _Wakeup | None = cls._spare.__dict__.pop("wakeup", None)
        return cls() if found is None else found

    def give_back(self) -> None:
        """Keep it for the next transport of this thread, unless it was used to wake this one."""
        if self._is_used or hasattr(self._spare, "wakeup"):
            self.close()
        else:
            self._spare.wakeup = self

    def send(self) -> None:
        self._is_used = True
        self._writer.send(b"!")

    def close(self) -> None:
        for end in self._ends:
            end.close()

    def __del__(self) -> None:
        self.close()  # Its thread has ended.


class Transport:
    """One connection at a time, used by one thread, cancelled from any; leaving the `with` block closes it."""

    def __init__(self, timeout_s: float | None = None) -> None:
        self._timeout_s = timeout_s
        self._deadline = None if timeout_s is None else monotonic() + timeout_s
        self._lock = threading.Lock()
        self._is_cancelled = False
        self._is_closed = False
        self._has_news = threading.Event()
        self._wakeup = _Wakeup.take()
        self._socket: socket.socket | None = None
        self._awaits_response = False
        self._turns = Turns()
        self.on_wait: Callable[[], None] = lambda: None
        """Called by the thread that uses it whenever the server lets it wait for more than 50 ms."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._close_socket()
        with self._lock:
            self._is_closed = True
            self._wakeup.give_back()

    def cancel(self) -> None:
        """Stop all waiting, now and later; the thread that uses the transport closes its connection at once."""
        with self._lock:
            if not self._is_cancelled and not self._is_closed:
                self._wakeup.send()
            self._is_cancelled = True
        self._has_news.set()

    def check(self) -> None:
        """Raise RequestCancelledError or DeadlineError if the request was cancelled or is past its deadline."""
        if self._is_cancelled:
            raise RequestCancelledError
        if self._deadline is not None and monotonic() >= self._deadline:
            raise DeadlineError(self._timeout_s)

    def renew(self, timeout_s: float | None) -> None:
        """Begin the next exchange over the same connection, with a new deadline; let others take their turn."""
        self._turns.give_back()
        self._timeout_s = timeout_s
        self._deadline = None if timeout_s is None else monotonic() + timeout_s

    # --- Connecting ----------------------------------------------------------------------------------

    def connect(self, host: str, port: int) -> None:
        """Connect to the first address of a host that answers; an earlier connection is closed."""
        self._close_socket()
        self.check()
        addresses = self._look_up(host, port)
        failure: OSError = socket.gaierror(socket.EAI_NONAME, "no address")
        for index, (family, kind, protocol, _, address) in enumerate(addresses):
            is_last = index == len(addresses) - 1
            try:
                self._connect(
                    socket.socket(family, kind, protocol),
                    address,
                    None if is_last else _TIMEOUT_PER_ADDRESS_S,
                )
            except OSError as error:
                self._close_socket()
                failure = error
            else:
                return
        raise failure

    def attach(self, connected: socket.socket) -> None:
        """Use a socket that was detached from another transport."""
        self._close_socket()
        self._socket = connected

    def detach(self) -> socket.socket | None:
        """Release the socket without closing it; None if the request was cancelled or is past its deadline."""
        if self._is_cancelled or _left_s(self._deadline) == 0:
            return None
        self._turns.leave()
        released, self._socket = self._socket, None
        return released

    def _look_up(self, host: str, port: int) -> list[Any]:
        """Return the addresses of a host; a lookup cannot be cancelled, so it gets its own thread."""
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
        # Cleared only now: if the request is cancelled meanwhile, `check` notices.
        self._has_news.clear()
        return addresses

    def _connect(self, made: socket.socket, address: Any, timeout_s: float | None) -> None:
        self._socket = made
        made.setblocking(False)
        made.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        # Detects a server that vanished without closing, even if only after hours.
        made.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
        code = made.connect_ex(address)
        if code in _CONNECTING:
            self._wait(for_writing=True, timeout_s=timeout_s)
            code = made.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR)
        if code:
            raise OSError(code, os.strerror(code))

    def _close_socket(self) -> None:
        self._turns.leave()
        if self._socket is not None:
            self._socket.close()
            self._socket = None

    # --- Sending and receiving -----------------------------------------------------------------------

    def receive_into(self, buffer: Any) -> int:
        """Read what has arrived, at least one byte; 0 if the peer has closed the connection."""
        self._turns.give_back()
        if self._awaits_response:
            # A response takes a while, so a first read would return nothing.
            self._awaits_response = False
            self._wait()
        while True:
            self.check()
            with suppress(BlockingIOError, InterruptedError):
                size = self._open_socket.recv_into(buffer)
                self._turns.take(size, self.check)
                return size
            self._wait()

    def send(self, data: Any) -> None:
        """Send all of it."""
        self._awaits_response = True
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

    def _wait(self, *, for_writing: bool = False, timeout_s: float | None = None) -> None:
        """Wait until the socket is ready; TimeoutError after `timeout_s`."""
        step_ends = None if timeout_s is None else monotonic() + timeout_s
        patience_s: float | None = _PATIENCE_S
        while True:
            left_s = _soonest(_left_s(self._deadline), _left_s(step_ends), patience_s)
            is_ready = _is_ready(self._open_socket, self._wakeup.reader, left_s, for_writing=for_writing)
            self.check()
            if is_ready:
                return
            if step_ends is not None and monotonic() >= step_ends:
                raise TimeoutError(errno.ETIMEDOUT, os.strerror(errno.ETIMEDOUT))
            if patience_s is not None:
                patience_s = None
                self.on_wait()


def _is_number(host: str) -> bool:
    with suppress(ValueError):
        ipaddress.ip_address(host)
        return True
    return False


def _left_s(deadline: float | None) -> float | None:
    return None if deadline is None else max(deadline - monotonic(), 0.0)


def _soonest(*limits: float | None) -> float | None:
    return min((limit for limit in limits if limit is not None), default=None)


def _is_ready(
    wanted: socket.socket, wakeup: socket.socket, timeout_s: float | None, *, for_writing: bool
) -> bool:
    """Wait until a socket is ready or the wakeup is sent; return whether either happened."""
    if sys.platform == "win32":  # Windows reports a failed connection as an exceptional condition.
        writers = [wanted] if for_writing else []
        return any(select.select([wakeup] if for_writing else [wakeup, wanted], writers, writers, timeout_s))
    poll = select.poll()
    poll.register(wakeup, select.POLLIN)
    poll.register(wanted, select.POLLOUT if for_writing else select.POLLIN)
    return bool(poll.poll(None if timeout_s is None else ceil(timeout_s * 1_000)))
