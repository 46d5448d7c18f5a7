"""Webhooks: the secret address of a job, the signatures of its senders, and the state of the listener."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from enum import StrEnum
from typing import NamedTuple

_ID_BYTES, _SECRET_BYTES = 6, 16
_ID_DIGITS = 2 * _ID_BYTES
_TOKEN = re.compile(f"[0-9a-f]{{{2 * (_ID_BYTES + _SECRET_BYTES)}}}", re.ASCII)
USUAL_WINDOW_MS = 300_000
LOOPBACK, USUAL_PORT = "127.0.0.1", 8787


class Signature(StrEnum):
    """The scheme by which a sender signs requests, named after a service that uses it."""

    GITHUB = "github"
    """`X-Hub-Signature-256`: the HMAC of the body."""
    GITLAB = "gitlab"
    """`X-Gitlab-Token`: the key itself."""
    STRIPE = "stripe"
    """`Stripe-Signature`: the HMAC of the time and the body."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Webhook:
    """The address of a job; its token is stored as a hash, so that it can't be read again."""

    job_id: str
    token_id: str
    """The public beginning of the token: identifies the webhook, and is shown in the masked address."""
    token_hash: bytes
    made_at: int
    signature: Signature | None = None
    key_name: str = ""
    """The secret that holds the key of the signature."""
    window_ms: int = USUAL_WINDOW_MS
    """The replay window: the maximum age of a signed timestamp."""

    def accepts(self, token: str) -> bool:
        """Return whether this is its token, compared in constant time."""
        from hmac import compare_digest  # noqa: PLC0415 - slow to load, not needed to read settings

        return compare_digest(self.token_hash, token_hash(token))


class Place(NamedTuple):
    """The address and port of the listener."""

    address: str
    port: int

    def __str__(self) -> str:
        return f"[{self.address}]:{self.port}" if ":" in self.address else f"{self.address}:{self.port}"

    @property
    def is_local(self) -> bool:
        """Whether only programs on this computer reach it."""
        from ipaddress import ip_address  # noqa: PLC0415 - slow to load, needed only for other addresses

        return self.address == LOOPBACK or ip_address(self.address).is_loopback


@dataclass(frozen=True, slots=True, kw_only=True)
class ListenerState:
    """The state that the listener last wrote; outdated when no engine runs."""

    place: Place
    since: int
    fault: str = ""
    """Why it is not listening, as a sentence; empty if it is."""


@dataclass(frozen=True, slots=True, kw_only=True)
class JobWebhook:
    """A job that a webhook starts, with its webhook if it has an address."""

    job_id: str
    name: str
    webhook: Webhook | None


@dataclass(frozen=True, slots=True, kw_only=True)
class WebhookStatus:
    """The state of webhooks as a whole."""

    place: Place | None
    """Where the settings want it to listen; None while webhooks are off."""
    listener: ListenerState | None
    """The state from the running engine; None if there is none."""
    is_running: bool
    """Whether an engine runs."""
    jobs: int
    """How many jobs have a webhook."""

    @property
    def is_listening(self) -> bool:
        """Whether the port is open now."""
        return self.listener is not None and not self.listener.fault

    def to_data(self) -> dict[str, object]:
        """Return the JSON form."""
        listener = self.listener
        return {
            "on": self.place is not None,
            "listening": str(listener.place) if listener is not None and self.is_listening else None,
            "fault": "" if listener is None else listener.fault,
            "jobs": self.jobs,
        }


def new_token() -> str:
    """Return a new token: a public id, and 128 random bits."""
    return os.urandom(_ID_BYTES + _SECRET_BYTES).hex()


def is_token(text: str) -> bool:
    """Return whether a text has the form of a token."""
    return _TOKEN.fullmatch(text) is not None


def token_id(token: str) -> str:
    """Return the part of a token that may be shown."""
    return token[:_ID_DIGITS]


def token_hash(token: str) -> bytes:
    """Return the stored hash of a token; a random token needs no slow hash."""
    from hashlib import sha256  # noqa: PLC0415 - slow to load, not needed to read settings

    return sha256(token.encode()).digest()
