"""Keeping the window within reach when the tray, from which it could be opened, is not there."""

from __future__ import annotations

from collections.abc import Callable

from PySide6.QtCore import QObject, QTimer
from PySide6.QtWidgets import QWidget

# At login a tray may start later than we do, and one that was restarted comes back within moments.
_PATIENCE_MS = 60_000


class Reach(QObject):
    """Brings a hidden window back, minimised, once there has been no tray for a while."""

    def __init__(self, window: QWidget, has_tray: Callable[[], bool], parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._window = window
        self._has_tray = has_tray
        self._patience = QTimer(self)
        self._patience.setSingleShot(True)
        self._patience.setInterval(_PATIENCE_MS)
        self._patience.timeout.connect(self._look)

    def look_later(self) -> None:
        """Look in a while whether a hidden window can still be opened; several calls make one look."""
        if not self._window.isVisible() and not self._patience.isActive():
            self._patience.start()

    def _look(self) -> None:
        if not self._window.isVisible() and not self._has_tray():
            self._window.showMinimized()
