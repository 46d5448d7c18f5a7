"""Asking a web server something, from a thread that may wait."""

from __future__ import annotations

import io
import queue
import socket
import ssl
import threading
from collections.abc import Mapping
from contextlib import closing
from dataclasses import dataclass, field
from functools import cached_property
from http.client import HTTPConnection, HTTPException, HTTPResponse, IncompleteRead, RemoteDisconnected
from time import monotonic
from typing import Any
from urllib.parse import SplitResult, urljoin, urlsplit

from halo_scheduler.output_text import printed_line
from halo_scheduler.redaction import Redactor
from halo_scheduler.work.item import SourceError

_DEADLINE_S = 30.0
_MOST_BYTES = 10_000_000
_MOST_REDIRECTS = 3
_PORTS = {"http": 80, "https": 443}
# Only these promise that the same request is meant at the other address.
_SAME_METHOD = frozenset({307, 308})
_REDIRECTS = frozenset({301, 302, 303}) | _SAME_METHOD
_SAFE = frozenset({"GET", "HEAD"})
_CUT_OFF = (
    ConnectionAbortedError,
    ConnectionResetError,
    BrokenPipeError,
    IncompleteRead,
    RemoteDisconnected,
    ssl.SSLEOFError,
    ssl.SSLZeroReturnError,
)


class CutOffError(SourceError):
    """The connection ended before the answer did: whether the request took effect is not known."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """What is asked; the token is sent to the host of the URL and to no other, and never shown."""

    method: str
    url: str
    token: str = ""
    headers: Mapping[str, str] = field(default_factory=dict)
    body: bytes | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """What came back; the names of the headers are in small letters."""

    status: int
    headers: Mapping[str, str]
    body: bytes


class Web:
    """Sends requests, one connection for each; proxies are not used, as for jobs that are HTTP requests."""

    def __init__(self, *, deadline_s: float = _DEADLINE_S, most_bytes: int = _MOST_BYTES) -> None:
        self._deadline_s = deadline_s
        self._most_bytes = most_bytes

    @cached_property
    def _tls(self) -> ssl.SSLContext:
        return ssl.create_default_context()

    def send(self, request: Request) -> Answer:
        """Return the answer, whatever its status; raises SourceError when there is none, or one that is too long.

        Redirects within the host are followed. One to another host is an answer too: nothing is sent there.
        """
        deadline = _Deadline(self._deadline_s)
        redactor = Redactor([request.token] if request.token else [])
        url = request.url
        for _ in range(_MOST_REDIRECTS + 1):
            answer = self._send_once(request, urlsplit(url), deadline, redactor)
            target = redirect_target(url, answer)
            if not _may_follow(request.method, answer.status) or not is_same_host(url, target):
                return answer
            url = target
        raise SourceError(f"{urlsplit(url).netloc} sends us in a circle")

    def _send_once(
        self, request: Request, url: SplitResult, deadline: _Deadline, redactor: Redactor
    ) -> Answer:
        headers = dict(request.headers)
        if request.token:
            headers["Authorization"] = f"Bearer {request.token}"
        path = (url.path or "/") + (f"?{url.query}" if url.query else "")
        tls = self._tls if url.scheme == "https" else None
        try:
            with closing(_Connection(url, tls, deadline)) as connection:
                connection.request(request.method, path, request.body, headers | {"Connection": "close"})
                with connection.getresponse() as response:
                    return self._read(response, url.netloc, redactor)
        except (OSError, HTTPException, UnicodeError) as error:
            raise _translated(error, url.netloc, self._deadline_s, redactor) from None

    def _read(self, response: HTTPResponse, host: str, redactor: Redactor) -> Answer:
        body = response.read(self._most_bytes + 1)
        if len(body) > self._most_bytes:
            raise SourceError(f"{host} answered with more than {self._most_bytes // 1_000_000} MB")
        if response.length:
            raise IncompleteRead(body, response.length)
        headers = {name.lower(): redactor.text(value) for name, value in response.getheaders()}
        return Answer(status=response.status, headers=headers, body=redactor.redacted(body))


class _Deadline:
    """The end of all patience with a request and its redirects."""

    def __init__(self, seconds: float) -> None:
        self._at = monotonic() + seconds

    def left_s(self) -> float:
        left = self._at - monotonic()
        if left <= 0:
            raise TimeoutError
        return left


class _Connection(HTTPConnection):
    """A connection on which every step has only as much time as is left of the whole."""

    def __init__(self, url: SplitResult, tls: ssl.SSLContext | None, deadline: _Deadline) -> None:
        super().__init__(url.hostname or "", url.port or _PORTS[url.scheme])
        self._tls = tls
        self._deadline = deadline

    def connect(self) -> None:
        plain = self._reach()
        try:
            plain.settimeout(self._deadline.left_s())
            encrypted = self._tls.wrap_socket(plain, server_hostname=self.host) if self._tls else plain
        except BaseException:
            plain.close()
            raise
        # All that the library does with it is to send, to read from a file of it, and to close it.
        self.sock: Any = _TimedSocket(encrypted, self._deadline)

    def _reach(self) -> socket.socket:
        """Connect to the first of the host's addresses that answers."""
        failure: OSError | None = None
        for family, kind, protocol, _, address in _looked_up(self.host, self.port, self._deadline.left_s()):
            plain = socket.socket(family, kind, protocol)
            try:
                plain.settimeout(self._deadline.left_s())
                plain.connect(address)
            except OSError as error:
                plain.close()
                failure = error
            else:
                return plain
        raise failure or socket.gaierror("no address")


def _looked_up(host: str, port: int, patience_s: float) -> list[Any]:
    """Return the addresses of a host; the system itself may take minutes to say that it knows none."""
    found: queue.SimpleQueue[list[Any] | OSError] = queue.SimpleQueue()

    def look_up() -> None:
        try:
            found.put(list(socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)))
        except (OSError, UnicodeError) as error:
            found.put(error if isinstance(error, OSError) else socket.gaierror(str(error)))

    threading.Thread(target=look_up, name="halo-name-lookup", daemon=True).start()
    try:
        addresses = found.get(timeout=patience_s)
    except queue.Empty:
        raise TimeoutError from None
    if isinstance(addresses, OSError):
        raise addresses
    return addresses


class _TimedSocket:
    """A socket that gives each sending and each reading only the time that is left."""

    def __init__(self, inner: socket.socket, deadline: _Deadline) -> None:
        self._inner = inner
        self._deadline = deadline
        self._is_read = False

    def sendall(self, data: bytes) -> None:
        self._inner.settimeout(self._deadline.left_s())
        self._inner.sendall(data)

    def makefile(self, _mode: str) -> io.BufferedReader:
        self._is_read = True
        return io.BufferedReader(_TimedReader(self._inner, self._deadline))

    def close(self) -> None:
        # The library lets go of a connection that is used once before it has read the answer's body.
        if not self._is_read:
            self._inner.close()


class _TimedReader(io.RawIOBase):
    """What an answer is read from."""

    def __init__(self, inner: socket.socket, deadline: _Deadline) -> None:
        super().__init__()
        self._inner = inner
        self._deadline = deadline

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any, /) -> int:
        self._inner.settimeout(self._deadline.left_s())
        return self._inner.recv_into(buffer)

    def close(self) -> None:
        super().close()
        self._inner.close()


def redirect_target(url: str, answer: Answer) -> str:
    """Return where an answer sends us; empty when that is no address."""
    try:
        return urljoin(url, answer.headers.get("location", ""))
    except ValueError:
        return ""


def _may_follow(method: str, status: int) -> bool:
    return status in _SAME_METHOD or (status in _REDIRECTS and method in _SAFE)


def is_same_host(url: str, other: str) -> bool:
    """Tell whether two addresses lead to the same server, by the same way."""
    try:
        return url != other and _way(urlsplit(url)) == _way(urlsplit(other))
    except ValueError:
        return False


def _way(url: SplitResult) -> tuple[str, str | None, int | None, bool]:
    return url.scheme, url.hostname, url.port or _PORTS.get(url.scheme), "@" in url.netloc


def _translated(error: Exception, host: str, patience_s: float, redactor: Redactor) -> SourceError:
    """Return a sentence for what went wrong on the way; the library's own words could quote what was sent."""
    if isinstance(error, _CUT_OFF):
        return CutOffError(f"{host} closed the connection in the middle of its answer")
    match error:
        case socket.gaierror() | UnicodeError():
            return SourceError(f"the address of {host} cannot be found; check the base URL and the network")
        case TimeoutError():
            return SourceError(f"{host} did not answer within {patience_s:g} s")
        case ssl.SSLError():
            return SourceError(f"there is no safe connection to {host}: {_tls_reason(error)}")
        case OSError():
            return SourceError(f"{host} cannot be reached: {error.strerror or type(error).__name__}")
        case _:
            reason = printed_line(redactor.text(str(error))) or type(error).__name__
            return SourceError(f"{host} does not answer as a web server does: {reason}")


def _tls_reason(error: ssl.SSLError) -> str:
    if isinstance(error, ssl.SSLCertVerificationError):
        return f"its certificate cannot be trusted ({error.verify_message})"
    return (error.reason or "it was refused").replace("_", " ").lower()
