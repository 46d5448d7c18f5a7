"""Stand-ins for the services that a desktop has on its buses, to be put on a private one.

    with private_buses() as buses, PowerService(buses, on_battery=True) as power:
        subprocess.Popen(..., env={**os.environ, **buses.environment})
        power.set_on_battery(False)

Each answers on a thread of its own. With `is_silent` it takes every call and answers none; with `nonsense` it gives
that, a signature and a body, as the answer to everything.
"""

from __future__ import annotations

import os
import select
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import Any, ClassVar, Self

from jeepney import (
    DBusAddress,
    HeaderFields,
    MatchRule,
    Message,
    MessageType,
    message_bus,
    new_error,
    new_method_return,
    new_signal,
)
from jeepney.bus import get_bus
from jeepney.io.blocking import DBusConnection, Proxy, open_dbus_connection, prep_socket
from notification_server import private_bus

_LIMIT_S = 30
_PROPERTIES = "org.freedesktop.DBus.Properties"
Answer = tuple[str | None, tuple[Any, ...]]


@dataclass(frozen=True, slots=True)
class Buses:
    """One private bus that is both the system's and the session's."""

    address: str

    @property
    def environment(self) -> dict[str, str]:
        """The variables that lead a program to it."""
        return {"DBUS_SYSTEM_BUS_ADDRESS": self.address, "DBUS_SESSION_BUS_ADDRESS": self.address}


@contextmanager
def private_buses() -> Iterator[Buses]:
    """Run a bus daemon of our own."""
    with private_bus() as address:
        yield Buses(address)


class StandIn:
    """Owns the name of a service, remembers what is called, and answers with what it is made for."""

    NAME: ClassVar[str]

    def __init__(self, buses: Buses, *, is_silent: bool = False, nonsense: Answer | None = None) -> None:
        self.calls: list[str] = []
        self._is_silent = is_silent
        self._nonsense = nonsense
        self._lock = threading.RLock()
        self.changed = threading.Condition(self._lock)
        self._connection = DBusConnection(
            prep_socket(get_bus(buses.address), enable_fds=True), enable_fds=True
        )
        self._begin(Proxy(message_bus, self._connection, timeout=_LIMIT_S))
        self._thread = threading.Thread(target=self._serve, name=self.NAME, daemon=True)
        self._thread.start()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Leave the bus."""
        with suppress(OSError):
            self._connection.sock.shutdown(2)
        self._thread.join(_LIMIT_S)
        self._connection.close()

    def wait_until(self, is_so: Callable[[], bool]) -> None:
        """Wait until something is so, looked at whenever somebody called."""
        with self.changed:
            assert self.changed.wait_for(is_so, _LIMIT_S), f"{self.NAME} was only asked for {self.calls}"

    def wait_for_call(self, method: str, times: int = 1) -> None:
        """Wait until a method was called so often."""
        self.wait_until(lambda: self.calls.count(method) >= times)

    def signal(
        self, path: str, interface: str, member: str, signature: str | None = None, body: tuple[Any, ...] = ()
    ) -> None:
        """Tell everybody who wants to know."""
        self._send(new_signal(DBusAddress(path, interface=interface), member, signature, body))

    def properties(self) -> dict[str, tuple[str, Any]]:
        """Return what the service's object has, each with its type."""
        return {}

    def answer(self, method: str, call: Message) -> Answer | None:  # noqa: ARG002 - for those who want more
        """Return the answer to a call; None when there is no such method."""
        if method == "GetAll":
            return "a{sv}", (self.properties(),)
        return None

    def after(self, call: Message) -> None:
        """Go on after a call was answered."""

    def _begin(self, bus: Proxy) -> None:
        bus.RequestName(self.NAME)

    def _serve(self) -> None:
        with suppress(ConnectionResetError, OSError):
            while True:
                message = self._connection.receive()
                if message.header.message_type is MessageType.method_call:
                    self._take(message)
                elif message.header.message_type is MessageType.signal:
                    self._hear(message)

    def _hear(self, signal: Message) -> None:
        """Follow what the bus tells."""

    def _take(self, call: Message) -> None:
        method = call.header.fields[HeaderFields.member]
        with self.changed:
            self.calls.append(method)
            if not self._is_silent:
                answer = self._nonsense or self.answer(method, call)
                if answer is None:
                    self._send(new_error(call, "org.freedesktop.DBus.Error.UnknownMethod", "s", (method,)))
                else:
                    self._send(new_method_return(call, *answer))
                if self._nonsense is None:
                    self.after(call)
            self.changed.notify_all()

    def _tell_of_properties(self, path: str, interface: str, changes: dict[str, tuple[str, Any]]) -> None:
        body: tuple[Any, ...] = (interface, changes, [])
        self.signal(path, _PROPERTIES, "PropertiesChanged", "sa{sv}as", body)

    def _send(self, message: Message) -> None:
        with self._lock:
            self._connection.send(message)


class Forger:
    """A program that addresses signals of a service to others."""

    def __init__(self, buses: Buses) -> None:
        self._connection = open_dbus_connection(buses.address)
        self._bus = Proxy(message_bus, self._connection, timeout=_LIMIT_S)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._connection.close()

    def send_to_all(self, path: str, interface: str, member: str) -> None:
        """Send a signal to each program on the bus; on return the bus has delivered it."""
        for name in self._bus.ListNames()[0]:
            if name.startswith(":"):
                signal = new_signal(DBusAddress(path, interface=interface), member)
                signal.header.fields[HeaderFields.destination] = name
                self._connection.send(signal)
        self._bus.ListNames()


class PowerService(StandIn):
    """UPower."""

    NAME = "org.freedesktop.UPower"

    def __init__(self, buses: Buses, *, on_battery: bool = False, **strangeness: Any) -> None:
        self._on_battery = on_battery
        super().__init__(buses, **strangeness)

    def set_on_battery(self, on_battery: bool) -> None:
        """Pull the plug, or put it in, and tell."""
        self._on_battery = on_battery
        changes = {"OnBattery": ("b", on_battery)}
        self._tell_of_properties("/org/freedesktop/UPower", self.NAME, changes)

    def properties(self) -> dict[str, tuple[str, Any]]:
        return {"OnBattery": ("b", self._on_battery), "DaemonVersion": ("s", "1.90")}


class NetworkService(StandIn):
    """NetworkManager."""

    NAME = "org.freedesktop.NetworkManager"

    def tell_of_state(self, state: int = 70) -> None:
        """Tell that the state of the network has changed."""
        self.signal("/org/freedesktop/NetworkManager", self.NAME, "StateChanged", "u", (state,))


class MutterService(StandIn):
    """GNOME's compositor, which knows how long nobody has touched anything."""

    NAME = "org.gnome.Mutter.IdleMonitor"
    PATH = "/org/gnome/Mutter/IdleMonitor/Core"

    def __init__(self, buses: Buses, *, idle_ms: int = 0, **strangeness: Any) -> None:
        self._idle_ms = idle_ms
        self.watches: dict[int, int] = {}
        super().__init__(buses, **strangeness)

    def set_idle(self, idle_ms: int) -> None:
        """Let nobody have touched anything for so long; who wanted to know of that is told."""
        with self._lock:
            passed = [watch for watch, at_ms in self.watches.items() if self._idle_ms < at_ms <= idle_ms]
            self._idle_ms = idle_ms
        for watch in passed:
            self.signal(self.PATH, self.NAME, "WatchFired", "u", (watch,))

    def answer(self, method: str, call: Message) -> Answer | None:
        if method == "GetIdletime":
            return "t", (self._idle_ms,)
        if method == "AddIdleWatch":
            number = len(self.watches) + 1
            self.watches[number] = call.body[0]
            return "u", (number,)
        return None


class ScreenSaverService(StandIn):
    """The screen saver of other desktops."""

    NAME = "org.freedesktop.ScreenSaver"
    PATH = "/org/freedesktop/ScreenSaver"

    def __init__(self, buses: Buses, *, idle_ms: int = 0, **strangeness: Any) -> None:
        self._idle_ms = idle_ms
        super().__init__(buses, **strangeness)

    def set_idle(self, idle_ms: int) -> None:
        """Let nobody have touched anything for so long, so that the screen saver begins."""
        self._idle_ms = idle_ms
        self.signal(self.PATH, self.NAME, "ActiveChanged", "b", (True,))

    def tell_of_end(self) -> None:
        """Tell that somebody has ended the screen saver."""
        self.signal(self.PATH, self.NAME, "ActiveChanged", "b", (False,))

    def answer(self, method: str, call: Message) -> Answer | None:  # noqa: ARG002 - takes no arguments
        return ("u", (self._idle_ms,)) if method == "GetSessionIdleTime" else None


@dataclass(frozen=True, slots=True)
class Inhibitor:
    """Who keeps the machine from what, and why."""

    what: str
    who: str
    why: str
    mode: str


class LoginService(StandIn):
    """logind: its locks hold as long as anybody has their descriptor open."""

    NAME = "org.freedesktop.login1"

    def __init__(
        self,
        buses: Buses,
        *,
        is_idle: bool = False,
        idle_since_us: int = 0,
        sessions: tuple[str, ...] = (),
        **strangeness: Any,
    ) -> None:
        """`sessions` are the ids of those in which the user is logged in."""
        self.sessions = sessions
        self._is_idle = is_idle
        self._idle_since_us = idle_since_us
        self._given: dict[int, Inhibitor] = {}
        self._unsent: list[int] = []
        super().__init__(buses, **strangeness)

    @property
    def inhibitors(self) -> list[Inhibitor]:
        """Return the locks that are held now."""
        with self._lock:
            return [item for end, item in self._given.items() if not _is_let_go(end, 0)]

    def wait_until_free(self) -> None:
        """Wait until no lock is held any more."""
        with self._lock:
            ends = list(self._given)
        assert all(_is_let_go(end, _LIMIT_S * 1_000) for end in ends), self.inhibitors

    def tell_of_sleep(self, *, is_going_to_sleep: bool) -> None:
        """Do as when the machine goes to sleep, or has woken up."""
        self.signal(
            "/org/freedesktop/login1", f"{self.NAME}.Manager", "PrepareForSleep", "b", (is_going_to_sleep,)
        )

    @staticmethod
    def session_path(name: str) -> str:
        """Return the path of a session, whose name begins with a digit."""
        return f"/org/freedesktop/login1/session/_3{name}"

    def tell_of_login(self) -> None:
        """Tell of the newest session."""
        body = (self.sessions[-1], self.session_path(self.sessions[-1]))
        self.signal("/org/freedesktop/login1", f"{self.NAME}.Manager", "SessionNew", "so", body)

    def tell_of_unlocking(self, way: str, name: str) -> None:
        """Tell that a session was unlocked, by the signal of that name or by a property."""
        path, interface = self.session_path(name), f"{self.NAME}.Session"
        if way == "Unlock":
            self.signal(path, interface, way)
        else:
            self._tell_of_properties(path, interface, {way: ("b", False)})

    def set_idle(self, is_idle: bool, since_us: int) -> None:
        """Do as when a desktop tells that its user is away."""
        self._is_idle, self._idle_since_us = is_idle, since_us
        changes = {"IdleHint": ("b", is_idle)}
        self._tell_of_properties("/org/freedesktop/login1/user/_0", f"{self.NAME}.User", changes)

    def close(self) -> None:
        super().close()
        for end in self._given:
            os.close(end)

    def properties(self) -> dict[str, tuple[str, Any]]:
        return {
            "IdleHint": ("b", self._is_idle),
            "IdleSinceHintMonotonic": ("t", self._idle_since_us),
            "Sessions": ("a(so)", [(name, self.session_path(name)) for name in self.sessions]),
            "Class": ("s", "user"),
            "Remote": ("b", False),
        }

    def answer(self, method: str, call: Message) -> Answer | None:
        if method != "Inhibit":
            return super().answer(method, call)
        ours, theirs = os.pipe()
        self._given[ours] = Inhibitor(*call.body)
        self._unsent.append(theirs)
        return "h", (theirs,)

    def after(self, call: Message) -> None:  # noqa: ARG002 - whatever was called
        while self._unsent:
            os.close(self._unsent.pop())


def _is_let_go(end: int, limit_ms: int) -> bool:
    poll = select.poll()
    poll.register(end, 0)
    return bool(poll.poll(limit_ms))


@dataclass(frozen=True, slots=True)
class PortalRequest:
    """Who asked the portal for what, and why."""

    sender: str
    flags: int
    reason: str


class PortalService(StandIn):
    """The desktop's portal: a request holds until it is closed, or its sender has left the bus."""

    NAME = "org.freedesktop.portal.Desktop"

    def __init__(self, buses: Buses, *, response: int | None = 0, **strangeness: Any) -> None:
        """`response` is what it tells of a request after the answer; None is nothing."""
        self._response = response
        self.requests: dict[str, PortalRequest] = {}
        super().__init__(buses, **strangeness)

    def answer(self, method: str, call: Message) -> Answer | None:
        fields = call.header.fields
        if method == "Close":
            self.requests.pop(fields[HeaderFields.path])
            return None, ()
        if method != "Inhibit":
            return None
        sender = fields[HeaderFields.sender]
        _, flags, options = call.body
        owner = sender[1:].replace(".", "_")
        path = f"/org/freedesktop/portal/desktop/request/{owner}/t{len(self.calls)}"
        self.requests[path] = PortalRequest(sender, flags, options["reason"][1])
        return "o", (path,)

    def after(self, call: Message) -> None:
        if call.header.fields[HeaderFields.member] == "Inhibit" and self._response is not None:
            path = list(self.requests)[-1]
            self.signal(path, "org.freedesktop.portal.Request", "Response", "ua{sv}", (self._response, {}))

    def _begin(self, bus: Proxy) -> None:
        rule = MatchRule(type="signal", sender="org.freedesktop.DBus", member="NameOwnerChanged")
        bus.AddMatch(rule)
        super()._begin(bus)

    def _hear(self, signal: Message) -> None:
        match signal.header.fields[HeaderFields.member], *signal.body:
            case "NameOwnerChanged", gone, _, "":
                with self.changed:
                    self.requests = {
                        path: item for path, item in self.requests.items() if item.sender != gone
                    }
                    self.changed.notify_all()
