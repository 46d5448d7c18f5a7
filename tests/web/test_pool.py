"""Idle connections in the pool: who may use them, and when they are closed."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from contextlib import ExitStack

import pytest

from halo_scheduler.web.connection import Connection
from halo_scheduler.web.pool import ConnectionPool


class Pairs:
    """Connections to nowhere, and what their other ends are."""

    def __init__(self, stack: ExitStack) -> None:
        self._stack = stack
        self.now_s = 0.0
        self.pool = ConnectionPool(lambda: self.now_s)

    def put(self, route: str = "a") -> tuple[socket.socket, socket.socket]:
        ours, theirs = map(self._stack.enter_context, socket.socketpair())
        ours.setblocking(False)
        self.pool.put(route, ours, Connection("a.test", 80))
        return ours, theirs

    def take(self, route: str = "a") -> socket.socket | None:
        found = self.pool.take(route)
        return None if found is None else found.socket


@pytest.fixture
def pairs() -> Iterator[Pairs]:
    with ExitStack() as stack:
        made = Pairs(stack)
        yield made
        made.pool.close()


def _is_closed(one: socket.socket) -> bool:
    return one.fileno() == -1


def test_a_connection_is_given_to_one_request_of_its_route(pairs: Pairs) -> None:
    ours, _ = pairs.put("a")
    assert pairs.take("b") is None
    assert pairs.take("a") is ours
    assert pairs.take("a") is None


def test_a_connection_the_server_has_closed_is_not_used(pairs: Pairs) -> None:
    ours, theirs = pairs.put()
    theirs.close()
    assert pairs.take() is None
    assert _is_closed(ours)


def test_a_connection_on_which_the_server_spoke_unasked_is_not_used(pairs: Pairs) -> None:
    good, _ = pairs.put()
    bad, theirs = pairs.put()
    theirs.send(b"HTTP/1.1 200 OK\r\n")
    assert pairs.take() is good
    assert _is_closed(bad)


def test_an_old_connection_is_not_used(pairs: Pairs) -> None:
    ours, _ = pairs.put()
    pairs.now_s = 4.0
    assert pairs.take() is None
    assert _is_closed(ours)


def test_old_connections_are_closed_without_another_request(pairs: Pairs) -> None:
    old, _ = pairs.put()
    pairs.now_s = 2.0
    young, _ = pairs.put()
    pairs.now_s = 4.0
    pairs.pool.close_expired()
    assert _is_closed(old)
    assert not _is_closed(young)


def test_at_most_64_connections_are_kept(pairs: Pairs) -> None:
    kept = [pairs.put()[0] for _ in range(64)]
    one_more, _ = pairs.put()
    assert _is_closed(one_more)
    assert not any(map(_is_closed, kept))


def test_closing_closes_all(pairs: Pairs) -> None:
    kept = [pairs.put(route)[0] for route in "ab"]
    pairs.pool.close()
    assert all(map(_is_closed, kept))
    assert len(pairs.pool) == 0
