"""A private session bus, and a stand-in for the desktop's notification service on it."""

from __future__ import annotations

import subprocess
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from tempfile import NamedTemporaryFile
from typing import Any

from jeepney import (
    DBusAddress,
    HeaderFields,
    Message,
    MessageType,
    new_error,
    new_method_call,
    new_method_return,
    new_signal,
)
from jeepney.bus import get_bus
from jeepney.bus_messages import message_bus
from jeepney.io.blocking import DBusConnection, Proxy, prep_socket
from process_probe import end

_NAME = "org.freedesktop.Notifications"
_EMITTER = DBusAddress("/org/freedesktop/Notifications", interface=_NAME)


# A session bus that starts none of the services that are installed on this machine.
_BUS = """<busconfig>
  <type>session</type>
  <listen>unix:tmpdir=/tmp</listen>
  <auth>EXTERNAL</auth>
  <policy context="default">
    <allow send_destination="*" eavesdrop="true"/>
    <allow eavesdrop="true"/>
    <allow own="*"/>
  </policy>
</busconfig>
"""


@contextmanager
def private_bus() -> Iterator[str]:
    """Run a bus daemon of our own; give its address."""
    with NamedTemporaryFile("w", suffix=".conf") as config:
        config.write(_BUS)
        config.flush()
        daemon = subprocess.Popen(
            ["dbus-daemon", f"--config-file={config.name}", "--print-address", "--nofork", "--nopidfile"],
            stdout=subprocess.PIPE,
        )
        assert daemon.stdout is not None
        try:
            with daemon.stdout:
                yield daemon.stdout.readline().decode().strip()
        finally:
            end(daemon)


@dataclass(frozen=True, slots=True, kw_only=True)
class Told:
    """What a program asked to be shown."""

    number: int
    program: str
    replaces: int
    icon: str
    title: str
    text: str
    actions: list[str]
    hints: dict[str, tuple[str, Any]]
    limit_ms: int


class NotificationServer:
    """Owns the service's name, remembers what it is told, and clicks when a test says so."""

    def __init__(self, address: str, *, capabilities: tuple[str, ...], is_silent: bool = False) -> None:
        """With `is_silent` it takes every call and answers none; with `nonsense` it answers each with that."""
        self.told: list[Told] = []
        self.nonsense: tuple[str, tuple[Any, ...]] | None = None
        self.calls: list[str] = []
        self.closed: list[int] = []
        self._caller = ""
        self._capabilities = capabilities
        self._is_silent = is_silent
        self._connection = DBusConnection(prep_socket(get_bus(address)))
        Proxy(message_bus, self._connection, timeout=10).RequestName(_NAME)
        self._thread = threading.Thread(target=self._serve, name="notification server")
        self._thread.start()

    def click(self, number: int, *, action: str = "default", leave: str = "") -> None:
        """Do as a desktop does when a notification is clicked: tell of the action, then of the end."""
        if leave:
            self._signal("ActivationToken", "us", (number, leave))
        self._signal("ActionInvoked", "us", (number, action))
        self.dismiss(number)

    def dismiss(self, number: int) -> None:
        """Do as a desktop does when a notification is closed."""
        self._signal("NotificationClosed", "uu", (number, 2))

    def call_back(self, method: str) -> None:
        """Call a method of the program that called last."""
        peer = DBusAddress("/", bus_name=self._caller, interface="org.freedesktop.DBus.Peer")
        self._connection.send(new_method_call(peer, method))

    def close(self) -> None:
        """Leave the bus."""
        with suppress(OSError):
            self._connection.sock.shutdown(2)
        self._thread.join(10)
        self._connection.close()

    def _serve(self) -> None:
        # It may be closed while it listens, or while it answers.
        with suppress(ConnectionError):
            while True:
                call = self._connection.receive()
                if call.header.message_type is MessageType.method_call:
                    self._answer(call)

    def _answer(self, call: Message) -> None:
        method = call.header.fields[HeaderFields.member]
        self.calls.append(method)
        self._caller = call.header.fields[HeaderFields.sender]
        if self._is_silent:
            return
        if self.nonsense is not None:
            answer = new_method_return(call, *self.nonsense)
        elif method == "GetCapabilities":
            answer = new_method_return(call, "as", (list(self._capabilities),))
        elif method == "Notify":
            number = call.body[1] or len(self.told) + 1
            self._connection.send(new_method_return(call, "u", (number,)))
            # Only now: whoever sees it may click, and a click before the answer would be nobody's.
            self._show(number, call.body)
            return
        elif method == "CloseNotification":
            self.closed.append(call.body[0])
            answer = new_method_return(call)
        else:
            answer = new_error(call, "org.freedesktop.DBus.Error.UnknownMethod", "s", (method,))
        self._connection.send(answer)

    def _show(self, number: int, body: tuple[Any, ...]) -> None:
        program, replaces, icon, title, text, actions, hints, limit_ms = body
        self.told.append(
            Told(
                number=number,
                program=program,
                replaces=replaces,
                icon=icon,
                title=title,
                text=text,
                actions=actions,
                hints=hints,
                limit_ms=limit_ms,
            )
        )

    def _signal(self, name: str, signature: str, body: tuple[Any, ...]) -> None:
        self._connection.send(new_signal(_EMITTER, name, signature, body))
