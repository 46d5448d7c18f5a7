"""The server side of the private socket: receives changes, and sends them to subscribers.

All connections share one selector and one notifier, so that none needs its own Qt object.
"""

from __future__ import annotations

import json
import logging
import selectors
import socket
import sys
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from PySide6.QtCore import QObject

from halo_scheduler.host.event_loop import Mailbox, Notifier, Timer
from halo_scheduler.host.owners import is_own_peer
from halo_scheduler.host.private_files import make_private_folder
from halo_scheduler.ipc.client import (
    LONGEST_LINE,
    change_of,
    decoded,
    message_of,
    receive_here,
    socket_path,
    trouble_line,
)
from halo_scheduler.model.alarms import StoreTrouble
from halo_scheduler.model.changes import Change, ChangeKind

_LOG = logging.getLogger(__name__)
_MOST_CLIENTS = 64
_SILENCE_MS = 5_000
_REST_MS = 1_000
_MOST_UNREAD = 1_000_000


class ChangeServer(QObject):
    """Listens on a socket that only its user can access."""

    def __init__(
        self,
        database: Path,
        changed: Callable[[Change], None] = lambda _change: None,
        parent: QObject | None = None,
        *,
        stop_wanted: Callable[[str], None] = lambda _run_id: None,
    ) -> None:
        """`changed` is called with a client's change, `stop_wanted` with a run that it wants stopped."""
        super().__init__(parent)
        self._stop_wanted = stop_wanted
        self._trouble: StoreTrouble | None = None
        self._database = database
        self._changed = changed
        self._path: Path | None = None
        self._inode: int | None = None
        self._listener: socket.socket | None = None
        self._clients: list[_Client] = []
        # One selector for all connections, and one notifier for the selector.
        self._selector: selectors.BaseSelector | None = None
        self._notifier: Notifier | None = None
        self._mailbox: Mailbox | None = None
        self._silence = Timer(self._drop_silent, self)
        self._rest = Timer(self._listen_again, self)

    def start(self) -> bool:
        """Listen; the socket of a dead engine is removed, which is safe because we hold the lease."""
        # Changes made in this process, on any thread, need no socket.
        mailbox = self._mailbox = Mailbox(self)
        receive_here(self._database, lambda changes: mailbox.post(lambda: self._take_own(changes)))
        try:
            self._listen(socket_path(self._database))
        except (OSError, AttributeError) as error:  # a system without such sockets has no name for them
            _LOG.warning("No private socket (%s): changes are noticed within a minute.", error)
            return False
        return True

    def _listen(self, path: Path) -> None:
        if sys.platform == "win32":
            raise OSError("Windows has no such sockets")
        make_private_folder(path.parent)
        path.unlink(missing_ok=True)
        listener = socket.socket(socket.AF_UNIX)
        try:
            listener.setblocking(False)
            # Only the user can enter the folder; permissions are set before a client could connect.
            listener.bind(str(path))
            path.chmod(0o600)
            listener.listen(_MOST_CLIENTS)
        except OSError:
            listener.close()
            raise
        self._listener, self._path, self._inode = listener, path, path.stat().st_ino
        self._selector = selectors.DefaultSelector()
        self._selector.register(listener, selectors.EVENT_READ)
        self._notifier = Notifier(self._selector.fileno(), self._look, self)

    def stop(self) -> None:
        """Disconnect all clients."""
        receive_here(self._database, None)
        if self._mailbox is not None:
            self._mailbox.close()
            self._mailbox = None
        for client in list(self._clients):
            self._drop(client)
        self._silence.stop()
        self._rest.stop()
        if self._notifier is not None:
            self._notifier.setEnabled(False)
        if self._selector is not None:
            self._selector.close()
            self._selector = None
        if self._listener is not None:
            self._listener.close()
            self._listener = None
            self._remove_own_path()

    def _take_own(self, changes: list[Change]) -> None:
        for change in changes:
            self._changed(change)

    def _remove_own_path(self) -> None:
        """Remove the socket file, unless it already belongs to the engine that took over."""
        with suppress(OSError):
            if self._path is not None and self._path.stat().st_ino == self._inode:
                self._path.unlink()

    def tell(self, change: Change) -> None:
        """Send a change to every subscriber; one that does not read is disconnected."""
        if not self._clients:
            return
        self._send(json.dumps(message_of(change)).encode() + b"\n")

    def tell_trouble(self, trouble: StoreTrouble | None) -> None:
        """Send the problem of the store to subscribers, now and when they connect; None if it can be written."""
        self._trouble = trouble
        self._send(trouble_line(trouble))

    def _send(self, line: bytes) -> None:
        for client in [client for client in self._clients if client.is_subscriber]:
            if client.send(line):
                self._watch(client)
            else:
                self._drop(client)

    def _look(self) -> None:
        if self._selector is None:
            return
        for key, events in self._selector.select(0):
            if key.data is None:
                self._admit()
                continue
            client: _Client = key.data
            if events & selectors.EVENT_WRITE and not client.send(b""):
                self._drop(client)
            elif events & selectors.EVENT_READ:
                self._read(client)
            self._watch(client)

    def _admit(self) -> None:
        try:
            while self._listener is not None and self._selector is not None:
                connection, _ = self._listener.accept()
                connection.setblocking(False)
                if not is_own_peer(connection.fileno()):
                    connection.close()
                    continue
                if len(self._clients) >= _MOST_CLIENTS:
                    connection.close()
                    # It may have told of a change.
                    self._changed(Change(ChangeKind.JOB))
                    continue
                client = _Client(connection)
                self._clients.append(client)
                self._selector.register(connection, selectors.EVENT_READ, client)
                self._silence.start(_SILENCE_MS)
        except BlockingIOError:
            pass
        except OSError as error:
            self._rest_after(error)

    def _rest_after(self, error: OSError) -> None:
        """Accept no connections for a moment: with too many open files, a waiting client would wake us endlessly."""
        _LOG.warning("Accepting connections is paused: %s", error)
        if self._listener is not None and self._selector is not None:
            self._selector.unregister(self._listener)
            self._rest.start(_REST_MS)

    def _listen_again(self) -> None:
        if self._listener is not None and self._selector is not None:
            self._selector.register(self._listener, selectors.EVENT_READ)

    def _read(self, client: _Client) -> None:
        lines = client.read()
        for line in lines or ():
            said, message = _heard(line)
            if said == "changed":
                self._changed(change_of(message))
            elif said == "subscribe":
                client.is_subscriber = True
                if self._trouble is not None:
                    client.send(trouble_line(self._trouble))
            elif said == "store":
                client.send(trouble_line(self._trouble))
            elif said == "stop":
                self._stop_wanted(str(message.get("run_id", "")))
            else:
                lines = None
                break
        if lines is None:
            self._drop(client)

    def _watch(self, client: _Client) -> None:
        """Also wait until the client is writable, if something could not be sent yet."""
        if self._selector is not None and client in self._clients:
            events = selectors.EVENT_READ | (selectors.EVENT_WRITE if client.unsent else 0)
            self._selector.modify(client.connection, events, client)

    def _drop_silent(self) -> None:
        """Disconnect clients that have sent nothing valid for a while."""
        waiting = [client for client in self._clients if not client.is_subscriber]
        for client in waiting:
            if client.is_given_up:
                self._drop(client)
            client.is_given_up = True
        if any(client in self._clients for client in waiting):
            self._silence.start(_SILENCE_MS)

    def _drop(self, client: _Client) -> None:
        if client not in self._clients:
            return
        self._clients.remove(client)
        if self._selector is not None:
            self._selector.unregister(client.connection)
        client.connection.close()


class _Client:
    """One connection; it must send a short message soon."""

    def __init__(self, connection: socket.socket) -> None:
        self.connection = connection
        self.is_subscriber = False
        self.is_given_up = False
        self.unsent = b""
        self._unread = b""

    def read(self) -> list[bytes] | None:
        """Return the lines received; None if the peer disconnected or sends too much."""
        try:
            chunk = self.connection.recv(LONGEST_LINE)
        except BlockingIOError:
            return []
        except OSError:
            return None
        *lines, self._unread = (self._unread + chunk).split(b"\n")
        if len(self._unread) >= LONGEST_LINE or (not chunk and not lines):
            return None
        return lines

    def send(self, line: bytes) -> bool:
        """Send as much as possible without blocking; return whether the peer still reads."""
        waiting = self.unsent + line
        try:
            sent = self.connection.send(waiting) if waiting else 0
        except BlockingIOError:
            sent = 0
        except OSError:
            return False
        self.unsent = waiting[sent:]
        return len(self.unsent) <= _MOST_UNREAD


def _heard(line: bytes) -> tuple[object, dict[str, object]]:
    try:
        message = decoded(line)
    except ValueError:
        return None, {}
    return (message.get("say"), message) if isinstance(message, dict) else (None, {})
