"""Timers, descriptors and calls from other threads, in a real event loop and without connections."""

from __future__ import annotations

import errno
import logging
import os
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator

import pytest
from process_probe import descriptor_count
from PySide6.QtCore import QObject
from pytestqt.qtbot import QtBot

from halo_scheduler.host.event_loop import HAS_PIDFD, Mailbox, Notifier, NotifierWatch, Timer

pytestmark = pytest.mark.skipif(not HAS_PIDFD, reason="this system has no descriptors of processes")


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


def test_a_timer_can_be_restarted_by_its_callback(parent: QObject, qtbot: QtBot) -> None:
    left = [60_000, 0]
    timer = Timer(lambda: timer.start(left.pop()), parent)
    timer.start(0)
    qtbot.waitUntil(lambda: not left)
    assert timer.remainingTime() > 50_000


def test_a_stopped_timer_does_not_fire(parent: QObject, qtbot: QtBot) -> None:
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


def test_a_mailbox_can_be_closed_by_a_callback_and_leaves_no_descriptor(
    parent: QObject, qtbot: QtBot
) -> None:
    before = descriptor_count()
    mailbox = Mailbox(parent)
    made: list[str] = []
    mailbox.post(mailbox.close)
    mailbox.post(lambda: made.append("late"))
    qtbot.waitUntil(lambda: descriptor_count() == before)
    mailbox.post(lambda: made.append("later"))
    qtbot.wait(20)
    assert not made


@pytest.fixture
def watch(qtbot: QtBot) -> Iterator[NotifierWatch]:
    parent = QObject()
    mailbox = Mailbox(parent)
    found = NotifierWatch(mailbox.post, parent)
    yield found
    found.close()
    mailbox.close()
    qtbot.wait(0)


@pytest.fixture
def sleeper() -> Iterator[subprocess.Popen[bytes]]:
    process = subprocess.Popen(["sleep", "60"])
    yield process
    process.kill()
    process.wait()


def test_the_end_of_a_process_is_reported_once_and_costs_no_descriptor(
    watch: NotifierWatch, sleeper: subprocess.Popen[bytes], qtbot: QtBot
) -> None:
    told: list[int] = []
    before = descriptor_count()
    watch.add(sleeper.pid, sleeper.wait, lambda: told.append(sleeper.pid))
    qtbot.wait(50)
    assert told == []
    sleeper.kill()
    qtbot.waitUntil(lambda: bool(told))
    qtbot.wait(50)
    assert told == [sleeper.pid]
    qtbot.waitUntil(lambda: descriptor_count() <= before)


def test_a_process_that_does_not_exist_is_gone_at_once(watch: NotifierWatch) -> None:
    gone = subprocess.Popen([sys.executable, "-c", ""])
    gone.wait()
    told: list[str] = []
    watch.add(gone.pid, gone.wait, lambda: told.append("gone"))
    assert told == ["gone"]


@pytest.mark.parametrize("number", [errno.EMFILE, errno.EPERM, errno.ENOSYS])
def test_without_a_descriptor_a_thread_waits(
    watch: NotifierWatch,
    sleeper: subprocess.Popen[bytes],
    qtbot: QtBot,
    monkeypatch: pytest.MonkeyPatch,
    number: int,
) -> None:
    def refuse(_pid: int) -> int:
        raise OSError(number, os.strerror(number))

    monkeypatch.setattr(os, "pidfd_open", refuse)
    told: list[str] = []
    watch.add(sleeper.pid, sleeper.wait, lambda: told.append("gone"))
    qtbot.wait(50)
    assert told == []
    sleeper.kill()
    qtbot.waitUntil(lambda: told == ["gone"])


def test_a_closed_watch_leaves_no_descriptor(sleeper: subprocess.Popen[bytes], qtbot: QtBot) -> None:
    before = descriptor_count()
    parent = QObject()
    watch = NotifierWatch(lambda _call: None, parent)
    watch.add(sleeper.pid, sleeper.wait, lambda: None)
    assert descriptor_count() > before
    watch.close()
    qtbot.wait(0)
    assert descriptor_count() == before
