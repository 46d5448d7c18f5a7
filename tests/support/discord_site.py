"""A site on this machine that behaves like Discord's REST API and its gateway for one bot."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from itertools import count
from typing import Any

from http_site import Seen, Site, Visit, open_site
from pages import EveryPath, SeenByThread
from socket_site import SocketSite, open_sockets
from websockets.exceptions import ConnectionClosed
from websockets.sync.server import ServerConnection

TOKEN = "MTk4NjIy.SECRET.token"  # noqa: S105 - of a site that exists for a second
BOT, ANN, CHANNEL = "900", "800", "700"
_LONGEST_CONTENT = 2_000
Answer = tuple[int, Mapping[str, str], Any]


@dataclass
class Session:
    """A session as the gateway keeps it: what happened in it, by number."""

    id: str
    events: list[Mapping[str, Any]] = field(default_factory=list)
    connection: ServerConnection | None = None


@dataclass(frozen=True)
class Call:
    """A request to the REST API."""

    route: str
    headers: Mapping[str, str]
    body: Mapping[str, Any]


class DiscordSite:
    """What the bot asked for, and the messages that people write to it."""

    def __init__(self, site: Site) -> None:
        self.api = site.url("/api/v10")
        self.calls: list[Call] = []
        self.instead: dict[str, list[Answer]] = {}
        """Answers that a test gives in place of the site's own, each once."""
        self.interval_ms: object = 41_250
        self.is_answering_heartbeats = True
        self.heartbeats: list[int | None] = []
        self.identified: list[Mapping[str, Any]] = []
        self.resumed: list[Mapping[str, Any]] = []
        self.paths: list[str] = []
        self.close_codes: list[int] = []
        """Codes with which the next sessions are refused."""
        self.sessions: dict[str, Session] = {}
        self.starts_left = 1_000
        self.ready: dict[str, Any] = {}
        """What READY says differently."""
        self.resume_url: str | None = None
        self.sockets: SocketSite
        self._seen = SeenByThread()
        site.seen = self._seen
        site.pages = EveryPath(self._serve)
        self._numbers = count(1)
        self._lock = threading.RLock()

    # --- What people do ------------------------------------------------------------------------------

    def post(self, text: str, *, channel: str = CHANNEL, **fields: Any) -> str:
        """Let somebody write a message; return its id."""
        number = str(fields.pop("id", None) or (1_000_000_000_000_000_000 + next(self._numbers)))
        message = {
            "id": number,
            "channel_id": channel,
            "content": text,
            "type": 0,
            "author": {"id": ANN, "username": "ann", "global_name": "Ann"},
            "mentions": [],
            **fields,
        }
        self.dispatch("MESSAGE_CREATE", message)
        return number

    def dispatch(self, kind: str, data: object) -> None:
        """Add an event to all sessions."""
        with self._lock:
            for session in self.sessions.values():
                session.events.append({"op": 0, "t": kind, "s": len(session.events) + 1, "d": data})
                if session.connection is not None:
                    self._tell(session.connection, session.events[-1])

    def say(self, data: object) -> None:
        """Send any JSON over the newest connection."""
        self._tell(self.sockets.connections[-1], data)

    def called(self, route: str) -> list[Call]:
        return [call for call in self.calls if call.route == route]

    # --- The gateway ---------------------------------------------------------------------------------

    def talk(self, connection: ServerConnection) -> None:
        """Say hello, and answer until the connection ends."""
        assert connection.request is not None
        self.paths.append(connection.request.path)
        self._tell(
            connection, {"op": 10, "d": {"heartbeat_interval": self.interval_ms}, "s": None, "t": None}
        )
        try:
            for text in connection:
                self._take(connection, json.loads(text))
        finally:
            with self._lock:
                for session in self.sessions.values():
                    session.connection = None if session.connection is connection else session.connection

    def _take(self, connection: ServerConnection, said: Mapping[str, Any]) -> None:
        match said["op"]:
            case 1:
                self.heartbeats.append(said["d"])
                if self.is_answering_heartbeats:
                    self._tell(connection, {"op": 11})
            case 2:
                self._identify(connection, said["d"])
            case 6:
                self._resume(connection, said["d"])
            case _:
                connection.close(4001, "Unknown opcode")

    def _identify(self, connection: ServerConnection, asked: Mapping[str, Any]) -> None:
        self.identified.append(asked)
        self.starts_left -= 1
        if self.close_codes:
            connection.close(self.close_codes.pop(0))
        elif asked["token"] != TOKEN:
            connection.close(4004, "Authentication failed.")
        else:
            with self._lock:
                session = Session(f"session{next(self._numbers)}", connection=connection)
                self.sessions[session.id] = session
                ready = {
                    "v": 10,
                    "user": {"id": BOT, "username": "halo", "bot": True},
                    "session_id": session.id,
                    "resume_gateway_url": self.resume_url or f"{self.sockets.url}/resume",
                    **self.ready,
                }
                session.events.append({"op": 0, "t": "READY", "s": 1, "d": ready})
                self._tell(connection, session.events[-1])

    def _resume(self, connection: ServerConnection, asked: Mapping[str, Any]) -> None:
        self.resumed.append(asked)
        with self._lock:
            session = self.sessions.get(asked["session_id"])
            if session is None:
                self._tell(connection, {"op": 9, "d": False})
                return
            for event in session.events[asked["seq"] :]:
                self._tell(connection, event)
            session.connection = connection
        self.dispatch("RESUMED", {})

    def _tell(self, connection: ServerConnection, data: object) -> None:
        with suppress(ConnectionClosed):
            connection.send(json.dumps(data))

    # --- The REST API --------------------------------------------------------------------------------

    def _serve(self, visit: Visit) -> None:
        seen: Seen = self._seen.mine.seen
        route = f"{seen.method} {seen.path.removeprefix('/api/v10')}"
        call = Call(route, seen.headers, json.loads(seen.body) if seen.body else {})
        self.calls.append(call)
        waiting = self.instead.get(route)
        status, headers, data = waiting.pop(0) if waiting else self._answer(call)
        body = data if isinstance(data, bytes) else json.dumps(data).encode()
        visit.answer(status, {"Content-Type": "application/json", **headers}, body)

    def _answer(self, call: Call) -> Answer:
        if call.headers.get("authorization") != f"Bot {TOKEN}":
            return 401, {}, {"message": "401: Unauthorized", "code": 0}
        if call.route == "GET /gateway/bot":
            limit = {
                "total": 1_000,
                "remaining": self.starts_left,
                "reset_after": 7_200_000,
                "max_concurrency": 1,
            }
            return 200, {}, {"url": self.sockets.url, "shards": 1, "session_start_limit": limit}
        if call.route == "GET /users/@me":
            return 200, {}, {"id": BOT, "username": "halo", "discriminator": "0", "bot": True}
        if call.route == f"POST /channels/{CHANNEL}/messages":
            if not 1 <= len(call.body["content"]) <= _LONGEST_CONTENT:
                return 400, {}, {"message": "Invalid Form Body", "code": 50035}
            return 200, {}, {"id": "1"}
        return 404, {}, {"message": "Unknown Channel", "code": 10003}


@contextmanager
def open_discord() -> Iterator[DiscordSite]:
    """Run a site until it is no longer needed."""
    with open_site() as http:
        site = DiscordSite(http)
        with open_sockets(site.talk) as sockets:
            site.sockets = sockets
            yield site
