"""One program per data directory: a second start raises the first one's window."""

from __future__ import annotations

import logging
import os
from pathlib import Path
from typing import TYPE_CHECKING

from PySide6.QtCore import QDeadlineTimer, QLockFile, QObject, QThread, Signal

from halo_scheduler.host.owners import is_own_peer
from halo_scheduler.host.private_files import FILE_MODE, make_private_folder
from halo_scheduler.ipc.client import socket_path

if TYPE_CHECKING:
    from PySide6.QtNetwork import QLocalServer

_LOG = logging.getLogger(__name__)
# Qt's network module is imported late, after the first window.
_RAISE = b"raise\n"
_LONGEST_MS = 5_000
_BETWEEN_TRIES_MS = 50


class SingleInstance(QObject):
    """Claims to be the only instance for a database."""

    raise_requested = Signal()

    def __init__(self, database: Path, parent: QObject | None = None) -> None:
        super().__init__(parent)
        path = socket_path(database)
        place = path.with_name(f"{path.name}-window")
        self._folder = place.parent
        # On Windows it is the name of a pipe, not a path.
        self._name = str(place) if os.name == "posix" else place.name
        self._lock = QLockFile(f"{place}.lock")
        # A stale lock is recognised by its process, not by its age.
        self._lock.setStaleLockTime(0)
        self._server: QLocalServer | None = None

    def claim(self) -> bool:
        """Become the only instance; False if there is another.

        Without a private folder for the lock this is unknown. The program then starts: it reports the problem with
        its folder, and the database's lease keeps two engines apart.
        """
        try:
            make_private_folder(self._folder)
        except OSError as error:
            _LOG.warning("Can't tell whether Halo is already running: %s", error)
            return True
        if not self._lock.tryLock(0):
            return False
        if os.name == "posix":
            Path(self._lock.fileName()).chmod(FILE_MODE)  # Qt leaves it readable by others.
        return True

    def listen(self) -> None:
        """Listen for other instances; those that came earlier retry."""
        from PySide6.QtNetwork import QLocalServer  # noqa: PLC0415

        self._server = QLocalServer(self)
        self._server.setSocketOptions(QLocalServer.SocketOption.UserAccessOption)
        self._server.newConnection.connect(self._hear)
        QLocalServer.removeServer(self._name)
        self._server.listen(self._name)

    def raise_other(self) -> bool:
        """Ask the other instance to show its window; return whether it answered."""
        # The other instance may still be starting and not listen yet.
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
        """Release the claim."""
        if self._server is not None:
            self._server.close()
        self._lock.unlock()

    def _hear(self) -> None:
        while self._server is not None and self._server.hasPendingConnections():
            connection = self._server.nextPendingConnection()
            connection.disconnected.connect(connection.deleteLater)
            if is_own_peer(connection.socketDescriptor()):
                self.raise_requested.emit()
