"""Turns: large answers share one place, small ones never wait for it."""

from __future__ import annotations

import threading

import pytest

from halo_scheduler.web.transport import RequestCancelledError, Turns

_LARGE = 1 << 20


def _never() -> None:
    raise AssertionError("it had to wait")


def _cancelled() -> None:
    raise RequestCancelledError


def test_a_small_answer_does_not_wait_for_a_large_one() -> None:
    large, small = Turns(), Turns()
    large.take(_LARGE, _never)
    small.take(1_000, _never)
    small.give_back()
    large.leave()


def test_a_large_answer_that_waits_for_its_turn_can_be_cancelled() -> None:
    first, second = Turns(), Turns()
    first.take(_LARGE, _never)
    with pytest.raises(RequestCancelledError):
        second.take(_LARGE, _cancelled)
    second.leave()
    first.leave()
    second.take(_LARGE, _never)
    second.leave()


def test_the_next_one_gets_the_turn_when_the_first_wants_more() -> None:
    first, second, has_turn = Turns(), Turns(), threading.Event()
    first.take(_LARGE, _never)

    def wait() -> None:
        second.take(_LARGE, lambda: None)
        has_turn.set()
        second.leave()

    thread = threading.Thread(target=wait)
    thread.start()
    assert not has_turn.wait(0.05)
    first.give_back()
    assert has_turn.wait(10)
    thread.join(10)
