"""The interface between chat services and the watcher of chat messages."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

from halo_scheduler.errors import SchedulerError


@dataclass(frozen=True, slots=True, kw_only=True)
class ChatMessage:
    """A message that a person wrote to the bot or in a channel it can read; all of it is untrusted text."""

    event_id: str
    """Globally unique: `telegram:<bot id>:<chat>:<message id>`, `slack:<team>:<channel>:<ts>`,
    `discord:<channel>:<message id>`."""
    channel: str
    """The conversation, by the service's own id."""
    sender: str
    """The person, by the service's own id."""
    sender_name: str
    """The name of the person, as the service shows it."""
    text: str
    """Plain text; a leading mention of the bot is removed."""
    thread: str
    """Where replies go: a message or thread id."""
    at: int
    """When it was written, in epoch milliseconds."""


class ChatFault(SchedulerError):  # noqa: N818 - a fault of a service, not an error of this program
    """The service cannot be used now.

    `retry_after_s` is the time until a retry; `is_final` means that the token or its permissions are wrong.
    """

    def __init__(self, message: str, *, retry_after_s: float | None = None, is_final: bool = False) -> None:
        super().__init__(message)
        self.retry_after_s = retry_after_s
        self.is_final = is_final


Accept = Callable[[Sequence[ChatMessage], str], None]
"""Store messages and the state in one transaction.

StoreUnavailableError: nothing was stored, so nothing may be acknowledged.
"""


class ChatService(Protocol):
    """One bot on one service."""

    longest_reply: int

    def listen(self, state: str, accept: Accept) -> None:
        """Receive messages until `close`; raise ChatFault.

        `state` is the last one passed to `accept`, "" at first: listening continues from there. With an empty state,
        earlier messages are ignored. Nothing is acknowledged to the service before `accept` has returned. Messages of
        bots, edits and messages without text are ignored.
        """

    def send(self, channel: str, thread: str, text: str) -> None:
        """Post plain text as a reply; raise ChatFault.

        Markup must not take effect (escape it or turn parsing off); no mentions, no link previews.
        """

    def identity(self) -> str:
        """Return the bot's name on the service, which checks the token; raise ChatFault."""

    def close(self) -> None:
        """Stop `listen` within a second; any thread may call it."""
