"""The watch on processes: gone is told once, and only when it is so."""

from __future__ import annotations

import errno
import os
import subprocess
import sys
from collections.abc import Iterator

import pytest
from process_probe import descriptor_count
from PySide6.QtCore import QObject
from pytestqt.qtbot import QtBot

from halo_scheduler.engine.notifier import HAS_PIDFD, NotifierWatch
from halo_scheduler.host.event_loop import Mailbox

pytestmark = pytest.mark.skipif(not HAS_PIDFD, reason="this system has no descriptors of processes")


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


def test_the_end_of_a_process_is_told_once_and_costs_no_descriptor(
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


def test_a_closed_watch_holds_no_descriptor(sleeper: subprocess.Popen[bytes], qtbot: QtBot) -> None:
    before = descriptor_count()
    parent = QObject()
    watch = NotifierWatch(lambda _call: None, parent)
    watch.add(sleeper.pid, sleeper.wait, lambda: None)
    assert descriptor_count() > before
    watch.close()
    qtbot.wait(0)
    assert descriptor_count() == before
