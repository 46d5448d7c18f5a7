"""Waking the loop for what changes outside: the machine woke from sleep, somebody set the clock."""

from __future__ import annotations

from typing import cast

from PySide6.QtCore import SLOT, QObject, QSocketNotifier, Signal, Slot
from PySide6.QtDBus import QDBusConnection

from halo_scheduler.host.clock_changes import ClockChanges

_SERVICE = "org.freedesktop.login1"
_PATH = "/org/freedesktop/login1"
_INTERFACE = "org.freedesktop.login1.Manager"


class SleepWatcher(QObject):
    """Says that the machine woke up; without a system bus the engine's own gap check remains."""

    woke = Signal()

    def start(self) -> bool:
        """Listen; tell whether there is a bus to listen to."""
        bus = QDBusConnection.systemBus()
        if not bus.isConnected():
            return False
        # The stubs ask for bytes where Qt for Python takes the text that SLOT gives.
        slot = cast("bytes", SLOT("prepare_for_sleep(bool)"))
        return bus.connect(_SERVICE, _PATH, _INTERFACE, "PrepareForSleep", self, slot)

    @Slot(bool)
    def prepare_for_sleep(self, is_going_to_sleep: bool) -> None:  # noqa: FBT001 - as D-Bus calls it
        """Hear logind: True before sleep, False after."""
        if not is_going_to_sleep:
            self.woke.emit()


class ClockWatcher(QObject):
    """Says that the wall clock was set; where the kernel does not tell, the engine notices within a minute."""

    clock_was_set = Signal()

    def __init__(self, parent: QObject) -> None:
        super().__init__(parent)
        self._changes: ClockChanges | None = None
        self._notifier: QSocketNotifier | None = None

    def start(self) -> bool:
        """Listen; tell whether the kernel tells."""
        self._changes = ClockChanges.open()
        if self._changes is None:
            return False
        self._notifier = QSocketNotifier(self._changes.fileno(), QSocketNotifier.Type.Read, self)
        self._notifier.activated.connect(self._hear)
        return True

    def close(self) -> None:
        """Listen no longer."""
        if self._changes is None or self._notifier is None:
            return
        self._notifier.setEnabled(False)
        self._changes.close()
        self._changes = None

    def _hear(self) -> None:
        if self._changes is not None and self._changes.take():
            self.clock_was_set.emit()
