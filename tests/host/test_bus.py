"""Speaking D-Bus with buses that are absent, silent, dying or mad."""

from __future__ import annotations

import errno
import random
import select
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest
from jeepney import DBusAddress, Message, MessageType, message_bus, new_error, new_signal
from stand_in_services import LoginService, MutterService, NetworkService, private_buses

from halo_scheduler.host import bus as bus_module
from halo_scheduler.host.bus import (
    Bus,
    BusConnection,
    BusError,
    BusStream,
    Callee,
    CallError,
    ask,
    ask_properties,
    method_call,
)
from halo_scheduler.host.bus_events import WakeEvents

_MUTTER = Callee(MutterService.NAME, MutterService.PATH, MutterService.NAME)


@contextmanager
def _strange_bus(
    folder: Path, monkeypatch: pytest.MonkeyPatch, serve: Callable[[socket.socket], None]
) -> Iterator[None]:
    """Run a bus that deals with its one client as it likes."""
    path = folder / "bus"
    path.unlink(missing_ok=True)
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(str(path))
        server.listen()

        def accept() -> None:
            client, _ = server.accept()
            with client:
                serve(client)

        thread = threading.Thread(target=accept)
        thread.start()
        monkeypatch.setenv("DBUS_SESSION_BUS_ADDRESS", f"unix:path={path}")
        yield
        thread.join(10)


def _read_until_gone(client: socket.socket) -> None:
    while client.recv(4_096):
        pass


def test_the_session_bus_address_is_found_as_the_system_defines_it(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.delenv("DBUS_SESSION_BUS_ADDRESS", raising=False)
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path))
    assert Bus.SESSION.address == f"unix:path={tmp_path}/bus"
    monkeypatch.delenv("XDG_RUNTIME_DIR")
    assert not Bus.SESSION.address
    with pytest.raises(BusError, match=r"^there is no session bus: its address is unknown$"):
        BusStream(Bus.SESSION)


def test_an_address_that_is_none_is_reported_in_words(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DBUS_SESSION_BUS_ADDRESS", "nonsense")
    with pytest.raises(BusError, match=r"^there is no session bus: the bus cannot be understood$"):
        BusStream(Bus.SESSION)


def test_the_system_bus_has_its_usual_place(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("DBUS_SYSTEM_BUS_ADDRESS", raising=False)
    assert Bus.SYSTEM.address.endswith("system_bus_socket")


def test_a_bus_that_never_lets_us_in_is_not_waited_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(bus_module, "ANSWER_LIMIT_S", 0.1)
    with (
        _strange_bus(tmp_path, monkeypatch, _read_until_gone),
        pytest.raises(BusError, match="no reply"),
    ):
        ask(Bus.SESSION, method_call(_MUTTER, "GetIdletime"))


def test_a_missing_bus_is_reported_in_words(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DBUS_SESSION_BUS_ADDRESS", f"unix:path={tmp_path}/none")
    with pytest.raises(BusError) as caught:
        BusStream(Bus.SESSION)
    assert str(caught.value) == "there is no session bus: no such file or directory"


def test_without_a_descriptor_no_bus_is_opened(monkeypatch: pytest.MonkeyPatch) -> None:
    def find_none(*_: object) -> socket.socket:
        raise OSError(errno.EMFILE, "Too many open files")

    monkeypatch.setattr(socket, "socket", find_none)
    with pytest.raises(BusError, match=r"^too many open files$"):
        BusConnection(Bus.SYSTEM)


def test_a_bus_that_rejects_every_user_is_unavailable(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "bus"
    with socket.socket(socket.AF_UNIX) as full, socket.socket(socket.AF_UNIX) as first:
        full.bind(str(path))
        full.listen(0)
        first.connect(str(path))
        monkeypatch.setenv("DBUS_SESSION_BUS_ADDRESS", f"unix:path={path}")
        with pytest.raises(BusError):
            BusStream(Bus.SESSION)


def test_a_bus_that_goes_away_is_noticed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with (
        _strange_bus(tmp_path, monkeypatch, lambda client: client.close()),
        pytest.raises(BusError),
    ):
        ask(Bus.SESSION, method_call(_MUTTER, "GetIdletime"))


def test_a_bus_that_refuses_us_is_unavailable(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for line in (b"REJECTED EXTERNAL\r\n", b"OK \r\nand more", b"x" * 10_000):

        def refuse(client: socket.socket, line: bytes = line) -> None:
            client.sendall(line)
            _read_until_gone(client)

        with _strange_bus(tmp_path, monkeypatch, refuse), pytest.raises(BusError):
            ask(Bus.SESSION, method_call(_MUTTER, "GetIdletime"))


def test_noise_of_a_bus_is_never_more_than_an_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    chance = random.Random(7)  # noqa: S311 - noise, not a secret
    for _ in range(100):
        noise = chance.randbytes(400)
        if chance.random() < 0.7:
            # The beginning of a message that could be one: little endian, an answer, short.
            noise = (
                b"l\2\0\1"
                + bytes((chance.randrange(64), 0, 0, 0, 2, 0, 0, 0, chance.randrange(64), 0, 0, 0))
                + noise
            )

        def serve(client: socket.socket, noise: bytes = noise) -> None:
            client.recv(4_096)
            client.sendall(b"OK 1234\r\n")
            client.recv(4_096)
            client.sendall(noise)
            client.shutdown(socket.SHUT_WR)
            _read_until_gone(client)

        with (
            _strange_bus(tmp_path, monkeypatch, serve),
            BusConnection(Bus.SESSION) as connection,
            pytest.raises(BusError),
        ):
            connection.call(method_call(_MUTTER, "GetIdletime"))


def test_messages_before_the_end_are_still_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    words = new_signal(DBusAddress("/", interface="org.example.Bus"), "Farewell", "s", ("good night",))

    def part(client: socket.socket) -> None:
        client.recv(4_096)
        client.sendall(b"OK 1234\r\n")
        client.recv(4_096)
        client.sendall(words.serialise(serial=1))
        client.shutdown(socket.SHUT_RDWR)

    with _strange_bus(tmp_path, monkeypatch, part):
        stream = BusStream(Bus.SESSION)
        received = []
        with suppress(BusError):
            while True:
                select.select([stream], [], [], 10)
                received += stream.receive()
        stream.close()
    assert [message.body for message in received] == [("good night",)]


def test_calls_and_their_errors(monkeypatch: pytest.MonkeyPatch) -> None:
    with private_buses() as buses:
        monkeypatch.setenv("DBUS_SESSION_BUS_ADDRESS", buses.address)
        with MutterService(buses, idle_ms=5), BusConnection(Bus.SESSION) as connection:
            assert connection.call(method_call(_MUTTER, "GetIdletime")) == (5,)
            with pytest.raises(CallError, match=r"^Dance$"):
                connection.call(method_call(_MUTTER, "Dance"))
            assert connection.call(method_call(_MUTTER, "GetIdletime")) == (5,)
        with pytest.raises(CallError, match=r"^it does not run here$"):
            ask(Bus.SESSION, method_call(_MUTTER, "GetIdletime"))
        with pytest.raises(CallError):
            ask_properties(Bus.SESSION, _MUTTER)


@pytest.mark.parametrize(
    ("signature", "body", "words"),
    [
        ("s", ("Permission denied.",), "Permission denied"),
        ("su", ("Two\nlines \x1b[31mof words", 7), "Two lines of words"),
        ("s", (" ",), "org.test.Failed"),
        ("u", (7,), "org.test.Failed"),
        (None, (), "org.test.Failed"),
        ("s", ("x" * 300,), f"{'x' * 199}…"),
    ],
)
def test_an_error_keeps_its_own_words(signature: str | None, body: tuple[object, ...], words: str) -> None:
    call = method_call(_MUTTER, "Dance")
    call.header.serial = 1
    error = new_error(call, "org.test.Failed", signature, body)
    with pytest.raises(CallError) as raised:
        bus_module.body_of(error)
    assert str(raised.value) == words


def test_a_signal_is_found_also_when_it_came_during_a_call(monkeypatch: pytest.MonkeyPatch) -> None:
    with private_buses() as buses, NetworkService(buses) as network:
        monkeypatch.setenv("DBUS_SYSTEM_BUS_ADDRESS", buses.address)
        with BusConnection(Bus.SYSTEM) as connection:
            connection.call(message_bus.AddMatch("type='signal'"))
            network.tell_of_state(20)
            network.tell_of_state(70)
            # The answer of the service itself comes after its signals.
            manager = Callee(network.NAME, "/org/freedesktop/NetworkManager", network.NAME)
            with pytest.raises(CallError):
                connection.call(method_call(manager, "Dance"))
            assert connection.wait_for_signal(manager.path, "StateChanged") == (20,)
            monkeypatch.setattr(bus_module, "ANSWER_LIMIT_S", 0.05)
            assert connection.wait_for_signal(manager.path, "Nothing") is None


def test_a_path_that_is_none_is_refused_before_it_is_sent() -> None:
    with pytest.raises(BusError):
        method_call(Callee("org.example.Some", "no path", "org.example.Some"), "Close")


def test_logind_reports_waking_up_but_not_of_going_to_sleep(monkeypatch: pytest.MonkeyPatch) -> None:
    received: list[Message] = []

    def receive(
        stream: BusStream, take: Callable[[BusStream], list[Message]] = BusStream.receive
    ) -> list[Message]:
        found = take(stream)
        received.extend(found)
        return found

    def has_woken_when(count: int, kind: MessageType) -> bool:
        has_woken = False
        while sum(message.header.message_type is kind for message in received) < count:
            select.select([events], [], [], 10)
            has_woken |= events.take()
        return has_woken

    monkeypatch.setattr(BusStream, "receive", receive)
    with private_buses() as buses, LoginService(buses) as logind:
        monkeypatch.setenv("DBUS_SYSTEM_BUS_ADDRESS", buses.address)
        events = WakeEvents()
        # The bus greets us, then it knows what we follow.
        assert not has_woken_when(2, MessageType.method_return)
        received.clear()
        logind.tell_of_sleep(is_going_to_sleep=True)
        assert not has_woken_when(1, MessageType.signal)
        logind.tell_of_sleep(is_going_to_sleep=False)
        assert has_woken_when(2, MessageType.signal)
        events.close()
