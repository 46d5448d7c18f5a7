"""D-Bus on worker threads, with time limits."""

from __future__ import annotations

import os
import selectors
import socket
import struct
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from enum import Enum
from itertools import count
from time import monotonic
from typing import Any, NamedTuple, Self

from jeepney import (
    DBusAddress,
    HeaderFields,
    MatchRule,
    Message,
    MessageFlag,
    MessageType,
    Parser,
    Properties,
    message_bus,
    new_method_call,
)
from jeepney.auth import BEGIN, Authenticator
from jeepney.bus import get_bus
from jeepney.fds import FileDescriptor, fds_buf_size

from halo_scheduler.grammar.text import printed_line

# A service that was just started, or a busy computer, may need a while.
ANSWER_LIMIT_S = 2.0
_READ_SIZE = 65_536
_NOBODY_THERE = ("org.freedesktop.DBus.Error.ServiceUnknown", "org.freedesktop.DBus.Error.NameHasNoOwner")
_SYSTEM_SOCKET = "unix:path=/var/run/dbus/system_bus_socket"


class Bus(Enum):
    """The session bus or the system bus."""

    SYSTEM = "DBUS_SYSTEM_BUS_ADDRESS"
    SESSION = "DBUS_SESSION_BUS_ADDRESS"

    @property
    def address(self) -> str:
        """The address of the bus; empty if unknown."""
        if told := os.environ.get(self.value, ""):
            return told
        if self is Bus.SYSTEM:
            return _SYSTEM_SOCKET
        runtime = os.environ.get("XDG_RUNTIME_DIR", "")
        return f"unix:path={runtime}/bus" if runtime else ""


class BusError(OSError):
    """The bus is missing, disconnected, does not answer, or sends something invalid."""


class NoBusError(BusError):
    """No bus is listening at the address."""


class CallError(BusError):
    """The bus or a service replied with an error."""


class Callee(NamedTuple):
    """An interface of a service's object."""

    service: str
    path: str
    interface: str

    @property
    def address(self) -> DBusAddress:
        """Return the address for messages; `BusError` for an invalid path."""
        with _bus_errors():
            return DBusAddress(self.path, bus_name=self.service, interface=self.interface)


class BusStream:
    """A non-blocking connection to a bus: sending queues a message, receiving returns what has arrived."""

    def __init__(self, bus: Bus, *, takes_descriptors: bool = False) -> None:
        """Start connecting; `BusError` if there is no bus."""
        if not bus.address:
            raise NoBusError(f"there is no {bus.name.lower()} bus: its address is unknown")
        self._takes_descriptors = takes_descriptors
        self._authenticator = Authenticator(enable_fds=takes_descriptors)
        self._parser = Parser()
        self._serials = count(1)
        self._unsent: bytearray | None = bytearray()
        with _bus_errors():
            self._socket = _unix_socket()
        try:
            with _bus_errors():
                # Even connecting must not block: a bus that does not accept counts as missing.
                self._socket.setblocking(False)
                self._socket.connect(get_bus(bus.address))
                self._socket.sendall(self._authenticator.data_to_send())
            self.send(message_bus.Hello())
        except BusError as error:
            self.close()
            # A bus that accepts slowly still exists.
            kind = BusError if isinstance(error.__cause__, BlockingIOError) else NoBusError
            raise kind(f"there is no {bus.name.lower()} bus: {error}") from error
        except BaseException:
            self.close()
            raise

    def fileno(self) -> int:
        """Return the descriptor that becomes readable when something arrives."""
        return self._socket.fileno()

    def send(self, message: Message) -> int:
        """Queue a message until authentication is done; return its serial, which the reply names."""
        serial = next(self._serials)
        with _bus_errors():
            data = message.serialise(serial=serial)
            if self._unsent is None:
                self._socket.sendall(data)
            else:
                self._unsent += data
        return serial

    def receive(self) -> list[Message]:
        """Return the messages received so far; `BusError` if the connection is lost."""
        messages: list[Message] = []
        with _bus_errors():
            while (received := self._read()) is not None:
                data, descriptors = received
                if not data and messages:
                    break
                if not data:
                    raise ConnectionResetError("the bus has gone")
                if self._unsent is None:
                    self._parser.add_data(data, fds=descriptors)
                    messages += iter(self._parser.get_next_message, None)
                else:
                    self._authenticate(data)
        return messages

    def close(self) -> None:
        """Disconnect; queued messages still arrive."""
        self._socket.close()

    def _read(self) -> tuple[bytes, list[FileDescriptor]] | None:
        try:
            if sys.platform != "linux" or not self._takes_descriptors or self._unsent is not None:
                return self._socket.recv(_READ_SIZE), []
            # A run that starts at this moment must not inherit the received descriptors.
            data, extra, flags, _ = self._socket.recvmsg(
                self._parser.bytes_desired(), fds_buf_size(), socket.MSG_CMSG_CLOEXEC
            )
        except BlockingIOError:
            return None
        descriptors = FileDescriptor.from_ancdata(extra)
        if flags & socket.MSG_CTRUNC:
            for descriptor in descriptors:
                descriptor.close()
            raise OSError("the bus sent too many file descriptors")
        return data, descriptors

    def _authenticate(self, data: bytes) -> None:
        self._authenticator.feed(data)
        line = self._authenticator.data_to_send()
        if line is None:
            unsent, self._unsent = self._unsent, None
            line = BEGIN + bytes(unsent or b"")
        self._socket.sendall(line)


class BusConnection:
    """A connection to a bus for one thread at a time; each call waits for its reply, with a time limit."""

    def __init__(self, bus: Bus, *, takes_descriptors: bool = False) -> None:
        """Connect; `BusError` if there is no bus."""
        self._signals: list[Message] = []
        self._stream = BusStream(bus, takes_descriptors=takes_descriptors)
        self._selector = selectors.DefaultSelector()
        self._selector.register(self._stream, selectors.EVENT_READ)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def call(self, message: Message) -> tuple[Any, ...]:
        """Return the reply to a call; `CallError` if it is an error, `BusError` if it comes too late."""
        serial = self._stream.send(message)
        deadline = monotonic() + ANSWER_LIMIT_S
        while True:
            for answer in self._next_messages(deadline):
                if answer.header.fields.get(HeaderFields.reply_serial) == serial:
                    return body_of(answer)

    def wait_for_signal(self, path: str, member: str) -> tuple[Any, ...] | None:
        """Return an object's signal, also one received during a call; None if none comes in time."""
        deadline = monotonic() + ANSWER_LIMIT_S
        while True:
            for signal in self._signals:
                fields = signal.header.fields
                if (fields.get(HeaderFields.path), fields.get(HeaderFields.member)) == (path, member):
                    return body_of(signal)
            self._signals.clear()
            try:
                self._next_messages(deadline)
            except TimeoutError:
                return None

    def next_signal(self, limit_s: float) -> tuple[str, tuple[Any, ...]] | None:
        """Return the name and the content of the next signal, or of one that came during a call; None if none comes."""
        deadline = monotonic() + limit_s
        while not self._signals:
            try:
                self._next_messages(deadline)
            except TimeoutError:
                return None
        signal = self._signals.pop(0)
        return str(signal.header.fields.get(HeaderFields.member, "")), body_of(signal)

    def close(self) -> None:
        """Disconnect."""
        self._selector.close()
        self._stream.close()

    def _next_messages(self, deadline: float) -> list[Message]:
        if not self._selector.select(max(deadline - monotonic(), 0)):
            raise AnswerTimeoutError("no reply on the bus")
        messages = self._stream.receive()
        self._signals += (item for item in messages if item.header.message_type is MessageType.signal)
        return messages


class AnswerTimeoutError(BusError, TimeoutError):
    """No reply arrived in time."""


def ask(bus: Bus, message: Message) -> tuple[Any, ...]:
    """Make one call on a connection of its own, and return the reply."""
    with BusConnection(bus) as connection:
        return connection.call(message)


def ask_properties(bus: Bus, callee: Callee) -> dict[str, object]:
    """Return the properties of a service's object; `BusError` if it does not exist."""
    match ask(bus, Properties(callee.address).get_all()):
        case (dict(found),):
            return {name: variant[1] for name, variant in found.items() if _is_variant(variant)}
    raise BusError(f"{callee.service} did not return its state")


def _is_variant(value: object) -> bool:
    """Return whether a value is a (type, value) variant, as properties are; a faulty service may send anything."""
    return isinstance(value, tuple) and len(value) == 2 and isinstance(value[0], str)  # noqa: PLR2004 - a pair


def method_call(
    callee: Callee,
    method: str,
    signature: str | None = None,
    body: tuple[Any, ...] = (),
    *,
    starts_service: bool = False,
) -> Message:
    """Return a method call message; a service that is not running is started only on request."""
    message = new_method_call(callee.address, method, signature, body)
    if not starts_service:
        message.header.flags = MessageFlag.no_auto_start
    return message


def signals_of(interface: str) -> Message:
    """Return the call after which the signals of a service, named as its interface, are heard."""
    return message_bus.AddMatch(MatchRule(type="signal", sender=interface, interface=interface))


def owner_rule(name: str) -> MatchRule:
    """Return the match rule for the signal that a name gained or lost its owner."""
    rule = MatchRule(
        type="signal",
        sender="org.freedesktop.DBus",
        interface="org.freedesktop.DBus",
        member="NameOwnerChanged",
    )
    rule.add_arg_condition(0, name)
    return rule


def body_of(message: Message) -> tuple[Any, ...]:
    """Return the body of a message; `CallError` if it is an error."""
    if message.header.message_type is MessageType.error:
        raise CallError(_words_of(message))
    body: tuple[Any, ...] = message.body
    return body


def _words_of(error: Message) -> str:
    """Return an error's text for a sentence; its name if it has no text."""
    name = str(error.header.fields.get(HeaderFields.error_name, ""))
    if name in _NOBODY_THERE:
        return "it does not run here"
    match error.body:
        case (str(words), *_) if words.strip():
            return printed_line(words).rstrip(".")
    return printed_line(name)


def _unix_socket() -> socket.socket:
    if sys.platform == "win32":
        raise OSError("there is no D-Bus on Windows")
    return socket.socket(socket.AF_UNIX)


@contextmanager
def _bus_errors() -> Iterator[None]:
    try:
        yield
    except (OSError, ValueError, RuntimeError, LookupError, TypeError, StopIteration, struct.error) as error:
        # jeepney raises the last six for addresses it cannot read and for messages it does not understand.
        # Users know neither error numbers nor what Python says of them.
        words = ((error.strerror or "").lower() or str(error)) if isinstance(error, OSError) else ""
        raise BusError(words or "the bus cannot be understood") from error
