"""A bad server can hold neither its own run beyond the time limit, nor anybody else's for a moment."""

from __future__ import annotations

import socket
import threading
import zlib
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import psutil
import pytest
from bad_servers import BadServer, Talk, bad_server, floods, says, trickles
from http_site import Site, open_site
from pytestqt.qtbot import QtBot

from halo_scheduler import HttpRequest, Manual, Outcome, Policy, Run, Scheduler

pytestmark = pytest.mark.usefixtures("qapp")

_OK = b"HTTP/1.1 200 OK\r\n"
_CHUNKED = _OK + b"Transfer-Encoding: chunked\r\n\r\n"
_ENDLESS: dict[str, Talk] = {
    "header lines": floods(_OK, b"X-Flood: 0123456789abcdef\r\n"),
    "one header line": floods(_OK + b"X-Flood: ", b"0123456789abcdef"),
    "status line": floods(b"HTTP/1.1 200 ", b"0123456789abcdef"),
    "folded header": floods(_OK + b"X-Flood: a\r\n", b" 0123456789abcdef\r\n"),
    "preliminary answers": floods(b"", b"HTTP/1.1 100 Continue\r\n\r\n"),
    "early hints": floods(b"", b"HTTP/1.1 103 Early Hints\r\nLink: </a.css>\r\n\r\n"),
    "no HTTP": floods(b"", b"0123456789abcdef"),
    "line ends": floods(b"", b"\r\n"),
    "chunk size": floods(_CHUNKED, b"0"),
}
_WITHOUT_END_OF_THEIR_OWN: dict[str, Talk] = {
    "nothing": trickles(b"", b"", 0.01),
    "slow status line": trickles(b"", b"H"),
    "slow header": trickles(_OK + b"X-Slow: ", b"a"),
    "slow header lines": trickles(_OK, b"X: y\r\n", 1.0),
    "slow body": trickles(_OK + b"Content-Length: 1000000\r\n\r\n", b"a"),
    "slow chunks": trickles(_CHUNKED, b"1\r\na\r\n"),
    "chunks": floods(_CHUNKED, b"10\r\n0123456789abcdef\r\n"),
    "trailers": floods(_CHUNKED + b"0\r\n", b"X-Flood: 0123456789abcdef\r\n"),
    "body": floods(_OK + b"\r\n", b"0123456789abcdef"),
    "huge chunk": floods(_CHUNKED + b"FFFFFFFFFFFFFFFF\r\n", b"0123456789abcdef"),
}


class Client:
    """Runs requests as jobs of a scheduler with its event loop."""

    def __init__(self, scheduler: Scheduler, qtbot: QtBot) -> None:
        self.scheduler = scheduler
        self._qtbot = qtbot
        self._jobs = 0

    def start(self, url: str, time_limit: str | None = None, **request: Any) -> str:
        self._jobs += 1
        action, policy = HttpRequest(url=url, **request), Policy(time_limit=time_limit)
        return self.scheduler.trigger(
            self.scheduler.add_job(f"job {self._jobs}", Manual(), action, policy=policy)
        )

    def end_of(self, run_id: str) -> Run:
        self.wait_until(lambda: self._recorded(run_id).outcome is not Outcome.RUNNING)
        return self._recorded(run_id)

    def get(self, url: str, time_limit: str | None = None, **request: Any) -> Run:
        return self.end_of(self.start(url, time_limit, **request))

    def wait_until(self, is_so: Callable[[], bool]) -> None:
        self._qtbot.waitUntil(is_so, timeout=30_000)

    def _recorded(self, run_id: str) -> Run:
        run = self.scheduler.get_run(run_id)
        assert run is not None
        return run


@pytest.fixture
def client(tmp_path: Path, qtbot: QtBot, monkeypatch: pytest.MonkeyPatch) -> Iterator[Client]:
    (tmp_path / "run").mkdir(mode=0o700)
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path / "run"))
    monkeypatch.setenv("DBUS_SYSTEM_BUS_ADDRESS", "unix:path=/nonexistent")
    with Scheduler.open(tmp_path / "halo.db", max_concurrent=200) as scheduler:
        scheduler.start()
        yield Client(scheduler, qtbot)


@pytest.fixture
def good() -> Iterator[Site]:
    with open_site() as site:
        site.answer(body=b"pong")
        yield site


def _is_connected(server: BadServer) -> bool:
    """Tell whether this process still has a connection to a server, seen by the system."""
    return any(
        getattr(one.raddr, "port", None) == server.port and one.status == psutil.CONN_ESTABLISHED
        for one in psutil.Process().net_connections("tcp")
    )


@pytest.mark.parametrize("kind", _ENDLESS)
def test_an_answer_without_an_end_to_its_head_is_refused_by_itself(client: Client, kind: str) -> None:
    with bad_server(_ENDLESS[kind]) as server:
        run = client.get(server.url)
        assert run.outcome is Outcome.FAILURE
        assert f"127.0.0.1:{server.port} " in run.error
        assert not _is_connected(server)


@pytest.mark.parametrize("kind", _WITHOUT_END_OF_THEIR_OWN)
def test_an_endless_response_is_stopped_at_the_time_limit(client: Client, good: Site, kind: str) -> None:
    with bad_server(_WITHOUT_END_OF_THEIR_OWN[kind]) as server:
        bad = client.start(server.url, "1s")
        client.wait_until(lambda: bool(server.visits))
        assert client.get(good.url()).outcome is Outcome.SUCCESS
        run = client.end_of(bad)
        assert (run.outcome, run.error) == (Outcome.TIMEOUT, "it ran longer than its time limit")
        assert not _is_connected(server)


@pytest.mark.parametrize("kind", _WITHOUT_END_OF_THEIR_OWN)
def test_a_cancelled_run_has_no_connection_left(client: Client, kind: str) -> None:
    with bad_server(_WITHOUT_END_OF_THEIR_OWN[kind]) as server:
        bad = client.start(server.url)
        client.wait_until(lambda: bool(server.visits))
        client.scheduler.cancel_run(bad)
        assert client.end_of(bad).outcome is Outcome.CANCELLED
        assert not _is_connected(server)


def test_servers_that_flood_headers_do_not_delay_a_good_one(client: Client, good: Site) -> None:
    with ExitStack() as stack:
        servers = [stack.enter_context(bad_server(talk)) for talk in [*_ENDLESS.values()] * 3]
        bad = [client.start(server.url, "10s") for server in servers]
        run = client.get(good.url())
        assert run.outcome is Outcome.SUCCESS
        assert (run.duration_ms or 0) < 5_000
        assert {client.end_of(run_id).outcome for run_id in bad} == {Outcome.FAILURE}
        assert not [server for server in servers if _is_connected(server)]


def test_fifty_bad_servers_do_not_delay_a_good_one(client: Client, good: Site) -> None:
    kinds = [*_WITHOUT_END_OF_THEIR_OWN.values()] * 5
    with ExitStack() as stack:
        servers = [stack.enter_context(bad_server(talk)) for talk in kinds]
        bad = [client.start(server.url) for server in servers]
        client.wait_until(lambda: all(server.visits for server in servers))
        for _ in range(5):
            run = client.get(good.url())
            assert run.outcome is Outcome.SUCCESS
            assert (run.duration_ms or 0) < 5_000
        for run_id in bad:
            client.scheduler.cancel_run(run_id)
        assert {client.end_of(run_id).outcome for run_id in bad} == {Outcome.CANCELLED}
        assert not [server for server in servers if _is_connected(server)]


def test_one_thread_serves_one_bad_answer_after_the_other(client: Client) -> None:
    before = psutil.Process().num_threads()
    with bad_server(_WITHOUT_END_OF_THEIR_OWN["slow header"]) as server:
        for _ in range(5):
            run_id = client.start(server.url)
            client.wait_until(lambda: _is_connected(server))
            client.scheduler.cancel_run(run_id)
            client.end_of(run_id)
            assert not _is_connected(server)
        # One of the server's for its door, one that read the login environment, and one of ours.
        client.wait_until(lambda: psutil.Process().num_threads() - before <= 3)


def test_a_hanging_name_service_blocks_neither_the_run_nor_others(
    client: Client, good: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    is_over, asked = threading.Event(), threading.Event()
    look_up = socket.getaddrinfo

    def hang(host: str, *arguments: Any, **options: Any) -> Any:
        if host != "slow.invalid":
            return look_up(host, *arguments, **options)
        asked.set()
        is_over.wait(30)
        raise socket.gaierror(socket.EAI_NONAME, "not known")

    monkeypatch.setattr(socket, "getaddrinfo", hang)
    late, cancelled = client.start("http://slow.invalid/", "1s"), client.start("http://slow.invalid/")
    client.wait_until(asked.is_set)
    client.scheduler.cancel_run(cancelled)
    assert client.end_of(cancelled).outcome is Outcome.CANCELLED
    assert client.get(good.url(host="localhost")).outcome is Outcome.SUCCESS
    assert client.end_of(late).outcome is Outcome.TIMEOUT
    is_over.set()


def test_a_server_that_does_not_take_the_connection_meets_the_time_limit(client: Client) -> None:
    with socket.create_server(("127.0.0.1", 0), backlog=0) as full, ExitStack() as stack:
        port = full.getsockname()[1]
        for _ in range(3):  # Its queue takes one or two; then it is silent.
            waiting = stack.enter_context(socket.socket())
            waiting.setblocking(False)
            waiting.connect_ex(("127.0.0.1", port))
        assert client.get(f"http://127.0.0.1:{port}/", "1s").outcome is Outcome.TIMEOUT


# --- Answers that make no sense --------------------------------------------------------------------------

_NO_HTTP = "sent an invalid HTTP response"
_MIDDLE = "closed the connection in the middle of its response"


@pytest.mark.parametrize(
    ("raw", "words"),
    [
        (b"", "closed the connection without a response"),
        (b"HTTP/1.1 20", _MIDDLE),
        (_OK + b"Content-Le", _MIDDLE),
        (_OK + b"Content-Length: 0\r\n", _MIDDLE),
        (_OK + b"Content-Length: 5\r\n\r\nabc", _MIDDLE),
        (_CHUNKED + b"5\r\nabc", _MIDDLE),
        (_CHUNKED + b"5\r\nabcde\r\n", _MIDDLE),
        (_CHUNKED + b"5\r\nabcde\r\n3", _MIDDLE),
        (_CHUNKED + b"zz\r\nabcde\r\n", _MIDDLE),
        (_CHUNKED + b"-5\r\nabcde\r\n0\r\n\r\n", _MIDDLE),
        (_CHUNKED + b"FFFFFFFFFFFFFFFFFFFF\r\nabcde", _MIDDLE),
        (b"SSH-2.0-OpenSSH_9.6\r\n", f"{_NO_HTTP}: SSH-2.0-OpenSSH_9.6"),
        (b"HTTP/1.1 twohundred OK\r\n\r\n", _NO_HTTP),
        (b"HTTP/1.1 99999 OK\r\n\r\n", _NO_HTTP),
        (b"\0\0\0\0\r\n\r\n", _NO_HTTP),
        (_OK + b"X: y\r\n" * 200 + b"\r\n", _NO_HTTP),
        (_OK + b"no colon at all\r\nContent-Length: 0\r\n\r\n", f"{_NO_HTTP}: a header"),
        (_OK + b"Content-Length: -1\r\n\r\n", f"{_NO_HTTP}: its Content-Length"),
        (_OK + b"Content-Length: five\r\n\r\n", f"{_NO_HTTP}: its Content-Length"),
        (_OK + b"Content-Length: 1_0\r\n\r\n0123456789", f"{_NO_HTTP}: its Content-Length"),
        (_OK + b"Content-Length: 3\r\nContent-Length: 5\r\n\r\nabcde", f"{_NO_HTTP}: its Content-Length"),
        (_OK + b"Content-Length: 3, 5\r\n\r\nabcde", f"{_NO_HTTP}: its Content-Length"),
        (
            _OK + b"Transfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n",
            f"{_NO_HTTP}: it uses an unexpected Transfer-",
        ),
        (_OK + b"Content-Encoding: gzip\r\n\r\nno gzip", "cannot be decompressed"),
    ],
)
def test_an_answer_that_makes_no_sense_is_a_failure_with_a_sentence(
    client: Client, raw: bytes, words: str
) -> None:
    with bad_server(says(raw)) as server:
        run = client.get(server.url, "10s")
        assert run.outcome is Outcome.FAILURE
        assert run.error.startswith(f"127.0.0.1:{server.port} ")
        assert words in run.error


@pytest.mark.parametrize(
    ("raw", "output"),
    [
        (_OK + b"X: a\0b\r\nContent-Length: 2\r\n\r\nok", b"x: a\0b\n"),
        (_OK + "X: ä\r\n".encode() + b"\r\nok", "x: ä\n".encode()),
        (_OK + b"X: \xff\xfe\r\n\r\nok", b"x: \xff\xfe\n"),
        (_OK + b"X: a\r\n  b\r\n\r\nok", b"x: a b\n"),
        (_OK + b"Content-Length: 2\r\nContent-Length: 2\r\n\r\nok", b"content-length: 2\n"),
        (b"HTTP/1.1 103 Early Hints\r\nLink: <a>\r\n\r\n" + _OK + b"X: y\r\n\r\nok", b"HTTP 200 OK\nx: y\n"),
        (b"HTTP/1.1 200\r\n\r\nok", b"HTTP 200\n"),
        (_CHUNKED + b"2;name=value\r\nok\r\n0\r\n", b"\n\nok"),
    ],
)
def test_an_answer_that_is_only_odd_is_taken(client: Client, raw: bytes, output: bytes) -> None:
    with bad_server(says(raw)) as server:
        run = client.get(server.url)
        assert (run.outcome, run.error) == (Outcome.SUCCESS, "")
        stored = client.scheduler.get_output(run.id)
        assert output in stored
        assert stored.endswith(b"\n\nok")


def test_a_bomb_of_compressed_data_takes_little_memory(client: Client, good: Site) -> None:
    packer = zlib.compressobj(9, zlib.DEFLATED, 31)
    bomb = b"".join(packer.compress(bytes(1_000_000)) for _ in range(300)) + packer.flush()
    url = good.answer("/bomb", headers={"Content-Encoding": "gzip"}, body=bomb)
    client.get(good.url())
    before = psutil.Process().memory_info().rss
    peak = 0

    def is_over() -> bool:
        nonlocal peak
        peak = max(peak, psutil.Process().memory_info().rss)
        recorded = client.scheduler.get_run(run_id)
        return recorded is not None and recorded.outcome is not Outcome.RUNNING

    run_id = client.start(url)
    client.wait_until(is_over)
    assert client.end_of(run_id).outcome is Outcome.SUCCESS
    assert peak - before < 64 << 20


def test_a_host_name_in_another_script_is_resolved_in_ascii(client: Client) -> None:
    run = client.get("http://bücher.invalid/straße?q=ä b".replace(" ", "%20"))
    assert run.error == "the name 'xn--bcher-kva.invalid' was not found"


def test_a_path_in_another_script_is_sent_in_ascii(client: Client, good: Site) -> None:
    client.get(good.url("/straße?q=ä"))
    assert good.seen[-1].path == "/stra%C3%9Fe?q=%C3%A4"
