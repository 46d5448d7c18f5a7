"""Web addresses: parse, join, compare, and show without credentials."""

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
