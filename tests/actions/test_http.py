"""HTTP requests: real ones, to real sites on this machine, seen through the scheduler's door."""

from __future__ import annotations

import gzip
import json
import os
import socket
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psutil
import pytest
from http_site import Authority, Certificate, Site, Visit, open_site
from pytestqt.qtbot import QtBot

from halo_scheduler import HttpRequest, Manual, Outcome, Policy, Run, Scheduler
from halo_scheduler.actions.http import HttpWork
from halo_scheduler.actions.run_services import Ended
from halo_scheduler.actions.spool import Spool
from halo_scheduler.model import BodyKind, Redirects
from halo_scheduler.store.settings import OUTPUT_LIMIT_BYTES, SPOOL_LIMIT_BYTES

pytestmark = pytest.mark.usefixtures("qapp")

SECRET = 's3cr"t\\ä/+ value'  # noqa: S105 - what must not show up
TOKEN = "tok-1234567890"  # noqa: S105


@dataclass(frozen=True, slots=True)
class Result:
    """A run that has ended, and what it left."""

    run: Run
    output: bytes

    @property
    def error(self) -> str:
        assert self.run.outcome is Outcome.FAILURE
        return self.run.error


class Client:
    """Runs requests as jobs, and waits for them."""

    def __init__(self, scheduler: Scheduler, qtbot: QtBot) -> None:
        self.scheduler = scheduler
        self._qtbot = qtbot
        self._jobs = 0

    def get(self, url: str, **request: Any) -> Result:
        """Run a request to its end; nothing of it is left on the disk then."""
        return self.end_of(self.start(url, **request))

    def start(self, url: str, *, policy: Policy | None = None, **request: Any) -> str:
        self._jobs += 1
        action = HttpRequest(url=url, **request)
        job_id = self.scheduler.add_job(f"job {self._jobs}", Manual(), action, policy=policy)
        return self.scheduler.trigger(job_id)

    def end_of(self, run_id: str) -> Result:
        self.wait_until(lambda: self._state(run_id) not in {None, Outcome.RUNNING})
        run = self.scheduler.get_run(run_id)
        assert run is not None
        assert not self.spooled(run_id)
        return Result(run, self.scheduler.get_output(run_id))

    def wait_until(self, is_so: Callable[[], bool]) -> None:
        self._qtbot.waitUntil(is_so)

    def spooled(self, run_id: str = "") -> list[Path]:
        return list(self.scheduler.path.with_name("halo-spool").glob(f"{run_id}*"))

    def _state(self, run_id: str) -> Outcome | None:
        run = self.scheduler.get_run(run_id)
        return None if run is None else run.outcome


@pytest.fixture
def client(tmp_path: Path, qtbot: QtBot, monkeypatch: pytest.MonkeyPatch) -> Iterator[Client]:
    (tmp_path / "run").mkdir(mode=0o700)
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path / "run"))
    monkeypatch.setenv("DBUS_SYSTEM_BUS_ADDRESS", "unix:path=/nonexistent")
    with Scheduler.open(tmp_path / "halo.db") as scheduler:
        scheduler.start()
        yield Client(scheduler, qtbot)


@pytest.fixture
def site() -> Iterator[Site]:
    with open_site() as opened:
        yield opened


@pytest.fixture
def other_site() -> Iterator[Site]:
    with open_site() as opened:
        yield opened


@pytest.fixture(scope="module")
def authority(tmp_path_factory: pytest.TempPathFactory) -> Authority:
    return Authority(tmp_path_factory.mktemp("certificates"))


@pytest.fixture
def trusted(authority: Authority, monkeypatch: pytest.MonkeyPatch) -> Authority:
    """Let the program trust our authority."""
    monkeypatch.setenv("SSL_CERT_FILE", str(authority.own.file))
    return authority


@pytest.fixture
def safe_site(trusted: Authority) -> Iterator[Site]:
    with open_site(trusted.signed("good", "IP:127.0.0.1,DNS:localhost")) as opened:
        yield opened


# --- What is sent --------------------------------------------------------------------------------------


@pytest.mark.parametrize("method", ["GET", "POST", "PUT", "DELETE", "PATCH", "OPTIONS", "PURGE"])
def test_method_path_and_query_arrive(client: Client, site: Site, method: str) -> None:
    site.answer("/a/b")
    assert client.get(site.url("/a/b?x=1&y=%20"), method=method).run.outcome is Outcome.SUCCESS
    (seen,) = site.seen
    assert (seen.method, seen.path, seen.body) == (method, "/a/b?x=1&y=%20", b"")


def test_headers_arrive_once_each(client: Client, site: Site) -> None:
    client.get(site.answer(), headers={"X-One": "1", "user-agent": "mine", "X-Umlaut": "ä"})
    headers = site.seen[0].headers
    assert headers["x-one"] == "1"
    assert headers["user-agent"] == "mine"
    assert headers["x-umlaut"].encode("latin-1") == "ä".encode()


def test_without_one_of_its_own_a_request_names_its_program(client: Client, site: Site) -> None:
    client.get(site.answer())
    assert site.seen[0].headers["user-agent"].startswith("halo-scheduler/")


def test_a_get_without_a_body_sends_no_content_length(client: Client, site: Site) -> None:
    client.get(site.answer())
    assert not {"content-length", "content-type"} & set(site.seen[0].headers)


@pytest.mark.parametrize(
    ("kind", "body", "content_type"),
    [
        (BodyKind.TEXT, "naïve", "text/plain; charset=utf-8"),
        (BodyKind.JSON, '{"a": "naïve"}', "application/json"),
    ],
)
def test_a_body_arrives_with_its_type(
    client: Client, site: Site, kind: BodyKind, body: str, content_type: str
) -> None:
    client.get(site.answer(), method="POST", body=body, body_kind=kind)
    (seen,) = site.seen
    assert seen.body == body.encode()
    assert seen.headers["content-type"] == content_type


@pytest.mark.parametrize("kind", BodyKind)
def test_a_type_the_user_gave_is_kept(client: Client, site: Site, kind: BodyKind) -> None:
    headers = {"content-type": "application/vnd.x+json"}
    client.get(site.answer(), method="POST", body="{}", body_kind=kind, headers=headers)
    assert site.seen[0].headers["content-type"] == "application/vnd.x+json"


def test_a_length_the_user_gave_cannot_cut_the_body(client: Client, site: Site) -> None:
    client.get(site.answer(), method="POST", body="whole body", headers={"Content-Length": "5"})
    assert site.seen[0].body == b"whole body"


def test_cookies_are_not_kept_for_the_next_job(client: Client, site: Site) -> None:
    url = site.answer(headers={"Set-Cookie": "session=abc; Path=/"})
    client.get(url)
    client.get(url)
    assert [seen.headers.get("cookie") for seen in site.seen] == [None, None]


def test_a_cookie_the_user_gave_is_sent(client: Client, site: Site) -> None:
    client.get(site.answer(), headers={"Cookie": "session=mine"})
    assert site.seen[0].headers["cookie"] == "session=mine"


def test_two_requests_run_at_the_same_time(client: Client, site: Site) -> None:
    run_ids = [client.start(site.page(Visit.wait_for_the_end)) for _ in range(2)]
    client.wait_until(lambda: len(site.seen) == 2)
    for run_id in run_ids:
        client.scheduler.cancel_run(run_id)
    assert {client.end_of(run_id).run.outcome for run_id in run_ids} == {Outcome.CANCELLED}


# --- What comes back -----------------------------------------------------------------------------------


@pytest.mark.parametrize("status", [200, 201, 204, 299])
def test_any_2xx_is_a_success(client: Client, site: Site, status: int) -> None:
    run = client.get(site.answer(status=status)).run
    assert (run.outcome, run.http_status, run.error) == (Outcome.SUCCESS, status, "")


@pytest.mark.parametrize(
    ("status", "phrase"),
    [
        (304, "304 Not Modified"),
        (400, "400 Bad Request"),
        (401, "401 Unauthorized"),
        (403, "403 Forbidden"),
        (404, "404 Not Found"),
        (407, "407 Proxy Authentication Required"),
        (418, "418 I'm a Teapot"),
        (500, "500 Internal Server Error"),
        (503, "503 Service Unavailable"),
    ],
)
def test_another_status_is_a_failure_that_names_it(
    client: Client, site: Site, status: int, phrase: str
) -> None:
    result = client.get(site.answer(status=status, body=b"" if status == 304 else b"why"))
    assert result.error.casefold() == f"127.0.0.1:{site.port} answered {phrase}; expected 2xx".casefold()
    assert result.run.http_status == status
    assert result.output.endswith(b"" if status == 304 else b"\n\nwhy")


@pytest.mark.parametrize("status", [400, 401, 404, 407, 410, 418, 500, 501, 503])
def test_a_status_that_is_expected_is_a_success(client: Client, site: Site, status: int) -> None:
    run = client.get(site.answer(status=status), expected_statuses=(299, status)).run
    assert (run.outcome, run.http_status) == (Outcome.SUCCESS, status)


def test_a_redirect_that_is_expected_is_not_followed(client: Client, site: Site) -> None:
    url = site.redirect("/", "/next")
    assert client.get(url, expected_statuses=(302,)).run.outcome is Outcome.SUCCESS
    assert len(site.seen) == 1


def test_with_expected_statuses_200_can_be_a_failure(client: Client, site: Site) -> None:
    result = client.get(site.answer(), expected_statuses=(204, 404))
    assert result.error == f"127.0.0.1:{site.port} answered 200 OK; expected 204 or 404"


@pytest.mark.parametrize("scheme", ["Basic", "Digest", "Negotiate", "NTLM"])
def test_a_question_for_a_password_is_an_answer(client: Client, site: Site, scheme: str) -> None:
    challenge = f'{scheme} realm="x", nonce="y"' if scheme in {"Basic", "Digest"} else scheme
    result = client.get(site.answer(status=401, headers={"WWW-Authenticate": challenge}))
    assert "answered 401 Unauthorized" in result.error
    assert challenge.encode() in result.output
    assert len(site.seen) == 1


def test_status_headers_and_body_are_stored(client: Client, site: Site) -> None:
    output = client.get(site.answer(headers={"X-One": "1"}, body=b"\x00\xff body")).output
    head, _, body = output.partition(b"\n\n")
    lines = head.decode().splitlines()
    assert lines[0] == "HTTP 200 OK"
    assert "x-one: 1" in lines
    assert body == b"\x00\xff body"


def test_the_bytes_of_headers_are_stored_as_they_are(client: Client, site: Site) -> None:
    output = client.get(site.answer(headers={"X-Name": "ä".encode().decode("latin-1")})).output
    assert "x-name: ä\n".encode() in output


def test_a_body_of_unknown_length_is_stored(client: Client, site: Site) -> None:
    def page(visit: Visit) -> None:
        visit.begin(200, {"Transfer-Encoding": "chunked"})
        for chunk in (b"one ", b"two ", b"three", b""):
            visit.send_chunk(chunk)

    assert client.get(site.page(page)).output.endswith(b"\n\none two three")


def test_a_body_that_ends_with_the_connection_is_stored(client: Client, site: Site) -> None:
    def page(visit: Visit) -> None:
        visit.begin(200, {"Connection": "close"})
        visit.wfile.write(b"all of it")
        visit.close_connection = True

    result = client.get(site.page(page))
    assert result.run.outcome is Outcome.SUCCESS
    assert result.output.endswith(b"\n\nall of it")


def test_a_head_request_has_only_a_head(client: Client, site: Site) -> None:
    result = client.get(site.answer(headers={"X-One": "1"}, body=b"body"), method="HEAD")
    assert result.run.outcome is Outcome.SUCCESS
    assert site.seen[0].method == "HEAD"
    assert result.output.startswith(b"HTTP 200 OK\n")
    assert result.output.endswith(b"\n\n")


def test_a_compressed_answer_is_stored_as_text(client: Client, site: Site) -> None:
    url = site.answer(headers={"Content-Encoding": "gzip"}, body=gzip.compress(b"plain text"))
    assert client.get(url).output.endswith(b"\n\nplain text")


def test_a_long_body_is_stored_with_its_head_and_its_tail(client: Client, site: Site) -> None:
    client.scheduler._store.settings.set_number(OUTPUT_LIMIT_BYTES, 10_000)
    output = client.get(site.answer(body=b"first" + b"." * 3_000_000 + b"last")).output
    head, gap, tail = output.partition("\n[… ".encode())
    assert head.startswith(b"HTTP 200 OK\n")
    assert b"\n\nfirst..." in head
    assert gap
    assert b" bytes left out " in tail
    assert tail.endswith(b"...last")
    assert len(output) < 10_100


def test_an_endless_answer_is_kept_short_and_can_be_cancelled(client: Client, site: Site) -> None:
    def page(visit: Visit) -> None:
        visit.begin(200, {"Transfer-Encoding": "chunked"})
        # In large pieces: a site that is busy in Python would keep the client, on its thread here, from reading.
        while not visit.server.site.is_closing.is_set():
            visit.send_chunk(b"z" * 4_000_000)

    client.scheduler._store.settings.set_number(SPOOL_LIMIT_BYTES, 1 << 20)
    run_id = client.start(site.page(page))
    client.wait_until(lambda: any(_has_hole(path) for path in client.spooled()))
    client.scheduler.cancel_run(run_id)
    result = client.end_of(run_id)
    assert result.run.outcome is Outcome.CANCELLED
    assert b" bytes left out " in result.output
    assert len(result.output) < 300_000


def _has_hole(path: Path) -> bool:
    return path.stat().st_blocks * 512 < path.stat().st_size


def test_an_answer_can_be_read_while_it_comes(client: Client, site: Site) -> None:
    def page(visit: Visit) -> None:
        visit.begin(200, {"Content-Length": "100"})
        visit.wfile.write(b"so far")
        visit.wait_for_the_end()

    run_id = client.start(site.page(page))
    client.wait_until(lambda: client.scheduler.get_output(run_id).endswith(b"\n\nso far"))
    client.scheduler.cancel_run(run_id)
    assert client.end_of(run_id).output.endswith(b"\n\nso far")


# --- Failures ------------------------------------------------------------------------------------------


def test_a_name_that_does_not_exist_is_reported(client: Client) -> None:
    assert client.get("http://nowhere.invalid/").error == "the name 'nowhere.invalid' was not found"


def test_a_refused_connection_is_reported(client: Client) -> None:
    # Taken, so that nobody else listens there meanwhile.
    with socket.socket() as deaf:
        deaf.bind(("127.0.0.1", 0))
        port = deaf.getsockname()[1]
        assert client.get(f"http://127.0.0.1:{port}/").error == f"127.0.0.1:{port} refused the connection"


def _hang_up(visit: Visit) -> None:
    visit.close_connection = True


@pytest.mark.parametrize("method", ["GET", "POST"])
def test_a_connection_closed_before_an_answer_is_reported(client: Client, site: Site, method: str) -> None:
    error = client.get(site.page(_hang_up), method=method).error
    assert error == f"127.0.0.1:{site.port} closed the connection without a response"


@pytest.mark.parametrize("method", ["POST", "PATCH"])
@pytest.mark.parametrize("body", ["", "body"])
def test_a_request_that_must_not_be_repeated_is_sent_once(
    client: Client, site: Site, method: str, body: str
) -> None:
    client.get(site.page(_hang_up), method=method, body=body)
    assert len(site.seen) == 1


# Not in chunks: where these break off, Qt takes what came for the whole now and then.
@pytest.mark.parametrize("size", [4, 5_000_000])
def test_a_response_cut_short_is_reported_and_its_beginning_is_stored(
    client: Client, site: Site, size: int
) -> None:
    def page(visit: Visit) -> None:
        visit.begin(200, {"Content-Length": "10000000"})
        visit.wfile.write(b"h" * size)
        visit.close_connection = True

    result = client.get(site.page(page))
    assert result.error == f"127.0.0.1:{site.port} closed the connection in the middle of its response"
    assert result.run.http_status == 200
    assert result.output.endswith(b"hhhh")


def test_a_compressed_answer_that_is_broken_is_a_failure(client: Client, site: Site) -> None:
    url = site.answer(headers={"Content-Encoding": "gzip"}, body=b"\x1f\x8b\x08\x00 this is no gzip at all")
    result = client.get(url)
    assert result.error == f"127.0.0.1:{site.port} sent a body that cannot be decompressed"
    assert result.run.http_status == 200


def test_a_response_that_is_not_http_is_a_failure(client: Client, site: Site) -> None:
    def page(visit: Visit) -> None:
        visit.wfile.write(b"220 mail.example ready\r\n")
        visit.close_connection = True

    assert f"127.0.0.1:{site.port}" in client.get(site.page(page)).error


def test_a_certificate_from_a_trusted_authority_is_accepted(client: Client, safe_site: Site) -> None:
    assert client.get(safe_site.answer(body=b"safe")).output.endswith(b"\n\nsafe")


@pytest.mark.parametrize(
    ("make", "word"),
    [
        (lambda authority: authority.self_signed("selfmade", "IP:127.0.0.1"), "self-signed"),
        (lambda authority: authority.signed("stranger", "DNS:stranger.test"), "IP address mismatch"),
        (lambda authority: authority.signed("old", "IP:127.0.0.1", days=-1), "expired"),
    ],
)
def test_a_certificate_that_is_not_good_is_refused(
    client: Client, trusted: Authority, make: Callable[[Authority], Certificate], word: str
) -> None:
    with open_site(make(trusted)) as site:
        error = client.get(site.answer()).error
        assert error.startswith(f"no secure (TLS) connection to 127.0.0.1:{site.port}: ")
        assert word in error
        assert not site.seen


def test_a_certificate_from_an_unknown_authority_is_refused(client: Client, authority: Authority) -> None:
    with open_site(authority.signed("unknown", "IP:127.0.0.1")) as site:
        assert client.get(site.answer()).error.startswith("no secure (TLS) connection to 127.0.0.1")
        assert not site.seen


def test_tls_to_a_site_without_it_is_refused(client: Client, site: Site) -> None:
    url = site.answer().replace("http:", "https:")
    assert client.get(url).error.startswith(f"no secure (TLS) connection to 127.0.0.1:{site.port}: ")


def test_a_site_that_never_answers_meets_the_time_limit(client: Client, site: Site) -> None:
    run = client.get(site.page(Visit.wait_for_the_end), policy=Policy(time_limit="1s")).run
    assert (run.outcome, run.error) == (Outcome.TIMEOUT, "it ran longer than its time limit")


def test_a_request_can_be_cancelled(client: Client, site: Site) -> None:
    run_id = client.start(site.page(Visit.wait_for_the_end))
    client.wait_until(lambda: bool(site.seen))
    client.scheduler.cancel_run(run_id)
    run = client.end_of(run_id).run
    assert (run.outcome, run.error) == (Outcome.CANCELLED, "stopped by the user")


@pytest.mark.parametrize("headers", [{}, {"Authorization": f"Bearer {TOKEN}"}])
def test_a_full_disk_is_reported(
    client: Client, site: Site, monkeypatch: pytest.MonkeyPatch, headers: dict[str, str]
) -> None:
    monkeypatch.setattr(Spool, "create", lambda _spool: os.open("/dev/full", os.O_WRONLY | os.O_CLOEXEC))
    error = client.get(site.answer(body=b"x" * 100_000), headers=headers).error
    assert error == "its output cannot be written: No space left on device"


def test_an_output_that_cannot_be_written_is_reported_before_anything_is_sent(
    client: Client, site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(_spool: Spool) -> int:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(Spool, "create", refuse)
    assert client.get(site.answer()).error == "its output cannot be written: Permission denied"
    assert not site.seen


def test_an_engine_that_stops_breaks_its_requests_off(client: Client, site: Site) -> None:
    # Its end is written last: it could be the beginning of the token.
    body = b"so far" + b"." * 60

    def page(visit: Visit) -> None:
        visit.begin(200, {"Content-Length": "100"})
        visit.wfile.write(body)
        visit.wait_for_the_end()

    run_id = client.start(site.page(page), headers={"Authorization": f"Bearer {TOKEN}"})
    client.wait_until(lambda: b"so far" in client.scheduler.get_output(run_id))
    client.scheduler.stop(wait=False)
    client.scheduler.start()
    result = client.end_of(run_id)
    assert result.run.outcome is Outcome.INTERRUPTED
    assert result.output.endswith(b"\n\n" + body)


def test_connections_are_kept_for_the_next_request_but_not_beyond_the_engine(
    client: Client, site: Site
) -> None:
    ports: list[int] = []

    def page(visit: Visit) -> None:
        ports.append(visit.client_address[1])
        visit.answer(body=b"pong")

    url = site.page(page)
    for _ in range(2):
        assert client.get(url).run.outcome is Outcome.SUCCESS
    assert len(set(ports)) == 1
    assert _is_connected(site)
    client.scheduler.stop(wait=False)
    assert not _is_connected(site)


def _is_connected(site: Site) -> bool:
    return any(
        getattr(one.raddr, "port", None) == site.port and one.status == psutil.CONN_ESTABLISHED
        for one in psutil.Process().net_connections("tcp")
    )


# --- Redirects -----------------------------------------------------------------------------------------


def test_a_redirect_on_the_same_host_is_followed_with_all_headers(client: Client, site: Site) -> None:
    site.answer("/there", body=b"arrived")
    headers = {"Authorization": f"Bearer {TOKEN}", "Cookie": "a=b", "X-Api-Key": "key"}
    result = client.get(site.redirect("/", "/there"), headers=headers)
    assert (result.run.outcome, result.run.http_status) == (Outcome.SUCCESS, 200)
    assert headers.items() <= {name: site.seen[1].headers[name.lower()] for name in headers}.items()
    assert result.output.startswith(b"HTTP 302 Found\n")
    assert f"[redirected to {site.url('/there')}]\n\nHTTP 200 OK\n".encode() in result.output
    assert result.output.endswith(b"\n\narrived")


@pytest.mark.parametrize("policy", [Redirects.SAME_HOST, Redirects.NONE])
def test_a_redirect_to_another_host_is_not_followed(
    client: Client, site: Site, other_site: Site, policy: Redirects
) -> None:
    result = client.get(site.redirect("/", other_site.url(host="localhost")), redirects=policy)
    there = f"localhost:{other_site.port}"
    assert result.error == f"127.0.0.1:{site.port} redirects to {there}, which the job does not follow"
    assert result.run.http_status == 302
    assert not other_site.seen


def test_a_job_may_follow_no_redirect_at_all(client: Client, site: Site) -> None:
    result = client.get(site.redirect("/", "/there"), redirects=Redirects.NONE)
    assert result.error.endswith("which the job does not follow")
    assert len(site.seen) == 1


@pytest.mark.parametrize("host", ["localhost", "127.0.0.1"])
def test_no_credentials_are_sent_on_to_another_server(
    client: Client, site: Site, other_site: Site, host: str
) -> None:
    client.scheduler.secrets.set("TOKEN", TOKEN, in_file=True)
    other_site.answer("/there")
    headers = {
        "Authorization": "Basic bGl0ZXJhbDpwYXNz",
        "Cookie": "session=literal",
        "X-Api-Key": "literal-key",
        "X-Anything": "${secret:TOKEN}",
        "Accept": "text/${secret:TOKEN}",
        "User-Agent": "agent ${secret:TOKEN}",
        "Accept-Language": "de",
    }
    result = client.get(
        site.redirect("/", other_site.url("/there", host)), headers=headers, redirects=Redirects.ANY
    )
    assert result.run.outcome is Outcome.SUCCESS
    assert site.seen[0].headers["authorization"] == headers["Authorization"]
    arrived = other_site.seen[0].headers
    assert arrived["accept-language"] == "de"
    assert not {"authorization", "cookie", "x-api-key", "x-anything"} & set(arrived)
    assert not [value for value in arrived.values() if TOKEN in value or "literal" in value]


def test_credentials_do_not_come_back_after_a_detour(client: Client, site: Site, other_site: Site) -> None:
    site.answer("/end")
    other_site.redirect("/detour", site.url("/end"))
    url = site.redirect("/", other_site.url("/detour", "localhost"))
    client.get(url, headers={"Authorization": f"Bearer {TOKEN}"}, redirects=Redirects.ANY)
    assert site.seen[1].path == "/end"
    assert "authorization" not in site.seen[1].headers


def test_a_user_name_in_a_redirect_is_neither_sent_nor_stored(client: Client, site: Site) -> None:
    site.answer("/there", status=401, headers={"WWW-Authenticate": 'Basic realm="x"'})
    target = site.url("/there").replace("://", "://user:hunter22@")
    result = client.get(site.redirect("/", target))
    assert "answered 401" in result.error
    assert [seen.headers.get("authorization") for seen in site.seen] == [None, None]
    assert b"hunter22" not in result.output


@pytest.mark.parametrize("policy", [Redirects.SAME_HOST, Redirects.ANY])
def test_a_redirect_from_https_to_http_is_refused(
    client: Client, safe_site: Site, site: Site, policy: Redirects
) -> None:
    error = client.get(safe_site.redirect("/", site.answer("/there")), redirects=policy).error
    assert error.endswith(f"redirects to 127.0.0.1:{site.port}, which is not encrypted")
    assert not site.seen


@pytest.mark.parametrize("policy", Redirects)
@pytest.mark.parametrize(
    "target", ["file:///etc/passwd", "ftp://127.0.0.1/x", "data:text/plain,x", "http://"]
)
def test_a_redirect_to_something_else_is_refused(
    client: Client, site: Site, target: str, policy: Redirects
) -> None:
    result = client.get(site.redirect("/", target), redirects=policy)
    assert result.error == f"127.0.0.1:{site.port} redirects to something that is neither http nor https"
    assert b"root:" not in result.output


@pytest.mark.parametrize("target", ["http://[broken/", "http://host:port/"])
def test_a_redirect_to_an_invalid_address_is_refused(client: Client, site: Site, target: str) -> None:
    assert f"127.0.0.1:{site.port} " in client.get(site.redirect("/", target)).error
    assert len(site.seen) == 1


def test_a_redirect_without_an_address_is_a_failure(client: Client, site: Site) -> None:
    assert client.get(site.answer(status=302)).error.endswith("answered 302 Found; expected 2xx")


def test_a_loop_of_redirects_ends_after_ten(client: Client, site: Site) -> None:
    error = client.get(site.redirect("/", "/")).error
    assert error.endswith(": more than 10 redirects in a row")
    assert len(site.seen) == 11


@pytest.mark.parametrize("status", [301, 302, 303])
def test_a_redirected_post_becomes_a_get_without_a_body(client: Client, site: Site, status: int) -> None:
    site.answer("/there")
    client.get(site.redirect("/", "/there", status), method="POST", body="body")
    arrived = site.seen[1]
    assert (arrived.method, arrived.body) == ("GET", b"")
    assert not {"content-type", "content-length"} & set(arrived.headers)


@pytest.mark.parametrize("status", [307, 308])
def test_a_redirect_can_keep_method_and_body(client: Client, site: Site, status: int) -> None:
    site.answer("/there")
    client.get(site.redirect("/", "/there", status), method="POST", body="body")
    arrived = site.seen[1]
    assert (arrived.method, arrived.body) == ("POST", b"body")
    assert arrived.headers["content-type"] == "text/plain; charset=utf-8"


@pytest.mark.parametrize("status", [301, 303])
def test_a_redirected_head_stays_a_head(client: Client, site: Site, status: int) -> None:
    site.answer("/there")
    client.get(site.redirect("/", "/there", status), method="HEAD")
    assert [seen.method for seen in site.seen] == ["HEAD", "HEAD"]


@pytest.mark.parametrize("body", ["${secret:TOKEN}", "plain"])
def test_a_body_is_not_sent_on_to_another_host(
    client: Client, site: Site, other_site: Site, body: str
) -> None:
    client.scheduler.secrets.set("TOKEN", TOKEN, in_file=True)
    url = site.redirect("/", other_site.url(host="localhost"), 307)
    error = client.get(url, method="POST", body=body, redirects=Redirects.ANY).error
    assert error.endswith(f"redirects to localhost:{other_site.port}, which must not get the body")
    assert not other_site.seen


# --- Secrets -------------------------------------------------------------------------------------------


def _echo(visit: Visit) -> None:
    """Repeat all that came, in the head and in the body, a few bytes at a time."""
    seen = visit.server.site.seen[-1]
    repeated = {f"Echo-{name}": value for name, value in seen.headers.items() if name != "host"}
    visit.begin(200, {"Transfer-Encoding": "chunked", **repeated})
    body = "\n".join(seen.headers.values()).encode("latin-1") + b"\n" + seen.body
    for start in range(0, len(body), 7):
        visit.send_chunk(body[start : start + 7])
    visit.send_chunk(b"")


def test_secrets_reach_the_server_and_not_the_output(client: Client, site: Site) -> None:
    client.scheduler.secrets.set("ONE", SECRET, in_file=True)
    client.scheduler.secrets.set("TWO", TOKEN, in_file=True)
    result = client.get(
        site.page(_echo),
        method="POST",
        headers={"X-Custom": "one ${secret:ONE} two ${secret:TWO}"},
        body="<${secret:TWO}${secret:ONE}>",
    )
    (seen,) = site.seen
    assert seen.headers["x-custom"].encode("latin-1").decode() == f"one {SECRET} two {TOKEN}"
    assert seen.body.decode() == f"<{TOKEN}{SECRET}>"
    assert SECRET.encode() not in result.output
    assert TOKEN.encode() not in result.output
    assert b"echo-x-custom: one *** two ***\n" in result.output
    assert result.output.endswith(b"<******>")


def test_a_secret_in_a_json_body_stays_one_string(client: Client, site: Site) -> None:
    value = 'quote " slash \\ line\nend'
    client.scheduler.secrets.set("TOKEN", value, in_file=True)
    body = '{"token": "<${secret:TOKEN}>"}'
    result = client.get(site.page(_echo), method="POST", body=body, body_kind=BodyKind.JSON)
    assert json.loads(site.seen[0].body) == {"token": f"<{value}>"}
    assert result.output.endswith(b'{"token": "<***>"}')


@pytest.mark.parametrize(
    ("name", "value", "hidden"),
    [
        ("Authorization", "Bearer abcdef-literal", "abcdef-literal"),
        ("Authorization", "literal-without-a-scheme", "literal-without-a-scheme"),
        ("Proxy-Authorization", "Basic bGl0ZXJhbA==", "bGl0ZXJhbA=="),
        ("Cookie", "session=abcdef-literal; theme=dark-mode", "abcdef-literal"),
        ("X-Api-Key", "abcdef-literal", "abcdef-literal"),
        ("X-Auth-Key", "abcdef-literal", "abcdef-literal"),
        ("Private-Token", "abcdef-literal", "abcdef-literal"),
        ("Ocp-Apim-Subscription-Key", "abcdef-literal", "abcdef-literal"),
    ],
)
def test_literal_credentials_that_come_back_are_not_stored(
    client: Client, site: Site, name: str, value: str, hidden: str
) -> None:
    result = client.get(
        site.answer(headers={"X-Echo": f"head {hidden}"}, body=f"body {hidden}".encode()),
        headers={name: value},
    )
    assert site.seen[0].headers[name.lower()] == value
    assert b"x-echo: head ***\n" in result.output
    assert result.output.endswith(b"body ***")
    assert hidden.encode() not in result.output


def test_cookies_of_an_answer_are_not_stored(client: Client, site: Site) -> None:
    def page(visit: Visit) -> None:
        visit.send_response(200)
        visit.send_header("Set-Cookie", "session=abcdef")
        visit.send_header("Set-Cookie", "other=ghijkl")
        visit.send_header("Content-Length", "0")
        visit.end_headers()

    output = client.get(site.page(page)).output
    assert b"set-cookie: ***\n" in output
    assert b"abcdef" not in output
    assert b"ghijkl" not in output


def test_a_secret_in_the_words_of_a_status_is_not_reported(client: Client, site: Site) -> None:
    def page(visit: Visit) -> None:
        visit.send_response(500, f"no such token {TOKEN}")
        visit.send_header("Content-Length", "0")
        visit.end_headers()

    client.scheduler.secrets.set("TOKEN", TOKEN, in_file=True)
    result = client.get(site.page(page), headers={"X-Custom": "${secret:TOKEN}"})
    assert result.error.endswith("answered 500 no such token ***; expected 2xx")
    assert TOKEN.encode() not in result.output


def test_a_secret_in_the_address_of_a_redirect_is_not_stored(client: Client, site: Site) -> None:
    client.scheduler.secrets.set("TOKEN", TOKEN, in_file=True)
    site.answer("/there")
    result = client.get(site.redirect("/", f"/there?token={TOKEN}"), headers={"X-Custom": "${secret:TOKEN}"})
    assert site.seen[1].path == f"/there?token={TOKEN}"
    assert b"/there?token=***]" in result.output
    assert TOKEN.encode() not in result.output


def test_a_proxy_of_the_login_environment_is_used_and_its_password_not_stored(
    client: Client, site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    def page(visit: Visit) -> None:
        visit.answer(407, body=site.seen[-1].headers["proxy-authorization"].encode() + b" hunter22")

    site.page(page, "http://far.test/")
    monkeypatch.setenv("http_proxy", f"http://me:hunter22@127.0.0.1:{site.port}")
    monkeypatch.setenv("SHELL", "/bin/sh")
    client.scheduler.engine.get_engine().resources.read_environment()
    result = client.get("http://far.test/")
    assert result.error == "far.test answered 407 Proxy Authentication Required; expected 2xx"
    assert result.output.endswith(b"\n\nBasic *** ***")


def test_a_missing_secret_is_reported_and_nothing_is_sent(client: Client, site: Site) -> None:
    error = client.get(site.answer(), headers={"Authorization": "Bearer ${secret:NONE}"}).error
    assert error == "the secret NONE is not set; set it with: halo secret set NONE"
    assert not site.seen


@pytest.mark.parametrize("value", ["line\r\nX-Injected: yes", "token\n", "bell\a"])
def test_a_secret_that_would_break_out_of_its_header_is_refused(
    client: Client, site: Site, value: str
) -> None:
    client.scheduler.secrets.set("TOKEN", value, in_file=True)
    error = client.get(site.answer(), headers={"X-Custom": "${secret:TOKEN}"}).error
    assert error == "a value in the header X-Custom has more than one line or control characters"
    assert not site.seen


def test_a_request_that_waits_for_its_secrets_can_be_cancelled(
    client: Client, site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked, go_on = threading.Event(), threading.Event()

    def slow(*_: object) -> str:
        asked.set()
        go_on.wait(10)
        return TOKEN

    client.scheduler.secrets.set("TOKEN", TOKEN, in_file=True)
    monkeypatch.setattr("halo_scheduler.store.secrets._SecretFile.get", slow)
    run_id = client.start(site.answer(), headers={"X-Custom": "${secret:TOKEN}"})
    client.wait_until(asked.is_set)
    client.scheduler.cancel_run(run_id)
    assert client.end_of(run_id).run.outcome is Outcome.CANCELLED
    go_on.set()
    client.get(site.answer("/next"))
    assert [seen.path for seen in site.seen] == ["/next"]


# --- What is on the disk -------------------------------------------------------------------------------


def _at_once(visit: Visit) -> None:
    visit.wfile.write(b"HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\npong")


def test_of_many_small_answers_at_once_most_need_no_file(
    client: Client, site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("halo_scheduler.actions.runner.monotonic", lambda: 0.0)
    made: list[str] = []
    create = Spool.create

    def counted(spool: Spool) -> int:
        made.append(spool.output_path)
        return create(spool)

    monkeypatch.setattr(Spool, "create", counted)
    outputs = [client.get(site.page(_at_once)).output for _ in range(4)]
    assert all(output.endswith(b"\n\npong") for output in outputs)
    assert len(made) == 1


def test_a_partial_response_is_on_disk_while_the_rest_is_awaited(
    client: Client, site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    def page(visit: Visit) -> None:
        visit.begin(200, {"Content-Length": "100"})
        visit.wfile.write(b"so far")
        visit.wait_for_the_end()

    monkeypatch.setattr("halo_scheduler.actions.runner.monotonic", lambda: 0.0)
    client.get(site.answer("/first"))
    run_id = client.start(site.page(page))
    client.wait_until(lambda: any(path.read_bytes().endswith(b"\n\nso far") for path in client.spooled()))
    client.scheduler.cancel_run(run_id)
    assert client.end_of(run_id).output.endswith(b"\n\nso far")


def test_an_engine_that_goes_leaves_an_answer_whose_end_is_not_recorded_to_the_next(
    client: Client, site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("halo_scheduler.actions.runner.monotonic", lambda: 0.0)
    client.get(site.answer("/first"))
    ended: list[Ended] = []
    with monkeypatch.context() as patch:
        patch.setattr(HttpWork, "_report", lambda _work, end: ended.append(end))
        run_id = client.start(site.page(_at_once))
        client.wait_until(lambda: bool(ended))
        assert not client.spooled()
        client.scheduler.stop(wait=False)
    client.scheduler.start()
    result = client.end_of(run_id)
    assert result.run.outcome is Outcome.INTERRUPTED
    assert result.output.endswith(b"\n\npong")


# --- Faults of the disk --------------------------------------------------------------------------------


def test_output_that_cannot_be_read_does_not_keep_a_request_open(
    client: Client, site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object) -> None:
        raise OSError(5, "Input/output error")

    monkeypatch.setattr(Spool, "kept", fail)
    result = client.get(site.answer("/", body=b"x" * 100_000))
    assert result.run.outcome is Outcome.SUCCESS
    assert result.output == b"[output lost, as it could not be read: Input/output error]\n"


def test_a_small_answer_is_stored_without_reading_its_file_again(
    client: Client, site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Spool, "kept", lambda *_: pytest.fail("the file was read"))
    assert client.get(site.answer("/", body=b"pong")).output.endswith(b"\n\npong")


def test_a_small_answer_keeps_to_the_output_limit(client: Client, site: Site) -> None:
    client.scheduler._store.settings.set_number(OUTPUT_LIMIT_BYTES, 1_000)
    result = client.get(site.answer("/", body=b"x" * 5_000))
    assert len(result.output) < 1_100
    assert b"bytes left out" in result.output


def test_a_full_disk_is_not_asked_without_a_pause(
    client: Client, site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[None] = []

    def fail(*_: object) -> None:
        asked.append(None)
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Spool, "cap", fail)
    result = client.get(site.page(Visit.wait_for_the_end), policy=Policy(time_limit="2s"))
    assert result.run.outcome is Outcome.TIMEOUT
    assert 1 <= len(asked) <= 4
