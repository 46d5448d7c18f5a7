"""The private socket's client side: where it is, and how to say or hear that something changed.

Everything here is standard library, so that a short command pays nothing for it. Messages are lines of JSON. Nothing is
sent to, or believed of, a server that runs as another user.
"""

from __future__ import annotations

import json
import os
import socket
import sys
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import replace
from functools import lru_cache
from pathlib import Path
from typing import Any, Self
from zlib import crc32

from halo_scheduler.host.peer import is_own_peer
from halo_scheduler.host.private_files import is_private_folder
from halo_scheduler.model.changes import Change, ChangeKind, gathered

LONGEST_LINE = 4_096
_LONGEST_ID = 500
SUBSCRIBE = b'{"say":"subscribe"}\n'
# Windows has no such flag, nor an engine to connect to.
_DONT_WAIT = getattr(socket, "MSG_DONTWAIT", 0)
_TIMEOUT_S = 0.5
_MOST_PER_LOOK = 65_536
_MOST_LINES = 500
# Marks the changes of this process, so that nobody in it hears them twice.
_ORIGIN = f"{os.getpid()}-{os.urandom(4).hex()}"
_receivers: dict[Path, Callable[[list[Change]], object]] = {}
_RUNTIME_FOLDERS = Path("/run/user")
# How many bytes the place of a socket may have: one less than the system allows, as Qt refuses the longest. The
# longest name of ours is that of the window's, which is Qt's.
_LONGEST_PLACE = 106 if sys.platform == "linux" else 102
_LONGEST_NAME = len("/halo-0123456789abcdef-window")


def socket_path(database: Path) -> Path:
    """Return the socket of a database's engine; whoever listens there makes its folder private first."""
    return _socket_path(database, os.environ.get("XDG_RUNTIME_DIR", ""))


@lru_cache(maxsize=64)
def _socket_path(database: Path, runtime: str) -> Path:
    # Only one's own databases have to be told apart; hashlib would load OpenSSL, 3 MB for a name.
    place = os.fsencode(database.resolve())
    return _runtime_folder(runtime, database) / f"halo-{crc32(place):08x}{crc32(place[::-1]):08x}"


def message_of(change: Change) -> dict[str, str | None]:
    """Return what is said of a change."""
    message: dict[str, str | None] = {
        "kind": change.kind,
        "job_id": change.job_id,
        "run_id": change.run_id,
    }
    return {**message, "origin": change.origin} if change.origin else message


def change_of(message: object) -> Change:
    """Return the change a message tells of; from one that makes no sense, only that something changed."""
    if not isinstance(message, dict):
        return Change(ChangeKind.JOB)
    kind, job_id, run_id, origin = (message.get(name) for name in ("kind", "job_id", "run_id", "origin"))
    has_ids = all(map(_is_id, (job_id, run_id, origin)))
    if not isinstance(kind, str) or kind not in list(ChangeKind) or not has_ids:
        return Change(ChangeKind.JOB)
    return Change(ChangeKind(kind), job_id, run_id, origin or "")


def _is_id(found: object) -> bool:
    return found is None or (isinstance(found, str) and len(found) <= _LONGEST_ID)


def poke(database: Path, changes: Sequence[Change] = ()) -> bool:
    """Notify the engine of changes; return whether there is one.

    An engine in this process gets them by a queued call, another one by its socket.
    """
    told = [replace(change, origin=_ORIGIN) for change in gathered(changes)] or [Change(ChangeKind.JOB)]
    path = socket_path(database)
    receive = _receivers.get(path)
    if receive is not None:
        receive(told)
        return True
    lines = b"".join(_line({"say": "changed", **message_of(change)}) for change in told)
    try:
        if not path.exists():
            return False
        with _connected(path) as connection:
            connection.sendall(lines)
    except OSError:
        # A stale socket, or an engine too busy to listen: it looks by itself within a minute.
        return False
    return True


def receive_here(database: Path, receive: Callable[[list[Change]], object] | None) -> None:
    """Let an engine of this process receive changes without the socket, or (None) no longer; from any thread."""
    if receive is None:
        _receivers.pop(socket_path(database), None)
    else:
        _receivers[socket_path(database)] = receive


def _line(message: dict[str, str | None]) -> bytes:
    return json.dumps(message).encode() + b"\n"


class ChangeStream:
    """The changes an engine tells of, as they happen."""

    def __init__(self, connection: socket.socket, *, skips_own: bool = False) -> None:
        self._connection = connection
        self._skipped_origin = _ORIGIN if skips_own else None
        self._buffer = b""
        self.is_open = True

    @classmethod
    def connect(cls, database: Path, *, skips_own: bool = False) -> Self:
        """Subscribe to an engine's changes, all or those of other processes; OSError when there is none."""
        connection = _connected(socket_path(database))
        try:
            connection.sendall(SUBSCRIBE)
        except OSError:
            connection.close()
            raise
        connection.settimeout(None)
        return cls(connection, skips_own=skips_own)

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
            if not chunk or len(self._buffer) >= LONGEST_LINE:
                return
            self._buffer += chunk

    def take(self) -> list[Change] | None:
        """Return the changes that have arrived by now, without waiting; None when the engine has hung up.

        One look reads a bounded amount, and of many changes tells only the kinds. Who sends a line without an end is
        no engine, and is not listened to any more.
        """
        self._buffer += self._receive()
        whole, _, self._buffer = self._buffer.rpartition(b"\n")
        self.is_open = self.is_open and len(self._buffer) <= LONGEST_LINE
        changes = _read_changes(dict.fromkeys(whole.splitlines()), self._skipped_origin)
        return changes if changes or self.is_open else None

    def drain(self) -> None:
        """Take in what has arrived, for those who only want to know that there is news."""
        self._receive()

    def _receive(self) -> bytes:
        """Return what has arrived, as far as one look goes; without waiting."""
        chunks: list[bytes] = []
        room = _MOST_PER_LOOK
        while self.is_open and room:
            try:
                chunk = self._connection.recv(room, _DONT_WAIT)
            except BlockingIOError:
                break
            except OSError:
                chunk = b""
            chunks.append(chunk)
            room -= len(chunk)
            self.is_open = bool(chunk)
        return b"".join(chunks)

    def close(self) -> None:
        self._connection.close()


def _connected(path: Path) -> socket.socket:
    """Return a connection to an engine of our own user; OSError when there is none."""
    if sys.platform == "win32":
        raise OSError("Windows has no such sockets")
    connection = socket.socket(socket.AF_UNIX)
    try:
        connection.settimeout(_TIMEOUT_S)
        connection.connect(str(path))
        if not is_own_peer(connection.fileno()):
            raise PermissionError(f"another user listens at {path}")
    except OSError:
        connection.close()
        raise
    return connection


def decoded(line: bytes) -> object:
    """Return what a line of JSON says; ValueError when it is none, or nested without reason."""
    try:
        return json.loads(line)
    except RecursionError as error:
        raise ValueError("nested too deeply") from error


def _read_changes(lines: Collection[bytes], skipped_origin: str | None) -> list[Change]:
    """Return the changes of some lines; of very many only that everything may have changed, as reading takes time."""
    if len(lines) > _MOST_LINES:
        return [Change(kind) for kind in ChangeKind]
    return gathered(change for change in map(_read_change, lines) if change.origin != skipped_origin)


def _read_change(line: bytes) -> Change:
    try:
        return change_of(decoded(line))
    except ValueError:
        return Change(ChangeKind.JOB)


def _runtime_folder(given: str, database: Path) -> Path:
    """Return a folder for sockets that both ends find, and that nobody else can take from us."""
    if not hasattr(os, "getuid"):
        return _temporary_folder()  # On Windows it is the user's own.
    # Assistants, cron and sudo start programs without the variable that names the second.
    usual = [Path(given)] if given else []
    for folder in (*usual, _RUNTIME_FOLDERS / str(os.getuid())):
        if _has_room(folder) and is_private_folder(folder):
            return folder
    # Its name cannot be taken by another user, as one in /tmp can.
    beside = database.absolute().with_name(f"{database.stem}-run")
    return beside if _has_room(beside) else _temporary_folder() / f"halo-{os.getuid()}"


def _has_room(folder: Path) -> bool:
    return len(os.fsencode(folder)) + _LONGEST_NAME <= _LONGEST_PLACE


def _temporary_folder() -> Path:
    import tempfile  # noqa: PLC0415 - hardly ever needed

    return Path(tempfile.gettempdir())
