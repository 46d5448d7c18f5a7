"""Remembers the position and size of windows, and how they are arranged."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, Protocol, runtime_checkable

from PySide6.QtCore import QByteArray, QEvent, QObject, QSize, Qt
from PySide6.QtWidgets import QWidget

from halo_scheduler.host.private_files import make_private_folder
from ui.backend.backend import Backend

_LONGEST = 65_536
# Space for a title bar and a panel.
_FRAME = QSize(16, 80)


@runtime_checkable
class Arranged(Protocol):
    """A window that can be arranged by its user."""

    def layout_state(self) -> dict[str, Any]:
        """Return how it is arranged, as JSON data."""

    def restore_layout(self, state: Mapping[str, Any]) -> None:
        """Restore the arrangement."""


class WindowMemory(QObject):
    """Stores the geometry and arrangement of windows in small private files."""

    def __init__(self, folder: Path, backend: Backend, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._folder = folder
        self._backend = backend
        self._saved: dict[str, bytes] = {}

    def keep(self, window: QWidget) -> None:
        """Restore a window's geometry and save it from now on; its object name identifies it."""
        if not window.testAttribute(Qt.WidgetAttribute.WA_Resized):
            # Qt uses the size hint only until a size is set, as is done below.
            window.resize(window.sizeHint())
        with suppress(OSError):
            saved = self._path(window).read_bytes()[:_LONGEST]
            # Qt rejects damaged data, and moves windows that would be off screen.
            window.restoreGeometry(QByteArray(saved))
        window.resize(window.size().boundedTo(window.screen().availableSize() - _FRAME))
        if isinstance(window, Arranged):
            self._arrange(window, self._path(window, "layout"))
        window.installEventFilter(self)

    @staticmethod
    def _arrange(window: Arranged, path: Path) -> None:
        with suppress(OSError, ValueError):
            state = json.loads(path.read_bytes()[:_LONGEST])
            if isinstance(state, dict):
                window.restore_layout(state)

    def _path(self, window: QWidget, ending: str = "geometry") -> Path:
        return self._folder / f"{window.objectName()}.{ending}"

    def _remember(self, window: QWidget) -> None:
        self._save(self._path(window), bytes(window.saveGeometry().data()))
        if isinstance(window, Arranged):
            self._save(self._path(window, "layout"), json.dumps(window.layout_state()).encode())

    def _save(self, path: Path, content: bytes) -> None:
        if self._saved.get(path.name) != content:
            self._saved[path.name] = content
            # Writing may block on a busy disk, so it is not done in the GUI thread.
            self._backend.ask(lambda _scheduler: _write(path, content), failed=lambda _error: None)

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
