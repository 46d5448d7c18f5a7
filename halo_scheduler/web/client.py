"""A client for HTTP/1.1: sends one request over a transport that can be cancelled, and returns the response."""

from __future__ import annotations

import os
import re
import ssl
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from http.client import HTTPConnection as PlainConnection
from http.client import HTTPException, HTTPResponse, IncompleteRead, parse_headers
from io import BufferedReader
from time import monotonic
from typing import Any, cast

from urllib3 import HTTPHeaderDict
from urllib3 import HTTPResponse as DecodedResponse
from urllib3.connection import HTTPConnection, HTTPSConnection
from urllib3.util.response import assert_header_parsing
from urllib3.util.ssltransport import SSLTransport

from halo_scheduler.web.addresses import Address
from halo_scheduler.web.faults import connecting, exchanging
from halo_scheduler.web.proxies import Proxies, Proxy
from halo_scheduler.web.transport import Transport

_PIECE = 128 << 10
_TRUST_FOR_S = 3_600
_ENCODINGS = "gzip, deflate"
_DECODED = frozenset({"gzip", "x-gzip", "deflate"})
_SWITCHING = 101
_WITHOUT_BODY = frozenset({_SWITCHING, 204, 304})
_FOLD = re.compile(r"\r?\n[ \t]+")
_LENGTH = re.compile(r"[0-9]{1,18}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """What is asked of whom."""

    method: str
    address: Address
    headers: Mapping[str, str]
    body: bytes = b""


class Response:
    """A response whose head was read; its body is read as it comes. WebError when it breaks off."""

    def __init__(self, response: DecodedResponse, place: str) -> None:
        self._response = response
        self._place = place
        self.status = response.status
        # The library reads bytes as Latin-1, whatever they are.
        self.phrase = (response.reason or "").encode("latin-1")

    @property
    def is_decoded(self) -> bool:
        """Whether the body is given out in another form than it came in."""
        encoding = self._response.headers.get("content-encoding", "")
        return self._response.decode_content and encoding.lower() in _DECODED

    def headers(self) -> Iterator[tuple[str, bytes]]:
        """Yield the headers, also those that came more than once; their names in lower case."""
        for name, value in self._response.headers.iteritems():
            yield name.lower(), value.encode("latin-1")

    def header(self, name: str) -> str:
        """Return a header as text; empty when there is none."""
        return self._response.headers.get(name, "").encode("latin-1").decode(errors="replace")

    def pieces(self) -> Iterator[bytes]:
        """Yield the body piece by piece."""
        if self.status in _WITHOUT_BODY:
            return
        while piece := self._read():
            yield piece

    def _read(self) -> bytes:
        with exchanging(self._place, has_head=True):
            return self._response.read1(_PIECE)


def send(transport: Transport, request: Request, proxies: Proxies) -> Response:
    """Send a request and return the response, whatever its status; WebError when there is none."""
    address = request.address
    proxy = proxies.find(address)
    connection = _connection(transport, address, proxy)
    # A body is asked for as we can read it, unless the request itself says how.
    decodes = not any(name.lower() == "accept-encoding" for name in request.headers)
    headers = {name: value for name, value in request.headers.items() if name.lower() != "connection"}
    headers |= {"Connection": "close"} | ({"Accept-Encoding": _ENCODINGS} if decodes else {})
    target = address.target
    if proxy is not None and address.scheme == "http":
        target, headers = str(address), headers | proxy.headers
    with exchanging(address.place, has_head=False):
        # As bytes: the library would refuse what is not Latin-1.
        sent = {name: value.encode() for name, value in headers.items()}
        connection.request(request.method, target, request.body or None, cast("Mapping[str, str]", sent))
        return Response(connection.answer(request.method, decodes=decodes), address.place)


def _connection(transport: Transport, address: Address, proxy: Proxy | None) -> _Connection:
    by = proxy or address
    if address.scheme == "http":
        connection = _Connection(by.host, by.port)
    else:
        connection = _SafeConnection(by.host, by.port, ssl_context=_trust())
        if proxy is not None:
            connection.set_tunnel(address.host, address.port, proxy.headers)
    connection.transport = transport
    connection.first_place = address.place if proxy is None else f"the proxy {proxy.place}"
    return connection


# --- What the library lacks ------------------------------------------------------------------------------


class _HeadReader(BufferedReader):
    """Reads an answer, and takes no head for whole that breaks off: the library would."""

    is_in_head = True
    _has_begun = False

    def readline(self, size: int | None = -1, /) -> bytes:
        line = super().readline(size)
        is_whole = line.endswith(b"\n") or len(line) == size
        if self.is_in_head and not is_whole and (line or self._has_begun):
            raise IncompleteRead(line)
        self._has_begun = True
        return line


class _Response(HTTPResponse):
    """The answer of a server, which may say more than once that it is still at work."""

    fp: _HeadReader

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self.fp = _HeadReader(self.fp.detach())

    def begin(self) -> None:
        reader = self.fp
        super().begin()
        reader.is_in_head = False

    def _read_status(self) -> tuple[str, int, str]:
        while True:
            version, status, phrase = super()._read_status()  # type: ignore[misc] # not in the stubs
            if not 100 <= status < 200 or status == _SWITCHING:  # noqa: PLR2004 - any 1xx
                return version, status, phrase
            parse_headers(self.fp)


class _Connection(HTTPConnection):
    """A connection over a transport."""

    response_class = _Response
    transport: Transport
    first_place: str
    """Whom it calls: the server itself, or a proxy."""

    def _new_conn(self) -> Any:
        with connecting(self.host, self.first_place):
            adapter = self.transport.connect(self._dns_host, self.port)
        self.transport.expect_head()
        return adapter

    def answer(self, method: str, *, decodes: bool) -> DecodedResponse:
        """Read the head of the answer; what contradicts itself is refused, and the library's log stays out of it."""
        response = PlainConnection.getresponse(self)
        self.transport.allow_body()
        assert_header_parsing(response.msg)
        headers = HTTPHeaderDict((name, _FOLD.sub(" ", value)) for name, value in response.msg.items())
        _check_framing(headers)
        return DecodedResponse(
            body=response,
            headers=headers,
            status=response.status,
            reason=response.reason,
            preload_content=False,
            decode_content=decodes,
            original_response=response,
            request_method=method,
        )


class _SafeConnection(_Connection, HTTPSConnection):
    """A connection that is encrypted, to a server that somebody vouches for."""


def _check_framing(headers: HTTPHeaderDict) -> None:
    """Refuse an answer whose end cannot be known for sure."""
    lengths = set(headers.getlist("content-length"))
    if len(lengths) > 1 or not all(_LENGTH.fullmatch(length) for length in lengths):
        raise HTTPException("the length it tells of its answer makes no sense")
    if headers.get("transfer-encoding", "chunked").lower() not in {"chunked", "identity"}:
        raise HTTPException("its answer has a Transfer-Encoding that nobody asked for")


class _Trust(ssl.SSLContext):
    """Encrypts what goes over a transport, which is no socket of the system."""

    def wrap_socket(self, sock: Any, *_: Any, server_hostname: Any = None, **__: Any) -> Any:
        return SSLTransport(sock, self, server_hostname)


def _trust() -> _Trust:
    """Return whom this system trusts; looked up again now and then, as it takes a while."""
    files = (os.environ.get("SSL_CERT_FILE"), os.environ.get("SSL_CERT_DIR"))
    return _looked_up_trust(files, int(monotonic() // _TRUST_FOR_S))


@lru_cache(maxsize=1)
def _looked_up_trust(_files: tuple[str | None, str | None], _period: int) -> _Trust:
    context = _Trust(ssl.PROTOCOL_TLS_CLIENT)
    context.load_default_certs()
    if sys.version_info >= (3, 13):  # As everybody's default is there.
        context.verify_flags |= ssl.VERIFY_X509_PARTIAL_CHAIN | ssl.VERIFY_X509_STRICT
    return context
