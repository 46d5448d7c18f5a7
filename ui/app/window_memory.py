"""Windows come up again where they were, and as large."""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path

from PySide6.QtCore import QByteArray, QEvent, QObject, QSize, Qt
from PySide6.QtWidgets import QWidget

from halo_scheduler.host.private_files import make_private_folder
from ui.backend.backend import Backend

_LONGEST = 4_096
# Room for a title bar and a panel.
_FRAME = QSize(16, 80)


class WindowMemory(QObject):
    """Keeps the geometry of windows in small private files, one for each."""

    def __init__(self, folder: Path, backend: Backend, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._folder = folder
        self._backend = backend
        self._saved: dict[str, bytes] = {}

    def keep(self, window: QWidget) -> None:
        """Put a window where it was, and remember from now on where it is; its object name is its mark."""
        if not window.testAttribute(Qt.WidgetAttribute.WA_Resized):
            # What it likes counts for Qt only until somebody gives it a size, as is done below.
            window.resize(window.sizeHint())
        with suppress(OSError):
            saved = self._path(window).read_bytes()[:_LONGEST]
            # Qt itself refuses what is damaged, and moves what would be off the screens of today.
            window.restoreGeometry(QByteArray(saved))
        window.resize(window.size().boundedTo(window.screen().availableSize() - _FRAME))
        window.installEventFilter(self)

    def _path(self, window: QWidget) -> Path:
        return self._folder / f"{window.objectName()}.geometry"

    def _remember(self, window: QWidget) -> None:
        path, geometry = self._path(window), bytes(window.saveGeometry().data())
        if self._saved.get(path.name) != geometry:
            self._saved[path.name] = geometry
            # A busy disk holds up whoever writes: that is not the window's thread.
            self._backend.ask(lambda _scheduler: _write(path, geometry), failed=lambda _error: None)

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:  # noqa: N802 - Qt's name
        if event.type() is QEvent.Type.Hide and isinstance(watched, QWidget):
            self._remember(watched)
        return super().eventFilter(watched, event)


def _write(path: Path, content: bytes) -> None:
    with suppress(OSError):
        make_private_folder(path.parent)
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
        with os.fdopen(descriptor, "wb") as file:
            file.write(content)
