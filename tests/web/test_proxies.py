"""Proxies: the variables that every program knows, and requests that really go through one."""

from __future__ import annotations

import socket
import threading
from base64 import b64encode
from collections.abc import Iterator
from contextlib import contextmanager, suppress

import pytest
from http_site import Authority, Site, Visit, open_site

from halo_scheduler.web.addresses import Address, Proxies
from halo_scheduler.web.client import Request, Response, send
from halo_scheduler.web.faults import WebError
from halo_scheduler.web.pool import ConnectionPool
from halo_scheduler.web.transport import Transport

_PASSWORD = "p@ss word"  # noqa: S105 - of a proxy that exists for a second


@pytest.fixture
def site() -> Iterator[Site]:
    with open_site() as opened:
        yield opened


@pytest.mark.parametrize(
    ("environment", "url", "place"),
    [
        ({}, "http://a.test/", None),
        ({"HTTP_PROXY": "http://proxy.test:3128"}, "http://a.test/", "proxy.test:3128"),
        (
            {"http_proxy": "http://small.test", "HTTP_PROXY": "http://big.test"},
            "http://a.test/",
            "small.test:80",
        ),
        ({"http_proxy": "proxy.test:8080"}, "http://a.test/", "proxy.test:8080"),
        ({"http_proxy": "http://[::1]:8080"}, "http://a.test/", "[::1]:8080"),
        ({"HTTP_PROXY": "http://proxy.test:3128"}, "https://a.test/", None),
        ({"HTTPS_PROXY": "http://proxy.test:3128"}, "https://a.test/", "proxy.test:3128"),
        ({"ALL_PROXY": "http://proxy.test:3128"}, "https://a.test/", "proxy.test:3128"),
        ({"http_proxy": ""}, "http://a.test/", None),
        ({"http_proxy": "http://p.test"}, "http://localhost:8080/", None),
        ({"http_proxy": "http://p.test"}, "http://127.0.0.1/", None),
        ({"http_proxy": "http://p.test"}, "http://[::1]/", None),
        ({"http_proxy": "http://p.test", "NO_PROXY": "*"}, "http://a.test/", None),
        ({"http_proxy": "http://p.test", "NO_PROXY": "b.test, a.test"}, "http://a.test/", None),
        ({"http_proxy": "http://p.test", "NO_PROXY": "A.Test"}, "http://x.a.test/", None),
        ({"http_proxy": "http://p.test", "NO_PROXY": ".a.test"}, "http://x.a.test/", None),
        ({"http_proxy": "http://p.test", "NO_PROXY": "*.a.test"}, "http://x.a.test/", None),
        ({"http_proxy": "http://p.test", "NO_PROXY": "a.test"}, "http://nota.test/", "p.test:80"),
        ({"http_proxy": "http://p.test", "NO_PROXY": "a.test:81"}, "http://a.test/", "p.test:80"),
        ({"http_proxy": "http://p.test", "NO_PROXY": "a.test:81"}, "http://a.test:81/", None),
        ({"http_proxy": "http://p.test", "NO_PROXY": "10.0.0.0/8"}, "http://10.1.2.3/", None),
        ({"http_proxy": "http://p.test", "NO_PROXY": "10.0.0.0/8"}, "http://11.1.2.3/", "p.test:80"),
        ({"http_proxy": "http://p.test", "NO_PROXY": "10.1.2.3"}, "http://10.1.2.3/", None),
    ],
)
def test_the_environment_determines_which_proxy_is_used(
    environment: dict[str, str], url: str, place: str | None
) -> None:
    proxy = Proxies(environment).find(Address.read(url))
    assert (proxy and proxy.place) == place


@pytest.mark.parametrize("url", ["socks5://p.test", "https://p.test", "http://[broken", "http://"])
def test_a_proxy_that_cannot_be_used_is_reported_and_not_passed_by(url: str) -> None:
    with pytest.raises(WebError, match="the variable http_proxy "):
        Proxies({"http_proxy": url}).find(Address.read("http://a.test/"))


def _ask(
    url: str, proxy_port: int, user: str = "", pool: ConnectionPool | None = None
) -> tuple[Response, bytes]:
    environment = {"all_proxy": f"http://{user}127.0.0.1:{proxy_port}"}
    question = Request(method="GET", address=Address.read(url), headers={})
    with Transport(20) as transport:
        answer = send(transport, question, Proxies(environment), pool)
        return answer, b"".join(answer.pieces())


def test_a_proxy_is_asked_for_the_whole_address(site: Site) -> None:
    site.pages["http://a.test:81/page"] = lambda visit: visit.answer(body=b"by proxy")
    _, body = _ask("http://a.test:81/page?x=1", site.port)
    assert body == b"by proxy"
    (seen,) = site.seen
    assert seen.path == "http://a.test:81/page?x=1"
    assert seen.headers["host"] == "a.test:81"
    assert "proxy-authorization" not in seen.headers


def test_a_proxy_gets_the_password_of_its_address(site: Site) -> None:
    site.page(Visit.answer, "http://a.test/")
    _ask("http://a.test/", site.port, "me:p%40ss%20word@")
    expected = b64encode(f"me:{_PASSWORD}".encode()).decode()
    assert site.seen[0].headers["proxy-authorization"] == f"Basic {expected}"


def test_a_proxys_password_is_a_secret() -> None:
    environment = {"https_proxy": "http://me:p%40ss%20word@proxy.test", "http_proxy": "http://proxy.test"}
    assert Proxies(environment).secrets == [_PASSWORD, b64encode(f"me:{_PASSWORD}".encode()).decode()]


def test_a_proxy_that_is_not_there_is_reported() -> None:
    with socket.socket() as deaf:
        deaf.bind(("127.0.0.1", 0))
        port = deaf.getsockname()[1]
        with pytest.raises(WebError, match=f"the proxy 127.0.0.1:{port} refused the connection"):
            _ask("http://a.test/", port)


@contextmanager
def _tunnel(answer: bytes, port: int) -> Iterator[tuple[int, list[bytes]]]:
    """Run a proxy that lets its first visitor through to a port here, if it answers that it does."""
    heads: list[bytes] = []
    with socket.create_server(("127.0.0.1", 0)) as listener:

        def serve() -> None:
            visitor, _ = listener.accept()
            with visitor, socket.create_connection(("127.0.0.1", port)) as server:
                heads.append(visitor.recv(65_536))
                visitor.sendall(answer)
                back = threading.Thread(target=_pump, args=(server, visitor))
                back.start()
                _pump(visitor, server)
                back.join(30)

        thread = threading.Thread(target=serve)
        thread.start()
        yield listener.getsockname()[1], heads
        thread.join(30)


def _pump(source: socket.socket, target: socket.socket) -> None:
    with suppress(OSError):
        while data := source.recv(65_536):
            target.sendall(data)
        target.shutdown(socket.SHUT_WR)


@pytest.fixture(scope="module")
def authority(tmp_path_factory: pytest.TempPathFactory) -> Authority:
    return Authority(tmp_path_factory.mktemp("authority"))


def test_an_encrypted_request_goes_through_a_tunnel(
    authority: Authority, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SSL_CERT_FILE", str(authority.own.file))
    with open_site(authority.signed("tunnelled", "DNS:a.test")) as site:
        site.answer(body=b"safe")
        with _tunnel(b"HTTP/1.1 200 Connection established\r\n\r\n", site.port) as (port, heads):
            assert _ask("https://a.test/", port, "me:pass@")[1] == b"safe"
        assert heads[0].startswith(b"CONNECT a.test:443 ")
        assert b"Proxy-Authorization: Basic " in heads[0]
        assert "proxy-authorization" not in site.seen[0].headers


def test_a_tunnel_is_used_again(authority: Authority, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SSL_CERT_FILE", str(authority.own.file))
    pool = ConnectionPool()
    with open_site(authority.signed("again", "DNS:a.test")) as site:
        site.answer(body=b"safe")
        with _tunnel(b"HTTP/1.1 200 Connection established\r\n\r\n", site.port) as (port, heads):
            assert [_ask("https://a.test/", port, pool=pool)[1] for _ in range(2)] == [b"safe"] * 2
            assert len(pool) == 1
            pool.close()
        assert len(heads) == 1
        assert [seen.headers["host"] for seen in site.seen] == ["a.test"] * 2


@pytest.mark.parametrize("names", ["DNS:other.test"])
def test_a_tunnel_to_a_server_that_is_another_is_refused(
    names: str, authority: Authority, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SSL_CERT_FILE", str(authority.own.file))
    with (
        open_site(authority.signed("stranger", names)) as site,
        _tunnel(b"HTTP/1.1 200 OK\r\n\r\n", site.port) as (port, _),
        pytest.raises(
            WebError, match=r"no secure \(TLS\) connection to a\.test: its certificate cannot be trusted"
        ),
    ):
        _ask("https://a.test/", port)


def test_a_proxy_that_refuses_a_tunnel_is_reported(site: Site) -> None:
    with (
        _tunnel(b"HTTP/1.1 407 Proxy Authentication Required\r\n\r\n", site.port) as (port, _),
        pytest.raises(WebError, match=r"the proxy cannot reach a\.test: 407 Proxy Authentication Required"),
    ):
        _ask("https://a.test/", port)
