"""The headers of requests and responses: which are sent, and which are secret."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from functools import cache

from halo_scheduler.grammar.redaction import MARK
from halo_scheduler.model import BodyKind, HttpRequest

_SHORTEST_SECRET = 4
_SECRET_WORDS = re.compile("auth|cookie|token|secret|passw|key|session|signature")
_CHALLENGES = frozenset({"www-authenticate", "proxy-authenticate"})
_USER_INFO = re.compile(rb"(?<=//)[^/?#\s]*@")


def default_headers(request: HttpRequest) -> dict[str, str]:
    """Return the headers of a request that names none."""
    headers = {"User-Agent": _user_agent()}
    if request.body:
        is_json = request.body_kind is BodyKind.JSON
        headers["Content-Type"] = "application/json" if is_json else "text/plain; charset=utf-8"
    return headers


def without(headers: Mapping[str, str], name: str) -> dict[str, str]:
    """Return all headers but one."""
    return {key: value for key, value in headers.items() if key.lower() != name.lower()}


def _is_secret_name(name: str) -> bool:
    return _SECRET_WORDS.search(name) is not None and name not in _CHALLENGES


def shown_value(name: str, value: bytes) -> bytes:
    """Return the value of a response header as it may be stored."""
    if _is_secret_name(name):
        return MARK
    return _USER_INFO.sub(MARK + b"@", value) if name == "location" else value


def credentials(headers: Mapping[str, str]) -> Iterator[str]:
    """Return the credentials in some headers, to redact them from a response that repeats them."""
    for name, value in headers.items():
        if not _is_secret_name(name.lower()):
            continue
        # Without its scheme, as in "Bearer abc", and without its names, as in "a=b; c=d".
        cookies = value.split("; ") if name.lower() == "cookie" else []
        parts = (value, value.rpartition(" ")[2], *(cookie.partition("=")[2] for cookie in cookies))
        yield from (part for part in parts if len(part) >= _SHORTEST_SECRET)


@cache
def _user_agent() -> str:
    from importlib.metadata import version  # noqa: PLC0415 - with the whole of e-mail behind it

    return f"halo-scheduler/{version('halo-scheduler')}"
