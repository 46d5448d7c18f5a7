"""The webhook listener: a web server on its own threads in the engine's process."""

from __future__ import annotations

import errno
import json
import logging
import re
import socket
import threading
import time
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from http import HTTPStatus
from typing import TYPE_CHECKING, Any

from waitress import wasyncore
from waitress.adjustments import Adjustments
from waitress.channel import HTTPChannel
from waitress.parser import HTTPRequestParser, ParsingError
from waitress.receiver import ChunkedReceiver, FixedStreamReceiver
from waitress.server import TcpWSGIServer
from waitress.task import ThreadedTaskDispatcher, WSGITask
from waitress.utilities import BadRequest, RequestEntityTooLarge

from halo_scheduler.clock import Clock
from halo_scheduler.model.webhooks import ListenerState, Place
from halo_scheduler.triggers.posts import NOT_FOUND, Answer, Post, StatusQuestion

if TYPE_CHECKING:
    from _typeshed.wsgi import StartResponse, WSGIEnvironment

    from halo_scheduler.triggers.webhooks import Intake

_LOG = logging.getLogger(__name__)
# The messages of waitress repeat data from clients, who could fill the log.
_NO_LOG = logging.getLogger("halo_scheduler.waitress")
_NO_LOG.propagate = False
_NO_LOG.addHandler(logging.NullHandler())
_HOOK = re.compile(r"/hook/([^/]*)")
_STATUS = re.compile(r"/status/([^/]*)")
_BEARER = re.compile(r"Bearer +(\S+)", re.IGNORECASE)
_WRONG_METHOD = Answer(HTTPStatus.METHOD_NOT_ALLOWED, {"error": "use POST for /hook and GET for /status"})

# The most requests in one transaction.
_THREADS = 24
_MOST_CONNECTIONS = 100
_MOST_BODY_BYTES = 1_000_000
_MOST_HEADER_BYTES = 16 << 10
# Enough for bodies of any size in chunks of 50 bytes.
_MOST_BESIDE_CHUNKS_BYTES, _OF_CHUNKS = 2 << 10, 1 / 8
_FOR_HEADER_S, _FOR_BODY_S = 5.0, 20.0
# When half of the connections are in use, and when other clients wait for one.
_FOR_HEADER_IF_BUSY_S, _FOR_BODY_IF_BUSY_S = 1.0, 5.0
_FOR_HEADER_IF_FULL_S, _FOR_BODY_IF_FULL_S = 0.1, 1.0
_BETWEEN_LOOKS_S, _BETWEEN_LOOKS_IF_FULL_S = 0.5, 0.05
_IDLE_S = 3_600.0
_TO_END_S = 30
_DRAINED_AT_ONCE = 64 << 10
_RETRIES_S = (0.2, 1.0, 5.0, 15.0)


class _Parser(HTTPRequestParser):
    """Refuses a body of ambiguous length: a proxy in front of Halo may read another length.

    It also refuses many tiny chunks and long lines between chunks: their bytes cost waitress the most time. The size of
    a body doesn't include them, as it does for waitress.
    """

    def received(self, data: bytes) -> int:
        consumed = super().received(data)
        if self.error is None and self.body_rcv is not None:
            self._check_size(self.body_rcv)
        return consumed

    def _check_size(self, body: FixedStreamReceiver | ChunkedReceiver) -> None:
        size = len(body)
        beside = self.body_bytes_received - size
        if max(size, self.content_length) > _MOST_BODY_BYTES:
            self.error = RequestEntityTooLarge(f"the body is larger than {_MOST_BODY_BYTES} bytes")
        elif beside > _MOST_BESIDE_CHUNKS_BYTES + size * _OF_CHUNKS:
            self.error = BadRequest("there is too much beside the chunks")
        self.completed = self.completed or self.error is not None

    def parse_header(self, header_plus: bytes) -> None:
        super().parse_header(header_plus)
        # waitress removes the header once it has read it.
        is_ignored = "TRANSFER_ENCODING" in self.headers
        if is_ignored or (self.chunked and "CONTENT_LENGTH" in self.headers):
            raise ParsingError("the length of the body is ambiguous")


class _Task(WSGITask):
    """Closes the connection after a refusal, so that clients without a valid address cannot occupy it."""

    logger = _NO_LOG

    def build_response_header(self) -> bytes:
        if isinstance(self.request, HTTPRequestParser) and not self.status.startswith("2"):
            self.request.headers = {**self.request.headers, "CONNECTION": "close"}
        return super().build_response_header()


class Channel(HTTPChannel):
    """A connection with a timer for slow clients.

    After a refusal it reads on for a while and drops the data: otherwise a client that still sends would lose the
    response.
    """

    logger = _NO_LOG
    parser_class = _Parser
    task_class = _Task

    def __init__(self, *given: Any, **named: Any) -> None:
        self.waits_since = time.monotonic()
        self._was_refused = False
        self._is_draining = False
        super().__init__(*given, **named)

    def service(self) -> None:
        self._was_refused = self.requests[0].error is not None
        super().service()
        self.waits_since = time.monotonic()

    def is_slow(self, for_header_s: float, for_body_s: float) -> bool:
        """Return whether its client takes too long to send a request, or to begin the next one."""
        has_header = self.request is not None and self.request.headers_finished
        limit_s = for_body_s if has_header else for_header_s
        return not self.requests and time.monotonic() - self.waits_since > limit_s

    def cut(self) -> None:
        """Close the connection, on the server's thread."""
        self._is_draining = True
        self.handle_close()

    def readable(self) -> bool:
        return self._is_draining or super().readable()

    def writable(self) -> bool:
        return not self._is_draining and bool(super().writable())

    def handle_read(self) -> None:
        if self._is_draining:
            self.recv(_DRAINED_AT_ONCE)  # At the end of the stream it closes the connection.
        else:
            super().handle_read()

    def handle_close(self) -> None:
        if self._was_refused and not self._is_draining and self.socket is not None:
            self._is_draining = True
            with suppress(OSError):
                self.socket.shutdown(socket.SHUT_WR)
        else:
            super().handle_close()


class _Server(TcpWSGIServer):
    channel_class = Channel
    logger = _NO_LOG


class _Threads(ThreadedTaskDispatcher):
    logger = queue_logger = _NO_LOG


class Listener:
    """Listens on one address until it is closed; retries while the address is in use."""

    def __init__(self, place: Place, intake: Intake, clock: Clock, note_fault: Callable[[str], None]) -> None:
        """`note_fault` is called on any thread with the reason why it does not listen; "" once it does."""
        self._place = place
        self._intake = intake
        self._clock = clock
        self._note_fault = note_fault
        self._closing = threading.Event()
        self._lock = threading.Lock()
        self._server: _Server | None = None
        self._state = ListenerState(place=place, since=0)
        self._listening: socket.socket | None = None
        self._thread = threading.Thread(target=self._run, name="halo-webhooks", daemon=True)

    def start(self) -> None:
        """Start listening, if the address is free; if there is no thread, raise RuntimeError and leave nothing open."""
        self._intake.start()
        self._listening = self._try()
        try:
            self._thread.start()
        except RuntimeError:
            if self._listening is not None:
                self._listening.close()
            self._intake.close()
            raise

    def close(self, timeout_s: float) -> None:
        """Stop listening; wait at most this long until received requests have been answered."""
        with self._lock:
            self._closing.set()
            if self._server is not None:
                self._server.pull_trigger()
        self._thread.join(timeout_s)

    # --- The thread ----------------------------------------------------------------------------------

    def _run(self) -> None:
        try:
            self._wait_for_place()
            if self._listening is not None:
                self._serve(self._listening)
        finally:
            self._intake.run_with_store(lambda store: store.webhooks.forget_listener(self._state))
            self._intake.close()

    def _wait_for_place(self) -> None:
        """Retry until the address is free or the listener is closed."""
        retries = iter(_RETRIES_S)
        while self._listening is None and not self._closing.wait(next(retries, _RETRIES_S[-1])):
            self._listening = self._try()

    def _try(self) -> socket.socket | None:
        """Return a listening socket, or None after storing the fault."""
        try:
            return _listening_socket(self._place)
        except OSError as error:
            fault = _fault_words(self._place, error)
        if fault != self._state.fault:
            _LOG.warning("%s", fault)
            self._note(fault)
        return None

    def _serve(self, listening: socket.socket) -> None:
        channels: dict[int, Any] = {}
        threads = _Threads()
        threads.set_thread_count(_THREADS)
        server = _Server(
            WebApp(self._intake),
            channels,
            _sock=listening,
            dispatcher=threads,
            adj=_adjustments(),
            sockinfo=(listening.family, listening.type, listening.proto, listening.getsockname()),
            bind_socket=False,
        )
        with self._lock:
            self._server = server
        self._note("")
        while not self._closing.is_set():
            wasyncore.loop(_next_look_s(channels), True, channels, 1)
            _cut_slow(channels)
        self._end(server, threads, channels)

    def _end(self, server: _Server, threads: _Threads, channels: dict[int, Any]) -> None:
        wasyncore.dispatcher.close(server)
        # Its threads use the trigger, so it is closed after them.
        threads.shutdown(timeout=_TO_END_S)
        with self._lock:
            self._server = None
        wasyncore.loop(0, True, channels, 1)
        wasyncore.close_all(channels)

    def _note(self, fault: str) -> None:
        """Store whether it listens, for the window and the terminal."""
        state = ListenerState(place=self._place, since=self._clock.now_ms(), fault=fault)
        self._state = state
        self._note_fault(fault)
        self._intake.run_with_store(lambda store: store.webhooks.save_listener(state))


class WebApp:
    """Answers the requests of web clients."""

    def __init__(self, intake: Intake) -> None:
        self._intake = intake

    def __call__(self, environ: WSGIEnvironment, start_response: StartResponse) -> Iterable[bytes]:
        status, data = self._answer(environ)
        content = json.dumps(data).encode() + b"\n"
        headers = [
            ("Content-Type", "application/json"),
            ("Content-Length", str(len(content))),
            ("Cache-Control", "no-store"),
        ]
        if status in (HTTPStatus.TOO_MANY_REQUESTS, HTTPStatus.SERVICE_UNAVAILABLE):
            headers.append(("Retry-After", "10"))
        start_response(f"{status.value} {status.phrase}", headers)
        return [content]

    def _answer(self, environ: WSGIEnvironment) -> Answer:
        path, method = environ["PATH_INFO"], environ["REQUEST_METHOD"]
        hook, status = _HOOK.fullmatch(path), _STATUS.fullmatch(path)
        if hook is not None and method == "POST":
            body = environ["wsgi.input"].read()
            return self._intake.answer(Post(hook[1], environ, body, environ["QUERY_STRING"]))
        if status is not None and method == "GET":
            token = _BEARER.fullmatch(environ.get("HTTP_AUTHORIZATION", ""))
            return self._intake.answer(StatusQuestion("" if token is None else token[1], status[1]))
        return NOT_FOUND if hook is None and status is None else _WRONG_METHOD


def _adjustments() -> Adjustments:
    return Adjustments(
        connection_limit=_MOST_CONNECTIONS,
        max_request_header_size=_MOST_HEADER_BYTES,
        max_request_body_size=2 * _MOST_BODY_BYTES,
        # A body is never written to a temporary file.
        inbuf_overflow=2 * _MOST_BODY_BYTES,
        ident="",
        log_socket_errors=False,
        clear_untrusted_proxy_headers=False,
    )


def _next_look_s(channels: Mapping[int, object]) -> float:
    if _is_full(channels):
        return _BETWEEN_LOOKS_IF_FULL_S
    has_clients = any(isinstance(one, Channel) for one in channels.values())
    return _BETWEEN_LOOKS_S if has_clients else _IDLE_S


def _cut_slow(channels: Mapping[int, object]) -> None:
    """Close the connections of slow clients; earlier if many are open, and soon if no other fits in."""
    limits = _FOR_HEADER_S, _FOR_BODY_S
    if _is_full(channels):
        limits = _FOR_HEADER_IF_FULL_S, _FOR_BODY_IF_FULL_S
    elif len(channels) > _MOST_CONNECTIONS // 2:
        limits = _FOR_HEADER_IF_BUSY_S, _FOR_BODY_IF_BUSY_S
    for channel in list(channels.values()):
        if isinstance(channel, Channel) and channel.is_slow(*limits):
            channel.cut()


def _is_full(channels: Mapping[int, object]) -> bool:
    """Return whether new clients must wait: the listening socket and the trigger count as connections too."""
    return len(channels) >= _MOST_CONNECTIONS


def _listening_socket(place: Place) -> socket.socket:
    family = socket.AF_INET6 if ":" in place.address else socket.AF_INET
    return socket.create_server(place, family=family)


def _fault_words(place: Place, error: OSError) -> str:
    if error.errno == errno.EADDRINUSE:
        return f"another program uses {place}; quit it, or choose another port for webhooks"
    said = (error.strerror or str(error)).lower()
    return f"webhooks cannot listen on {place}: {said}"
