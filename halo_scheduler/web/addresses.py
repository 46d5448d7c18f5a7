"""Web addresses, and the proxy for each from the usual variables: HTTP_PROXY, HTTPS_PROXY, NO_PROXY."""

from __future__ import annotations

import ipaddress
import re
from base64 import b64encode
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Self
from urllib.parse import unquote, urljoin

from urllib3.exceptions import LocationParseError
from urllib3.util import Url, parse_url

from halo_scheduler.model.messages import MessageKind, message
from halo_scheduler.web.faults import WebError

PORTS = {"http": 80, "https": 443}
_SCHEME = re.compile(r"[a-zA-Z][a-zA-Z0-9+.-]*:")
_ANY = "*"
_DEFAULT_PORT = 80
_SEPARATORS = re.compile(r"[\s,]+")


class AddressError(ValueError):
    """A text is not a web address."""


@dataclass(frozen=True, slots=True)
class Address:
    """The target of a request, in ASCII, without user name, password and fragment."""

    scheme: str
    host: str
    given_port: int | None
    target: str
    """Path and query."""

    @classmethod
    @lru_cache(maxsize=256)
    def read(cls, text: str) -> Self:
        """Parse an absolute address; AddressError if it is invalid or neither http nor https."""
        try:
            url = parse_url(text)
        except (LocationParseError, UnicodeError) as error:
            raise AddressError("no address") from error
        if url.scheme not in PORTS or not url.host:
            raise AddressError("neither http nor https")
        query = "" if url.query is None else f"?{url.query}"
        return cls(url.scheme, url.host.strip("[]"), url.port, f"{url.path or '/'}{query}")

    def joined(self, location: str) -> Self:
        """Return the target of a redirect from here."""
        try:
            return self.read(location if _SCHEME.match(location) else urljoin(str(self), location))
        except ValueError as error:
            raise AddressError("no address") from error

    @property
    def port(self) -> int:
        return PORTS[self.scheme] if self.given_port is None else self.given_port

    @property
    def place(self) -> str:
        """The host, with the port unless it is the default, for sentences and the Host header."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return host if self.given_port is None else f"{host}:{self.given_port}"

    def is_same_host(self, other: Address) -> bool:
        return self.host == other.host

    def is_same_owner(self, other: Address) -> bool:
        """Return whether the same server answers: the same host and port, or its https side."""
        is_upgrade = (self.port, other.port) == (PORTS["http"], PORTS["https"])
        return self.is_same_host(other) and (self.port == other.port or is_upgrade)

    def __str__(self) -> str:
        return f"{self.scheme}://{self.place}{self.target}"


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
        """Return the proxy for an address; None for a direct connection, as always for this computer."""
        url = self._value(f"{address.scheme}_proxy") or self._value("all_proxy")
        if not url or _is_this_machine(address.host) or self._is_excepted(address):
            return None
        return _read(url, f"{address.scheme}_proxy")

    @property
    def secrets(self) -> list[str]:
        """The secrets to redact from responses that repeat them."""
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
