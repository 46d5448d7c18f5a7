"""A server on this machine that behaves as Telegram's does towards bots, as far as Halo uses it."""

from __future__ import annotations

import json
import threading
from collections.abc import Mapping
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, NamedTuple, Self

TOKEN = "4711:AAtoken-of-a-bot-in-tests"  # noqa: S105 - of no bot
BOT = {"id": 4711, "is_bot": True, "first_name": "Halo", "username": "halo_test_bot"}
ANNA = {"id": 100, "is_bot": False, "first_name": "Anna", "username": "Anna"}
EVE = {"id": 666, "is_bot": False, "first_name": "@Anna"}
_STEP_S = 0.02


class Sent(NamedTuple):
    """A message that the bot sent."""

    chat_id: int
    text: str
    reply_to: int | None
    data: Mapping[str, Any]


@dataclass
class TelegramServer:
    """Keeps updates until they are acknowledged by a higher offset, and what was sent."""

    updates: list[dict[str, Any]] = field(default_factory=list)
    sent: list[Sent] = field(default_factory=list)
    answers: list[tuple[int, Any]] = field(default_factory=list)
    """Statuses and bodies that are answered instead, in this order."""
    offsets: list[int] = field(default_factory=list)
    now_s: int = 1_800_000_000
    _next_update: int = 900
    _next_message: int = 1
    pollers: int = 0
    """How many calls wait for updates."""
    _calls: int = 0

    def __post_init__(self) -> None:
        self._lock = threading.Condition(threading.RLock())
        self._is_closing = False
        self._server = _Server(("127.0.0.1", 0), _Handler)
        self._server.telegram = self
        self.api = f"http://127.0.0.1:{self._server.server_port}"
        self._thread = threading.Thread(
            target=self._server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True
        )
        self._thread.start()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        with self._lock:
            self._is_closing = True
            self._lock.notify_all()
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    def write(
        self,
        text: str | None = "hello",
        sender: Mapping[str, Any] = ANNA,
        chat: int | None = None,
        reply_to: int | None = None,
        **more: Any,
    ) -> int:
        """Let a person write a message, and return its number."""
        with self._lock:
            number = self._take_number()
            message: dict[str, Any] = {
                "message_id": number,
                "date": self.now_s,
                "from": dict(sender),
                "chat": {"id": sender["id"] if chat is None else chat},
                **more,
            }
            if text is not None:
                message["text"] = text
            if reply_to is not None:
                message["reply_to_message"] = {"message_id": reply_to}
            self.updates.append({"update_id": self._next_update, "message": message})
            self._next_update += 1
            self._lock.notify_all()
            return number

    def _take_number(self) -> int:
        self._next_message += 1
        return self._next_message

    # --- Methods of the service ----------------------------------------------------------------------

    def answer(self, token: str, method: str, given: Mapping[str, Any]) -> tuple[int, Any]:
        with self._lock:
            if self.answers:
                return self.answers.pop(0)
        if token != TOKEN:
            return _error(401, "Unauthorized")
        match method:
            case "getMe":
                return _ok(BOT)
            case "getUpdates":
                return self._get_updates(given)
            case "sendMessage":
                return self._send(given)
            case _:
                return _error(404, "Not Found")

    def _get_updates(self, given: Mapping[str, Any]) -> tuple[int, Any]:
        """Return new updates; a later call ends an earlier one that still waits."""
        with self._lock:
            self._calls += 1
            call, offset = self._calls, given["offset"]
            self.offsets.append(offset)
            self._lock.notify_all()
            if offset < 0:
                self.updates = self.updates[offset:]
            elif offset:
                self.updates = [one for one in self.updates if one["update_id"] >= offset]
            self.pollers += 1
            self._lock.wait_for(
                lambda: self.updates or self._is_closing or self.answers or self._calls > call,
                0 if self.updates else min(given["timeout"], 20),
            )
            self.pollers -= 1
            if self._calls > call:
                return _error(409, "Conflict: terminated by other getUpdates request")
            return _ok(self.updates[: given["limit"]])

    def _send(self, given: Mapping[str, Any]) -> tuple[int, Any]:
        if not given["text"] or len(given["text"].encode("utf-16-le")) // 2 > 4_096:
            return _error(400, "Bad Request: message is too long")
        with self._lock:
            reply = given.get("reply_parameters", {}).get("message_id")
            self.sent.append(Sent(given["chat_id"], given["text"], reply, given))
            return _ok({"message_id": self._take_number()})


def _ok(result: Any) -> tuple[int, Any]:
    return 200, {"ok": True, "result": result}


def _error(status: int, description: str) -> tuple[int, Any]:
    return status, {"ok": False, "error_code": status, "description": description}


class _Server(ThreadingHTTPServer):
    telegram: TelegramServer
    daemon_threads = True

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Say nothing: clients may go at any time."""


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: _Server

    def do_POST(self) -> None:
        """Answer one call."""
        body = self.rfile.read(int(self.headers["Content-Length"]))
        _, bot, method = self.path.split("/", 2)
        status, data = self.server.telegram.answer(bot.removeprefix("bot"), method, json.loads(body))
        content = data if isinstance(data, bytes) else json.dumps(data).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the library's name
        """Say nothing."""
