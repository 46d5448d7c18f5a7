"""Responses as bytes: read the same however they arrive, and refused when they make no sense."""

from __future__ import annotations

from http.client import HTTPException, IncompleteRead, LineTooLong, RemoteDisconnected

import pytest
from urllib3 import HTTPResponse
from urllib3.exceptions import HeaderParsingError, ProtocolError

from halo_scheduler.web.connection import Connection
from halo_scheduler.web.transport import Transport

_OK = b"HTTP/1.1 200 OK\r\n"
_CHUNKED = _OK + b"Transfer-Encoding: chunked\r\n\r\n"


class ScriptedTransport(Transport):
    """Receives given bytes, in pieces of a given size, then the end of the connection or an error."""

    def __init__(self, raw: bytes, size: int = 1 << 20, end: OSError | None = None) -> None:
        super().__init__()
        self._pieces = [raw[at : at + size] for at in range(0, len(raw), size)]
        self._end = end
        self.writes: list[bytes] = []

    def connect(self, host: str, port: int) -> None:
        """Stay away from the network."""

    def receive_into(self, buffer: memoryview) -> int:
        if not self._pieces and self._end is not None:
            raise self._end
        piece = self._pieces.pop(0) if self._pieces else b""
        taken = min(len(piece), len(buffer))
        buffer[:taken] = piece[:taken]
        if taken < len(piece):
            self._pieces.insert(0, piece[taken:])
        return taken

    def send(self, data: bytes) -> None:
        self.writes.append(bytes(data))


def _connection(transport: Transport) -> Connection:
    connection = Connection("a.test", 80)
    connection.transport, connection.first_place = transport, "a.test"
    return connection


def _read(raw: bytes, *, size: int = 1 << 20, method: str = "GET") -> tuple[HTTPResponse, bytes, bool]:
    with ScriptedTransport(raw, size) as transport:
        connection = _connection(transport)
        response = connection.exchange(method, "/", {}, b"", decodes=True)
        body = b"".join(iter(lambda: response.read1(65_536), b""))
        return response, body, connection.is_reusable


@pytest.mark.parametrize("size", [1, 2, 3, 7, 1 << 20])
@pytest.mark.parametrize(
    "raw",
    [
        _OK + b"X: y\r\nContent-Length: 4\r\n\r\npong",
        _OK + b"X: y\n\npong",
        b"HTTP/1.1 100 Continue\r\n\r\n" + _OK + b"X: y\r\nContent-Length: 4\r\n\r\npong",
        b"HTTP/1.1 103 Early Hints\r\nX: n\r\n\r\n" * 2 + _OK + b"X: y\r\nContent-Length: 4\r\n\r\npong",
        _OK + b"X: y\r\nTransfer-Encoding: chunked\r\n\r\n3;a=b\r\npon\r\n1\r\ng\r\n0\r\nT: t\r\n\r\n",
    ],
)
def test_a_response_is_the_same_in_pieces_of_any_size(raw: bytes, size: int) -> None:
    response, body, _ = _read(raw, size=size)
    assert (response.status, response.reason, body) == (200, "OK", b"pong")
    assert response.headers["x"] == "y"


@pytest.mark.parametrize(
    "raw",
    [
        b"HTTP/2 200 OK\r\n\r\n",
        b"HTTP/1.1 2000 OK\r\n\r\n",
        b"HTTP/1.1 +20 OK\r\n\r\n",
        b"http/1.1 200 OK\r\n\r\n",
        b"\r\n" + _OK + b"\r\n",
    ],
)
def test_a_status_line_that_is_none_is_refused(raw: bytes) -> None:
    with pytest.raises(HTTPException):
        _read(raw)


@pytest.mark.parametrize(
    "line", [b" folded: first", b"no colon", b": no name", b"a name: x", b"Name : x", b"X: a\rY: b"]
)
def test_a_header_that_cannot_be_read_is_refused(line: bytes) -> None:
    with pytest.raises((HeaderParsingError, HTTPException)):
        _read(_OK + line + b"\r\nContent-Length: 0\r\n\r\n")


def test_headers_are_read_as_they_were_sent() -> None:
    raw = b"A: one, two\r\nB:\t three \t\r\na: \xe4:b\r\nEmpty:\r\nLF-Only: x\nContent-Length: 0\r\n\r\n"
    headers = _read(_OK + raw)[0].headers
    assert headers.getlist("A") == ["one, two", "\xe4:b"]
    assert [headers[name] for name in ("b", "empty", "lf-only")] == ["three", "", "x"]


def test_a_folded_header_is_one_line() -> None:
    assert _read(_OK + b"X: a\r\n \t b\r\nContent-Length: 0\r\n\r\n")[0].headers["x"] == "a b"


@pytest.mark.parametrize(
    "headers",
    [
        b"Content-Length: 4\r\nContent-Length: 5\r\n",
        b"Content-Length: -4\r\n",
        b"Content-Length: 4, 4\r\n",
        b"Content-Length: 0x4\r\n",
        b"Content-Length:\r\n",
        b"Transfer-Encoding: gzip, chunked\r\n",
        b"Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n",
    ],
)
def test_a_response_without_a_sure_end_is_refused(headers: bytes) -> None:
    with pytest.raises(HTTPException):
        _read(_OK + headers + b"\r\n0\r\n\r\n")


def test_a_head_has_less_than_a_hundred_headers() -> None:
    assert len(_read(_OK + b"X: y\r\n" * 99 + b"\r\n")[0].headers.getlist("x")) == 99
    for line in (b"X: y\r\n", b" folded\r\n"):
        with pytest.raises(HTTPException, match="more than 100 headers"):
            _read(_OK + b"X: y\r\n" * 100 + line + b"\r\n")


@pytest.mark.parametrize("size", [4_096, 1 << 20])
def test_a_line_has_at_most_64_kb(size: int) -> None:
    longest = b"y" * (65_536 - len(b"X: \r\n"))
    assert _read(_OK + b"X: " + longest + b"\r\n\r\n", size=size)[0].headers["x"] == longest.decode()
    with pytest.raises(LineTooLong):
        _read(_OK + b"X: " + longest + b"y\r\n\r\n", size=size)


@pytest.mark.parametrize("before", [b"", b"HTTP/1.1 100 Continue\r\n\r\n"])
def test_a_head_has_at_most_256_kb(before: bytes) -> None:
    header = b"X: " + b"y" * 60_000 + b"\r\n"
    assert len(_read(before + _OK + header * 4 + b"\r\n")[0].headers.getlist("x")) == 4
    with pytest.raises(HTTPException, match="has no end"):
        _read(before * 3_000 + _OK + header * 5 + b"\r\n")


def test_a_connection_that_ends_reports_whether_a_response_had_begun() -> None:
    with pytest.raises(RemoteDisconnected):
        _read(b"")
    for raw in (b"H", b"HTTP/1.1 100 Continue\r\n\r\n", _OK, _OK + b"Content-Length: 0\r\n"):
        with pytest.raises(IncompleteRead):
            _read(raw)


@pytest.mark.parametrize(
    ("raw", "expected"), [(b"", RemoteDisconnected), (b"HTTP/1.1 2", ConnectionResetError)]
)
def test_a_connection_that_is_reset_reports_whether_a_response_had_begun(
    raw: bytes, expected: type[Exception]
) -> None:
    with (
        ScriptedTransport(raw, end=ConnectionResetError()) as transport,
        pytest.raises(ConnectionResetError) as raised,
    ):
        _connection(transport).exchange("GET", "/", {}, b"", decodes=True)
    assert raised.type is expected


@pytest.mark.parametrize(
    "raw",
    [
        _OK + b"Content-Length: 5\r\n\r\npong",
        _CHUNKED + b"5\r\npong",
        _CHUNKED + b"4\r\npong\r\n",
        _CHUNKED + b"3\r\npong\r\n0\r\n\r\n",
        _CHUNKED + b"x\r\npong\r\n0\r\n\r\n",
    ],
)
def test_a_body_that_breaks_off_is_refused(raw: bytes) -> None:
    with pytest.raises(ProtocolError) as raised:
        _read(raw)
    assert isinstance(raised.value.args[-1], IncompleteRead)


@pytest.mark.parametrize("raw", [_OK + b"Content-Length: 4\r\n\r\n", _OK + b"\r\n", _CHUNKED])
def test_the_response_to_a_head_request_has_no_body(raw: bytes) -> None:
    assert _read(raw, method="HEAD")[1] == b""


@pytest.mark.parametrize("raw", [_OK + b"Content-Length: 0\r\n\r\n", _CHUNKED + b"4\r\npong\r\n0\r\n\r\n"])
def test_a_connection_can_be_used_again_after_a_response_with_one_sure_end(raw: bytes) -> None:
    assert _read(raw)[2]


@pytest.mark.parametrize(
    "raw",
    [
        _CHUNKED + b"0\r\n",
        _CHUNKED + b"0\r\n\r\nmore",
        _OK + b"Content-Length: 4\r\n\r\npong!",
        _OK + b"\r\nuntil the end",
        _OK + b"Connection: Keep-Alive, Close\r\nContent-Length: 0\r\n\r\n",
        _OK + b"Connection: x\r\nConnection: close\r\nContent-Length: 0\r\n\r\n",
        _OK + b"Content-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
        b"HTTP/1.0 200 OK\r\nConnection: keep-alive\r\nContent-Length: 0\r\n\r\n",
        b"HTTP/1.1 204 No Content\r\nContent-Length: 0\r\n\r\n",
    ],
)
def test_a_connection_is_not_used_again_after(raw: bytes) -> None:
    assert not _read(raw)[2]


def test_a_request_that_cannot_be_sent_has_no_response() -> None:
    class Broken(ScriptedTransport):
        def send(self, data: bytes) -> None:  # noqa: ARG002 - as its base has it
            raise BrokenPipeError

    with Broken(b"") as transport, pytest.raises(RemoteDisconnected):
        _connection(transport).exchange("GET", "/", {}, b"", decodes=True)


def test_a_request_leaves_in_one_write() -> None:
    with ScriptedTransport(_OK + b"\r\n") as transport:
        headers = {"X": "ä", "User-Agent": "u", "Accept-Encoding": "identity"}
        _connection(transport).exchange("POST", "/p?q", headers, b"body", decodes=False)
    (sent,) = transport.writes
    head, _, body = sent.partition(b"\r\n\r\n")
    assert body == b"body"
    assert head.splitlines()[0] == b"POST /p?q HTTP/1.1"
    assert {b"Host: a.test", b"Content-Length: 4", "X: ä".encode()} < set(head.splitlines())


@pytest.mark.parametrize(
    ("method", "target", "headers"),
    [
        ("GET /", "/", {}),
        ("GET", "/ HTTP/1.0", {}),
        ("GET", "/\n", {}),
        ("GET", "/", {"X": "a\r\nHost: b"}),
        ("GET", "/", {"X\r\nHost": "b"}),
    ],
)
def test_a_request_that_would_break_out_of_its_line_is_not_sent(
    method: str, target: str, headers: dict[str, str]
) -> None:
    with ScriptedTransport(_OK + b"\r\n") as transport:
        with pytest.raises((ValueError, HTTPException)):
            _connection(transport).exchange(method, target, headers, b"", decodes=False)
        assert transport.writes == []
