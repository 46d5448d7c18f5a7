"""An HTTP/1.1 client: sends one request over a transport that can be cancelled, and returns the response."""

from __future__ import annotations

import ssl
from collections.abc import Hashable, Iterator, Mapping
from dataclasses import dataclass
from http.client import RemoteDisconnected

from urllib3 import HTTPResponse

from halo_scheduler.web.addresses import Address, Proxies, Proxy
from halo_scheduler.web.connection import WITHOUT_BODY, Connection, SecureConnection, trust
from halo_scheduler.web.faults import exchanging
from halo_scheduler.web.pool import ConnectionPool
from halo_scheduler.web.transport import Transport

_PIECE = 128 << 10
_ENCODINGS = "gzip, deflate"
_DECODED = frozenset({"gzip", "x-gzip", "deflate"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """A request: method, address, headers, body."""

    method: str
    address: Address
    headers: Mapping[str, str]
    body: bytes = b""


class Response:
    """A response whose head was read; its body is read as it arrives. WebError if it breaks off."""

    def __init__(self, response: HTTPResponse, exchange: _Exchange) -> None:
        self._response = response
        self._exchange = exchange
        self.status = response.status
        # The library decodes all bytes as Latin-1.
        self.phrase = (response.reason or "").encode("latin-1")

    @property
    def is_decoded(self) -> bool:
        """Whether the body is returned decoded, unlike it was sent."""
        encoding = self._response.headers.get("content-encoding", "")
        return self._response.decode_content and encoding.lower() in _DECODED

    def headers(self) -> Iterator[tuple[str, bytes]]:
        """Yield the headers, repeated ones too, with names in lower case."""
        for name, value in self._response.headers.iteritems():
            yield name.lower(), value.encode("latin-1")

    def header(self, name: str) -> str:
        """Return a header as text; "" if there is none."""
        return self._response.headers.get(name, "").encode("latin-1").decode(errors="replace")

    def pieces(self) -> Iterator[bytes]:
        """Yield the body in chunks."""
        if self.status in WITHOUT_BODY:
            return
        with exchanging(self._exchange.place, has_head=True):
            while piece := self._response.read1(_PIECE):
                yield piece
        self._exchange.keep_connection(self.status)


def send(
    transport: Transport, request: Request, proxies: Proxies, pool: ConnectionPool | None = None
) -> Response:
    """Send a request and return the response, whatever its status; WebError if there is none.

    With `pool`, a GET may use a kept connection and leaves its own there: if the server has closed the connection
    meanwhile, a GET can safely be sent again. A request with credentials does neither: some servers attribute all that
    follows on its connection to the same user.
    """
    names = {name.lower() for name in request.headers}
    may_share = request.method == "GET" and not request.body and "authorization" not in names
    exchange = _Exchange(transport, request, proxies.find(request.address), pool if may_share else None)
    # Accept only encodings that we can decode, unless the request itself says which.
    return Response(exchange.run(decodes="accept-encoding" not in names), exchange)


def trust_for(address: Address) -> ssl.SSLContext | None:
    """Return the certificates to check that server with; None if it is not encrypted."""
    return None if address.scheme == "http" else trust()


def new_connection(
    transport: Transport, address: Address, proxy: Proxy | None, context: ssl.SSLContext | None
) -> Connection:
    """Return a connection to a server, directly or through a proxy, that is not open yet."""
    first = proxy or address
    if context is None:
        connection = Connection(first.host, first.port)
    else:
        connection = SecureConnection(first.host, first.port, ssl_context=context)
        if proxy is not None:
            connection.set_tunnel(address.host, address.port, proxy.headers)
    connection.transport = transport
    connection.first_place = address.place if proxy is None else f"the proxy {proxy.place}"
    return connection


class _Exchange:
    """One request and its response, over a kept or a new connection."""

    def __init__(
        self, transport: Transport, request: Request, proxy: Proxy | None, pool: ConnectionPool | None
    ) -> None:
        self._transport = transport
        self._request = request
        self._proxy = proxy
        self._pool = pool
        self._address = request.address
        self._trust = trust_for(self._address)
        self.place = self._address.place

    @property
    def _route(self) -> Hashable:
        return self._address.scheme, self._address.host, self._address.port, self._proxy, self._trust

    def run(self, *, decodes: bool) -> HTTPResponse:
        """Send the request, and read the head of the response."""
        if self._pool is not None and (idle := self._pool.take(self._route)) is not None:
            self._connection = idle.connection
            self._connection.attach(self._transport, idle.socket)
            if (response := self._send(decodes=decodes)) is not None:
                return response
        self._connection = new_connection(self._transport, self._address, self._proxy, self._trust)
        response = self._send(decodes=decodes)
        assert response is not None  # noqa: S101 - a new connection
        return response

    def _send(self, *, decodes: bool) -> HTTPResponse | None:
        """Return the response; None if the server has closed a kept connection without sending anything."""
        request = self._request
        is_forwarded = self._proxy is not None and self._address.scheme == "http"
        target = str(self._address) if is_forwarded else self._address.target
        headers = self._headers(decodes=decodes)
        with exchanging(self.place, has_head=False):
            try:
                return self._connection.exchange(
                    request.method, target, headers, request.body, decodes=decodes
                )
            except RemoteDisconnected:
                if not self._connection.is_used:
                    raise
        return None

    def _headers(self, *, decodes: bool) -> dict[str, str]:
        headers = {
            name: value for name, value in self._request.headers.items() if name.lower() != "connection"
        }
        if decodes:
            headers["Accept-Encoding"] = _ENCODINGS
        if self._pool is None:
            headers["Connection"] = "close"
        if self._proxy is not None and self._address.scheme == "http":
            headers |= self._proxy.headers
        return headers

    def keep_connection(self, status: int) -> None:
        """Return the connection to the pool, if it can be reused."""
        is_good = 200 <= status < 300  # noqa: PLR2004 - any 2xx
        if self._pool is None or not is_good or not self._connection.is_reusable:
            return
        if (connected := self._transport.detach()) is not None:
            self._connection.is_used = True
            self._pool.put(self._route, connected, self._connection)
