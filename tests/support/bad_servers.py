"""Servers that do not play by the rules: each says the same to everybody who comes, at its own pace."""

from __future__ import annotations

import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field

Talk = Callable[[socket.socket, threading.Event], None]


@dataclass(slots=True)
class BadServer:
    """Where a server is, and how many it has talked to."""

    port: int
    visits: list[int] = field(default_factory=list)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}/"


def says(data: bytes) -> Talk:
    """Say something once and hang up."""
    return lambda connection, _: connection.sendall(data)


def floods(head: bytes, again: bytes) -> Talk:
    """Say something without end, as quickly as it is taken."""
    piece = again * max(1, 65_536 // len(again))

    def talk(connection: socket.socket, is_over: threading.Event) -> None:
        connection.sendall(head)
        while not is_over.is_set():
            connection.sendall(piece)

    return talk


def trickles(head: bytes, again: bytes, pause_s: float = 0.05) -> Talk:
    """Say something without end, so slowly that no pause between two bytes is a long one."""

    def talk(connection: socket.socket, is_over: threading.Event) -> None:
        connection.sendall(head)
        while not is_over.wait(pause_s):
            connection.sendall(again)

    return talk


@contextmanager
def bad_server(talk: Talk) -> Iterator[BadServer]:
    """Run a server until it is no longer needed."""
    is_over = threading.Event()
    threads: list[threading.Thread] = []
    connections: list[socket.socket] = []
    with socket.create_server(("127.0.0.1", 0), backlog=128) as listener:
        server = BadServer(listener.getsockname()[1])

        def attend(connection: socket.socket) -> None:
            with connection, suppress(OSError):
                connection.recv(65_536)
                talk(connection, is_over)

        def serve() -> None:
            while True:
                try:
                    connection, _ = listener.accept()
                except OSError:
                    return
                connections.append(connection)
                threads.append(threading.Thread(target=attend, args=(connection,), daemon=True))
                threads[-1].start()
                server.visits.append(len(threads))

        door = threading.Thread(target=serve, daemon=True)
        door.start()
        try:
            yield server
        finally:
            is_over.set()
            listener.shutdown(socket.SHUT_RDWR)
            door.join(30)
            for connection, thread in zip(connections, threads, strict=True):
                with suppress(OSError):  # It may be closed already.
                    connection.shutdown(socket.SHUT_RDWR)
                thread.join(30)
