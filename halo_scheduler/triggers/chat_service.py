"""What a chat service is to the watcher of chat messages."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

from halo_scheduler.errors import SchedulerError


@dataclass(frozen=True, slots=True, kw_only=True)
class ChatMessage:
    """A message that a person wrote to the bot or in a channel it can read; all of it is text from outside."""

    event_id: str
    """Unique for ever: `telegram:<bot id>:<chat>:<message id>`, `slack:<team>:<channel>:<ts>`,
    `discord:<channel>:<message id>`."""
    channel: str
    """The conversation, by the service's own id."""
    sender: str
    """The person, by the service's own id."""
    sender_name: str
    """The person, as the service shows them."""
    text: str
    """Plain text; a leading mention of the bot is removed."""
    thread: str
    """Where replies go: a message or thread id."""
    at: int
    """When it was written, in epoch milliseconds."""


class ChatFault(SchedulerError):  # noqa: N818 - what a service says, not an error of this program
    """The service cannot be used now.

    `retry_after_s` says when to try again, `is_final` that the token or the rights are wrong.
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

        `state` is what `accept` was given last, "" at first: it says from where to go on. With an empty state, messages
        from before now do not count. Nothing is acknowledged to the service before `accept` returned. Bots' own
        messages, edits and messages without text do not count.
        """

    def send(self, channel: str, thread: str, text: str) -> None:
        """Post plain text as a reply; raise ChatFault.

        It is never markup (escape it or switch parsing off); no mentions are resolved, no link previews made.
        """

    def identity(self) -> str:
        """Return the bot's name on the service, which proves the token; raise ChatFault."""

    def close(self) -> None:
        """End `listen` from any thread, within a second."""
