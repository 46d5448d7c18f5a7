"""Webhook signatures in the formats of GitHub, GitLab and Stripe."""

from __future__ import annotations

import hashlib
import hmac
import re
from collections.abc import Mapping
from typing import NamedTuple

from halo_scheduler.grammar.interval import DAY_MS, SECOND_MS
from halo_scheduler.model.webhooks import Signature

# These senders sign no timestamp, so replay protection ends when a request is forgotten.
_REMEMBERED_MS = 30 * DAY_MS
# A clock that is set back makes old timestamps valid again, by at most the UTC offset of another system on this
# computer.
_CLOCK_STEP_MS = DAY_MS
_STRIPE_TIME = re.compile(r"[0-9]{1,12}", re.ASCII)
_MOST_STRIPE_PARTS = 10


class SignatureError(Exception):
    """The signature of a request is missing, wrong or too old."""


class Delivery(NamedTuple):
    """A signed request, remembered against replay; with an empty digest it cannot be recognised."""

    digest: bytes
    forget_at: int


def verify(
    signature: Signature,
    key: str,
    headers: Mapping[str, str],
    body: bytes,
    *,
    now_ms: int,
    window_ms: int,
) -> Delivery:
    """Verify the signature of a request and return the delivery; raise SignatureError.

    `headers` have their WSGI names: `HTTP_STRIPE_SIGNATURE`.
    """
    match signature:
        case Signature.GITHUB:
            return _verify_github(key, headers, body, now_ms)
        case Signature.GITLAB:
            return _verify_gitlab(key, headers, now_ms)
        case Signature.STRIPE:
            return _verify_stripe(key, headers, body, now_ms, window_ms)


def _verify_github(key: str, headers: Mapping[str, str], body: bytes, now_ms: int) -> Delivery:
    mac = _mac(key, body)
    _require_equal(b"sha256=" + mac, _bytes(headers, "HTTP_X_HUB_SIGNATURE_256"))
    # Not by X-GitHub-Delivery, which is not signed: a replayed request can change it.
    return Delivery(_digest(mac), now_ms + _REMEMBERED_MS)


def _verify_gitlab(key: str, headers: Mapping[str, str], now_ms: int) -> Delivery:
    _require_equal(key.encode(), _bytes(headers, "HTTP_X_GITLAB_TOKEN"))
    sent = _bytes(headers, "HTTP_IDEMPOTENCY_KEY") or _bytes(headers, "HTTP_X_GITLAB_EVENT_UUID")
    return Delivery(_digest(sent) if sent else b"", now_ms + _REMEMBERED_MS)


def _verify_stripe(
    key: str, headers: Mapping[str, str], body: bytes, now_ms: int, window_ms: int
) -> Delivery:
    parts = _bytes(headers, "HTTP_STRIPE_SIGNATURE").split(b",", _MOST_STRIPE_PARTS)
    pairs = [part.strip().partition(b"=")[::2] for part in parts]
    times = [value.decode("latin-1") for name, value in pairs if name == b"t"]
    if len(times) != 1 or not _STRIPE_TIME.fullmatch(times[0]):
        raise SignatureError
    mac = _mac(key, times[0].encode() + b"." + body)
    # While a key is being rotated, there is one signature for each key.
    if not any(hmac.compare_digest(mac, value) for name, value in pairs if name == b"v1"):
        raise SignatureError
    if abs(now_ms - int(times[0]) * SECOND_MS) > window_ms:
        raise SignatureError
    return Delivery(_digest(mac), now_ms + 2 * window_ms + _CLOCK_STEP_MS)


def _mac(key: str, content: bytes) -> bytes:
    return hmac.new(key.encode(), content, hashlib.sha256).hexdigest().encode()


def _digest(content: bytes) -> bytes:
    return hashlib.sha256(content).digest()


def _bytes(headers: Mapping[str, str], name: str) -> bytes:
    # WSGI decodes the bytes of a header as Latin-1.
    return headers.get(name, "").encode("latin-1")


def _require_equal(expected: bytes, given: bytes) -> None:
    if not hmac.compare_digest(expected, given):
        raise SignatureError
