"""The proxy for a server, from the usual variables: HTTP_PROXY, HTTPS_PROXY, NO_PROXY."""

from __future__ import annotations

import ipaddress
import re
from base64 import b64encode
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from urllib.parse import unquote

from urllib3.exceptions import LocationParseError
from urllib3.util import Url, parse_url

from halo_scheduler.model.messages import MessageKind, message
from halo_scheduler.web.addresses import Address
from halo_scheduler.web.faults import WebError

_ANY = "*"
_DEFAULT_PORT = 80
_SEPARATORS = re.compile(r"[\s,]+")


@dataclass(frozen=True, slots=True)
class Proxy:
    """A proxy, and its credentials."""

    host: str
    port: int
    authorization: str = field(default="", repr=False)

    @property
    def place(self) -> str:
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"

    @property
    def headers(self) -> dict[str, str]:
        return {"Proxy-Authorization": self.authorization} if self.authorization else {}


class Proxies:
    """The proxies of an environment; lower-case variables take precedence, as usual."""

    def __init__(self, environment: Mapping[str, str]) -> None:
        self._environment = environment

    def find(self, address: Address) -> Proxy | None:
        """Return the proxy for an address; None if it is direct, as this computer always is."""
        url = self._value(f"{address.scheme}_proxy") or self._value("all_proxy")
        if not url or _is_this_machine(address.host) or self._is_excepted(address):
            return None
        return _read(url, f"{address.scheme}_proxy")

    @property
    def secrets(self) -> list[str]:
        """The secrets to redact from a response that repeats them."""
        urls = filter(None, map(self._value, ("http_proxy", "https_proxy", "all_proxy")))
        return [secret for url in urls for secret in _secrets(url)]

    def _value(self, name: str) -> str:
        return (self._environment.get(name) or self._environment.get(name.upper()) or "").strip()

    def _is_excepted(self, address: Address) -> bool:
        return any(_covers(pattern, address) for pattern in _patterns(self._value("no_proxy")))


def _split(url: str) -> Url | None:
    with suppress(LocationParseError, UnicodeError):
        return parse_url(url if "://" in url else f"http://{url}")
    return None


def _read(url: str, name: str) -> Proxy:
    parts = _split(url)
    if parts is None or not parts.host:
        raise WebError(message(MessageKind.BAD_PROXY, name=name))
    if parts.scheme != "http":
        raise WebError(message(MessageKind.UNKNOWN_PROXY, name=name, scheme=parts.scheme))
    authorization = f"Basic {_encoded(parts.auth)}" if parts.auth else ""
    return Proxy(parts.host.strip("[]"), parts.port or _DEFAULT_PORT, authorization)


def _secrets(url: str) -> list[str]:
    """Return the password in a proxy's address, and its encoded form as sent."""
    parts = _split(url)
    if parts is None or not parts.auth:
        return []
    return [secret for secret in (unquote(parts.auth.partition(":")[2]), _encoded(parts.auth)) if secret]


def _encoded(auth: str) -> str:
    return b64encode(unquote(auth).encode()).decode()


def _is_this_machine(host: str) -> bool:
    with suppress(ValueError):
        return ipaddress.ip_address(host).is_loopback
    return host == "localhost" or host.endswith(".localhost")


def _patterns(value: str) -> Iterator[str]:
    return (part.lower() for part in _SEPARATORS.split(value) if part)


def _covers(pattern: str, address: Address) -> bool:
    """Return whether an entry of NO_PROXY covers an address: a domain, with an optional port, or a network."""
    if pattern == _ANY:
        return True
    with suppress(ValueError):
        return ipaddress.ip_address(address.host) in ipaddress.ip_network(pattern, strict=False)
    name, _, port = pattern.rpartition(":") if pattern.rpartition(":")[2].isdigit() else (pattern, "", "")
    name = name.removeprefix(_ANY).lstrip(".").strip("[]")
    is_meant = address.host == name or address.host.endswith(f".{name}")
    return is_meant and port in {"", str(address.port)}
