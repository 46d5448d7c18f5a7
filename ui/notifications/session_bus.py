"""A client of the session bus that waits without waking up, and can be woken from another thread."""

from __future__ import annotations

import os
import selectors
import socket
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import count
from time import monotonic
from typing import Any

from jeepney import DBusErrorResponse, HeaderFields, MatchRule, Message, MessageType, Parser, message_bus
from jeepney.auth import BEGIN, Authenticator
from jeepney.bus import get_bus

from .waker import Waker

_READ_SIZE = 4_096


class BusError(Exception):
    """The bus is not there, does not answer, or has gone."""


class CallError(Exception):
    """The bus or a service on it answered with an error."""


class SessionBus:
    """One connection to the session bus, used by one thread.

    Nothing here waits longer than the limit for one answer, and nothing outlasts the waker's `end`.
    """

    def __init__(self, waker: Waker, answer_limit_s: float) -> None:
        """Connect; `BusError` when there is no bus to be had."""
        self._waker = waker
        self._answer_limit_s = answer_limit_s
        self._serials = count(1)
        self._parser = Parser()
        self._socket = socket.socket(socket.AF_UNIX)
        self._selector = selectors.DefaultSelector()
        try:
            self._connect()
        except BaseException:
            self.close()
            raise

    def close(self) -> None:
        """Leave the bus."""
        self._selector.close()
        self._socket.close()

    def follow(self, rule: MatchRule) -> None:
        """Have the signals that match a rule delivered."""
        self.call(message_bus.AddMatch(rule), _drop)

    def call(self, message: Message, on_signal: Callable[[Message], None]) -> tuple[Any, ...]:
        """Return what the call returns; signals that come before the answer are passed on."""
        deadline = monotonic() + self._answer_limit_s
        serial = next(self._serials)
        with _bus_errors():
            self._socket.sendall(message.serialise(serial=serial))
            while True:
                answer = self._next_message(deadline)
                if answer is None:
                    continue
                if answer.header.fields.get(HeaderFields.reply_serial) == serial:
                    return _body(answer)
                if answer.header.message_type is MessageType.signal:
                    on_signal(answer)

    def wait(self) -> Message | None:
        """Return the next message whenever it comes; None when woken."""
        with _bus_errors():
            return self._next_message(None)

    def _connect(self) -> None:
        deadline = monotonic() + self._answer_limit_s
        with _bus_errors():
            # Not even connecting may wait: a bus that accepts nobody is none.
            self._socket.setblocking(False)
            self._socket.connect(get_bus(_address()))
            self._selector.register(self._socket, selectors.EVENT_READ)
            self._selector.register(self._waker.reader, selectors.EVENT_READ)
            authenticator = Authenticator()
            for line in authenticator:
                self._socket.sendall(line)
                authenticator.feed(self._read(deadline))
            self._socket.sendall(BEGIN)
        self.call(message_bus.Hello(), _drop)

    def _next_message(self, deadline: float | None) -> Message | None:
        message: Message | None
        while (message := self._parser.get_next_message()) is None:
            if not self._is_readable(deadline):
                return None
            self._parser.add_data(self._received())
        return message

    def _read(self, deadline: float) -> bytes:
        while not self._is_readable(deadline):
            pass
        return self._received()

    def _is_readable(self, deadline: float | None) -> bool:
        """Wait until the bus has something to say; False when woken instead."""
        events = self._selector.select(None if deadline is None else max(deadline - monotonic(), 0))
        if not events:
            raise TimeoutError("the bus does not answer")
        ready = {key.fileobj for key, _ in events}
        if self._waker.reader in ready:
            self._waker.answer()
        return self._socket in ready

    def _received(self) -> bytes:
        data = self._socket.recv(_READ_SIZE)
        if not data:
            raise ConnectionResetError("the bus has gone")
        return data


def _address() -> str:
    runtime = os.environ.get("XDG_RUNTIME_DIR", "")
    return os.environ.get("DBUS_SESSION_BUS_ADDRESS") or f"unix:path={runtime}/bus"


def _body(answer: Message) -> tuple[Any, ...]:
    if answer.header.message_type is MessageType.error:
        raise CallError(str(DBusErrorResponse(answer)))
    body: tuple[Any, ...] = answer.body
    return body


@contextmanager
def _bus_errors() -> Iterator[None]:
    try:
        yield
    except (OSError, ValueError, RuntimeError, LookupError, StopIteration) as error:
        # jeepney raises the latter four for addresses it cannot read and answers it does not understand.
        raise BusError(str(error)) from error


def _drop(_: Message) -> None:
    """Nothing can have been signalled yet that anybody waits for."""
