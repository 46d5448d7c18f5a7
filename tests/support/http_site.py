"""A web site on this machine whose pages are small functions, with and without TLS."""

from __future__ import annotations

import socket
import ssl
import subprocess
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

_LONGEST_END_S = 60
_EC_KEY = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes"]


@dataclass(frozen=True, slots=True)
class Seen:
    """A request as it arrived; the names of its headers are in small letters."""

    method: str
    path: str
    headers: Mapping[str, str]
    body: bytes


class Visit(BaseHTTPRequestHandler):
    """One request on its way to its page."""

    protocol_version = "HTTP/1.1"
    server: _Server

    def answer(self, status: int = 200, headers: Mapping[str, str] | None = None, body: bytes = b"") -> None:
        """Send a whole answer."""
        self.begin(status, {"Content-Length": str(len(body)), **(headers or {})})
        if self.command != "HEAD":
            self.wfile.write(body)

    def begin(self, status: int, headers: Mapping[str, str]) -> None:
        """Send the head of an answer."""
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.flush()

    def send_chunk(self, data: bytes) -> None:
        """Send a piece of a body that has no known length; an empty one ends it."""
        self.wfile.write(b"%x\r\n%s\r\n" % (len(data), data))
        self.wfile.flush()

    def wait_for_the_end(self) -> None:
        """Do nothing until the client or the site is gone."""
        self.close_connection = True
        self.connection.settimeout(0.05)
        while not self.server.site.is_closing.is_set():
            try:
                if not self.connection.recv(1):
                    return
            except TimeoutError:
                continue
            except OSError:
                return

    def log_message(self, *_: object) -> None:
        """Stay silent."""

    def _visit(self) -> None:
        length = int(self.headers.get("Content-Length") or 0)
        headers = {name.lower(): value for name, value in self.headers.items()}
        path = self.path.partition("?")[0]
        site = self.server.site
        site.seen.append(Seen(self.command, self.path, headers, self.rfile.read(length)))
        page = site.pages.get(path)
        if page is None:
            self.answer(404)
            return
        try:
            page(self)
        except OSError:
            self.close_connection = True  # The client left in the middle.

    def __getattr__(self, name: str) -> Callable[[], None]:
        if name.startswith("do_"):
            return self._visit
        raise AttributeError(name)


Page = Callable[[Visit], None]


class Site:
    """Pages by their path, and what was asked of them."""

    def __init__(self, port: int, scheme: str) -> None:
        self.port = port
        self.scheme = scheme
        self.pages: dict[str, Page] = {}
        self.seen: list[Seen] = []
        self.is_closing = threading.Event()

    def url(self, path: str = "/", host: str = "127.0.0.1") -> str:
        return f"{self.scheme}://{host}:{self.port}{path}"

    def answer(
        self,
        path: str = "/",
        status: int = 200,
        headers: Mapping[str, str] | None = None,
        body: bytes = b"",
    ) -> str:
        """Let a page always give the same answer; return its URL."""
        self.pages[path] = lambda visit: visit.answer(status, headers, body)
        return self.url(path)

    def redirect(self, path: str, to: str, status: int = 302) -> str:
        """Let a page send its visitors on; return its URL."""
        return self.answer(path, status, {"Location": to})

    def page(self, page: Page, path: str = "/") -> str:
        """Let a function be a page; return its URL."""
        self.pages[path] = page
        return self.url(path)


class _Server(ThreadingHTTPServer):
    site: Site
    request_queue_size = 50

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Visit)
        self._connections: list[socket.socket] = []
        self._begun: list[threading.Thread] = []

    def start(self) -> None:
        self._begin(self.serve_forever, 0.01)

    def process_request(self, request: Any, client_address: Any) -> None:
        self._connections.append(request)
        self._begin(self.process_request_thread, request, client_address)

    def end(self) -> None:
        """End all connections, which a client may keep open in case it comes back, and with them all threads."""
        self._begin(self.shutdown)
        self._wait(self._begun[0])
        for connection in self._connections:
            with suppress(OSError):
                connection.shutdown(socket.SHUT_RDWR)
        self.server_close()
        for thread in self._begun:
            self._wait(thread)

    def _begin(self, work: Callable[..., None], *arguments: object) -> None:
        thread = threading.Thread(target=work, args=arguments, daemon=True)
        self._begun.append(thread)
        thread.start()

    @staticmethod
    def _wait(thread: threading.Thread) -> None:
        thread.join(_LONGEST_END_S)
        assert not thread.is_alive(), "a thread of the site does not end"

    def handle_error(self, *_: object) -> None:
        """Stay silent: clients that hang up are what the tests are about."""


@contextmanager
def open_site(certificate: Certificate | None = None) -> Iterator[Site]:
    """Run a site until it is no longer needed; all its threads have ended then."""
    server = _Server()
    server.site = Site(server.server_address[1], "http" if certificate is None else "https")
    if certificate is not None:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(certificate.file, certificate.key)
        server.socket = context.wrap_socket(server.socket, server_side=True)
    server.start()
    try:
        yield server.site
    finally:
        server.site.is_closing.set()
        server.end()


@dataclass(frozen=True, slots=True)
class Certificate:
    """The files of a certificate and of its key."""

    file: Path
    key: Path


class Authority:
    """Makes certificates in a folder, with the `openssl` program."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self.own = self.self_signed("authority", "DNS:authority.test")

    def self_signed(self, name: str, names: str) -> Certificate:
        """Make a certificate that vouches for itself."""
        made = self._files(name)
        self._openssl("req", "-x509", *_EC_KEY, "-keyout", made.key, "-out", made.file, "-days", "2",
                      "-subj", f"/CN={name}", "-addext", f"subjectAltName={names}")  # fmt: skip
        return made

    def signed(self, name: str, names: str, *, days: int = 2) -> Certificate:
        """Make a certificate for which this authority vouches; one of -1 days ended yesterday."""
        made = self._files(name)
        request, extensions = made.file.with_suffix(".csr"), made.file.with_suffix(".ext")
        extensions.write_text(f"subjectAltName={names}\n")
        self._openssl("req", "-new", *_EC_KEY, "-keyout", made.key, "-out", request, "-subj", f"/CN={name}")
        self._openssl("x509", "-req", "-in", request, "-CA", self.own.file, "-CAkey", self.own.key,
                      "-CAcreateserial", "-days", str(days), "-extfile", extensions, "-out", made.file)  # fmt: skip
        return made

    def _files(self, name: str) -> Certificate:
        return Certificate(self._folder / f"{name}.pem", self._folder / f"{name}.key")

    @staticmethod
    def _openssl(*arguments: str | Path) -> None:
        subprocess.run(["openssl", *arguments], check=True, capture_output=True)
