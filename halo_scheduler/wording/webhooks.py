"""Sentences about webhooks: the listener's state, addresses, and commands that call them."""

from __future__ import annotations

from halo_scheduler.grammar.english import counted
from halo_scheduler.model.webhooks import Place, Signature, Webhook, WebhookStatus

_MASK = "…"
# These addresses stand for every address of a computer.
_EVERYWHERE = {"0.0.0.0": "127.0.0.1", "::": "::1"}  # noqa: S104 - nothing is bound here
OPEN_WARNING = (
    "Other computers on the network can connect, without encryption: anyone on the network path can read "
    "the addresses and use them."
)
_SERVICES = {Signature.GITHUB: "GitHub", Signature.GITLAB: "GitLab", Signature.STRIPE: "Stripe"}


def open_words(status: WebhookStatus) -> str:
    """Return the state of the listener: "listening on 127.0.0.1:8787, 3 jobs"."""
    jobs = counted(status.jobs, "job")
    if status.place is None:
        return f"off ({jobs} with a webhook)" if status.jobs else "off"
    if not status.is_running:
        return f"on, but Halo isn't running; {status.place} is not open"
    if status.listener is not None and status.listener.fault:
        return f"not open: {status.listener.fault}"
    if status.listener is not None:
        whom = "" if status.listener.place.is_local else ", open to other computers"
        return f"listening on {status.listener.place}{whom}, {jobs}"
    if status.jobs:
        return f"on; {status.place} opens in a moment"
    return f"on; {status.place} opens once a job has a webhook"


def address(place: Place, token: str) -> str:
    """Return the address of a webhook."""
    host = Place(_EVERYWHERE.get(place.address, place.address), place.port)
    return f"http://{host}/hook/{token}"


def masked_address(place: Place, webhook: Webhook) -> str:
    """Return the address of a webhook without its secret part."""
    return address(place, f"{webhook.token_id}{_MASK}")


def curl_line(place: Place, token: str) -> str:
    """Return a terminal command that calls a webhook."""
    return f"curl -X POST {address(place, token)}"


def signature_words(webhook: Webhook) -> str:
    """Return how requests must be signed."""
    if webhook.signature is None:
        return "no signature"
    return f"signed with {webhook.key_name} as {_SERVICES[webhook.signature]} does"
