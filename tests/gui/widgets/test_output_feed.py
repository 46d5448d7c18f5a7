"""Bringing a run's output into the window."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from past_runs import NOW, Past
from PySide6.QtWidgets import QWidget
from pytestqt.qtbot import QtBot

from halo_scheduler import Scheduler
from halo_scheduler.clock import ManualClock
from halo_scheduler.model.changes import Change, ChangeKind
from ui.backend.backend import Backend
from ui.widgets.output_feed import OutputFeed


@pytest.fixture
def past(tmp_path: Path) -> Iterator[Past]:
    with Scheduler.open(tmp_path / "halo.db", clock=ManualClock(NOW)) as scheduler:
        yield Past(scheduler)


class Reader(QWidget):
    """A widget that collects what a feed gives it."""

    def __init__(self, backend: Backend) -> None:
        super().__init__()
        self.backend = backend
        self.printed = b""
        self.ends = 0
        self.failures: list[str] = []
        self.feed = OutputFeed(backend, self)
        self.feed.chunk.connect(self._take)
        self.feed.ended.connect(self._end)
        self.feed.failed.connect(self.failures.append)

    def _take(self, chunk: bytes) -> None:
        self.printed += chunk

    def _end(self) -> None:
        self.ends += 1


@pytest.fixture
def reader(past: Past, qtbot: QtBot) -> Reader:
    backend = Backend.inline(past.scheduler, ManualClock(NOW))
    made = Reader(backend)
    backend.setParent(made)
    qtbot.addWidget(made)
    made.show()
    return made


def test_a_run_that_is_over_arrives_completely(past: Past, reader: Reader, qtbot: QtBot) -> None:
    run = past.run(past.job(), output=b"all of it")
    reader.feed.follow(run.id)
    qtbot.waitUntil(lambda: reader.ends == 1)
    assert reader.printed == b"all of it"
    assert reader.feed.run_id is None


def test_a_large_output_comes_in_pieces(past: Past, reader: Reader, qtbot: QtBot) -> None:
    run = past.begin(past.job(), b"x" * 900_000)
    reader.feed.follow(run.id)
    qtbot.waitUntil(lambda: len(reader.printed) == 900_000)
    assert reader.ends == 0


def test_a_run_is_followed_to_its_end(past: Past, reader: Reader, qtbot: QtBot) -> None:
    run = past.begin(past.job(), b"one\n")
    reader.feed.follow(run.id)
    qtbot.waitUntil(lambda: reader.printed == b"one\n")
    past.write(run, b"two\n")
    qtbot.waitUntil(lambda: reader.printed == b"one\ntwo\n")
    past.write(run, b"three\n")
    past.end(run, b"one\ntwo\nthree\n")
    reader.backend.tell(Change(ChangeKind.RUN_FINISHED, job_id=run.job_id, run_id=run.id))
    qtbot.waitUntil(lambda: reader.ends == 1)
    assert reader.printed == b"one\ntwo\nthree\n"


def test_progress_is_read_at_once(past: Past, reader: Reader, qtbot: QtBot) -> None:
    run = past.begin(past.job(), b"one\n")
    reader.feed.follow(run.id)
    qtbot.waitUntil(lambda: reader.printed == b"one\n")
    reader.feed._pause.stop()
    past.write(run, b"two\n")
    reader.backend.tell(Change(ChangeKind.RUN_PROGRESS, job_id=run.job_id, run_id="another"))
    reader.backend.tell(Change(ChangeKind.RUN_PROGRESS, job_id=run.job_id, run_id=run.id))
    qtbot.waitUntil(lambda: reader.printed == b"one\ntwo\n")


def test_nothing_is_read_while_hidden(past: Past, reader: Reader, qtbot: QtBot) -> None:
    run = past.begin(past.job(), b"one\n")
    reader.hide()
    reader.feed.follow(run.id)
    qtbot.waitUntil(lambda: reader.printed == b"one\n")
    assert not reader.feed._pause.isActive()
    past.write(run, b"two\n")
    reader.show()
    qtbot.waitUntil(lambda: reader.printed == b"one\ntwo\n")


def test_another_run_replaces_the_first(past: Past, reader: Reader, qtbot: QtBot) -> None:
    job_id = past.job()
    first, second = past.begin(job_id, b"first"), past.run(job_id, output=b"second")
    reader.feed.follow(first.id)
    reader.feed.follow(second.id)
    qtbot.waitUntil(lambda: reader.ends == 1)
    assert reader.printed == b"second"


def test_a_run_that_is_gone_ends_at_once(reader: Reader, qtbot: QtBot) -> None:
    reader.feed.follow("none")
    qtbot.waitUntil(lambda: reader.ends == 1)
    assert reader.printed == b""


def test_errors_are_reported(
    past: Past, reader: Reader, qtbot: QtBot, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = past.run(past.job(), output=b"text")
    monkeypatch.setattr(past.scheduler._store.outputs, "read", lambda _run_id: 1 // 0)
    reader.feed.follow(run.id)
    qtbot.waitUntil(lambda: len(reader.failures) == 1)
    assert "internal error" in reader.failures[0]


def test_a_reopened_database_continues_at_the_same_position(tmp_path: Path, qtbot: QtBot) -> None:
    with Scheduler.open(tmp_path / "halo.db", clock=ManualClock(NOW)) as scheduler:
        past = Past(scheduler)
        run = past.begin(past.job(), b"one\n")
        backend = Backend(tmp_path / "halo.db", ManualClock(NOW))
        reader = Reader(backend)
        qtbot.addWidget(reader)
        reader.show()
        reader.feed.follow(run.id)
        qtbot.waitUntil(lambda: reader.printed == b"one\n")
        backend.close_database()
        past.write(run, b"two\n")
        qtbot.waitUntil(lambda: reader.printed == b"one\ntwo\n")
        reader.feed.stop()
        backend.close()
