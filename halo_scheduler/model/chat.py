"""Chat: the bots that receive messages, the people who may write to them, and conversations."""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import StrEnum
from typing import NamedTuple

from halo_scheduler.errors import ScheduleError
from halo_scheduler.grammar.checks import (
    frozen_list,
    require_choice,
    require_instant,
    require_text,
    require_url,
)
from halo_scheduler.grammar.english import shown
from halo_scheduler.grammar.templates import require_secret_name
from halo_scheduler.model.codec import Value, put

DIRECT = "direct"
"""The direct conversation of a bot with any person."""
MOST_PEOPLE = 100
MOST_BOTS = 20
_THIS_COMPUTER = ("127.0.0.1", "::1", "localhost")
_BOT = r"[a-z0-9][a-z0-9_-]{0,29}"
_CONVERSATION = r"-?[0-9]{1,20}|[CDG][A-Z0-9]{2,20}"
# Ids of Telegram and Discord, ids of Slack, and user names.
_PERSON = r"[0-9]{1,20}|[UW][A-Z0-9]{2,20}|@[A-Za-z0-9_]{1,32}"
CHANNEL_PATTERN = rf"{_BOT}/(?:{DIRECT}|{_CONVERSATION})"
PERSON_PATTERN = rf"(?:{_PERSON})"
_IS_BOT = re.compile(_BOT, re.ASCII)
_IS_CHANNEL = re.compile(CHANNEL_PATTERN, re.ASCII)
_IS_PERSON = re.compile(PERSON_PATTERN, re.ASCII)


class ChatServiceName(StrEnum):
    """A chat service."""

    TELEGRAM = "telegram"
    SLACK = "slack"
    DISCORD = "discord"


class Conversation(NamedTuple):
    """A conversation of a bot, by the service's own id, or DIRECT."""

    bot: str
    id: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ChatBot(Value):
    """A bot on a chat service; its token is the secret of this name."""

    name: str
    service: ChatServiceName
    secret: str
    permitted: tuple[str, ...] = ()
    """The people who may start the jobs that have no list of their own."""
    api: str = ""
    """The address of the server, if it is not the public one of the service."""
    token_at: int = 0
    """When its token was stored; a new token makes it reconnect."""

    def __post_init__(self) -> None:
        require_bot_name("name", self.name)
        put(self, service=require_choice(ChatServiceName, self.service, path="service"))
        require_secret_name("secret", self.secret)
        put(self, permitted=require_people("permitted", self.permitted))
        for index, person in enumerate(self.permitted):
            refuse_name_of_others(self.service, person, path=f"permitted[{index}]")
        if self.api:
            _require_safe_url("api", self.api)
        require_instant("token_at", self.token_at)


@dataclass(frozen=True, slots=True, kw_only=True)
class Stranger:
    """A person who wrote to a bot without permission."""

    bot: str
    sender: str
    sender_name: str
    channel: str
    at: int


@dataclass(frozen=True, slots=True, kw_only=True)
class BotState:
    """The state that a bot's listener last wrote; outdated when no engine runs."""

    name: str
    token_at: int
    """When the token that it uses was stored."""
    position: str = ""
    """The position up to which messages were received, in the service's terms."""
    identity: str = ""
    """The bot's name on the service."""
    since: int = 0
    """When it began to listen."""
    fault: str = ""
    """Why it is not listening, as a sentence; empty if it is."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BotStatus:
    """A bot with its state."""

    bot: ChatBot
    state: BotState | None
    """The state from the running engine; None if there is none."""
    is_running: bool
    """Whether an engine runs."""
    jobs: tuple[str, ...]
    """The names of the jobs that messages to it start."""

    @property
    def is_listening(self) -> bool:
        """Whether it receives messages now."""
        return self.state is not None and not self.state.fault

    def to_data(self) -> dict[str, object]:
        """Return the JSON form."""
        state = self.state
        return {
            "name": self.bot.name,
            "service": self.bot.service,
            "permitted": list(self.bot.permitted),
            "listening": self.is_listening,
            "identity": "" if state is None else state.identity,
            "fault": "" if state is None else state.fault,
            "jobs": list(self.jobs),
        }


def require_bot_name(path: str, name: object) -> str:
    """Refuse text that cannot name a bot."""
    if not isinstance(name, str) or not _IS_BOT.fullmatch(name):
        raise ScheduleError(
            f"must be a short name of a-z, 0-9, - and _, like family, not {shown(name)}", path=path
        )
    return name


def conversation_of(channel: object, *, path: str = "channel") -> Conversation:
    """Parse a conversation like family/direct or family/-100123; refuse other text."""
    text = require_text(path, channel)
    if not _IS_CHANNEL.fullmatch(text):
        raise ScheduleError(
            f"must be a bot and a conversation, like family/{DIRECT} or family/-100123, not {shown(text)}",
            path=path,
        )
    return Conversation(*text.split("/"))


def require_people(path: str, people: object) -> tuple[str, ...]:
    """Return ids and names of people in order and once each; refuse anything else."""
    given = frozen_list(path, people)
    if len(given) > MOST_PEOPLE:
        raise ScheduleError(f"has at most {MOST_PEOPLE} people", path=path)
    return tuple(sorted({_person(f"{path}[{index}]", one) for index, one in enumerate(given)}))


def _person(path: str, person: object) -> str:
    if not isinstance(person, str) or not _IS_PERSON.fullmatch(person):
        raise ScheduleError(
            f"must be the id of a person, like 123456789, or a name like @anna, not {shown(person)}",
            path=path,
        )
    return person.lower() if person.startswith("@") else person


def refuse_name_of_others(service: ChatServiceName, person: str, *, path: str) -> None:
    """Refuse a name on services other than Telegram, where names are not unique."""
    if person.startswith("@") and service is not ChatServiceName.TELEGRAM:
        raise ScheduleError(
            f"names aren't unique on {service.title()}; use the person's id, shown by: halo chat who",
            path=path,
        )


def is_permitted(people: tuple[str, ...], sender: str, sender_name: str) -> bool:
    """Return whether a person is one of these."""
    return sender in people or (sender_name.startswith("@") and sender_name.lower() in people)


def _require_safe_url(path: str, url: str) -> None:
    """Refuse an address to which the token would be sent unencrypted, except on this computer."""
    from urllib.parse import urlsplit  # noqa: PLC0415 - slow to load, needed only for custom servers

    parts = urlsplit(require_url(path, url))
    if parts.scheme != "https" and parts.hostname not in _THIS_COMPUTER:
        raise ScheduleError("must begin with https://, or the token would be sent unencrypted", path=path)
