"""One program per data directory: a second start raises the first one's window."""

from __future__ import annotations

import logging
import os
from pathlib import Path
from typing import TYPE_CHECKING

from PySide6.QtCore import QDeadlineTimer, QLockFile, QObject, QThread, Signal

from halo_scheduler.host.peer import is_own_peer
from halo_scheduler.host.private_files import make_private_folder
from halo_scheduler.ipc.client import socket_path

if TYPE_CHECKING:
    from PySide6.QtNetwork import QLocalServer

_LOG = logging.getLogger(__name__)
# Qt's network module is loaded where it is needed: not before the first window.
_RAISE = b"raise\n"
_LONGEST_MS = 5_000
_BETWEEN_TRIES_MS = 50


class SingleInstance(QObject):
    """Claims to be the one program of a database."""

    raise_requested = Signal()

    def __init__(self, database: Path, parent: QObject | None = None) -> None:
        super().__init__(parent)
        path = socket_path(database)
        place = path.with_name(f"{path.name}-window")
        self._folder = place.parent
        # Elsewhere than on Unix it is the name of a pipe, which is no place in a folder.
        self._name = str(place) if os.name == "posix" else place.name
        self._lock = QLockFile(f"{place}.lock")
        # Whoever holds it is looked for by its process, not by the age of the file.
        self._lock.setStaleLockTime(0)
        self._server: QLocalServer | None = None

    def claim(self) -> bool:
        """Become the one program; False when another already is.

        Without a private place for the lock there is no telling. The program then starts: it says what is wrong with
        its folder, and the database keeps two engines apart.
        """
        try:
            make_private_folder(self._folder)
        except OSError as error:
            _LOG.warning("Whether the program is open already cannot be told: %s", error)
            return True
        return self._lock.tryLock(0)

    def listen(self) -> None:
        """Hear from now on when another is started; whoever came earlier tries again."""
        from PySide6.QtNetwork import QLocalServer  # noqa: PLC0415

        self._server = QLocalServer(self)
        self._server.setSocketOptions(QLocalServer.SocketOption.UserAccessOption)
        self._server.newConnection.connect(self._hear)
        QLocalServer.removeServer(self._name)
        self._server.listen(self._name)

    def raise_other(self) -> bool:
        """Ask the other program to show its window; tell whether it heard that."""
        # The other may just be starting, and not yet listen.
        deadline = QDeadlineTimer(_LONGEST_MS)
        while not self._say_raise():
            if deadline.hasExpired():
                return False
            QThread.msleep(_BETWEEN_TRIES_MS)
        return True

    def _say_raise(self) -> bool:
        from PySide6.QtNetwork import QLocalSocket  # noqa: PLC0415

        connection = QLocalSocket()
        connection.connectToServer(self._name)
        if not connection.waitForConnected(_LONGEST_MS) or not is_own_peer(connection.socketDescriptor()):
            return False
        connection.write(_RAISE)
        is_heard = connection.waitForBytesWritten(_LONGEST_MS)
        connection.disconnectFromServer()
        return is_heard

    def release(self) -> None:
        """Let another be the one."""
        if self._server is not None:
            self._server.close()
        self._lock.unlock()

    def _hear(self) -> None:
        while self._server is not None and self._server.hasPendingConnections():
            connection = self._server.nextPendingConnection()
            connection.disconnected.connect(connection.deleteLater)
            if is_own_peer(connection.socketDescriptor()):
                self.raise_requested.emit()
