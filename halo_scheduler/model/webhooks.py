"""Webhooks: the secret address of a job, how its senders sign, and the listener that receives them."""

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
    """How a sender shows that a request is its own, by the name of the service that made it common."""

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
    """The beginning of the token, which is no secret: it finds the job, and is shown in the masked address."""
    token_hash: bytes
    made_at: int
    signature: Signature | None = None
    key_name: str = ""
    """The secret that holds the key of the signature."""
    window_ms: int = USUAL_WINDOW_MS
    """How old a signed time may be."""

    def accepts(self, token: str) -> bool:
        """Return whether this is its token, in a time that does not depend on the difference."""
        from hmac import compare_digest  # noqa: PLC0415 - slow to load, not needed to read settings

        return compare_digest(self.token_hash, token_hash(token))


class Place(NamedTuple):
    """Where the listener listens."""

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
    """What the listener last wrote about itself; it is out of date when no engine runs."""

    place: Place
    since: int
    fault: str = ""
    """Why it does not listen, as a sentence; empty if it does."""


@dataclass(frozen=True, slots=True, kw_only=True)
class JobWebhook:
    """A job that a webhook starts, with its webhook if it has an address."""

    job_id: str
    name: str
    webhook: Webhook | None


@dataclass(frozen=True, slots=True, kw_only=True)
class WebhookStatus:
    """What is open to other programs."""

    place: Place | None
    """Where the settings want it to listen; None while webhooks are off."""
    listener: ListenerState | None
    """What the listener of the running engine wrote; None if there is none."""
    is_running: bool
    """Whether an engine runs."""
    jobs: int
    """How many jobs a webhook starts."""

    @property
    def is_listening(self) -> bool:
        """Whether a port is open now."""
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
    """Return a new token: an id that is no secret, and 128 random bits."""
    return os.urandom(_ID_BYTES + _SECRET_BYTES).hex()


def is_token(text: str) -> bool:
    """Return whether a text has the form of a token."""
    return _TOKEN.fullmatch(text) is not None


def token_id(token: str) -> str:
    """Return the part of a token that may be shown."""
    return token[:_ID_DIGITS]


def token_hash(token: str) -> bytes:
    """Return what is stored of a token; it is random, so that no slow hash is needed."""
    from hashlib import sha256  # noqa: PLC0415 - slow to load, not needed to read settings

    return sha256(token.encode()).digest()
