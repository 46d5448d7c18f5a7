"""A urllib3 connection over our own transport, stricter than the library about where a response ends.

http.client, on which urllib3 is built, accepts a truncated head, guesses when lengths contradict each other, and does
not report whether a server has sent more than its response. Here all of that is refused, or prevents the reuse of the
connection. Headers are parsed here too: http.client uses an e-mail parser, which takes longer than the rest of a short
response.
"""

from __future__ import annotations

import io
import os
import re
import socket
import ssl
import sys
from collections.abc import Mapping
from functools import lru_cache
from http.client import HTTPConnection as PlainConnection
from http.client import (
    HTTPException,
    HTTPResponse,
    IncompleteRead,
    LineTooLong,
    RemoteDisconnected,
    UnknownProtocol,
)
from time import monotonic
from typing import Any, cast

from urllib3 import HTTPHeaderDict
from urllib3 import HTTPResponse as DecodedResponse
from urllib3.connection import HTTPConnection, HTTPSConnection
from urllib3.util.ssltransport import SSLTransport

from halo_scheduler.web.faults import LOST, connecting
from halo_scheduler.web.transport import Transport

_LONGEST_HEAD = 256 << 10
_HTTP_1_0, _HTTP_1_1 = 10, 11
_SWITCHING = 101
WITHOUT_BODY = frozenset({_SWITCHING, 204, 304})
_TRUST_FOR_S = 3_600
_LONGEST_LINE = 64 << 10
_MOST_HEADERS = 100
_HEADER = re.compile(rb"([!-9;-~]+):[ \t]*(.*?)[ \t]*\r?\n", re.DOTALL)
_LENGTH = re.compile(r"[0-9]{1,18}")


# --- Reading a response --------------------------------------------------------------------------------------


class _Response(HTTPResponse):
    """A server's response, possibly after interim 1xx responses."""

    fp: _Reader
    headers: HTTPHeaderDict  # type: ignore[assignment] # instead of an e-mail's, with the methods used of that

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self._reader = self.fp
        self._is_head = options.get("method") == "HEAD"

    @property
    def was_all_there(self) -> bool:
        """Whether it was read completely and nothing followed it: neither bytes nor the end of the connection."""
        return self.isclosed() and not self._reader.has_rest and not self._reader.source.has_ended

    @property
    def is_last(self) -> bool:
        """Whether the server closes the connection after it."""
        return "close" in self.headers.get("connection", "").lower()

    def begin(self) -> None:
        """Read the head like the method that this overrides, except for the headers."""
        version, status, phrase = self._read_status()
        self.code = self.status = status
        self.reason = phrase.strip()
        if not version.startswith(("HTTP/1.", "HTTP/0.9")):
            raise UnknownProtocol(version)
        self.version = _HTTP_1_0 if version in {"HTTP/1.0", "HTTP/0.9"} else _HTTP_1_1
        self.headers = self.msg = _read_headers(self.fp)  # type: ignore[assignment] # see above
        self._reader.source.is_in_head = False
        self.chunked, length = _framing(self.headers)
        self.chunk_left = None
        self.length = 0 if self._is_head or status in WITHOUT_BODY else length
        has_end = self.chunked or self.length is not None
        self.will_close = self.version != _HTTP_1_1 or self.is_last or not has_end

    def _read_status(self) -> tuple[str, int, str]:
        while True:
            version, status, phrase = super()._read_status()  # type: ignore[misc] # not in the stubs
            if not 100 <= status < 200 or status == _SWITCHING:  # noqa: PLR2004 - any 1xx
                return version, status, phrase
            _read_headers(self.fp)


def _read_headers(reader: _Reader) -> HTTPHeaderDict:
    """Read the headers of a response, up to the empty line."""
    headers = HTTPHeaderDict()
    name = value = ""
    for _ in range(_MOST_HEADERS + 1):
        line = reader.readline(_LONGEST_LINE + 1)
        if len(line) > _LONGEST_LINE:
            raise LineTooLong("header line")
        if line[:1] in {b" ", b"\t"} and name:
            # A continuation of the previous line.
            value = f"{value} {line.strip().decode('latin-1')}".strip()
            continue
        if name:
            headers.add(name, value)
        if line in {b"\r\n", b"\n"}:
            return headers
        found = _HEADER.fullmatch(line)
        if found is None:
            raise HTTPException("a header cannot be read")
        name, value = found[1].decode("latin-1"), found[2].decode("latin-1")
    raise HTTPException(f"it has more than {_MOST_HEADERS} headers")


def _framing(headers: HTTPHeaderDict) -> tuple[bool, int | None]:
    """Return whether a response is chunked, and else its length; refuse one whose end is ambiguous."""
    lengths = set(headers.getlist("content-length"))
    if len(lengths) > 1 or not all(map(_LENGTH.fullmatch, lengths)):
        raise HTTPException("its Content-Length is invalid")
    encoding = headers.get("transfer-encoding", "").lower()
    if encoding not in {"", "chunked", "identity"}:
        raise HTTPException("it uses an unexpected Transfer-Encoding")
    is_chunked = encoding == "chunked"
    return is_chunked, None if is_chunked or not lengths else int(lengths.pop())


class _Source(io.RawIOBase):
    """The bytes of one response, from an adapter or a TLS stream."""

    def __init__(self, stream: Any) -> None:
        self._stream = stream
        self._is_stopped = False
        self.received = 0
        self.is_in_head = True
        self.has_ended = False

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any, /) -> int | None:
        if self._is_stopped:
            return None
        try:
            size: int = self._stream.recv_into(buffer)
        except LOST as error:
            if self.received:
                raise
            raise RemoteDisconnected("no answer") from error
        self.received += size
        self.has_ended = not size
        if self.is_in_head and self.received > _LONGEST_HEAD:
            raise HTTPException("the head of its answer has no end")
        return size

    def stop(self) -> None:
        """Receive nothing more."""
        self._is_stopped = True


class _Reader(io.BufferedReader):
    """Reads lines and chunks, and refuses head lines that break off or contain another line break."""

    has_rest = False

    def __init__(self, stream: Any) -> None:
        self.source = _Source(stream)
        super().__init__(self.source)

    def readline(self, size: int | None = -1, /) -> bytes:
        line = super().readline(size)
        if self.source.is_in_head:
            is_whole = line.endswith(b"\n") or len(line) == size
            if not is_whole and self.source.received:
                raise IncompleteRead(line)
            if b"\r" in line[:-2]:
                raise HTTPException("a header cannot be read")
        return line

    def close(self) -> None:
        """Note whether more was received than was read."""
        if not self.closed:
            self.source.stop()
            self.has_rest = bool(self.peek())
        super().close()


# --- The connection ------------------------------------------------------------------------------------------


class Connection(HTTPConnection):
    """A connection to a server or proxy, for one request at a time."""

    response_class = _Response
    sock: Any
    transport: Transport
    first_place: str
    """What it connects to, for sentences: the server itself, or a proxy."""
    is_used = False
    """Whether a request was answered over it before."""
    _adapter: _SocketAdapter
    _response: _Response
    _unsent: bytearray | None = None

    def attach(self, transport: Transport, connected: socket.socket) -> None:
        """Continue on another transport, with the socket that the last one detached."""
        transport.attach(connected)
        self.transport = self._adapter.transport = transport

    def exchange(
        self, method: str, target: str, headers: Mapping[str, str], body: bytes, *, decodes: bool
    ) -> DecodedResponse:
        """Send a request and read the head of the response; RemoteDisconnected if not a single byte arrives."""
        try:
            self._submit(method, target, headers, body)
        except LOST as error:
            raise RemoteDisconnected("not all was sent") from error
        return self._read_head(method, decodes=decodes)

    @property
    def is_reusable(self) -> bool:
        """Whether another request can follow: the server allows it, and the response was read to its certain end."""
        response = self._response
        headers = response.headers
        has_one_end = response.chunked is not ("content-length" in headers)
        if (
            response.version != _HTTP_1_1
            or response.is_last
            or not has_one_end
            or response.status in WITHOUT_BODY
        ):
            return False
        return self.sock is not None and response.was_all_there and not self.sock.has_unread

    def _submit(self, method: str, target: str, headers: Mapping[str, str], body: bytes) -> None:
        if self.sock is None:
            self.connect()
        self._unsent = bytearray()
        # As bytes: the library would refuse what is not Latin-1.
        encoded = {name: value.encode() for name, value in headers.items()}
        self.request(method, target, body or None, cast("Mapping[str, str]", encoded))
        data, self._unsent = self._unsent, None
        self.send(data)

    def send(self, data: Any) -> None:
        """Collect the parts of a request, which then leave in one write."""
        if self._unsent is None:
            super().send(data)
        else:
            self._unsent += data

    def _read_head(self, method: str, *, decodes: bool) -> DecodedResponse:
        """Read the head of the response; not with urllib3's method, which logs what it cannot parse."""
        response = self._response = cast("_Response", PlainConnection.getresponse(self))
        return DecodedResponse(
            body=response,
            headers=response.headers,
            status=response.status,
            reason=response.reason,
            preload_content=False,
            decode_content=decodes,
            original_response=response,
            request_method=method,
        )

    def _new_conn(self) -> Any:
        with connecting(self.host, self.first_place):
            self.transport.connect(self._dns_host, self.port)
        self._adapter = _SocketAdapter(self.transport)
        return self._adapter


class SecureConnection(Connection, HTTPSConnection):
    """An encrypted connection to a server whose certificate this system trusts."""


# --- The sockets that the library uses ----------------------------------------------------------------------


class _SocketAdapter:
    """The part of a socket's interface that HTTP and TLS need; the transport closes the real one."""

    has_unread = False

    def __init__(self, transport: Transport) -> None:
        self.transport = transport

    def recv(self, size: int) -> bytes:
        buffer = bytearray(size)
        return bytes(memoryview(buffer)[: self.transport.receive_into(buffer)])

    def recv_into(self, buffer: Any) -> int:
        return self.transport.receive_into(buffer)

    def sendall(self, data: Any) -> None:
        self.transport.send(data)

    def makefile(self, _mode: str) -> _Reader:
        return _Reader(self)

    def settimeout(self, _seconds: float | None) -> None:
        """Keep the transport's own deadline."""

    def close(self) -> None:
        """Stay open: the library closes a connection before it has read the body of the last response."""


class _TlsStream(SSLTransport):
    """TLS in memory, above the adapter."""

    @property
    def has_unread(self) -> bool:
        """Whether received bytes are left unread."""
        return bool(self.incoming.pending or self.sslobj.pending())

    def makefile(self, *_: Any, **__: Any) -> Any:
        return _Reader(self)


class _Trust(ssl.SSLContext):
    """Adds TLS to a transport, which is not a socket of the system."""

    def wrap_socket(self, sock: Any, *_: Any, server_hostname: Any = None, **__: Any) -> Any:
        return _TlsStream(sock, self, server_hostname)


def trust() -> ssl.SSLContext:
    """Return the TLS context with this system's certificates; reloaded now and then, as that takes a while."""
    files = (os.environ.get("SSL_CERT_FILE"), os.environ.get("SSL_CERT_DIR"))
    return _looked_up_trust(files, int(monotonic() // _TRUST_FOR_S))


@lru_cache(maxsize=1)
def _looked_up_trust(_files: tuple[str | None, str | None], _period: int) -> _Trust:
    context = _Trust(ssl.PROTOCOL_TLS_CLIENT)
    context.load_default_certs()
    if sys.version_info >= (3, 13):  # As everybody's default is there.
        context.verify_flags |= ssl.VERIFY_X509_PARTIAL_CHAIN | ssl.VERIFY_X509_STRICT
    return context
