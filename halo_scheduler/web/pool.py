"""The connection pool: keeps connections open for a few seconds, for other requests to the same server."""

from __future__ import annotations

import socket
import threading
from collections.abc import Callable, Hashable
from dataclasses import dataclass
from time import monotonic
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from halo_scheduler.web.connection import Connection

_MOST = 64
_KEPT_S = 4.0


@dataclass(frozen=True, slots=True)
class Idle:
    """An idle connection."""

    route: Hashable
    """Whom it leads to, and how: only a request that would connect in the same way may use it."""
    socket: socket.socket
    connection: Connection
    """The HTTP connection over the socket."""
    since: float

    def is_silent(self) -> bool:
        """Return whether the server has neither closed the connection nor sent anything unrequested."""
        try:
            self.socket.recv(1, socket.MSG_PEEK)
        except BlockingIOError:
            return True
        except OSError:
            pass
        return False


class ConnectionPool:
    """The pool of one engine, closed with it; for any thread."""

    def __init__(self, now_s: Callable[[], float] = monotonic) -> None:
        self._now_s = now_s
        self._lock = threading.Lock()
        self._idle: list[Idle] = []
        self._has_timer = False

    def __len__(self) -> int:
        return len(self._idle)

    def take(self, route: Hashable) -> Idle | None:
        """Return the last used connection for a route; it then belongs to the caller."""
        while (found := self._pop(route)) is not None:
            if found.since + _KEPT_S > self._now_s() and found.is_silent():
                return found
            found.socket.close()
        return None

    def _pop(self, route: Hashable) -> Idle | None:
        with self._lock:
            for index in range(len(self._idle) - 1, -1, -1):
                if self._idle[index].route == route:
                    return self._idle.pop(index)
        return None

    def put(self, route: Hashable, connected: socket.socket, connection: Connection) -> None:
        """Keep a connection, or close it if there are too many."""
        with self._lock:
            is_kept = len(self._idle) < _MOST
            if is_kept:
                self._idle.append(Idle(route, connected, connection, self._now_s()))
            needs_timer = is_kept and not self._has_timer
            self._has_timer = self._has_timer or is_kept
        if not is_kept:
            connected.close()
        if needs_timer:
            self._start_timer()

    def close_expired(self) -> None:
        """Close the expired connections; check again later if others are left."""
        self._close(self._now_s() - _KEPT_S)
        with self._lock:
            self._has_timer = bool(self._idle)
        if self._has_timer:
            self._start_timer()

    def close(self) -> None:
        """Close all connections."""
        self._close(None)

    def _close(self, until: float | None) -> None:
        with self._lock:
            closed = [one for one in self._idle if until is None or one.since <= until]
            self._idle = [one for one in self._idle if one not in closed]
        for one in closed:
            one.socket.close()

    def _start_timer(self) -> None:
        timer = threading.Timer(_KEPT_S, self.close_expired)
        timer.daemon = True
        timer.start()
