"""Transports: what they share with others of their thread, and what they leave behind."""

from __future__ import annotations

import socket
import sys
import threading
from typing import Any

import psutil
import pytest

from halo_scheduler.web import transport as module
from halo_scheduler.web.transport import DeadlineError, RequestCancelledError, Transport


def test_a_cancelled_transport_does_not_wake_the_next_one_of_its_thread(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    with Transport() as cancelled:
        cancelled.cancel()
    polls: list[Any] = []
    poll = module._is_ready

    def counted(*arguments: Any, **options: Any) -> bool:
        polls.append(arguments)
        return poll(*arguments, **options)

    monkeypatch.setattr(module, "_is_ready", counted)
    ours, theirs = socket.socketpair()
    ours.setblocking(False)
    with theirs, Transport(0.05) as transport:
        transport.attach(ours)
        with pytest.raises(DeadlineError):
            transport.receive_into(bytearray(1))
    assert len(polls) == 1


def test_a_pause_of_the_server_is_reported_once() -> None:
    ours, theirs = socket.socketpair()
    ours.setblocking(False)
    told: list[str] = []
    with theirs, Transport(0.2) as transport:
        transport.attach(ours)
        transport.on_wait = lambda: told.append("it waits")
        theirs.send(b"!")
        transport.receive_into(bytearray(1))
        assert told == []
        with pytest.raises(DeadlineError):
            transport.receive_into(bytearray(1))
    assert told == ["it waits"]


def test_two_transports_of_a_thread_are_cancelled_apart() -> None:
    with Transport() as one, Transport() as other:
        one.cancel()
        other.check()
        with pytest.raises(RequestCancelledError):
            one.check()


@pytest.mark.skipif(sys.platform == "win32", reason="counts descriptors")
def test_transports_leave_no_descriptors_when_their_thread_has_ended() -> None:
    def use() -> None:
        for index in range(10):
            with Transport() as one, Transport():
                if index % 2:
                    one.cancel()

    before = psutil.Process().num_fds()
    thread = threading.Thread(target=use)
    thread.start()
    thread.join()
    assert psutil.Process().num_fds() == before


def test_a_socket_is_detached_only_from_a_transport_that_is_still_wanted() -> None:
    ours, theirs = socket.socketpair()
    with ours, theirs, Transport() as transport:
        transport.attach(ours)
        assert transport.detach() is ours
        transport.attach(ours)
        transport.cancel()
        assert transport.detach() is None
    assert ours.fileno() == -1


def test_a_renewed_transport_has_a_new_deadline_and_lets_others_have_their_turn() -> None:
    ours, theirs = socket.socketpair()
    ours.setblocking(False)
    with theirs, Transport(0) as transport:
        transport.attach(ours)
        with pytest.raises(DeadlineError):
            transport.receive_into(bytearray(1))
        transport.renew(30)
        theirs.send(b"x" * 20_000)
        assert transport.receive_into(bytearray(20_000)) == 20_000
        assert module._TURN.locked()
        transport.renew(0)
        assert not module._TURN.locked()
        with pytest.raises(DeadlineError):
            transport.receive_into(bytearray(1))
