"""Web addresses: read, joined, compared, and shown without what must not be shown."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache
from typing import Self
from urllib.parse import urljoin

from urllib3.exceptions import LocationParseError
from urllib3.util import parse_url

PORTS = {"http": 80, "https": 443}
_SCHEME = re.compile(r"[a-zA-Z][a-zA-Z0-9+.-]*:")


class AddressError(ValueError):
    """A text is no web address."""


@dataclass(frozen=True, slots=True)
class Address:
    """Where a request goes: in ASCII, without a user name, a password or a fragment."""

    scheme: str
    host: str
    given_port: int | None
    target: str
    """Path and query."""

    @classmethod
    @lru_cache(maxsize=256)
    def read(cls, text: str) -> Self:
        """Read an absolute address; AddressError when it is none, or leads neither to http nor to https."""
        try:
            url = parse_url(text)
        except (LocationParseError, UnicodeError) as error:
            raise AddressError("no address") from error
        if url.scheme not in PORTS or not url.host:
            raise AddressError("neither http nor https")
        query = "" if url.query is None else f"?{url.query}"
        return cls(url.scheme, url.host.strip("[]"), url.port, f"{url.path or '/'}{query}")

    def joined(self, location: str) -> Self:
        """Return where a redirect from here leads."""
        try:
            return self.read(location if _SCHEME.match(location) else urljoin(str(self), location))
        except ValueError as error:
            raise AddressError("no address") from error

    @property
    def port(self) -> int:
        return PORTS[self.scheme] if self.given_port is None else self.given_port

    @property
    def place(self) -> str:
        """The host, and the port where it is not the usual one, for sentences and for the Host header."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return host if self.given_port is None else f"{host}:{self.given_port}"

    def is_same_host(self, other: Address) -> bool:
        return self.host == other.host

    def is_same_owner(self, other: Address) -> bool:
        """Tell whether the same server answers: the same host and port, or its encrypted side."""
        is_upgrade = (self.port, other.port) == (PORTS["http"], PORTS["https"])
        return self.is_same_host(other) and (self.port == other.port or is_upgrade)

    def __str__(self) -> str:
        return f"{self.scheme}://{self.place}{self.target}"
