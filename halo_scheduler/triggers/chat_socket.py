"""The WebSocket of a chat service; the library `websockets` is loaded with the first one."""

from __future__ import annotations

import logging
import os
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from http import HTTPStatus
from json import dumps
from time import monotonic
from typing import TYPE_CHECKING, Any

from halo_scheduler.triggers.chat_service import ChatFault
from halo_scheduler.triggers.chat_values import parsed_object
from halo_scheduler.web.addresses import Address, Proxies
from halo_scheduler.web.client import new_connection, trust_for
from halo_scheduler.web.faults import WebError, exchanging
from halo_scheduler.web.transport import DeadlineError, Transport

if TYPE_CHECKING:
    from websockets.client import ClientProtocol
    from websockets.frames import Frame

LONGEST_MESSAGE = 1 << 20
_CHUNK = 64 << 10
_FOR_HANDSHAKE_S = 15.0
_FOR_SENDING_S = 10.0
# The library logs all data it sends, including tokens.
_NO_LOG = logging.getLogger("halo_scheduler.websockets")
_NO_LOG.propagate = False
_NO_LOG.setLevel(logging.CRITICAL + 1)
_ABNORMAL = 1006


class SocketClosedError(ChatFault):
    """The service closed the connection; `code` is the reason, 1006 if it gave none."""

    def __init__(self, message: str, code: int) -> None:
        super().__init__(message)
        self.code = code


class ChatSocket:
    """A connection that exchanges JSON objects, for one thread; pings are answered while it receives."""

    def __init__(
        self, transport: Transport, address: Address, service: str, quoted: Callable[[str], str]
    ) -> None:
        """Connect to an http or https address; ChatFault if that fails.

        `quoted` prepares a text from the service for a fault.
        """
        self._quoted = quoted
        self._transport = transport
        self._service = service
        self._place = address.place
        self._arrived: deque[bytes] = deque()
        self._fragments = bytearray()
        self._heard_at = monotonic()
        self._has_ended = False
        self._protocol = _new_protocol(address)
        try:
            transport.renew(_FOR_HANDSHAKE_S)
            with self._faults():
                self._stream = _connected(transport, address)
            self._shake_hands()
        except SocketClosedError as error:
            raise ChatFault(str(error)) from None

    @property
    def silent_s(self) -> float:
        """The seconds since the last whole frame arrived, pings and pongs included."""
        return monotonic() - self._heard_at

    def receive(self, timeout_s: float) -> Mapping[str, Any] | None:
        """Return the next object; None if none arrives in time.

        SocketClosedError if the connection has ended, ChatFault for what is not JSON.
        """
        deadline = monotonic() + timeout_s
        while not self._arrived:
            if not self._read_until(deadline):
                return None
        data = parsed_object(self._arrived.popleft())
        if data is None:
            raise ChatFault(f"{self._service} sent something that is not a JSON object")
        return data

    def send(self, data: Mapping[str, Any]) -> None:
        """Send an object."""
        self._check_open()
        self._protocol.send_text(dumps(data).encode())
        self._flush()

    def ping(self) -> None:
        """Send a ping; the pong shows that the connection is alive."""
        self._check_open()
        self._protocol.send_ping(b"")
        self._flush()

    # --- The connection ------------------------------------------------------------------------------

    def _shake_hands(self) -> None:
        deadline = monotonic() + _FOR_HANDSHAKE_S
        self._protocol.send_request(self._protocol.connect())
        self._flush()
        state = self._protocol.state
        while self._protocol.state is state and self._protocol.handshake_exc is None:
            if not self._read_until(deadline):
                raise ChatFault(f"{self._place} did not open a connection within {_FOR_HANDSHAKE_S:.0f} s")
        if self._protocol.handshake_exc is not None:
            raise self._refused(self._protocol.handshake_exc)

    def _refused(self, error: Exception) -> ChatFault:
        response = getattr(error, "response", None)
        status = None if response is None else response.status_code
        busy = status in (HTTPStatus.TOO_MANY_REQUESTS, HTTPStatus.SERVICE_UNAVAILABLE)
        reason = "" if status is None else f" (HTTP status {status})"
        return ChatFault(
            f"{self._place} did not open a connection{reason}", retry_after_s=60.0 if busy else None
        )

    def _read_until(self, deadline: float) -> bool:
        """Read arrived data and answer pings; False if nothing arrives before the deadline."""
        self._transport.renew(max(deadline - monotonic(), 0))
        with self._faults():
            try:
                data = self._stream.recv(_CHUNK)
            except DeadlineError:
                return False
        if data:
            self._protocol.receive_data(data)
        else:
            self._has_ended = True
            self._protocol.receive_eof()
        self._take_frames(self._protocol.events_received())
        # The caller may wait for the database, so others get their turn first.
        self._transport.renew(None)
        self._flush()
        if not self._arrived:  # Data that arrived before the end is still delivered.
            self._check_open()
        return True

    def _take_frames(self, events: Iterable[Any]) -> None:
        from websockets.frames import DATA_OPCODES, Frame  # noqa: PLC0415 - see above

        for frame in events:
            self._heard_at = monotonic()
            if isinstance(frame, Frame) and frame.opcode in DATA_OPCODES:
                self._take_data(frame)

    def _take_data(self, frame: Frame) -> None:
        self._fragments += frame.data
        if frame.fin:
            self._arrived.append(bytes(self._fragments))
            self._fragments.clear()

    def _check_open(self) -> None:
        protocol = self._protocol
        if protocol.close_rcvd is not None:
            raise SocketClosedError(f"{self._service} closed the connection", protocol.close_rcvd.code)
        if protocol.close_sent is not None:
            raise ChatFault(f"{self._service} sent {self._nonsense()}")
        if self._has_ended and protocol.handshake_exc is None:
            raise SocketClosedError(f"the connection to {self._service} was lost", _ABNORMAL)

    def _nonsense(self) -> str:
        from websockets.exceptions import PayloadTooBig  # noqa: PLC0415 - see above

        if isinstance(self._protocol.parser_exc, PayloadTooBig):
            return f"more than {LONGEST_MESSAGE >> 20} MB at once"
        return "something that is no WebSocket frame"

    def _flush(self) -> None:
        data = b"".join(self._protocol.data_to_send())
        if data:
            self._transport.renew(_FOR_SENDING_S)
            with self._faults():
                self._stream.sendall(data)

    @contextmanager
    def _faults(self) -> Iterator[None]:
        try:
            with exchanging(self._place, has_head=True):
                yield
        except WebError as error:
            said = self._quoted(str(error))
            raise SocketClosedError(f"{self._service} cannot be reached: {said}", _ABNORMAL) from None


def _connected(transport: Transport, address: Address) -> Any:
    """Return the stream of a new connection, which is TLS unless the scheme is http."""
    proxy = Proxies(os.environ).find(address)
    connection = new_connection(transport, address, proxy, trust_for(address))
    connection.connect()
    return connection.sock


def _new_protocol(address: Address) -> ClientProtocol:
    try:
        from websockets.client import ClientProtocol  # noqa: PLC0415 - see above
        from websockets.uri import parse_uri  # noqa: PLC0415
    except ImportError:
        raise ChatFault(
            "chat support isn't installed; install it with: pip install 'halo-scheduler[chat]'", is_final=True
        ) from None
    uri = parse_uri(str(address).replace("http", "ws", 1))
    return ClientProtocol(uri, max_size=LONGEST_MESSAGE, logger=_NO_LOG)
