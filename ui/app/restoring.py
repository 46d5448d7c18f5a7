"""Putting a backup in the database's place, away from the window's thread."""

from __future__ import annotations

import threading
from pathlib import Path

from PySide6.QtCore import QObject, Qt, Signal

from halo_scheduler.clock import Clock
from halo_scheduler.errors import SchedulerError
from halo_scheduler.service.backups import restore_backup
from ui.style.wording import tr


class Restorer(QObject):
    """Restores one backup at a time; nobody may use the database meanwhile."""

    done = Signal(str)
    failed = Signal(str)
    _done = Signal(str)
    _failed = Signal(str)

    def __init__(self, path: Path, clock: Clock, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._path = path
        self._clock = clock
        self._done.connect(self.done, Qt.ConnectionType.QueuedConnection)
        self._failed.connect(self.failed, Qt.ConnectionType.QueuedConnection)

    def restore(self, backup: Path | None) -> None:
        """Restore a backup, or the newest that is in order; `done` or `failed` tells what came of it."""
        threading.Thread(target=self._restore, args=(backup,), name="halo-restore", daemon=True).start()

    def _restore(self, backup: Path | None) -> None:
        try:
            _, aside = restore_backup(self._path, backup, self._clock.now_ms())
        except (SchedulerError, OSError) as error:
            self._failed.emit(str(error))
            return
        kept = (
            "" if aside is None else tr(" What was there before is kept as {file}.").format(file=aside.name)
        )
        self._done.emit(tr("The backup is restored.") + kept)
