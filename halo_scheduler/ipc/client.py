"""The client side of the private socket: where it is, and how to send and receive changes.

Only the standard library is used, so that a short command loads nothing else. Messages are lines of JSON. Nothing is
sent to, or accepted from, a server that runs as another user.
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
from typing import TYPE_CHECKING, Any, Self
from zlib import crc32

from halo_scheduler.host.owners import is_own_peer
from halo_scheduler.host.private_files import is_private_folder
from halo_scheduler.model.changes import Change, ChangeKind, gathered

if TYPE_CHECKING:
    from halo_scheduler.model.alarms import StoreTrouble

LONGEST_LINE = 4_096
_LONGEST_ID = 500
SUBSCRIBE = b'{"say":"subscribe"}\n'
_STORE_LINE = b'{"kind": "store"'
# Windows has neither this flag nor an engine to connect to.
_DONT_WAIT = getattr(socket, "MSG_DONTWAIT", 0)
_TIMEOUT_S = 0.5
_MOST_PER_LOOK = 65_536
_MOST_LINES = 500
# Marks the changes of this process, so that its listeners do not get them twice.
_ORIGIN = f"{os.getpid()}-{os.urandom(4).hex()}"
_receivers: dict[Path, Callable[[list[Change]], object]] = {}
_RUNTIME_FOLDERS = Path("/run/user")
# The longest socket path in bytes: one less than the system allows, as Qt refuses the longest. Our longest name is
# that of the window's socket, which Qt opens.
_LONGEST_PLACE = 106 if sys.platform == "linux" else 102
_LONGEST_NAME = len("/halo-0123456789abcdef-window")


def socket_path(database: Path) -> Path:
    """Return the socket path of a database's engine; the server makes its folder private before it listens."""
    return _socket_path(database, os.environ.get("XDG_RUNTIME_DIR", ""))


@lru_cache(maxsize=64)
def _socket_path(database: Path, runtime: str) -> Path:
    # It only distinguishes the user's own databases; hashlib would load OpenSSL, 3 MB for a name.
    place = os.fsencode(database.resolve())
    return _runtime_folder(runtime, database) / f"halo-{crc32(place):08x}{crc32(place[::-1]):08x}"


def message_of(change: Change) -> dict[str, str | None]:
    """Return the message for a change."""
    message: dict[str, str | None] = {
        "kind": change.kind,
        "job_id": change.job_id,
        "run_id": change.run_id,
    }
    return {**message, "origin": change.origin} if change.origin else message


def change_of(message: object) -> Change:
    """Return the change of a message; an invalid message counts as "something changed"."""
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
    path = socket_path(database)
    receive = _receivers.get(path)
    if receive is not None:
        receive(_told(changes))
        return True
    try:
        if not path.exists():
            return False
        lines = b"".join(_line({"say": "changed", **message_of(change)}) for change in _told(changes))
        with _connected(path) as connection:
            connection.sendall(lines)
    except OSError:
        # A stale socket, or an engine too busy to listen: it ticks within a minute anyway.
        return False
    return True


def _told(changes: Sequence[Change]) -> list[Change]:
    return [replace(change, origin=_ORIGIN) for change in gathered(changes)] or [Change(ChangeKind.JOB)]


def trouble_line(trouble: StoreTrouble | None) -> bytes:
    """Return the line for the state of the store: its problem, or that it can be written."""
    data = None if trouble is None else trouble.to_data()
    return json.dumps({"kind": ChangeKind.STORE, "trouble": data}).encode() + b"\n"


def read_trouble(database: Path) -> StoreTrouble | None:
    """Ask the engine of a database whether it can write its store; None without an engine."""
    try:
        if not socket_path(database).exists():
            return None
        with _connected(socket_path(database)) as connection:
            connection.sendall(_line({"say": "store"}))
            return _trouble_of(_first_line(connection))
    except OSError:
        return None


def ask_to_stop(database: Path, run_id: str) -> bool:
    """Ask the engine to stop a run without going through the store; return whether it received that."""
    try:
        with _connected(socket_path(database)) as connection:
            connection.sendall(_line({"say": "stop", "run_id": run_id}))
    except OSError:
        return False
    return True


def _first_line(connection: socket.socket) -> bytes:
    """Return the first line a peer sends; an incomplete one if it sends no more."""
    line = b""
    while b"\n" not in line and len(line) <= LONGEST_LINE:
        chunk = connection.recv(LONGEST_LINE)
        if not chunk:
            break
        line += chunk
    return line.partition(b"\n")[0]


def _trouble_of(line: bytes) -> StoreTrouble | None:
    from halo_scheduler.model.alarms import StoreTrouble  # noqa: PLC0415 - hardly ever needed

    try:
        message = decoded(line)
    except ValueError:
        return None
    return StoreTrouble.from_data(message.get("trouble")) if isinstance(message, dict) else None


def receive_here(database: Path, receive: Callable[[list[Change]], object] | None) -> None:
    """Register an engine of this process to receive changes without the socket; None unregisters. For any thread."""
    if receive is None:
        _receivers.pop(socket_path(database), None)
    else:
        _receivers[socket_path(database)] = receive


def _line(message: dict[str, str | None]) -> bytes:
    return json.dumps(message).encode() + b"\n"


class ChangeStream:
    """The changes of an engine, as they happen."""

    def __init__(self, connection: socket.socket, *, skips_own: bool = False) -> None:
        self._connection = connection
        self._skipped_origin = _ORIGIN if skips_own else None
        self._buffer = b""
        self.is_open = True
        self.trouble: StoreTrouble | None = None
        """The last reported problem with the store; `take` returns whether it changed."""

    @classmethod
    def connect(cls, database: Path, *, skips_own: bool = False) -> Self:
        """Subscribe to an engine's changes, all or those of other processes; OSError if there is no engine."""
        connection = _connected(socket_path(database))
        try:
            connection.sendall(SUBSCRIBE)
        except OSError:
            connection.close()
            raise
        connection.settimeout(None)
        return cls(connection, skips_own=skips_own)

    def fileno(self) -> int:
        """Return the descriptor that becomes readable when changes arrive."""
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
        """Return the changes received so far, without blocking; None if the engine has disconnected.

        One call reads a bounded amount, and merges many changes by kind. A peer that sends an endless line is not
        an engine and is disconnected.
        """
        self._buffer += self._receive()
        whole, _, self._buffer = self._buffer.rpartition(b"\n")
        self.is_open = self.is_open and len(self._buffer) <= LONGEST_LINE
        lines = dict.fromkeys(whole.splitlines())
        for line in lines:
            if line.startswith(_STORE_LINE):
                self.trouble = _trouble_of(line)
        changes = _read_changes(lines, self._skipped_origin)
        return changes if changes or self.is_open else None

    def drain(self) -> None:
        """Discard what has arrived, for callers that only need the wake-up."""
        self._receive()

    def _receive(self) -> bytes:
        """Return the bytes received so far, up to the limit per call, without blocking."""
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
    """Return a connection to an engine of our own user; OSError if there is none."""
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
    """Return the value of a JSON line; ValueError if it is invalid or nested too deeply."""
    try:
        return json.loads(line)
    except RecursionError as error:
        raise ValueError("nested too deeply") from error


def _read_changes(lines: Collection[bytes], skipped_origin: str | None) -> list[Change]:
    """Return the changes of some lines; for very many only that everything may have changed, to save time."""
    if len(lines) > _MOST_LINES:
        return [Change(kind) for kind in ChangeKind]
    return gathered(change for change in map(_read_change, lines) if change.origin != skipped_origin)


def _read_change(line: bytes) -> Change:
    try:
        return change_of(decoded(line))
    except ValueError:
        return Change(ChangeKind.JOB)


def _runtime_folder(given: str, database: Path) -> Path:
    """Return a folder for sockets that both sides find and no other user can take over."""
    if not hasattr(os, "getuid"):
        return _temporary_folder()  # On Windows it is the user's own.
    # Assistants, cron and sudo start programs without XDG_RUNTIME_DIR, which names the second.
    usual = [Path(given)] if given else []
    for folder in (*usual, _RUNTIME_FOLDERS / str(os.getuid())):
        if _has_room(folder) and is_private_folder(folder):
            return folder
    # Unlike in /tmp, no other user can take its name.
    beside = database.absolute().with_name(f"{database.stem}-run")
    return beside if _has_room(beside) else _temporary_folder() / f"halo-{os.getuid()}"


def _has_room(folder: Path) -> bool:
    return len(os.fsencode(folder)) + _LONGEST_NAME <= _LONGEST_PLACE


def _temporary_folder() -> Path:
    import tempfile  # noqa: PLC0415 - hardly ever needed

    return Path(tempfile.gettempdir())
