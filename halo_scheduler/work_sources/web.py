"""HTTP requests for work sources, on threads that may block."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from urllib.parse import SplitResult, urljoin, urlsplit

from halo_scheduler.grammar.redaction import Redactor
from halo_scheduler.model.messages import MessageKind, message
from halo_scheduler.web import client, faults
from halo_scheduler.web.addresses import PORTS, Address, AddressError, Proxies
from halo_scheduler.web.transport import Transport
from halo_scheduler.work_sources.item import SourceError

_DEADLINE_S = 30.0
_MOST_BYTES = 10_000_000
_MOST_REDIRECTS = 3
# Only these redirects keep the method and the body.
_SAME_METHOD = frozenset({307, 308})
_REDIRECTS = frozenset({301, 302, 303}) | _SAME_METHOD
_SAFE = frozenset({"GET", "HEAD"})


class CutOffError(SourceError):
    """The connection ended before the response did; the request may have taken effect."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """A request; the token goes only to the URL's own host, and is never shown."""

    method: str
    url: str
    token: str = ""
    headers: Mapping[str, str] = field(default_factory=dict)
    body: bytes | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """A response; header names are lower case."""

    status: int
    headers: Mapping[str, str]
    body: bytes


class Web:
    """Sends requests, each on its own connection, with one deadline for all redirects."""

    def __init__(
        self,
        *,
        deadline_s: float = _DEADLINE_S,
        most_bytes: int = _MOST_BYTES,
        environment: Callable[[], Mapping[str, str]] = lambda: os.environ,
    ) -> None:
        self._deadline_s = deadline_s
        self._most_bytes = most_bytes
        self._environment = environment

    def send(self, request: Request) -> Answer:
        """Return the response, whatever its status. SourceError when there is none or it is too long.

        Redirects within the host are followed. A redirect to another host is returned as it is; nothing is sent there.
        """
        proxies = Proxies(self._environment())
        redactor = Redactor([*([request.token] if request.token else []), *proxies.secrets])
        url = request.url
        with Transport(self._deadline_s) as transport:
            for _ in range(_MOST_REDIRECTS + 1):
                answer = self._send_once(request, url, transport, proxies, redactor)
                target = redirect_target(url, answer)
                if not _may_follow(request.method, answer.status) or not is_same_host(url, target):
                    return answer
                url = target
        place = urlsplit(url).netloc
        raise SourceError(
            message(MessageKind.TOO_MANY_REDIRECTS, place=place, target=target, most=_MOST_REDIRECTS)
        )

    def _send_once(
        self, request: Request, url: str, transport: Transport, proxies: Proxies, redactor: Redactor
    ) -> Answer:
        headers = dict(request.headers)
        if request.token:
            headers["Authorization"] = f"Bearer {request.token}"
        try:
            address = Address.read(url)
            question = client.Request(
                method=request.method, address=address, headers=headers, body=request.body or b""
            )
            answer = client.send(transport, question, proxies)
            body = self._read(answer.pieces(), address.place)
        except AddressError:
            raise SourceError(message(MessageKind.BAD_BASE_URL, url=url)) from None
        except faults.CutOffError as error:
            raise CutOffError(error.message) from None
        except faults.WebError as error:
            raise SourceError(error.message.changing_text(redactor.text)) from None
        return Answer(
            status=answer.status,
            headers={
                name: redactor.redacted(value).decode(errors="replace") for name, value in answer.headers()
            },
            body=redactor.redacted(body),
        )

    def _read(self, pieces: Iterable[bytes], host: str) -> bytes:
        body = bytearray()
        for piece in pieces:
            body += piece
            if len(body) > self._most_bytes:
                most = self._most_bytes // 1_000_000
                raise SourceError(message(MessageKind.RESPONSE_TOO_LARGE, place=host, megabytes=most))
        return bytes(body)


def redirect_target(url: str, answer: Answer) -> str:
    """Return the URL a response redirects to, or an empty string."""
    try:
        return urljoin(url, answer.headers.get("location", ""))
    except ValueError:
        return ""


def _may_follow(method: str, status: int) -> bool:
    return status in _SAME_METHOD or (status in _REDIRECTS and method in _SAFE)


def is_same_host(url: str, other: str) -> bool:
    """Return whether two URLs have the same scheme, host and port."""
    try:
        return url != other and _way(urlsplit(url)) == _way(urlsplit(other))
    except ValueError:
        return False


def _way(url: SplitResult) -> tuple[str, str | None, int | None, bool]:
    return url.scheme, url.hostname, url.port or PORTS.get(url.scheme), "@" in url.netloc
