"""The client's connections: which are used again, and what happens when the server has closed them."""

from __future__ import annotations

import socket
import struct
import sys
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType

import pytest
from bad_servers import Talk, bad_server
from http_site import Authority, Visit, open_site

from halo_scheduler.web.addresses import Address, Proxies
from halo_scheduler.web.client import Request, send
from halo_scheduler.web.faults import CutOffError
from halo_scheduler.web.pool import ConnectionPool
from halo_scheduler.web.transport import RequestCancelledError, Transport

_PONG = b"HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\npong"


@pytest.fixture
def pool() -> Iterator[ConnectionPool]:
    made = ConnectionPool()
    yield made
    made.close()


def _get(
    url: str,
    pool: ConnectionPool,
    *,
    method: str = "GET",
    body: bytes = b"",
    headers: Mapping[str, str] = MappingProxyType({}),
    proxy: str = "",
) -> bytes:
    request = Request(method=method, address=Address.read(url), headers=headers, body=body)
    with Transport(30) as transport:
        return b"".join(send(transport, request, Proxies({"http_proxy": proxy}), pool).pieces())


def _answers(*answers: bytes) -> Talk:
    """Give the requests of each connection these answers, one after the other; then hang up."""

    def talk(connection: socket.socket, _: threading.Event) -> None:
        for answer in answers:
            connection.sendall(answer)
            if not connection.recv(65_536):
                return

    return talk


@dataclass(slots=True)
class Server:
    """Where a server is, and on how many connections it was asked something."""

    url: str = ""
    connections: int = 0


@contextmanager
def _server(talk: Talk) -> Iterator[Server]:
    made = Server()

    def counted(connection: socket.socket, is_over: threading.Event) -> None:
        made.connections += 1
        talk(connection, is_over)

    with bad_server(counted) as server:
        made.url = server.url
        yield made


def test_the_next_request_uses_the_same_connection(pool: ConnectionPool) -> None:
    with _server(_answers(_PONG, _PONG, _PONG)) as server:
        assert [_get(server.url, pool) for _ in range(3)] == [b"pong"] * 3
        assert server.connections == 1


def test_chunked_answers_leave_their_connection(pool: ConnectionPool) -> None:
    chunked = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n4\r\npong\r\n0\r\n\r\n"
    with _server(_answers(chunked, chunked)) as server:
        assert [_get(server.url, pool) for _ in range(2)] == [b"pong"] * 2
        assert server.connections == 1


def test_encrypted_connections_are_used_again(
    pool: ConnectionPool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    authority = Authority(tmp_path)
    monkeypatch.setenv("SSL_CERT_FILE", str(authority.own.file))
    ports: list[int] = []

    def page(visit: Visit) -> None:
        ports.append(visit.client_address[1])
        visit.answer(body=b"safe")

    with open_site(authority.signed("good", "IP:127.0.0.1")) as site:
        url = site.page(page)
        assert [_get(url, pool) for _ in range(3)] == [b"safe"] * 3
        pool.close()
    assert len(set(ports)) == 1


def test_an_encrypted_connection_on_which_the_server_sent_more_is_not_used_again(
    pool: ConnectionPool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    authority = Authority(tmp_path)
    monkeypatch.setenv("SSL_CERT_FILE", str(authority.own.file))
    ports: list[int] = []

    def page(visit: Visit) -> None:
        ports.append(visit.client_address[1])
        if hasattr(socket, "TCP_CORK"):  # Both records arrive at once.
            visit.connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_CORK, 1)
        visit.answer(body=b"safe")
        visit.wfile.write(b"HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nevil")
        if hasattr(socket, "TCP_CORK"):
            visit.connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_CORK, 0)

    with open_site(authority.signed("good", "IP:127.0.0.1")) as site:
        url = site.page(page)
        assert [_get(url, pool) for _ in range(2)] == [b"safe"] * 2
        pool.close()
    assert len(set(ports)) == 2


@pytest.mark.parametrize(
    "answer",
    [
        _PONG.replace(b"\r\n\r\n", b"\r\nConnection: close\r\n\r\n"),
        _PONG.replace(b"HTTP/1.1", b"HTTP/1.0"),
        _PONG.replace(b"200 OK", b"404 Not Found"),
        _PONG + b"HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nevil",
        b"HTTP/1.1 204 No Content\r\nContent-Length: 0\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nContent-Length: 4\r\n\r\n4\r\npong\r\n0\r\n\r\n",
    ],
)
def test_a_connection_is_not_kept_after(answer: bytes, pool: ConnectionPool) -> None:
    with _server(_answers(answer)) as server:
        _get(server.url, pool)
        assert len(pool) == 0


@pytest.mark.parametrize(("method", "body"), [("POST", b""), ("GET", b"body"), ("HEAD", b"")])
def test_other_requests_have_a_connection_of_their_own(
    method: str, body: bytes, pool: ConnectionPool
) -> None:
    answer = _PONG.removesuffix(b"pong") if method == "HEAD" else _PONG
    with _server(_answers(answer, answer)) as server:
        for _ in range(2):
            _get(server.url, pool, method=method, body=body)
            assert len(pool) == 0
        assert server.connections == 2


def test_a_request_with_credentials_has_a_connection_of_its_own(pool: ConnectionPool) -> None:
    with _server(_answers(_PONG, _PONG)) as server:
        _get(server.url, pool, headers={"authorization": "Negotiate abc"})
        assert len(pool) == 0
        _get(server.url, pool)
        _get(server.url, pool, headers={"authorization": "Negotiate abc"})
        assert server.connections == 3


def test_a_request_is_sent_again_when_the_server_has_hung_up(pool: ConnectionPool) -> None:
    # It hangs up only when the second request has arrived: nothing tells the client before.
    with _server(_answers(_PONG)) as server:
        assert [_get(server.url, pool) for _ in range(3)] == [b"pong"] * 3
        assert server.connections == 3


def test_an_answer_that_has_begun_is_not_asked_for_again(pool: ConnectionPool) -> None:
    def talk(connection: socket.socket, _: threading.Event) -> None:
        connection.sendall(_PONG)
        connection.recv(65_536)
        connection.sendall(b"HTTP/1.1 2")

    with _server(talk) as server:
        _get(server.url, pool)
        with pytest.raises(CutOffError, match="in the middle of its response"):
            _get(server.url, pool)
        assert server.connections == 1


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere a reset discards what was received before")
def test_an_answer_that_is_reset_after_it_has_begun_is_not_asked_for_again(pool: ConnectionPool) -> None:
    def talk(connection: socket.socket, _: threading.Event) -> None:
        connection.sendall(_PONG)
        connection.recv(65_536)
        connection.sendall(b"HTTP/1.1 2")
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))

    with _server(talk) as server:
        _get(server.url, pool)
        with pytest.raises(CutOffError):
            _get(server.url, pool)
        assert server.connections == 1


def test_a_server_that_always_hangs_up_is_asked_no_third_time(pool: ConnectionPool) -> None:
    answers = iter([_PONG])

    def talk(connection: socket.socket, _: threading.Event) -> None:
        if (answer := next(answers, None)) is not None:
            connection.sendall(answer)
            connection.recv(65_536)

    with _server(talk) as server:
        _get(server.url, pool)
        with pytest.raises(CutOffError, match="without a response"):
            _get(server.url, pool)
        assert server.connections == 2


def test_a_request_that_was_cancelled_leaves_no_connection(pool: ConnectionPool) -> None:
    with _server(_answers(_PONG)) as server, Transport() as transport:
        request = Request(method="GET", address=Address.read(server.url), headers={})
        response = send(transport, request, Proxies({}), pool)
        transport.cancel()
        assert b"".join(response.pieces()) == b"pong"
        assert len(pool) == 0
        with pytest.raises(RequestCancelledError):
            transport.check()


def test_a_connection_to_a_proxy_leads_to_one_server_only(pool: ConnectionPool) -> None:
    with _server(_answers(_PONG, _PONG)) as server:
        for url in ("http://a.test/", "http://a.test/", "http://b.test/"):
            assert _get(url, pool, proxy=server.url) == b"pong"
        assert server.connections == 2


def test_a_connection_to_one_proxy_is_not_used_instead_of_another(pool: ConnectionPool) -> None:
    with _server(_answers(_PONG, _PONG)) as one, _server(_answers(_PONG, _PONG)) as other:
        for server in (one, other):
            assert _get("http://a.test/", pool, proxy=server.url) == b"pong"
        assert (one.connections, other.connections) == (1, 1)
