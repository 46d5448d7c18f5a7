"""The private socket's client side: where it is, and how to say or hear that something changed.

Everything here is standard library, so that a short command pays nothing for it. Messages are lines of JSON.
"""

from __future__ import annotations

import hashlib
import json
import os
import socket
import stat
import tempfile
from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path
from typing import Any, Self

LONGEST_LINE = 4_096
CHANGED = b'{"say":"changed"}\n'
SUBSCRIBE = b'{"say":"subscribe"}\n'
_TIMEOUT_S = 0.5


def socket_path(database: Path) -> Path:
    """Return the socket of a database's engine, in a folder only its user can enter."""
    return _socket_path(database, os.environ.get("XDG_RUNTIME_DIR", ""))


@lru_cache(maxsize=64)
def _socket_path(database: Path, runtime: str) -> Path:
    name = hashlib.blake2b(os.fsencode(database.resolve()), digest_size=8).hexdigest()
    return _runtime_folder(runtime) / f"halo-{name}"


def poke(database: Path) -> bool:
    """Tell the engine that something changed; tell whether one heard it."""
    try:
        path = socket_path(database)
        if not path.exists():
            return False
        with socket.socket(socket.AF_UNIX) as connection:
            connection.settimeout(_TIMEOUT_S)
            connection.connect(str(path))
            connection.sendall(CHANGED)
    except OSError:
        # A stale socket, or an engine too busy to listen: it looks by itself within a minute.
        return False
    return True


class ChangeStream:
    """The changes an engine tells of, as they happen."""

    def __init__(self, connection: socket.socket) -> None:
        self._connection = connection
        self._buffer = b""
        self.is_open = True

    @classmethod
    def connect(cls, database: Path) -> Self:
        """Subscribe to an engine's changes; OSError when there is none."""
        connection = socket.socket(socket.AF_UNIX)
        try:
            connection.settimeout(_TIMEOUT_S)
            connection.connect(str(socket_path(database)))
            connection.sendall(SUBSCRIBE)
        except OSError:
            connection.close()
            raise
        connection.settimeout(None)
        return cls(connection)

    def fileno(self) -> int:
        """Return the descriptor that becomes readable when there is news."""
        return self._connection.fileno()

    def settimeout(self, seconds: float | None) -> None:
        self._connection.settimeout(seconds)

    def __iter__(self) -> Iterator[dict[str, Any]]:
        while True:
            line, newline, rest = self._buffer.partition(b"\n")
            if newline:
                self._buffer = rest
                yield json.loads(line)
                continue
            chunk = self._connection.recv(LONGEST_LINE)
            if not chunk:
                return
            self._buffer += chunk

    def drain(self) -> None:
        """Take in what has arrived, for those who only want to know that there is news."""
        try:
            self.is_open = bool(self._connection.recv(LONGEST_LINE, socket.MSG_DONTWAIT))
        except BlockingIOError:
            return
        except OSError:
            self.is_open = False

    def close(self) -> None:
        self._connection.close()


def _runtime_folder(given: str) -> Path:
    if given and Path(given).is_dir():
        return Path(given)
    folder = Path(tempfile.gettempdir()) / f"halo-{os.getuid()}"
    folder.mkdir(mode=0o700, exist_ok=True)
    status = folder.lstat()
    if not stat.S_ISDIR(status.st_mode) or status.st_uid != os.getuid() or status.st_mode & 0o077:
        raise PermissionError(
            f"{folder} belongs to somebody else; set XDG_RUNTIME_DIR to a folder of your own"
        )
    return folder
