"""Ways out of the machine, and hosts that answer or do not."""

from __future__ import annotations

import socket
import subprocess
import sys
from collections.abc import Iterator

import pytest
from lonely_network import lonely_command

from halo_scheduler.conditions import probes as network
from halo_scheduler.conditions.probes import NoAnswerError, has_way_out, require_answer

_WAYS = """
import subprocess
from halo_scheduler.conditions import probes as network
from halo_scheduler.conditions.probes import has_way_out
def ip(*words): subprocess.run(["ip", *words], check=True)
print(has_way_out())
ip("link", "set", "lo", "up")
ip("address", "add", "10.1.1.1/24", "dev", "lo")
print(has_way_out())
ip("route", "add", "default", "dev", "lo")
print(has_way_out())
ip("route", "delete", "default")
print(has_way_out())
ip("-6", "route", "add", "default", "dev", "lo")
print(has_way_out())
"""


@pytest.fixture
def listener() -> Iterator[socket.socket]:
    with socket.create_server(("127.0.0.1", 0)) as server:
        yield server


def test_a_way_out_comes_with_a_route_not_with_an_address() -> None:
    done = subprocess.run(
        [*lonely_command(), sys.executable, "-c", _WAYS],
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    assert done.stdout.split() == ["False", "False", "True", "False", "True"], done.stderr


def test_one_family_of_addresses_is_enough(monkeypatch: pytest.MonkeyPatch) -> None:
    # Nobody may send to everybody without saying so first: the kernel refuses, as if there were no way.
    refused, known = (socket.AF_INET, "255.255.255.255"), (socket.AF_INET, "127.0.0.1")
    monkeypatch.setattr(network, "_OUTSIDE", (refused, known))
    assert has_way_out()
    monkeypatch.setattr(network, "_OUTSIDE", (refused, (999, "127.0.0.1")))
    assert not has_way_out()


def test_a_host_that_accepts_answers(listener: socket.socket) -> None:
    require_answer("127.0.0.1", listener.getsockname()[1])


def test_a_host_by_name_answers_on_whichever_of_its_addresses(listener: socket.socket) -> None:
    require_answer("localhost", listener.getsockname()[1])


def test_a_closed_port_does_not_answer() -> None:
    # Taken, so that nobody else listens there meanwhile.
    with socket.socket() as deaf:
        deaf.bind(("127.0.0.1", 0))
        with pytest.raises(NoAnswerError, match="connection refused"):
            require_answer("127.0.0.1", deaf.getsockname()[1])


@pytest.mark.parametrize("host", ["nobody.invalid", "a" * 250, "ä" * 64, ".", "1.2.3.4.5", "%", "nul\udcff"])
def test_an_unknown_host_name_does_not_answer(host: str) -> None:
    with pytest.raises(NoAnswerError, match="was not found"):
        require_answer(host, 80)


def test_one_that_is_silent_is_not_waited_for_long() -> None:
    # A queue of connections that is full: whoever comes next gets no answer.
    with socket.socket() as full, socket.socket() as first, socket.socket() as second:
        full.bind(("127.0.0.1", 0))
        full.listen(0)
        for waiting in (first, second):
            waiting.setblocking(False)
            waiting.connect_ex(full.getsockname())
        with pytest.raises(NoAnswerError, match=r"within 0\.1 s"):
            require_answer("127.0.0.1", full.getsockname()[1], limit_s=0.1)


def test_a_dead_first_address_does_not_hide_the_second(
    listener: socket.socket, monkeypatch: pytest.MonkeyPatch
) -> None:
    with socket.socket() as dead:
        dead.bind(("127.0.0.1", 0))
        stream = (socket.AF_INET, socket.SOCK_STREAM, 6, "")
        found = [
            (999, socket.SOCK_STREAM, 6, "", ("of a family nobody speaks", 1)),
            (*stream, dead.getsockname()),
            (*stream, listener.getsockname()),
        ]
        monkeypatch.setattr(socket, "getaddrinfo", lambda *_, **__: found)
        require_answer("nas.example", 22)
        monkeypatch.setattr(socket, "getaddrinfo", lambda *_, **__: found[:1])
        with pytest.raises(NoAnswerError, match="no route"):
            require_answer("nas.example", 22)
