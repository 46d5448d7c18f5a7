"""The private socket's server side: hears that something changed, and tells subscribers."""

from __future__ import annotations

import json
import logging
import os
import socket
import struct
from pathlib import Path

from PySide6.QtCore import QObject, QTimer, Signal
from PySide6.QtNetwork import QLocalServer, QLocalSocket

from halo_scheduler.changes import Change
from halo_scheduler.ipc import LONGEST_LINE, change_of, message_of, socket_path

_LOG = logging.getLogger(__name__)
_MOST_CLIENTS = 64
_SILENCE_MS = 5_000
_MOST_UNREAD = 1_000_000


class ChangeServer(QObject):
    """Listens on a socket that only its user can reach."""

    changed = Signal(object)

    def __init__(self, database: Path) -> None:
        super().__init__()
        self._database = database
        self._inode: int | None = None
        self._server = QLocalServer(self)
        self._server.setSocketOptions(QLocalServer.SocketOption.UserAccessOption)
        self._server.newConnection.connect(self._admit)
        self._clients: list[_Client] = []

    def start(self) -> bool:
        """Listen; a socket left by an engine that is gone is removed, as we hold the engine's row."""
        try:
            path = socket_path(self._database)
            path.unlink(missing_ok=True)
            if self._server.listen(str(path)):
                self._inode = path.stat().st_ino
                return True
            fault = self._server.errorString()
        except OSError as error:
            fault = str(error)
        _LOG.warning("No private socket (%s): changes are noticed within a minute.", fault)
        return False

    def stop(self) -> None:
        """Hang up on everyone."""
        for client in list(self._clients):
            client.drop()
        if self._inode is not None:
            self._close_without_taking_a_newer_one_along()

    def _close_without_taking_a_newer_one_along(self) -> None:
        """Close; Qt removes whatever lies at the path, which may be the socket of the engine that took over."""
        path = Path(self._server.fullServerName())
        kept = path.with_name(f"{path.name}.{os.getpid()}")
        if path.exists() and path.stat().st_ino != self._inode:
            path.rename(kept)
        self._server.close()
        if kept.exists():
            kept.rename(path)

    def tell(self, change: Change) -> None:
        """Send a change to every subscriber; one that does not read is dropped."""
        if not self._clients:
            return
        line = json.dumps(message_of(change)).encode() + b"\n"
        for client in list(self._clients):
            client.send(line)

    def _admit(self) -> None:
        while self._server.hasPendingConnections():
            connection = self._server.nextPendingConnection()
            if len(self._clients) >= _MOST_CLIENTS or not _is_own(connection):
                connection.abort()
                connection.deleteLater()
                continue
            client = _Client(connection, self)
            client.changed.connect(self.changed)
            client.gone.connect(self._forget)
            self._clients.append(client)
            client.read()

    def _forget(self, client: _Client) -> None:
        if client in self._clients:
            self._clients.remove(client)
        client.deleteLater()


class _Client(QObject):
    """One connection: it must say something soon, and briefly."""

    changed = Signal(object)
    gone = Signal(object)

    def __init__(self, connection: QLocalSocket, parent: QObject) -> None:
        super().__init__(parent)
        self._connection = connection
        connection.setParent(self)
        self._is_subscriber = False
        self._silence = QTimer(self)
        self._silence.setSingleShot(True)
        self._silence.timeout.connect(self.drop)
        self._silence.start(_SILENCE_MS)
        connection.readyRead.connect(self.read)
        connection.disconnected.connect(self._say_gone)

    def read(self) -> None:
        while self._connection.canReadLine():
            self._hear(bytes(self._connection.readLine(LONGEST_LINE).data()))
        if self._connection.bytesAvailable() >= LONGEST_LINE:
            self.drop()

    def send(self, line: bytes) -> None:
        if not self._is_subscriber:
            return
        if self._connection.bytesToWrite() > _MOST_UNREAD:
            self.drop()
            return
        self._connection.write(line)
        self._connection.flush()

    def drop(self) -> None:
        self._connection.abort()
        self._say_gone()

    def _hear(self, line: bytes) -> None:
        try:
            message = json.loads(line)
            said = message.get("say") if isinstance(message, dict) else None
        except ValueError:
            said = None
        if said == "changed":
            self.changed.emit(change_of(message))
        elif said == "subscribe":
            self._is_subscriber = True
            self._silence.stop()
        else:
            self.drop()

    def _say_gone(self) -> None:
        self.gone.emit(self)


def _is_own(connection: QLocalSocket) -> bool:
    """Tell whether the peer belongs to our user, where the system says so."""
    option = getattr(socket, "SO_PEERCRED", None)
    if option is None:
        return True  # The socket's permissions are the guard.
    # A duplicate, so that closing it leaves Qt's own descriptor alone.
    with socket.socket(fileno=os.dup(int(connection.socketDescriptor()))) as peer:
        credentials = peer.getsockopt(socket.SOL_SOCKET, option, struct.calcsize("3i"))
    _, uid, _ = struct.unpack("3i", credentials)
    return bool(uid == os.getuid())
