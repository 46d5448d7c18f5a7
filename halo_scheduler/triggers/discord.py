"""Discord, through its gateway (version 10): messages arrive over a WebSocket that we open, replies are HTTP calls.

The stored state has the session and its last stored event. After an interruption or a restart of Halo, Discord sends
all later events; it keeps a session for some minutes.
"""

from __future__ import annotations

import json
import random
import re
import sys
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from enum import IntEnum
from http import HTTPStatus
from importlib.metadata import version
from time import monotonic
from typing import Any, Self

from halo_scheduler.triggers.chat_link import ChatClosedError, ChatLink, Reply, checked_token
from halo_scheduler.triggers.chat_service import Accept, ChatFault, ChatMessage
from halo_scheduler.triggers.chat_socket import ChatSocket, SocketClosedError
from halo_scheduler.triggers.chat_values import id_at, name_at, number_at, object_at, parsed_object, text_at

_API = "https://discord.com/api/v10"
_LONGEST_CONTENT = 2_000
# Text that becomes too long by escaping is sent as a code block; this leaves room for its fences.
_LONGEST_REPLY = _LONGEST_CONTENT - 8
_GUILD_MESSAGES, _DIRECT_MESSAGES, _MESSAGE_CONTENT = 1 << 9, 1 << 12, 1 << 15
_INTENTS = _GUILD_MESSAGES | _DIRECT_MESSAGES | _MESSAGE_CONTENT
_HELLO_S = 15.0
_SHORTEST_HEARTBEAT_S = 1.0
_LONGEST_HEARTBEAT_MS, _LONGEST_RESET_MS = 600_000.0, 86_400_000.0
# Discord requires a pause of random length before a new session.
_PAUSE_S = (1.0, 5.0)
_SUPPRESS_EMBEDS = 1 << 2
_DEFAULT, _REPLY = 0, 19
_EPOCH_MS = 1_420_070_400_000
_ID = re.compile(r"[0-9]{1,20}")
_WORD = re.compile(r"[!-~]{1,500}")
_URL_OR_MARKUP = re.compile(
    r"https?://[^\s<]+|[\\*_~|`<\[]|^(?P<indent>[ \t]*)(?P<mark>[#>+-])|(?<=[0-9])\.(?=[ \t])", re.MULTILINE
)
_PORTAL = "https://discord.com/developers/applications"
_BAD_TOKEN = f"Discord does not accept the token; copy a new one from {_PORTAL}, under Bot"
_FINAL_CLOSES = {
    4004: _BAD_TOKEN,
    4010: "Discord does not accept this connection; update Halo Scheduler",
    4011: "the bot is in too many Discord servers; use a bot of its own for Halo Scheduler",
    4012: "Discord does not support this version of its gateway any more; update Halo Scheduler",
    4013: "Discord rejects the events that the bot subscribes to; update Halo Scheduler",
    4014: f"the bot may not read messages; switch on Message Content Intent at {_PORTAL}, under Bot",
}
_LOST_CLOSES = frozenset({4003, 4007, 4009})
_REFUSALS = {
    10003: "the bot cannot see that Discord channel; check that it still exists",
    50001: "the bot cannot see that Discord channel; allow it View Channel there",
    50007: "that person does not accept direct messages from the bot",
    50013: "the bot may not write in that Discord channel; allow it Send Messages there",
    50083: "that Discord thread is archived; use another one",
    160002: "the bot may not reply in that Discord channel; allow it Read Message History there",
}


class _Op(IntEnum):
    """The opcodes of the gateway."""

    DISPATCH = 0
    HEARTBEAT = 1
    IDENTIFY = 2
    RESUME = 6
    RECONNECT = 7
    INVALID_SESSION = 9
    HELLO = 10
    HEARTBEAT_ACK = 11


class _SessionLostError(Exception):
    """The session cannot be resumed."""


def open_service(token: str, *, api: str = _API) -> Discord:
    """Return the bot with this token; ChatFault if the token is invalid."""
    agent = f"DiscordBot (halo-scheduler, {version('halo-scheduler')})"
    return Discord(token, ChatLink("Discord", api, user_agent=agent))


@dataclass(frozen=True, slots=True, kw_only=True)
class _Session:
    """A session that can be resumed after its event `seq`."""

    id: str
    url: str
    bot: str
    seq: int

    @classmethod
    def read(cls, state: str) -> Self | None:
        """Read a session from its text; None if the text is invalid."""
        data = parsed_object(state) or {}
        return cls.of(data, data.get("bot"), data.get("seq"))

    @classmethod
    def of(cls, data: Mapping[str, Any], bot: object, seq: object) -> Self | None:
        name, url = text_at(data, "id"), text_at(data, "url")
        is_whole = isinstance(bot, str) and _ID.fullmatch(bot) and _WORD.fullmatch(name) and url
        return cls(id=name, url=url, bot=str(bot), seq=seq) if is_whole and type(seq) is int else None

    def text(self) -> str:
        return json.dumps(asdict(self))


class Discord:
    """One Discord bot."""

    longest_reply = _LONGEST_REPLY

    def __init__(self, token: str, link: ChatLink) -> None:
        self._token = checked_token(token.strip().removeprefix("Bot "), "Discord")
        self._link = link
        link.hide(self._token)
        self._is_elsewhere = False

    def listen(self, state: str, accept: Accept) -> None:
        """Receive messages until `close`; see ChatService."""
        session = _Session.read(state)
        with suppress(ChatClosedError):
            for _ in self._link.connections():
                session = self._connect(session, accept)

    def send(self, channel: str, thread: str, text: str) -> None:
        """Post plain text as a reply to a message; see ChatService."""
        if not _ID.fullmatch(channel):
            raise ChatFault("a Discord channel is a number", is_final=True)
        message = {
            "content": _content(text),
            "allowed_mentions": {"parse": []},
            "flags": _SUPPRESS_EMBEDS,
            "message_reference": {"message_id": thread, "fail_if_not_exists": False},
        }
        self._call("POST", f"channels/{channel}/messages", message)

    def identity(self) -> str:
        """Return the bot's name."""
        return self._link.quoted(text_at(self._call("GET", "users/@me").data, "username"))

    def close(self) -> None:
        """Close all connections; see ChatService."""
        self._link.close()

    # --- Connections ---------------------------------------------------------------------------------

    def _connect(self, session: _Session | None, accept: Accept) -> _Session | None:
        """Receive over one connection, in a new session if the old one is gone; return the session to resume."""
        if session is not None:
            with suppress(_SessionLostError):
                return self._attend(session, accept)
            self._link.wait(random.uniform(*_PAUSE_S))  # noqa: S311 - no secret
        try:
            return self._attend(None, accept)
        except _SessionLostError:
            raise ChatFault("Discord ended the session", retry_after_s=_PAUSE_S[1]) from None

    def _attend(self, session: _Session | None, accept: Accept) -> _Session | None:
        with self._link.socket(f"{self._url(session)}?v=10&encoding=json") as socket:
            gateway = _Gateway(socket, session, self._token, accept)
            try:
                self._is_elsewhere = False
                gateway.attend()
            except SocketClosedError as error:
                if error.code in _FINAL_CLOSES:
                    raise ChatFault(_FINAL_CLOSES[error.code], is_final=True) from None
                if error.code in _LOST_CLOSES:
                    raise _SessionLostError from None
        return gateway.session

    def _url(self, session: _Session | None) -> str:
        """Return the URL to connect to: the session's own, unless it did not answer last time."""
        if session is not None and not self._is_elsewhere:
            self._is_elsewhere = True
            return session.url.rstrip("/") + "/"
        data = self._call("GET", "gateway/bot").data
        limit = object_at(data, "session_start_limit")
        if session is None and limit.get("remaining") == 0:
            rest_ms = number_at(limit, "reset_after", _LONGEST_RESET_MS) or _LONGEST_RESET_MS
            raise ChatFault("Discord allows no more new sessions today", retry_after_s=rest_ms / 1_000)
        return text_at(data, "url").rstrip("/") + "/"

    # --- Calls ---------------------------------------------------------------------------------------

    def _call(self, method: str, path: str, payload: object = None) -> Reply:
        reply = self._link.call(method, path, authorization=f"Bot {self._token}", payload=payload)
        if HTTPStatus(200) <= reply.status < HTTPStatus.MULTIPLE_CHOICES:
            return reply
        if reply.status == HTTPStatus.UNAUTHORIZED:
            raise ChatFault(_BAD_TOKEN, is_final=True)
        code = reply.data.get("code")
        if type(code) is int and code in _REFUSALS:
            raise ChatFault(_REFUSALS[code], is_final=True)
        said = self._link.quoted(text_at(reply.data, "message")) or f"HTTP status {reply.status}"
        raise ChatFault(f"Discord refused the request: {said}")


class _Gateway:
    """One connection: keeps it alive and receives messages."""

    def __init__(self, socket: ChatSocket, session: _Session | None, token: str, accept: Accept) -> None:
        self.session = session
        self._socket = socket
        self._token = token
        self._accept = accept
        self._interval_s = self._begin_s()
        # So that a million clients do not send heartbeats at once after an outage of Discord.
        self._beats_at = monotonic() + self._interval_s * random.random()  # noqa: S311 - no secret
        self._is_answered = True

    def attend(self) -> None:
        """Receive until Discord requests a new connection; _SessionLostError if it requests a new session too."""
        self._greet()
        while True:
            data = self._next()
            match data.get("op"):
                case _Op.DISPATCH:
                    self._dispatch(data)
                case _Op.HEARTBEAT:
                    self._beat()
                case _Op.HEARTBEAT_ACK:
                    self._is_answered = True
                case _Op.RECONNECT:
                    return
                case _Op.INVALID_SESSION:
                    if data.get("d") is True and self.session is not None:
                        return
                    raise _SessionLostError
                case _:
                    continue  # Later versions may send further opcodes.

    def _begin_s(self) -> float:
        """Return the interval of heartbeats, which Discord sends first."""
        hello = self._socket.receive(_HELLO_S)
        interval_ms = number_at(object_at(hello or {}, "d"), "heartbeat_interval", _LONGEST_HEARTBEAT_MS)
        if hello is None or hello.get("op") != _Op.HELLO or interval_ms is None:
            raise ChatFault("Discord opened a connection but sent no hello")
        return max(interval_ms / 1_000, _SHORTEST_HEARTBEAT_S)

    def _greet(self) -> None:
        if self.session is not None:
            self._say(
                _Op.RESUME,
                {"token": self._token, "session_id": self.session.id, "seq": self.session.seq},
            )
            return
        about = {"os": sys.platform, "browser": "halo-scheduler", "device": "halo-scheduler"}
        self._say(_Op.IDENTIFY, {"token": self._token, "intents": _INTENTS, "properties": about})

    def _next(self) -> Mapping[str, Any]:
        """Return the next message; send heartbeats meanwhile."""
        while True:
            left_s = self._beats_at - monotonic()
            if left_s > 0 and (data := self._socket.receive(left_s)) is not None:
                return data
            if self._beats_at <= monotonic():
                if not self._is_answered:
                    raise SocketClosedError("Discord did not answer a heartbeat", 0)
                self._is_answered = False
                self._beat()
                self._beats_at = monotonic() + self._interval_s

    def _beat(self) -> None:
        self._say(_Op.HEARTBEAT, None if self.session is None else self.session.seq)

    def _say(self, op: _Op, data: object) -> None:
        self._socket.send({"op": int(op), "d": data})

    # --- Events --------------------------------------------------------------------------------------

    def _dispatch(self, event: Mapping[str, Any]) -> None:
        """Process an event; only then does it count as received."""
        data, seq = object_at(event, "d"), event.get("s")
        if event.get("t") == "READY":
            self._take_session(data, seq)
            return
        session = self.session
        if session is None or type(seq) is not int:
            return
        later = replace(session, seq=max(seq, session.seq))
        message = _message(data, session.bot) if event.get("t") == "MESSAGE_CREATE" else None
        if message is not None:
            self._accept([message], later.text())
        self.session = later

    def _take_session(self, data: Mapping[str, Any], seq: object) -> None:
        given = {"id": data.get("session_id"), "url": data.get("resume_gateway_url")}
        session = _Session.of(given, object_at(data, "user").get("id"), seq)
        if session is None:
            raise ChatFault("Discord began a session without an id")
        self._accept([], session.text())
        self.session = session


def _message(data: Mapping[str, Any], bot: str) -> ChatMessage | None:
    """Return the message of a person; None for other events."""
    author = object_at(data, "author")
    number, channel, sender = id_at(data, "id", _ID), id_at(data, "channel_id", _ID), id_at(author, "id", _ID)
    text = re.sub(rf"\A\s*<@!?{bot}>[\s,:]*", "", text_at(data, "content")).strip()
    is_by_bot = author.get("bot") is True or "webhook_id" in data or sender == bot
    if not number or not channel or not sender or not text or is_by_bot:
        return None
    if data.get("type", _DEFAULT) not in (_DEFAULT, _REPLY):
        return None
    return ChatMessage(
        event_id=f"discord:{channel}:{number}",
        channel=channel,
        sender=sender,
        sender_name=name_at(object_at(data, "member"), "nick")
        or name_at(author, "global_name")
        or name_at(author, "username")
        or sender,
        text=text,
        thread=_thread(data, bot) or number,
        at=(int(number) >> 22) + _EPOCH_MS,
    )


def _thread(data: Mapping[str, Any], bot: str) -> str:
    """If this is a reply to the bot's reply, return the message that the bot replied to; else ""."""
    answered = object_at(data, "referenced_message")
    is_ours = text_at(object_at(answered, "author"), "id") == bot
    return id_at(object_at(answered, "message_reference"), "message_id", _ID) if is_ours else ""


def _content(text: str) -> str:
    """Escape plain text for Discord; return a code block if escaping makes it too long."""
    escaped = _URL_OR_MARKUP.sub(_escaped, text)
    if len(escaped) <= _LONGEST_CONTENT:
        return escaped
    return "```\n" + text.replace("```", "'''")[:_LONGEST_REPLY] + "\n```"


def _escaped(found: re.Match[str]) -> str:
    if found["mark"]:
        return f"{found['indent']}\\{found['mark']}"
    return found[0] if len(found[0]) > 1 else f"\\{found[0]}"
