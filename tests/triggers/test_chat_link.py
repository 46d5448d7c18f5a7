"""The connections to chat services: encrypted ones, through proxies, and what is in pieces."""

from __future__ import annotations

import socket
import ssl
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest
from bad_servers import Talk, bad_server, says, trickles
from hearing import LONG_S, eventually
from http_site import Authority
from socket_site import SocketSite, open_sockets
from websockets.sync.server import ServerConnection

from halo_scheduler.triggers import chat_socket
from halo_scheduler.triggers.chat_link import ChatLink
from halo_scheduler.triggers.chat_service import ChatFault
from halo_scheduler.triggers.chat_socket import SocketClosedError


def _echo(connection: ServerConnection) -> None:
    for text in connection:
        connection.send(text)


def _link() -> ChatLink:
    return ChatLink("Chat", "https://127.0.0.1/api", user_agent="test")


@pytest.fixture
def authority(tmp_path: Path) -> Authority:
    return Authority(tmp_path)


@contextmanager
def _secure_sockets(authority: Authority) -> Iterator[SocketSite]:
    certificate = authority.signed("good", "IP:127.0.0.1,DNS:chat.test")
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate.file, certificate.key)
    with open_sockets(_echo, context) as site:
        yield site


def test_objects_go_both_ways_over_an_encrypted_connection(
    authority: Authority, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SSL_CERT_FILE", str(authority.own.file))
    with _secure_sockets(authority) as site, _link().socket(f"wss://127.0.0.1:{site.port}/") as connection:
        for text in ("one", "ö" * 100_000, "three"):
            assert connection.receive(0.01) is None
            connection.send({"text": text})
            assert connection.receive(LONG_S) == {"text": text}


def test_a_server_that_this_system_does_not_trust_is_refused(authority: Authority) -> None:
    with (
        _secure_sockets(authority) as site,
        pytest.raises(ChatFault, match=r"cannot be reached: .*certificate"),
        _link().socket(f"wss://127.0.0.1:{site.port}/"),
    ):
        pass
    assert site.visits == 0


def _tunnels_to(site: SocketSite) -> Talk:
    """Accept every CONNECT, and pass on to a site what comes and goes."""

    def talk(connection: socket.socket, _: threading.Event) -> None:
        with socket.create_connection(("127.0.0.1", site.port)) as server:
            connection.sendall(b"HTTP/1.1 200 OK\r\n\r\n")
            back = threading.Thread(target=_pass_on, args=(server, connection), daemon=True)
            back.start()
            _pass_on(connection, server)
            back.join(LONG_S)

    return talk


def _pass_on(source: socket.socket, target: socket.socket) -> None:
    with suppress(OSError):
        while data := source.recv(65_536):
            target.sendall(data)
    with suppress(OSError):
        target.shutdown(socket.SHUT_RDWR)


def test_the_usual_proxy_is_used(authority: Authority, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SSL_CERT_FILE", str(authority.own.file))
    with _secure_sockets(authority) as site, bad_server(_tunnels_to(site)) as proxy:
        monkeypatch.setenv("HTTPS_PROXY", f"http://127.0.0.1:{proxy.port}")
        with _link().socket("wss://chat.test/") as connection:
            connection.send({"text": "hello"})
            assert connection.receive(LONG_S) == {"text": "hello"}
        assert len(proxy.visits) == 1


def test_a_proxy_that_refuses_is_quoted_without_its_password(monkeypatch: pytest.MonkeyPatch) -> None:
    with bad_server(says(b"HTTP/1.1 407 No SECRET for you\r\n\r\n")) as proxy:
        monkeypatch.setenv("HTTPS_PROXY", f"http://ann:SECRET@127.0.0.1:{proxy.port}")
        with pytest.raises(ChatFault, match=r"407 No \*\*\* for you"), _link().socket("wss://chat.test/"):
            pass


@pytest.mark.parametrize("again", [b"", b"X"])
def test_an_endless_handshake_times_out(again: bytes, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(chat_socket, "_FOR_HANDSHAKE_S", 0.3)
    with (
        bad_server(trickles(b"HTTP/1.1 101 OK\r\n", again, pause_s=0.02)) as server,
        pytest.raises(ChatFault, match="did not open a connection within"),
        _link().socket(f"ws://127.0.0.1:{server.port}/"),
    ):
        pass


def test_a_message_that_comes_too_slowly_counts_as_silence() -> None:
    def trickle(connection: ServerConnection) -> None:
        connection.socket.sendall(b"\x81\x7e\xff\xff{")
        while not site.is_closing.wait(0.01):
            connection.socket.sendall(b" ")

    with open_sockets(trickle) as site, _link().socket(site.url) as connection:
        assert connection.receive(0.2) is None
        assert connection.silent_s >= 0.2


def test_this_computer_may_be_called_by_its_name() -> None:
    ChatLink("Chat", "http://localhost:1/api", user_agent="test")


def _fragments(connection: ServerConnection) -> None:
    connection.send(iter(['{"te', 'xt": "ö', '"}']))
    connection.recv()


def test_a_message_in_fragments_is_put_together() -> None:
    with open_sockets(_fragments) as site, _link().socket(site.url) as connection:
        assert connection.receive(LONG_S) == {"text": "ö"}


def _two_and_the_end(connection: ServerConnection) -> None:
    with connection.protocol_mutex:
        connection.protocol.send_text(b'{"n": 1}')
        connection.protocol.send_text(b'{"n": 2}')
        connection.protocol.send_close(4000)
        connection.socket.sendall(b"".join(connection.protocol.data_to_send()))


def test_data_before_the_end_is_received_but_gets_no_response() -> None:
    with open_sockets(_two_and_the_end) as site, _link().socket(site.url) as connection:
        assert connection.receive(LONG_S) == {"n": 1}
        with pytest.raises(SocketClosedError) as caught:
            connection.send({"ok": True})
        assert connection.receive(LONG_S) == {"n": 2}
        with pytest.raises(SocketClosedError):
            connection.receive(LONG_S)
    assert caught.value.code == 4000


def _pings(connection: ServerConnection) -> None:
    while True:
        connection.ping()


def test_a_flood_of_pings_delays_no_other_thread_and_can_be_closed() -> None:
    link = _link()
    ended: list[ChatFault] = []

    def receive() -> None:
        try:
            with link.socket(site.url) as connection:
                while connection.receive(0.05) is None:
                    times.append(connection.silent_s)
        except ChatFault as fault:
            ended.append(fault)

    times: list[float] = []
    with open_sockets(_pings) as site:
        thread = threading.Thread(target=receive)
        thread.start()
        eventually(lambda: len(times) >= 3)
        link.close()
        thread.join(1)
        assert not thread.is_alive()
    assert [str(fault) for fault in ended] == ["the connection to Chat was closed"]


def test_sent_data_is_not_logged(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level("DEBUG", logger="halo_scheduler")
    caplog.set_level("DEBUG")
    with open_sockets(_echo) as site, _link().socket(f"{site.url}/?ticket=SECRET") as connection:
        connection.send({"token": "SECRET"})
        connection.receive(LONG_S)
    ours = [record.getMessage() for record in caplog.records if record.name != "websockets.server"]
    assert [text for text in ours if "SECRET" in text] == []
