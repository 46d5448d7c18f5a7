"""A site on this machine that behaves like Slack's Web API and Socket Mode for one app in one workspace."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from itertools import count
from typing import Any
from urllib.parse import parse_qs

from http_site import Seen, Site, Visit, open_site
from pages import EveryPath, SeenByThread
from socket_site import SocketSite, open_sockets
from websockets.exceptions import ConnectionClosed
from websockets.sync.server import ServerConnection

BOT_TOKEN, APP_TOKEN = "xoxb-1234-SECRETbot", "xapp-1-SECRETapp"
TOKENS = f"{BOT_TOKEN} {APP_TOKEN}"
TEAM, BOT, ANN, CHANNEL = "T0TEAM", "U0BOT", "U0ANN", "C0OPS"
Answer = tuple[int, Mapping[str, str], Any]


@dataclass
class Call:
    """A call of a method."""

    method: str
    token: str
    arguments: Mapping[str, Any]


@dataclass
class _Event:
    payload: Mapping[str, Any]
    attempts: int = 0
    envelopes: list[str] = field(default_factory=list)


class SlackSite:
    """The workspace: what was called, posted and acknowledged."""

    def __init__(self, site: Site) -> None:
        self.api = site.url("/api")
        self.calls: list[Call] = []
        self.instead: dict[str, list[Answer]] = {}
        """Answers that a test gives in place of the site's own, each once."""
        self.names: dict[str, str] = {ANN: "Ann"}
        self.is_hello_sent = True
        self.acknowledged: list[str] = []
        self.unknown_acknowledged: list[str] = []
        self.sockets: SocketSite
        self._seen = SeenByThread()
        site.seen = self._seen
        site.pages = EveryPath(self._serve)
        self._unacknowledged: dict[str, _Event] = {}
        self._numbers = count(1)
        self._lock = threading.Lock()

    # --- What people do ------------------------------------------------------------------------------

    def post(self, text: str, *, kind: str = "message", channel: str = CHANNEL, **fields: Any) -> str:
        """Let somebody write a message; return its `ts`. A field that is None is left out."""
        ts = fields.pop("ts", None) or f"4000000000.{next(self._numbers):06d}"
        event = {"type": kind, "channel": channel, "user": ANN, "text": text, "ts": ts, **fields}
        self.send_event({name: value for name, value in event.items() if value is not None})
        return ts

    def send_event(self, event: Mapping[str, Any]) -> None:
        """Deliver an event until it is acknowledged."""
        number = f"Ev{next(self._numbers)}"
        payload = {"team_id": TEAM, "type": "event_callback", "event_id": number, "event": event}
        with self._lock:
            self._unacknowledged[number] = _Event(payload)
            connections = list(self.sockets.connections)
        if connections:
            self._deliver(connections[-1], number)

    def deliver_again(self) -> None:
        """Send everything that was not acknowledged in time once more."""
        for number in list(self._unacknowledged):
            self._deliver(self.sockets.connections[-1], number)

    def say(self, data: object) -> None:
        """Send any JSON over the newest connection."""
        self.sockets.connections[-1].send(json.dumps(data))

    def disconnect(self, reason: str) -> None:
        self.say({"type": "disconnect", "reason": reason, "debug_info": {}})

    def called(self, method: str) -> list[Call]:
        return [call for call in self.calls if call.method == method]

    @property
    def unacknowledged(self) -> int:
        return len(self._unacknowledged)

    # --- Socket Mode ---------------------------------------------------------------------------------

    def talk(self, connection: ServerConnection) -> None:
        """Say hello, deliver what waits, and take acknowledgements."""
        if self.is_hello_sent:
            connection.send(
                json.dumps({"type": "hello", "num_connections": 1, "connection_info": {"app_id": "A1"}})
            )
            for number in list(self._unacknowledged):
                self._deliver(connection, number)
        for text in connection:
            self._acknowledge(json.loads(text)["envelope_id"])

    def _deliver(self, connection: ServerConnection, number: str) -> None:
        with self._lock:
            event = self._unacknowledged[number]
            event.envelopes.append(f"env-{next(self._numbers)}")
            envelope = {
                "type": "events_api",
                "envelope_id": event.envelopes[-1],
                "payload": event.payload,
                "accepts_response_payload": False,
                "retry_attempt": event.attempts,
                "retry_reason": "timeout" if event.attempts else "",
            }
            event.attempts += 1
        with suppress(ConnectionClosed):
            connection.send(json.dumps(envelope))

    def _acknowledge(self, envelope: str) -> None:
        with self._lock:
            found = [n for n, event in self._unacknowledged.items() if envelope in event.envelopes]
            for number in found:
                del self._unacknowledged[number]
        (self.acknowledged if found else self.unknown_acknowledged).append(envelope)

    # --- The Web API ---------------------------------------------------------------------------------

    def _serve(self, visit: Visit) -> None:
        seen: Seen = self._seen.mine.seen
        path, _, query = seen.path.partition("?")
        method = path.removeprefix("/api/")
        token = seen.headers.get("authorization", "").removeprefix("Bearer ")
        arguments = json.loads(seen.body) if seen.body else {k: v[0] for k, v in parse_qs(query).items()}
        self.calls.append(Call(method, token, arguments))
        waiting = self.instead.get(method)
        status, headers, data = waiting.pop(0) if waiting else (200, {}, self._answer(self.calls[-1]))
        body = data if isinstance(data, bytes) else json.dumps(data).encode()
        visit.answer(status, {"Content-Type": "application/json", **headers}, body)

    def _answer(self, call: Call) -> Mapping[str, Any]:
        wanted = APP_TOKEN if call.method == "apps.connections.open" else BOT_TOKEN
        if call.token != wanted:
            return {"ok": False, "error": "invalid_auth"}
        answers: dict[str, Callable[[], Mapping[str, Any]]] = {
            "apps.connections.open": lambda: {
                "ok": True,
                "url": f"{self.sockets.url}/link/?ticket=1&app_id=A1",
            },
            "auth.test": lambda: {
                "ok": True,
                "user": "halo",
                "team": "Acme",
                "user_id": BOT,
                "team_id": TEAM,
            },
            "users.info": lambda: self._person(call.arguments["user"]),
            "chat.postMessage": lambda: {"ok": True, "ts": "4000000001.000000"},
        }
        return answers[call.method]()

    def _person(self, user: str) -> Mapping[str, Any]:
        if user not in self.names:
            return {"ok": False, "error": "user_not_found"}
        return {"ok": True, "user": {"name": user.lower(), "profile": {"display_name": self.names[user]}}}


@contextmanager
def open_slack() -> Iterator[SlackSite]:
    """Run a site until it is no longer needed."""
    with open_site() as http:
        site = SlackSite(http)
        with open_sockets(site.talk) as sockets:
            site.sockets = sockets
            yield site
