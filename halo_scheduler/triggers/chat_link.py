"""The connections to a chat service: HTTP calls and a WebSocket; any thread can close all of them."""

from __future__ import annotations

import json
import os
import re
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from email.utils import parsedate_to_datetime
from http import HTTPStatus
from ipaddress import ip_address
from time import monotonic
from typing import Any

from halo_scheduler.grammar.redaction import Redactor
from halo_scheduler.grammar.text import printed_line
from halo_scheduler.triggers.chat_service import ChatFault
from halo_scheduler.triggers.chat_socket import ChatSocket
from halo_scheduler.triggers.chat_values import number_at, parsed_object
from halo_scheduler.web import client
from halo_scheduler.web.addresses import Address, AddressError, Proxies
from halo_scheduler.web.faults import WebError
from halo_scheduler.web.transport import RequestCancelledError, Transport

_ANSWER_S = 20.0
_MOST_BYTES = 2_000_000
_LONGEST_REST_S = 3_600.0
_REST_S = 30.0
# A connection that lasted this long is replaced at once, without a pause.
_STEADY_S = 60.0
_UNENCRYPTED = {"https": "http", "wss": "ws"}
_DIGITS = re.compile(r"[0-9]{1,9}(\.[0-9]{1,6})?")
_TOKEN = re.compile(r"[!-~]{1,1000}")


class ChatClosedError(ChatFault):
    """We closed the connections."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Reply:
    """The response to a call; `data` is empty if it is not a JSON object."""

    status: int
    at: int | None
    """The service's own clock, in epoch milliseconds."""
    data: Mapping[str, Any] = field(repr=False)


class ChatLink:
    """The connections to one service."""

    def __init__(self, service: str, api: str, *, user_agent: str, steady_s: float = _STEADY_S) -> None:
        """ChatFault if `api` is no https address; http is allowed for this computer only."""
        self.service = service
        self._api = api.rstrip("/")
        self._user_agent = user_agent
        self._steady_s = steady_s
        self._closing = threading.Event()
        self._lock = threading.Lock()
        self._transports: set[Transport] = set()
        self._rests: dict[str, float] = {}
        self._secrets: tuple[str, ...] = ()
        self._address(self._api, "https")

    def hide(self, *secrets: str) -> None:
        """Redact these secrets in faults."""
        self._secrets = secrets

    def quoted(self, text: str) -> str:
        """Return a text from the service on one short line, for a fault."""
        return printed_line(Redactor([*self._secrets, *Proxies(os.environ).secrets]).text(text))

    def close(self) -> None:
        """End all current and later operations with a ChatClosedError."""
        with self._lock:
            self._closing.set()
            for transport in self._transports:
                transport.cancel()

    def wait(self, seconds: float) -> None:
        """Sleep, unless closed; ChatClosedError if it was."""
        if self._closing.wait(seconds):
            raise self._closed()

    def connections(self) -> Iterator[None]:
        """Yield each time a connection is to be opened; ChatFault if the last one was short."""
        while True:
            begun = monotonic()
            yield
            if monotonic() - begun < self._steady_s:
                raise ChatFault(f"{self.service} ended the connection after a short time")

    def call(self, method: str, path: str, *, authorization: str, payload: object = None) -> Reply:
        """Send a request and return the response, whatever its status; ChatFault without one, or if rate-limited."""
        route = path.partition("?")[0]
        self._require_turn(route)
        headers = {
            "Accept": "application/json",
            "Authorization": authorization,
            "User-Agent": self._user_agent,
        }
        if payload is not None:
            headers["Content-Type"] = "application/json; charset=utf-8"
        request = client.Request(
            method=method,
            address=self._address(f"{self._api}/{path}", "https"),
            headers=headers,
            body=b"" if payload is None else json.dumps(payload).encode(),
        )
        with self._transport(_ANSWER_S) as transport:
            reply, after_s = self._send(transport, request)
        if reply.status == HTTPStatus.TOO_MANY_REQUESTS:
            raise self._paused(route, reply, after_s)
        return reply

    @contextmanager
    def socket(self, url: str) -> Iterator[ChatSocket]:
        """Open a WebSocket, and close it when the block ends."""
        address = self._address(url, "wss")
        with self._transport(None) as transport:
            yield ChatSocket(transport, address, self.service, self.quoted)

    # --- Steps ---------------------------------------------------------------------------------------

    def _address(self, url: str, scheme: str) -> Address:
        """Return the address to connect to, unencrypted only on this computer."""
        given, _, rest = url.partition("://")
        try:
            address = Address.read(f"{'https' if given == scheme else 'http'}://{rest}")
        except AddressError:
            raise self._bad_address(scheme) from None
        is_plain = given == _UNENCRYPTED[scheme] and _is_loopback(address.host)
        if given != scheme and not is_plain:
            raise self._bad_address(scheme)
        return address

    def _bad_address(self, scheme: str) -> ChatFault:
        return ChatFault(f"the address of {self.service} must be a URL that begins with {scheme}://")

    @contextmanager
    def _transport(self, timeout_s: float | None) -> Iterator[Transport]:
        with Transport(timeout_s) as transport:
            with self._lock:
                if self._closing.is_set():
                    raise self._closed()
                self._transports.add(transport)
            try:
                yield transport
            except RequestCancelledError:
                raise self._closed() from None
            finally:
                with self._lock:
                    self._transports.discard(transport)

    def _closed(self) -> ChatClosedError:
        return ChatClosedError(f"the connection to {self.service} was closed")

    def _send(self, transport: Transport, request: client.Request) -> tuple[Reply, float | None]:
        """Return the response and how long it asks to wait."""
        try:
            response = client.send(transport, request, Proxies(os.environ))
            body = self._read(response)
        except WebError as error:
            raise ChatFault(f"{self.service} cannot be reached: {self.quoted(str(error))}") from None
        after = response.header("retry-after")
        after_s = float(after) if _DIGITS.fullmatch(after) else None
        data = parsed_object(body) or {}
        return Reply(status=response.status, at=_instant(response.header("date")), data=data), after_s

    def _read(self, response: client.Response) -> bytes:
        body = bytearray()
        for piece in response.pieces():
            body += piece
            if len(body) > _MOST_BYTES:
                raise ChatFault(f"{self.service} answered with more than {_MOST_BYTES // 1_000_000} MB")
        return bytes(body)

    # --- Rate limits ---------------------------------------------------------------------------------

    def _paused(self, route: str, reply: Reply, after_s: float | None) -> ChatFault:
        """Remember that a route, or all of them, must not be used for a while."""
        asked_s = number_at(reply.data, "retry_after", _LONGEST_REST_S) or after_s or _REST_S
        rest_s = min(asked_s, _LONGEST_REST_S)
        with self._lock:
            now = monotonic()
            self._rests = {name: until for name, until in self._rests.items() if until > now}
            self._rests["" if reply.data.get("global") is True else route] = now + rest_s
        return self._too_many(rest_s)

    def _require_turn(self, route: str) -> None:
        with self._lock:
            until = max(self._rests.get("", 0.0), self._rests.get(route, 0.0))
        rest_s = until - monotonic()
        if rest_s > 0:
            raise self._too_many(rest_s)

    def _too_many(self, rest_s: float) -> ChatFault:
        text = f"{self.service} limits the rate of requests; the next one is possible in {rest_s:.0f} s"
        return ChatFault(text, retry_after_s=rest_s)


def checked_token(token: str, service: str) -> str:
    """Return a token; ChatFault if it contains invalid characters."""
    if not _TOKEN.fullmatch(token):
        raise ChatFault(
            f"the token for {service} is empty or contains spaces or special characters", is_final=True
        )
    return token


def _is_loopback(host: str) -> bool:
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def _instant(date: str) -> int | None:
    try:
        return int(parsedate_to_datetime(date).timestamp() * 1_000)
    except (ValueError, OverflowError):
        return None
