"""Sleep inhibitors over D-Bus."""

from __future__ import annotations

import os
from typing import ClassVar

from jeepney import MatchRule, Message, message_bus
from jeepney.fds import FileDescriptor

from halo_scheduler.host.bus import Bus, BusConnection, BusError, Callee, method_call

_WHO = "Halo Scheduler"
_SUSPEND, _IDLE = 4, 8


class LogindGrip:
    """A logind inhibitor lock; it lasts while its descriptor is open, also in a child that inherited it."""

    _MANAGER: ClassVar = Callee(
        "org.freedesktop.login1", "/org/freedesktop/login1", "org.freedesktop.login1.Manager"
    )

    def __init__(self, why: str) -> None:
        """Take the lock; `BusError` if logind refuses."""
        wish = method_call(
            self._MANAGER, "Inhibit", "ssss", ("sleep:idle", _WHO, why, "block"), starts_service=True
        )
        try:
            with BusConnection(Bus.SYSTEM, takes_descriptors=True) as connection:
                answer = connection.call(wish)
        except BusError as error:
            raise BusError(f"logind failed ({error})") from error
        match answer:
            case (FileDescriptor() as descriptor,):
                self._descriptor = descriptor.to_raw_fd()
            case _:
                raise BusError("logind returned no lock")

    def release(self) -> None:
        os.close(self._descriptor)


class PortalGrip:
    """An inhibit request to the desktop portal; it lasts until it or its bus connection is closed."""

    _SERVICE: ClassVar = "org.freedesktop.portal.Desktop"
    _INHIBIT: ClassVar = Callee(_SERVICE, "/org/freedesktop/portal/desktop", "org.freedesktop.portal.Inhibit")
    _REQUEST: ClassVar = "org.freedesktop.portal.Request"

    def __init__(self, why: str) -> None:
        """Make the request; `BusError` if the portal refuses."""
        try:
            self._connection = BusConnection(Bus.SESSION)
        except BusError as error:
            raise BusError(f"no desktop portal ({error})") from error
        try:
            self._close = self._ask(why)
        except BusError as error:
            self._connection.close()
            raise BusError(f"the desktop portal failed ({error})") from error

    def release(self) -> None:
        try:
            self._connection.call(self._close)
        finally:
            self._connection.close()

    def _ask(self, why: str) -> Message:
        """Make the request; return the object path that ends it."""
        rule = MatchRule(type="signal", sender=self._SERVICE, interface=self._REQUEST, member="Response")
        self._connection.call(message_bus.AddMatch(rule))
        wish = ("", _SUSPEND | _IDLE, {"reason": ("s", why)})
        message = method_call(self._INHIBIT, "Inhibit", "sua{sv}", wish, starts_service=True)
        match self._connection.call(message):
            case (str(path),):
                close = method_call(Callee(self._SERVICE, path, self._REQUEST), "Close")
                self._require_grant(path)
                return close
        raise BusError("the portal returned no request")

    def _require_grant(self, path: str) -> None:
        """Wait for a later refusal of the request; a portal may not confirm a grant."""
        match self._connection.wait_for_signal(path, "Response"):
            case (int(refusal), _) if refusal:
                raise BusError("the portal refused")
