"""Asking a web server: every way in which it can fail has its sentence, and nobody else gets the token."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from http_site import Authority, Certificate, Site, Visit, open_site

from halo_scheduler.work_sources.item import SourceError
from halo_scheduler.work_sources.web import Answer, CutOffError, Request, Web, redirect_target

_TOKEN = "ghp_0123456789abcdefSECRET"  # noqa: S105 - of a site that exists for a second


@pytest.fixture
def site() -> Iterator[Site]:
    with open_site() as opened:
        yield opened


@pytest.fixture(scope="module")
def authority(tmp_path_factory: pytest.TempPathFactory) -> Authority:
    return Authority(tmp_path_factory.mktemp("authority"))


def _get(url: str, web: Web | None = None, method: str = "GET") -> Answer:
    return (web or Web()).send(Request(method=method, url=url, token=_TOKEN))


@contextmanager
def _says(raw: bytes) -> Iterator[str]:
    """Run a server that says the same to its first visitor, whatever it asks, and hangs up."""
    with socket.create_server(("127.0.0.1", 0)) as listener:

        def serve() -> None:
            connection, _ = listener.accept()
            with connection:
                connection.recv(65_536)
                connection.sendall(raw)

        thread = threading.Thread(target=serve)
        thread.start()
        yield f"http://127.0.0.1:{listener.getsockname()[1]}/"
        thread.join(30)


# --- Asking and answering ----------------------------------------------------------------------------


def test_a_request_arrives_and_its_response_is_returned(site: Site) -> None:
    url = site.answer("/issues", 201, {"ETag": "x"}, b"body")
    request = Request(
        method="POST", url=f"{url}?page=2", token=_TOKEN, headers={"Accept": "a/b"}, body=b"sent"
    )
    answer = Web().send(request)
    assert (answer.status, answer.headers["etag"], answer.body) == (201, "x", b"body")
    (seen,) = site.seen
    assert (seen.method, seen.path, seen.body) == ("POST", "/issues?page=2", b"sent")
    assert (seen.headers["accept"], seen.headers["authorization"]) == ("a/b", f"Bearer {_TOKEN}")


def test_without_a_token_no_header_is_sent(site: Site) -> None:
    Web().send(Request(method="GET", url=site.answer()))
    assert "authorization" not in site.seen[0].headers


def test_an_error_is_an_answer_too(site: Site) -> None:
    assert _get(site.answer(status=500, body=b"broken")).body == b"broken"


def test_a_body_in_pieces_is_put_together(site: Site) -> None:
    def page(visit: Visit) -> None:
        visit.begin(200, {"Transfer-Encoding": "chunked"})
        for piece in (b"one ", b"two", b""):
            visit.send_chunk(piece)

    assert _get(site.page(page)).body == b"one two"


def test_a_body_that_ends_with_the_connection_is_complete() -> None:
    with _says(b"HTTP/1.1 200 OK\r\n\r\nall of it") as url:
        assert _get(url).body == b"all of it"


def test_a_server_that_echoes_the_token_gets_it_taken_out(site: Site) -> None:
    answer = _get(site.answer(headers={"X-Echo": f"Bearer {_TOKEN}"}, body=f"you sent {_TOKEN}!".encode()))
    assert (answer.headers["x-echo"], answer.body) == ("Bearer ***", b"you sent ***!")


def test_a_proxy_of_the_environment_is_used_and_its_password_taken_out(site: Site) -> None:
    def page(visit: Visit) -> None:
        visit.answer(body=site.seen[-1].headers["proxy-authorization"].encode() + b" hunter22")

    site.page(page, "http://github.example/")
    proxy = f"http://me:hunter22@127.0.0.1:{site.port}"
    answer = _get("http://github.example/", Web(environment=lambda: {"http_proxy": proxy}))
    assert answer.body == b"Basic *** ***"


def test_this_machine_is_asked_without_a_proxy(site: Site) -> None:
    web = Web(environment=lambda: {"http_proxy": "http://127.0.0.1:1", "all_proxy": "http://127.0.0.1:1"})
    assert _get(site.answer(), web).status == 200


# --- Redirects ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
def test_a_redirect_within_the_host_is_followed(status: int, site: Site) -> None:
    site.answer("/new", body=b"here")
    assert _get(site.redirect("/old", "/new", status)).body == b"here"


def test_a_changing_request_follows_only_redirects_that_keep_it(site: Site) -> None:
    site.answer("/new", body=b"here")
    assert _get(site.redirect("/old", "/new", 307), method="DELETE").body == b"here"
    assert site.seen[-1].method == "DELETE"
    assert _get(site.redirect("/old", "/new", 301), method="DELETE").status == 301


def test_another_host_gets_nothing_at_all(site: Site) -> None:
    with open_site() as other:
        target = other.answer("/steal")
        for location in (target, target.replace("http:", ""), f"http://127.0.0.1:{site.port}@localhost/"):
            answer = _get(site.redirect("/issues", location, 307))
            assert answer.status == 307
        assert other.seen == []


def test_the_same_host_by_another_name_is_another_host(site: Site) -> None:
    site.answer("/new")
    url = site.redirect("/old", site.url("/new", host="localhost"))
    assert _get(url).status == 302
    assert len(site.seen) == 1


@pytest.mark.parametrize("location", ["http://[broken", "http://127.0.0.1:99999/", "", "file:///etc/passwd"])
def test_a_redirect_that_leads_nowhere_is_not_followed(location: str, site: Site) -> None:
    assert _get(site.redirect("/old", location)).status == 302
    assert len(site.seen) == 1


def test_an_endless_redirect_is_reported(site: Site) -> None:
    site.redirect("/b", "/a")
    with pytest.raises(SourceError, match="more than 3 redirects in a row"):
        _get(site.redirect("/a", "/b"))
    assert len(site.seen) == 4


def test_where_a_redirect_leads_is_reported_even_if_that_is_nowhere() -> None:
    assert (
        redirect_target("http://a/b/c", Answer(status=302, headers={"location": "d"}, body=b""))
        == "http://a/b/d"
    )
    assert redirect_target("http://a", Answer(status=302, headers={"location": "http://["}, body=b"")) == ""


# --- What can go wrong -------------------------------------------------------------------------------


def test_a_server_that_is_not_there_is_reported() -> None:
    # Taken, so that nobody else listens there meanwhile.
    with socket.socket() as deaf:
        deaf.bind(("127.0.0.1", 0))
        port = deaf.getsockname()[1]
        with pytest.raises(SourceError, match=f"127.0.0.1:{port} refused the connection"):
            _get(f"http://127.0.0.1:{port}/")


def test_an_unknown_host_is_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    def unknown(*_: object, **__: object) -> None:
        raise socket.gaierror(-2, "Name or service not known")

    monkeypatch.setattr(socket, "getaddrinfo", unknown)
    with pytest.raises(SourceError, match=r"the name 'github\.example' was not found"):
        _get("http://github.example/")


def test_a_name_that_cannot_be_one_is_reported() -> None:
    with pytest.raises(SourceError, match="was not found"):
        _get(f"http://{'a' * 64}.example/")


def test_an_address_that_is_none_is_reported() -> None:
    with pytest.raises(SourceError, match="is not a valid URL; check the base URL"):
        _get("http://[broken/")


def test_an_address_is_sent_in_ascii(site: Site) -> None:
    assert _get(site.url("/ümlaut")).status == 404
    assert site.seen[0].path == "/%C3%BCmlaut"


def test_a_name_service_that_does_not_answer_is_not_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    is_over = threading.Event()
    monkeypatch.setattr(socket, "getaddrinfo", lambda *_, **__: is_over.wait(30) and [])
    with pytest.raises(SourceError, match=r"github\.example did not answer within 0\.05 s"):
        _get("http://github.example/", Web(deadline_s=0.05))
    is_over.set()


def test_the_next_address_is_tried_when_one_does_not_answer(
    site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    site.answer(body=b"here")
    with socket.socket() as deaf:
        deaf.bind(("127.0.0.1", 0))
        places = (deaf.getsockname(), ("127.0.0.1", site.port))
        addresses = [(socket.AF_INET, socket.SOCK_STREAM, 0, "", at) for at in places]
        monkeypatch.setattr(socket, "getaddrinfo", lambda *_, **__: addresses)
        assert _get("http://github.example/").body == b"here"


def test_a_server_that_says_nothing_is_left_after_the_deadline(site: Site) -> None:
    with pytest.raises(SourceError, match=r"did not answer within 0\.2 s"):
        _get(site.page(Visit.wait_for_the_end), Web(deadline_s=0.2))


@pytest.mark.parametrize("has_begun", [False, True])
def test_a_server_that_trickles_is_left_after_the_deadline(has_begun: bool, site: Site) -> None:
    def page(visit: Visit) -> None:
        if has_begun:
            visit.begin(200, {"Content-Length": "1000000"})
        while not site.is_closing.wait(0.01):
            visit.wfile.write(b"H")
            visit.wfile.flush()

    with pytest.raises(SourceError, match=r"did not answer within 0\.3 s"):
        _get(site.page(page), Web(deadline_s=0.3))


def test_the_deadline_covers_all_redirects(site: Site) -> None:
    site.page(Visit.wait_for_the_end, "/new")
    with pytest.raises(SourceError, match=r"did not answer within 0\.2 s"):
        _get(site.redirect("/old", "/new"), Web(deadline_s=0.2))


def test_an_answer_that_is_too_long_is_not_read_to_its_end(site: Site) -> None:
    def page(visit: Visit) -> None:
        visit.begin(200, {"Transfer-Encoding": "chunked"})
        while True:  # Until the client leaves.
            visit.send_chunk(b"a" * 100_000)

    with pytest.raises(SourceError, match="answered with more than 1 MB"):
        _get(site.page(page), Web(most_bytes=1_000_000))


def test_an_answer_of_just_the_most_is_taken(site: Site) -> None:
    assert len(_get(site.answer(body=b"a" * 1_000), Web(most_bytes=1_000)).body) == 1_000


@pytest.mark.parametrize(
    "raw",
    [
        b"",
        b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nhalf",
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nff\r\nhalf",
    ],
)
def test_a_connection_that_is_cut_is_reported(raw: bytes) -> None:
    with (
        _says(raw) as url,
        pytest.raises(CutOffError, match=r"closed the connection (without a|in the middle of its) response"),
    ):
        _get(url)


@pytest.mark.parametrize(
    "raw",
    [
        b"SSH-2.0-OpenSSH_9.6\r\n",
        b"HTTP/1.1 twohundred OK\r\n\r\n",
        b"HTTP/1.1 200 OK\r\n" + b"X: y\r\n" * 200 + b"\r\n",
        b"HTTP/1.1 200 OK\r\nX: " + b"y" * 100_000 + b"\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nnot a number\r\n",
        f"echo {_TOKEN}\r\n".encode(),
    ],
)
def test_a_server_that_is_not_http_is_reported_without_the_token(raw: bytes) -> None:
    with _says(raw) as url, pytest.raises(SourceError) as caught:
        _get(url)
    assert "127.0.0.1" in str(caught.value)
    assert _TOKEN not in str(caught.value)


# --- Encryption --------------------------------------------------------------------------------------


def _trust(certificate: Certificate, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SSL_CERT_FILE", str(certificate.file))


def test_a_server_with_a_trusted_certificate_is_trusted(
    authority: Authority, monkeypatch: pytest.MonkeyPatch
) -> None:
    _trust(authority.own, monkeypatch)
    with open_site(authority.signed("good", "IP:127.0.0.1")) as site:
        assert _get(site.answer(body=b"safe")).body == b"safe"


@pytest.mark.parametrize(
    ("names", "days", "message"),
    [
        ("IP:127.0.0.1", 0, "self-signed certificate"),
        ("DNS:other.test", 2, "IP address mismatch"),
        ("IP:127.0.0.1", -1, "certificate has expired"),
    ],
)
def test_a_server_without_a_trusted_certificate_gets_no_token(
    names: str, days: int, message: str, authority: Authority, monkeypatch: pytest.MonkeyPatch
) -> None:
    _trust(authority.own, monkeypatch)
    made = authority.signed("bad", names, days=days) if days else authority.self_signed("own", names)
    with open_site(made) as site:
        with pytest.raises(SourceError, match=f"its certificate cannot be trusted .*{message}"):
            _get(site.answer())
        assert site.seen == []


def test_a_server_without_encryption_is_reported(site: Site) -> None:
    with pytest.raises(SourceError, match=rf"no secure \(TLS\) connection to 127.0.0.1:{site.port}: "):
        _get(site.answer().replace("http:", "https:"))


def test_a_safe_connection_is_never_left_for_an_open_one(
    site: Site, authority: Authority, monkeypatch: pytest.MonkeyPatch
) -> None:
    _trust(authority.own, monkeypatch)
    with open_site(authority.signed("downgrade", "IP:127.0.0.1")) as safe:
        assert _get(safe.redirect("/", site.answer("/open"))).status == 302
    assert site.seen == []
