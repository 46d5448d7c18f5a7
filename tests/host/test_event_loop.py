"""Timers, descriptors and calls from other threads, in a real event loop and without connections."""

from __future__ import annotations

import logging
import socket
import threading
from collections.abc import Iterator

import pytest
from process_probe import descriptor_count
from PySide6.QtCore import QObject
from pytestqt.qtbot import QtBot

from halo_scheduler.host.event_loop import Mailbox, Notifier, Timer


@pytest.fixture
def parent(qapp: object) -> QObject:
    assert qapp
    return QObject()


@pytest.fixture
def mailbox(parent: QObject) -> Iterator[Mailbox]:
    found = Mailbox(parent)
    yield found
    found.close()


def test_a_timer_fires_once_for_each_start(parent: QObject, qtbot: QtBot) -> None:
    fired: list[str] = []
    timer = Timer(lambda: fired.append("fired"), parent)
    timer.start(0)
    qtbot.waitUntil(lambda: bool(fired))
    qtbot.wait(20)
    assert fired == ["fired"]
    assert not timer.isActive()
    timer.start(0)
    qtbot.waitUntil(lambda: len(fired) == 2)


def test_a_timer_can_be_started_again_by_what_it_calls(parent: QObject, qtbot: QtBot) -> None:
    left = [60_000, 0]
    timer = Timer(lambda: timer.start(left.pop()), parent)
    timer.start(0)
    qtbot.waitUntil(lambda: not left)
    assert timer.remainingTime() > 50_000


def test_a_stopped_timer_fires_no_more(parent: QObject, qtbot: QtBot) -> None:
    fired: list[str] = []
    timer = Timer(lambda: fired.append("fired"), parent)
    timer.start(0)
    timer.stop()
    qtbot.wait(20)
    assert not fired


def test_a_notifier_calls_while_there_is_something_to_read(parent: QObject, qtbot: QtBot) -> None:
    near, far = socket.socketpair()
    with near, far:
        heard: list[bytes] = []
        notifier = Notifier(near.fileno(), lambda: heard.append(near.recv(1)), parent)
        far.send(b"ab")
        qtbot.waitUntil(lambda: heard == [b"a", b"b"])
        notifier.setEnabled(False)
        far.send(b"c")
        qtbot.wait(20)
        assert heard == [b"a", b"b"]


def test_calls_are_made_in_their_order_and_in_the_thread_of_the_event_loop(
    mailbox: Mailbox, qtbot: QtBot
) -> None:
    made: list[tuple[int, int]] = []

    def post() -> None:
        for number in range(5_000):
            mailbox.post(lambda number=number: made.append((number, threading.get_ident())))  # type: ignore[misc] # bound now

    thread = threading.Thread(target=post)
    thread.start()
    thread.join()
    assert not made
    qtbot.waitUntil(lambda: len(made) == 5_000)
    assert made == [(number, threading.get_ident()) for number in range(5_000)]


def test_a_call_that_fails_keeps_none_of_the_others(
    mailbox: Mailbox, qtbot: QtBot, caplog: pytest.LogCaptureFixture
) -> None:
    made: list[str] = []
    with caplog.at_level(logging.ERROR):
        mailbox.post(lambda: made.remove("x"))
        mailbox.post(lambda: made.append("y"))
        qtbot.waitUntil(lambda: made == ["y"])
    assert "A call from another thread failed" in caplog.text


def test_a_mailbox_can_be_closed_by_a_call_and_holds_no_descriptor(parent: QObject, qtbot: QtBot) -> None:
    before = descriptor_count()
    mailbox = Mailbox(parent)
    made: list[str] = []
    mailbox.post(mailbox.close)
    mailbox.post(lambda: made.append("late"))
    qtbot.waitUntil(lambda: descriptor_count() == before)
    mailbox.post(lambda: made.append("later"))
    qtbot.wait(20)
    assert not made
