"""Slack, through Socket Mode: messages arrive over a WebSocket that we open, replies are HTTP calls.

Slack sends an unacknowledged event again after a moment, a minute and five minutes, also without a connection, so a
short interruption loses nothing. After a longer one, missed messages are not fetched: a job that starts hours after its
message would be a surprise, and a channel's history also has messages that Slack would not have sent to this app.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from http import HTTPStatus
from time import monotonic
from typing import Any
from urllib.parse import urlencode

from halo_scheduler.clock import SystemClock
from halo_scheduler.triggers.chat_link import ChatClosedError, ChatLink, Reply, checked_token
from halo_scheduler.triggers.chat_service import Accept, ChatFault, ChatMessage
from halo_scheduler.triggers.chat_socket import ChatSocket, SocketClosedError
from halo_scheduler.triggers.chat_values import id_at, name_at, number_at, object_at, parsed_object, text_at

_API = "https://slack.com/api"
_APPS = "https://api.slack.com/apps"
_LONGEST_REPLY = 4_000
_HELLO_S = 15.0
# Slack allows few connections per minute, and their URLs expire soon.
_URL_S = 10.0
# Slack pings every few seconds.
_PING_AFTER_S, _LOST_AFTER_S = 30.0, 60.0
_MOST_NAMES = 500
_LATEST_MS = 1 << 53
_CONVERSATION = re.compile(r"[CDG][A-Z0-9]{1,30}")
_PERSON = re.compile(r"[UW][A-Z0-9]{1,30}")
_TEAM = re.compile(r"[A-Z0-9]{1,30}")
_INSTANT = re.compile(r"([0-9]{1,12})\.([0-9]{6})")
_SLACKBOT = "USLACKBOT"
_MESSAGES = frozenset({"message", "app_mention"})
# Messages with these subtypes are written by people.
_SUBTYPES = frozenset({"", "file_share", "thread_broadcast"})
_REFRESHES = frozenset({"warning", "refresh_requested"})
_REFERENCE = re.compile(r"<([^<>|]*)(?:\|([^<>]*))?>")
_ENTITIES = {"&lt;": "<", "&gt;": ">", "&amp;": "&"}
_ENTITY = re.compile("|".join(_ENTITIES))
_BAD_TOKEN = frozenset(
    {
        "invalid_auth",
        "not_authed",
        "token_revoked",
        "token_expired",
        "account_inactive",
        "not_allowed_token_type",
    }
)
# The tokens, and the pages where they are shown.
_BOT_TOKEN = ("bot token (xoxb-…)", "OAuth & Permissions")
_APP_TOKEN = ("app-level token (xapp-…)", "Basic Information")
_REFUSALS = {
    "not_in_channel": "the bot is not in that Slack channel; write /invite and the bot's name there",
    "channel_not_found": "the bot cannot see that Slack channel; write /invite and the bot's name there",
    "is_archived": "that Slack channel is archived; use another one",
    "restricted_action": "a Slack administrator doesn't allow the bot to write there",
    "ekm_access_denied": "a Slack administrator doesn't allow the bot to write there",
    "msg_too_long": "that message is too long for Slack",
    "forbidden_team": "this Slack workspace does not allow apps to connect; ask its administrator",
}


def open_service(token: str, *, api: str = _API) -> Slack:
    """Return the bot with these two tokens, "xoxb-… xapp-…"; ChatFault if they are invalid."""
    return Slack(token, ChatLink("Slack", api, user_agent="halo-scheduler"))


@dataclass(frozen=True, slots=True)
class _Me:
    """The bot in its workspace."""

    name: str
    person: str
    team: str
    at: int
    """The time by Slack's own clock."""


class Slack:
    """One Slack app in one workspace."""

    longest_reply = _LONGEST_REPLY

    def __init__(self, token: str, link: ChatLink) -> None:
        tokens = {part[:5]: checked_token(part, "Slack") for part in token.split()}
        if set(tokens) != {"xoxb-", "xapp-"}:
            raise ChatFault(
                "Slack needs two tokens separated by a space: the bot token (xoxb-…)"
                " and the app-level token (xapp-…)",
                is_final=True,
            )
        self._bot_token, self._app_token = tokens["xoxb-"], tokens["xapp-"]
        self._link = link
        link.hide(*tokens.values())
        self._names: dict[str, str] = {}
        self._unused_url = ("", 0.0)

    def listen(self, state: str, accept: Accept) -> None:
        """Receive messages until `close`; see ChatService."""
        with suppress(ChatClosedError):
            me = self._me()
            since = number_at(parsed_object(state) or {}, "since", _LATEST_MS)
            if since is None:
                since = me.at
                accept([], json.dumps({"since": since}))
            for _ in self._link.connections():
                with suppress(SocketClosedError), self._link.socket(self._socket_url()) as socket:
                    self._attend(socket, me, int(since), accept)

    def send(self, channel: str, thread: str, text: str) -> None:
        """Post plain text into a thread; see ChatService."""
        escaped = text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
        message = {
            "channel": channel,
            "thread_ts": thread,
            "text": escaped,
            "mrkdwn": False,
            "parse": "none",
            "link_names": False,
            "unfurl_links": False,
            "unfurl_media": False,
        }
        self._call("chat.postMessage", payload=message)

    def identity(self) -> str:
        """Return the name of the bot and its workspace; checks both tokens."""
        me = self._me()
        self._unused_url = (self._open_connection(), monotonic())
        return me.name

    def close(self) -> None:
        """Close all connections; see ChatService."""
        self._link.close()

    # --- Receiving -----------------------------------------------------------------------------------

    def _attend(self, socket: ChatSocket, me: _Me, since: int, accept: Accept) -> None:
        """Receive over one connection until Slack requests a new one."""
        state = json.dumps({"since": since})
        self._await_hello(socket)
        while True:
            envelope = self._next(socket)
            kind = text_at(envelope, "type")
            if kind == "disconnect":
                self._check_reason(text_at(envelope, "reason"))
                return
            envelope_id = text_at(envelope, "envelope_id")
            if not envelope_id:
                continue
            message = (
                self._message(object_at(envelope, "payload", "event"), me) if kind == "events_api" else None
            )
            if message is not None and message.at >= since:
                accept([message], state)
            socket.send({"envelope_id": envelope_id})

    def _await_hello(self, socket: ChatSocket) -> None:
        first = socket.receive(_HELLO_S)
        if first is None or first.get("type") not in ("hello", "disconnect"):
            raise ChatFault("Slack opened a connection but sent no hello")
        if first["type"] == "disconnect":
            self._check_reason(text_at(first, "reason"))
            raise ChatFault("Slack ended the connection before its hello")

    def _next(self, socket: ChatSocket) -> Mapping[str, Any]:
        """Return the next envelope; ChatFault if the connection is dead."""
        while (envelope := socket.receive(_PING_AFTER_S)) is None:
            if socket.silent_s >= _LOST_AFTER_S:
                raise ChatFault("the connection to Slack was lost: nothing arrived for a minute")
            if socket.silent_s >= _PING_AFTER_S:
                socket.ping()
        return envelope

    def _check_reason(self, reason: str) -> None:
        if reason == "link_disabled":
            raise ChatFault(
                f"Socket Mode is off for this Slack app; turn it on at {_APPS}, under Socket Mode",
                is_final=True,
            )
        if reason == "too_many_websockets":
            raise ChatFault(
                "too many programs use this Slack app; quit the others, or make an app for Halo alone"
            )
        if reason not in _REFRESHES:
            raise ChatFault(f"Slack ended the connection ({self._link.quoted(reason) or 'without a reason'})")

    def _message(self, event: Mapping[str, Any], me: _Me) -> ChatMessage | None:
        """Return the message of a person; None for other events."""
        channel, sender = id_at(event, "channel", _CONVERSATION), id_at(event, "user", _PERSON)
        written = _INSTANT.fullmatch(text_at(event, "ts"))
        is_new = text_at(event, "type") in _MESSAGES and text_at(event, "subtype") in _SUBTYPES
        is_by_bot = "bot_id" in event or sender in ("", me.person, _SLACKBOT)
        text = _plain(text_at(event, "text"), me.person)
        if written is None or not channel or not is_new or is_by_bot or "edited" in event or not text:
            return None
        return ChatMessage(
            event_id=f"slack:{me.team}:{channel}:{written[0]}",
            channel=channel,
            sender=sender,
            sender_name=self._name(sender),
            text=text,
            thread=id_at(event, "thread_ts", _INSTANT) or written[0],
            at=int(written[1]) * 1_000 + int(written[2]) // 1_000,
        )

    def _name(self, person: str) -> str:
        """Return the name of a person, or the id if Slack doesn't return the name."""
        if person not in self._names:
            if len(self._names) >= _MOST_NAMES:
                self._names.clear()
            try:
                user = object_at(self._call(f"users.info?{urlencode({'user': person})}").data, "user")
            except ChatClosedError:
                raise
            except ChatFault:
                user = {}
            profile = object_at(user, "profile")
            self._names[person] = (
                name_at(profile, "display_name")
                or name_at(profile, "real_name")
                or name_at(user, "name")
                or person
            )
        return self._names[person]

    # --- Calls ---------------------------------------------------------------------------------------

    def _me(self) -> _Me:
        reply = self._call("auth.test", payload={})
        data = reply.data
        person, team = id_at(data, "user_id", _PERSON), id_at(data, "team_id", _TEAM)
        if not person or not team:
            raise ChatFault("Slack did not return the bot's name")
        name = self._link.quoted(f"{text_at(data, 'user')} ({text_at(data, 'team')})")
        return _Me(name, person, team, SystemClock().now_ms() if reply.at is None else reply.at)

    def _socket_url(self) -> str:
        """Request a new URL to connect to; it works once, and only for a short time."""
        (url, since), self._unused_url = self._unused_url, ("", 0.0)
        is_good = url and monotonic() - since < _URL_S
        return url if is_good else self._open_connection()

    def _open_connection(self) -> str:
        return text_at(self._call("apps.connections.open", payload={}, is_for_app=True).data, "url")

    def _call(self, path: str, *, payload: object = None, is_for_app: bool = False) -> Reply:
        """Call a method, by POST if there is a payload; ChatFault unless Slack reports success."""
        reply = self._link.call(
            "GET" if payload is None else "POST",
            path,
            authorization=f"Bearer {self._app_token if is_for_app else self._bot_token}",
            payload=payload,
        )
        if reply.data.get("ok") is True:
            return reply
        error = self._link.quoted(text_at(reply.data, "error"))
        if not error or reply.status >= HTTPStatus.INTERNAL_SERVER_ERROR:
            raise ChatFault(f"Slack did not answer as expected (HTTP status {reply.status})")
        needed = self._link.quoted(text_at(reply.data, "needed"))
        raise _refusal(error, needed, path.partition("?")[0], is_for_app=is_for_app)


def _refusal(error: str, needed: str, method: str, *, is_for_app: bool) -> ChatFault:
    if error in _BAD_TOKEN:
        name, page = _APP_TOKEN if is_for_app else _BOT_TOKEN
        return ChatFault(
            f"Slack rejects the {name}; copy it again from {_APPS}, under {page}",
            is_final=True,
        )
    if error == "missing_scope":
        scope = needed or ("connections:write" if is_for_app else f"for {method}")
        page = "Basic Information, App-Level Tokens" if is_for_app else "OAuth & Permissions"
        return ChatFault(
            f"the Slack app lacks the scope {scope}; add it at {_APPS}, under {page},"
            " and install the app again",
            is_final=True,
        )
    if error in _REFUSALS:
        return ChatFault(_REFUSALS[error], is_final=True)
    if error == "ratelimited":
        return ChatFault("Slack limits the rate of requests", retry_after_s=30.0)
    return ChatFault(f"Slack refused {method}: {error.replace('_', ' ')}")


def _plain(text: str, me: str) -> str:
    """Return a message as people read it, without a leading mention of the bot."""
    rest = re.sub(rf"\A\s*<@{me}(\|[^<>]*)?>[\s,:]*", "", text)
    shown = _REFERENCE.sub(_shown_reference, rest)
    return _ENTITY.sub(lambda found: _ENTITIES[found[0]], shown).strip()


def _shown_reference(found: re.Match[str]) -> str:
    """Return a link as its URL, and a person, channel or group as its name."""
    target, label = found[1], found[2] or ""
    if target.startswith(("@", "#")):
        return f"{target[0]}{label.removeprefix(target[0]) or target[1:]}"
    if target.startswith("!"):
        return label or f"@{target[1:].partition('^')[0]}"
    return target.removeprefix("mailto:").removeprefix("tel:")
