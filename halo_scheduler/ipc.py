"""The private socket's client side: where it is, and how to say or hear that something changed.

Everything here is standard library, so that a short command pays nothing for it. Messages are lines of JSON.
"""

from __future__ import annotations

import json
import os
import socket
import stat
import sys
from collections.abc import Iterator, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any, Self
from zlib import crc32

from halo_scheduler.changes import Change, ChangeKind, gathered

LONGEST_LINE = 4_096
_LONGEST_ID = 500
SUBSCRIBE = b'{"say":"subscribe"}\n'
_TIMEOUT_S = 0.5
_CHUNK = 65_536
_RUNTIME_FOLDERS = Path("/run/user")
# How many bytes the place of a socket may have: one less than the system allows, as Qt refuses the longest. The
# longest name of ours is that of the window's, which is Qt's.
_LONGEST_PLACE = 106 if sys.platform == "linux" else 102
_LONGEST_NAME = len("/halo-0123456789abcdef-window")


def socket_path(database: Path) -> Path:
    """Return the socket of a database's engine, in a folder only its user can enter."""
    return _socket_path(database, os.environ.get("XDG_RUNTIME_DIR", ""))


@lru_cache(maxsize=64)
def _socket_path(database: Path, runtime: str) -> Path:
    # Only one's own databases have to be told apart; hashlib would load OpenSSL, 3 MB for a name.
    place = os.fsencode(database.resolve())
    return _runtime_folder(runtime) / f"halo-{crc32(place):08x}{crc32(place[::-1]):08x}"


def message_of(change: Change) -> dict[str, str | None]:
    """Return what is said of a change."""
    return {"kind": change.kind, "job_id": change.job_id, "run_id": change.run_id}


def change_of(message: object) -> Change:
    """Return the change a message tells of; from one that makes no sense, only that something changed."""
    if not isinstance(message, dict):
        return Change(ChangeKind.JOB)
    kind, *ids = (message.get(name) for name in ("kind", "job_id", "run_id"))
    if not isinstance(kind, str) or kind not in list(ChangeKind) or not all(map(_is_id, ids)):
        return Change(ChangeKind.JOB)
    return Change(ChangeKind(kind), *ids)


def _is_id(found: object) -> bool:
    return found is None or (isinstance(found, str) and len(found) <= _LONGEST_ID)


def poke(database: Path, changes: Sequence[Change] = ()) -> bool:
    """Tell the engine what changed; tell whether one heard it."""
    told = gathered(changes) or [Change(ChangeKind.JOB)]
    lines = b"".join(_line({"say": "changed", **message_of(change)}) for change in told)
    try:
        path = socket_path(database)
        if not path.exists():
            return False
        with socket.socket(socket.AF_UNIX) as connection:
            connection.settimeout(_TIMEOUT_S)
            connection.connect(str(path))
            connection.sendall(lines)
    except OSError:
        # A stale socket, or an engine too busy to listen: it looks by itself within a minute.
        return False
    return True


def _line(message: dict[str, str | None]) -> bytes:
    return json.dumps(message).encode() + b"\n"


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

    def take(self) -> list[Change] | None:
        """Return the changes that have arrived by now, without waiting; None when the engine has hung up."""
        while self.is_open:
            try:
                chunk = self._connection.recv(_CHUNK, socket.MSG_DONTWAIT)
            except BlockingIOError:
                break
            except OSError:
                chunk = b""
            self._buffer += chunk
            self.is_open = bool(chunk)
        whole, _, self._buffer = self._buffer.rpartition(b"\n")
        changes = [_read_change(line) for line in whole.splitlines()]
        return changes if changes or self.is_open else None

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


def _read_change(line: bytes) -> Change:
    try:
        return change_of(json.loads(line))
    except ValueError:
        return Change(ChangeKind.JOB)


def _runtime_folder(given: str) -> Path:
    has_room = len(os.fsencode(given)) + _LONGEST_NAME <= _LONGEST_PLACE
    if given and has_room and Path(given).is_dir():
        return Path(given)
    import tempfile  # noqa: PLC0415 - hardly ever needed

    if not hasattr(os, "getuid"):
        return Path(tempfile.gettempdir())  # On Windows it is the user's own.
    usual = _RUNTIME_FOLDERS / str(os.getuid())
    if _is_private(usual):
        # Assistants, cron and sudo start programs without the variable that names it.
        return usual
    folder = Path(tempfile.gettempdir()) / f"halo-{os.getuid()}"
    folder.mkdir(mode=0o700, exist_ok=True)
    if not _is_private(folder):
        raise PermissionError(
            f"{folder} belongs to somebody else; set XDG_RUNTIME_DIR to a folder of your own"
        )
    return folder


def _is_private(folder: Path) -> bool:
    """Tell whether there is such a folder, and nobody else can enter it."""
    try:
        status = folder.lstat()
    except OSError:
        return False
    return stat.S_ISDIR(status.st_mode) and status.st_uid == os.getuid() and not status.st_mode & 0o077
