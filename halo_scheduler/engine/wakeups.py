"""Waking with the machine: logind tells when it sleeps and when it is back."""

from __future__ import annotations

from typing import cast

from PySide6.QtCore import SLOT, QObject, Signal, Slot
from PySide6.QtDBus import QDBusConnection

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
