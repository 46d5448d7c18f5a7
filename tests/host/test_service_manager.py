"""Telling the service manager how the process is."""

from __future__ import annotations

import os
import socket
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from machine import START

from halo_scheduler.cli.commands.daemon import ServiceManager
from halo_scheduler.clock import ManualClock


@pytest.fixture
def heard(tmp_path: Path) -> Iterator[socket.socket]:
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as manager:
        manager.bind(str(tmp_path / "notify"))
        manager.setblocking(False)
        yield manager


def _messages(manager: socket.socket) -> list[str]:
    found: list[str] = []
    while True:
        try:
            found.append(manager.recv(4_096).decode())
        except BlockingIOError:
            return found


def _environment(manager: socket.socket, **more: str) -> dict[str, str]:
    return {"NOTIFY_SOCKET": manager.getsockname(), "HOME": "/home/me", **more}


def test_ready_status_and_stopping_are_reported(heard: socket.socket) -> None:
    manager = ServiceManager.take(_environment(heard), ManualClock(START))
    manager.notify_ready("running\nthe jobs")
    manager.notify_stopping("waiting")
    assert _messages(heard) == ["READY=1\nSTATUS=running the jobs", "STOPPING=1\nSTATUS=waiting"]


def test_no_trace_is_left_for_jobs(heard: socket.socket) -> None:
    environment = _environment(heard, WATCHDOG_USEC="1", WATCHDOG_PID="1")
    ServiceManager.take(environment, ManualClock(START))
    assert environment == {"HOME": "/home/me"}


def test_pings_are_sent_a_few_times_within_the_limit(heard: socket.socket) -> None:
    clock = ManualClock(START)
    environment = _environment(heard, WATCHDOG_USEC="240000000", WATCHDOG_PID=str(os.getpid()))
    manager = ServiceManager.take(environment, clock)
    assert manager.ping_interval_ms == 60_000
    for _ in range(240):
        manager.ping()
        clock.advance(1_000)
    assert _messages(heard) == ["WATCHDOG=1"] * 4


@pytest.mark.parametrize(
    "given",
    [
        {},
        {"WATCHDOG_USEC": "x"},
        {"WATCHDOG_USEC": "9" * 5_000},
        {"WATCHDOG_USEC": "9999", "WATCHDOG_PID": "1"},
    ],
)
def test_nothing_is_pinged_that_does_not_wait_for_it(heard: socket.socket, given: dict[str, str]) -> None:
    manager = ServiceManager.take(_environment(heard, **given), ManualClock(START))
    manager.ping()
    assert manager.ping_interval_ms == 0
    assert _messages(heard) == []


def test_without_a_manager_and_with_a_dead_one_nothing_happens(tmp_path: Path) -> None:
    for address in ("", str(tmp_path / "nobody")):
        manager = ServiceManager.take({"NOTIFY_SOCKET": address}, ManualClock(START))
        manager.notify_ready("ready")


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="only Linux has abstract sockets")
def test_an_abstract_socket_is_understood() -> None:
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as other:
        other.bind("")  # The kernel chooses a name.
        name = other.getsockname()
        other.setblocking(False)
        manager = ServiceManager.take({"NOTIFY_SOCKET": f"@{name[1:].decode()}"}, ManualClock(START))
        manager.notify_ready("ready")
        assert _messages(other) == ["READY=1\nSTATUS=ready"]
