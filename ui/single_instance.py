"""One program per data directory: a second start raises the first one's window."""

from __future__ import annotations

from pathlib import Path

from PySide6.QtCore import QLockFile, QObject, Signal
from PySide6.QtNetwork import QLocalServer, QLocalSocket

from halo_scheduler.ipc import socket_path

_TIMEOUT_MS = 1_000
_RAISE = b"raise\n"


class SingleInstance(QObject):
    """Claims to be the one program of a database."""

    raise_requested = Signal()

    def __init__(self, database: Path, parent: QObject | None = None) -> None:
        super().__init__(parent)
        path = socket_path(database)
        self._name = str(path.with_name(f"{path.name}-window"))
        self._lock = QLockFile(f"{self._name}.lock")
        # Whoever holds it is looked for by its process, not by the age of the file.
        self._lock.setStaleLockTime(0)
        self._server = QLocalServer(self)
        self._server.setSocketOptions(QLocalServer.SocketOption.UserAccessOption)
        self._server.newConnection.connect(self._hear)

    def claim(self) -> bool:
        """Become the one program; False when another already is."""
        if not self._lock.tryLock(0):
            return False
        QLocalServer.removeServer(self._name)
        return self._server.listen(self._name)

    def raise_other(self) -> bool:
        """Ask the other program to show its window; tell whether it heard that."""
        connection = QLocalSocket()
        connection.connectToServer(self._name)
        if not connection.waitForConnected(_TIMEOUT_MS):
            return False
        connection.write(_RAISE)
        is_heard = connection.waitForBytesWritten(_TIMEOUT_MS)
        connection.disconnectFromServer()
        return is_heard

    def release(self) -> None:
        """Let another be the one."""
        self._server.close()
        self._lock.unlock()

    def _hear(self) -> None:
        while self._server.hasPendingConnections():
            connection = self._server.nextPendingConnection()
            connection.disconnected.connect(connection.deleteLater)
            self.raise_requested.emit()
