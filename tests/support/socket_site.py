"""A WebSocket server on this machine that talks to everybody who connects as a test says."""

from __future__ import annotations

import socket
import ssl
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress

from websockets.exceptions import ConnectionClosed
from websockets.sync.server import ServerConnection, serve

Talk = Callable[[ServerConnection], None]


class SocketSite:
    """Where the server is, and who is connected."""

    def __init__(self, talk: Talk) -> None:
        self.talk = talk
        self.visits = 0
        self.connections: list[ServerConnection] = []
        self.is_closing = threading.Event()
        self.port = 0

    @property
    def url(self) -> str:
        return f"ws://127.0.0.1:{self.port}"

    def drop(self) -> None:
        """End all connections as a broken network does: without a word."""
        for connection in list(self.connections):
            with suppress(OSError):  # The client may be gone already.
                connection.socket.shutdown(socket.SHUT_RDWR)

    def serve(self, connection: ServerConnection) -> None:
        """Talk to one client until it or the test is gone."""
        self.visits += 1
        self.connections.append(connection)
        with suppress(ConnectionClosed, OSError):
            self.talk(connection)
        self.connections.remove(connection)


@contextmanager
def open_sockets(talk: Talk, context: ssl.SSLContext | None = None) -> Iterator[SocketSite]:
    """Run a server until it is no longer needed."""
    site = SocketSite(talk)
    with serve(site.serve, "127.0.0.1", 0, ssl=context, ping_interval=None, close_timeout=0.1) as server:
        site.port = server.socket.getsockname()[1]
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        try:
            yield site
        finally:
            site.is_closing.set()
            server.shutdown()
            thread.join(30)
