"""Telegram: receives messages by long polling, which needs no open port, and sends replies."""

from __future__ import annotations

import json
import os
import re
import threading
from collections import OrderedDict
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from time import monotonic
from typing import Any

from halo_scheduler.clock import SystemClock
from halo_scheduler.grammar.interval import DAY_MS
from halo_scheduler.grammar.redaction import Redactor
from halo_scheduler.grammar.text import plain_line
from halo_scheduler.triggers.chat_service import Accept, ChatFault, ChatMessage
from halo_scheduler.web import client
from halo_scheduler.web.addresses import Address, AddressError, Proxies
from halo_scheduler.web.faults import WebError
from halo_scheduler.web.transport import RequestCancelledError, Transport

PUBLIC_ADDRESS = "https://api.telegram.org"
_TOKEN = re.compile(r"([0-9]{1,20}):[A-Za-z0-9_-]{10,100}", re.ASCII)
_MENTION = re.compile(r"@\w+")
_COMMAND = re.compile(r"(/\w+)@(\w+)(.*)", re.DOTALL)
_POLL_S, _CALL_S, _SPARE_S = 50, 30, 15
# The shortest time between polls without a new message: a server that does not wait must not keep us busy.
_LEAST_POLL_S = 1.0
_MOST_BYTES = 20_000_000
_MOST_UPDATES = 100
_MOST_REMEMBERED = 500
_MOST_ENTITIES = 100
_CONFLICT_S = 30.0
_LONGEST_NAME = 60
# After a week without messages, Telegram restarts the update ids.
_NUMBERS_LAST_MS = 6 * DAY_MS
_UNAUTHORIZED, _NOT_FOUND, _CONFLICT, _TOO_MANY, _SERVER_ERROR = 401, 404, 409, 429, 500
_NOT_KNOWN = "Telegram rejects this token; get one from @BotFather, and store it with: halo chat token"


def open_service(token: str, *, api: str = PUBLIC_ADDRESS) -> Telegram:
    """Return the bot of a token; ChatFault if the token is malformed."""
    found = _TOKEN.fullmatch(token.strip())
    if found is None:
        raise ChatFault(_NOT_KNOWN, is_final=True)
    return Telegram(found[0], found[1], api.rstrip("/"))


class Telegram:
    """One bot on Telegram; `listen` runs on one thread, everything else on any."""

    longest_reply = 4_096

    def __init__(self, token: str, bot_id: str, api: str) -> None:
        self._address = f"{api}/bot{token}"
        self._redactor = Redactor([token, *Proxies(os.environ).secrets])
        self._bot_id = bot_id
        self._user_name = ""
        self._lock = threading.Lock()
        self._calls: set[Transport] = set()
        self._closing = threading.Event()
        # For our own messages, the message that each replied to, by conversation and message.
        self._sent: OrderedDict[tuple[str, str], str] = OrderedDict()

    def identity(self) -> str:
        """Return the bot's name on Telegram."""
        self._user_name = str(_object(self._call("getMe", {})).get("username", ""))
        return f"@{self._user_name}"

    def listen(self, state: str, accept: Accept) -> None:
        """Receive messages until `close`; requesting the next update acknowledges the previous ones."""
        if not self._user_name:
            self.identity()
        position, heard_at = _read_state(state)
        if not state:
            position = self._skip_old(accept)
            heard_at = _now_ms()
        while not self._closing.is_set():
            is_known = _now_ms() - heard_at < _NUMBERS_LAST_MS
            offset, begun = position if is_known else 0, monotonic()
            # A server that ignores the offset repeats old updates.
            updates = [found for found in self._poll(offset, _POLL_S) if found[0] >= offset]
            if not updates:
                self._closing.wait(max(begun + _LEAST_POLL_S - monotonic(), 0))
                continue
            position, heard_at = max(number for number, _ in updates) + 1, _now_ms()
            found = [self._message(update) for _, update in updates]
            accept([message for message in found if message is not None], f"{position}@{heard_at}")

    def send(self, channel: str, thread: str, text: str) -> None:
        """Post plain text without markup and mentions."""
        wanted: dict[str, Any] = {
            "chat_id": int(channel),
            "text": text,
            "entities": _plain_entities(text),
            "link_preview_options": {"is_disabled": True},
        }
        if thread:
            wanted["reply_parameters"] = {"message_id": int(thread), "allow_sending_without_reply": True}
        number = _object(self._call("sendMessage", wanted)).get("message_id")
        self._sent[channel, str(number)] = thread
        while len(self._sent) > _MOST_REMEMBERED:
            self._sent.popitem(last=False)

    def close(self) -> None:
        """End `listen` and all calls."""
        with self._lock:
            self._closing.set()
            for transport in self._calls:
                transport.cancel()

    # --- Updates -------------------------------------------------------------------------------------

    def _skip_old(self, accept: Accept) -> int:
        """Return the position after all messages written before now."""
        last = self._poll(-1, 0)
        position = last[-1][0] + 1 if last else 0
        accept([], f"{position}@{_now_ms()}")
        return position

    def _poll(self, position: int, wait_s: int) -> list[tuple[int, Mapping[str, Any]]]:
        """Return new updates with their ids; none after `close`."""
        wanted = {
            "offset": position,
            "timeout": wait_s,
            "limit": _MOST_UPDATES,
            "allowed_updates": ["message"],
        }
        try:
            found = self._call("getUpdates", wanted, wait_s + _SPARE_S)
        except ChatFault:
            if self._closing.is_set():
                return []
            raise
        if not isinstance(found, list):
            raise _not_understood()
        updates = [_object(update) for update in found]
        if not all(isinstance(update.get("update_id"), int) for update in updates):
            raise _not_understood()
        return [(update["update_id"], update) for update in updates]

    def _message(self, update: Mapping[str, Any]) -> ChatMessage | None:
        """Return the message of an update; None if a bot wrote it or it has no text."""
        try:
            message, sender, chat = _parts(update)
            number, at = int(message["message_id"]), int(message["date"]) * 1_000
            channel, text = str(int(chat["id"])), message["text"]
            if sender.get("is_bot") or "sender_chat" in message or not isinstance(text, str):
                return None
            return ChatMessage(
                event_id=f"telegram:{self._bot_id}:{channel}:{number}",
                channel=channel,
                sender=str(int(sender["id"])),
                sender_name=_name_of(sender),
                text=self._without_mention(text),
                thread=self._thread_of(message, channel) or str(number),
                at=at,
            )
        except (KeyError, TypeError, ValueError):
            return None

    def _thread_of(self, message: Mapping[str, Any], channel: str) -> str:
        """Return the message that this one replies to; for one of ours, the message that ours replied to."""
        replied = message.get("reply_to_message")
        # Every message in a topic refers to the topic's first one; that is not a reply.
        if not isinstance(replied, dict) or "forum_topic_created" in replied:
            return ""
        number = str(int(replied["message_id"]))
        return self._sent.get((channel, number), number)

    def _without_mention(self, text: str) -> str:
        own = self._user_name.lower()
        command = _COMMAND.fullmatch(text)
        if command is not None and command[2].lower() == own:
            return f"{command[1]}{command[3]}"
        first, _, rest = text.partition(" ")
        return rest.lstrip() if first.lower() == f"@{own}" else text

    # --- Calls ---------------------------------------------------------------------------------------

    def _call(self, method: str, wanted: Mapping[str, Any], limit_s: float = _CALL_S) -> Any:
        """Call a method and return its result; raise ChatFault."""
        with self._transport(limit_s) as transport:
            try:
                request = client.Request(
                    method="POST",
                    address=Address.read(f"{self._address}/{method}"),
                    headers={"Content-Type": "application/json"},
                    body=json.dumps(wanted).encode(),
                )
                answer = client.send(transport, request, Proxies(os.environ))
                body = _read(answer.pieces())
            except AddressError:
                raise ChatFault("the address of the server cannot be used", is_final=True) from None
            except WebError as error:
                raise ChatFault(self._redactor.text(str(error))) from None
            except RequestCancelledError:
                raise ChatFault("the bot is no longer used") from None
        try:
            data = _object(json.loads(body))
        except (ValueError, RecursionError):
            raise _not_understood(answer.status) from None
        if answer.status != 200 or data.get("ok") is not True:  # noqa: PLR2004 - OK
            raise _fault(answer.status, data, self._redactor)
        return data.get("result")

    @contextmanager
    def _transport(self, limit_s: float) -> Iterator[Transport]:
        with Transport(limit_s) as transport:
            with self._lock:
                self._calls.add(transport)
                if self._closing.is_set():
                    transport.cancel()
            try:
                yield transport
            finally:
                with self._lock:
                    self._calls.discard(transport)


def _now_ms() -> int:
    return SystemClock().now_ms()


def _read_state(state: str) -> tuple[int, int]:
    position, _, heard_at = state.partition("@")
    try:
        return int(position or 0), int(heard_at or 0)
    except ValueError:
        return 0, 0


def _read(pieces: Iterator[bytes]) -> bytes:
    body = bytearray()
    for piece in pieces:
        body += piece
        if len(body) > _MOST_BYTES:
            raise ChatFault(f"Telegram sent more than {_MOST_BYTES // 1_000_000} MB at once")
    return bytes(body)


def _object(value: object) -> Mapping[str, Any]:
    if not isinstance(value, dict):
        raise _not_understood()
    return value


def _parts(update: Mapping[str, Any]) -> tuple[Mapping[str, Any], Mapping[str, Any], Mapping[str, Any]]:
    """Return the message of an update, its sender and its conversation."""
    message = update["message"]
    return message, message["from"], message["chat"]


def _name_of(sender: Mapping[str, Any]) -> str:
    """Return the unique user name with @; else the freely chosen first name without it."""
    name = sender.get("username")
    if isinstance(name, str) and name:
        return f"@{name}"
    return plain_line(str(sender.get("first_name", "")), _LONGEST_NAME).lstrip("@")


def _plain_entities(text: str) -> list[dict[str, object]]:
    """Return entities that make Telegram show words with @ as plain text, not as mentions."""
    spans = [match.span() for match in _MENTION.finditer(text)]
    if len(spans) > _MOST_ENTITIES:
        spans = [(0, len(text))]
    return [
        {"type": "code", "offset": _units(text[:start]), "length": _units(text[start:end])}
        for start, end in spans
    ]


def _units(text: str) -> int:
    return len(text.encode("utf-16-le", errors="replace")) // 2


def _not_understood(status: int = 0) -> ChatFault:
    if status >= _SERVER_ERROR:
        return ChatFault(f"Telegram is unavailable (HTTP status {status})")
    return ChatFault("Telegram sent something that cannot be read")


def _fault(status: int, data: Mapping[str, Any], redactor: Redactor) -> ChatFault:
    """Return the fault for an error response, which may repeat the address with the token."""
    said = plain_line(redactor.text(str(data.get("description", ""))), 200) or f"HTTP status {status}"
    if status in (_UNAUTHORIZED, _NOT_FOUND):
        return ChatFault(_NOT_KNOWN, is_final=True)
    if status == _CONFLICT and "webhook" in said.lower():
        return ChatFault(
            "a webhook elsewhere receives this bot's messages; remove it first", retry_after_s=_CONFLICT_S
        )
    if status == _CONFLICT:
        return ChatFault(
            "another program receives the messages of this bot; stop it", retry_after_s=_CONFLICT_S
        )
    if status == _TOO_MANY:
        return ChatFault("Telegram limits the rate of requests", retry_after_s=_retry_after(data))
    return ChatFault(f"Telegram refused the request: {said}")


def _retry_after(data: Mapping[str, Any]) -> float:
    parameters = data.get("parameters")
    seconds = parameters.get("retry_after") if isinstance(parameters, dict) else None
    return float(seconds) if isinstance(seconds, int) and seconds > 0 else _CONFLICT_S
