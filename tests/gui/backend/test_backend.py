"""Asking the service from the window: on other threads, answered in this one."""

from __future__ import annotations

import threading
import weakref
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from PySide6.QtCore import QObject
from pytestqt.qtbot import QtBot

from halo_scheduler import Every, Scheduler
from halo_scheduler.clock import ManualClock
from halo_scheduler.errors import SchedulerError
from halo_scheduler.model.changes import YOU, Change, ChangeKind
from ui.backend.backend import Backend, Lane

_NOW = 1_800_000_000_000


@pytest.fixture
def backend(tmp_path: Path, qtbot: QtBot) -> Iterator[Backend]:  # noqa: ARG001 - an event loop
    made = Backend(tmp_path / "halo.db", ManualClock(_NOW))
    yield made
    made.close()


def test_work_is_done_elsewhere_and_answered_here(backend: Backend, qtbot: QtBot) -> None:
    threads: list[threading.Thread] = []
    backend.ask(
        lambda _: threads.append(threading.current_thread()),
        lambda _: threads.append(threading.current_thread()),
    )
    qtbot.waitUntil(lambda: len(threads) == 2)
    assert threads[0] is not threading.main_thread()
    assert threads[1] is threading.main_thread()


def test_an_owner_is_released_in_its_own_thread(backend: Backend, qtbot: QtBot) -> None:
    class Asker:
        def hear(self, _answer: object) -> None:
            heard.append(None)

    heard: list[None] = []
    ends: list[threading.Thread] = []
    for _ in range(20):
        asker = Asker()
        weakref.finalize(asker, lambda: ends.append(threading.current_thread()))
        backend.ask(lambda _: None, asker.hear)
        del asker
    qtbot.waitUntil(lambda: len(ends) == 20)
    assert len(heard) == 20
    assert set(ends) == {threading.main_thread()}


def test_an_error_reaches_the_owner_of_the_request(backend: Backend, qtbot: QtBot) -> None:
    refusals: list[SchedulerError] = []
    backend.ask(lambda scheduler: scheduler.remove_job("none"), failed=refusals.append)
    qtbot.waitUntil(lambda: len(refusals) == 1)
    assert "none" in str(refusals[0])


def test_an_edit_in_the_window_is_yours(backend: Backend, qtbot: QtBot) -> None:
    actors: list[object] = []

    def add_and_look(scheduler: Scheduler) -> list[object]:
        job_id = scheduler.add_job("a", Every("1h"))
        return [event.actor for event in scheduler._store.events.of_job(job_id)]

    backend.ask(add_and_look, actors.extend)
    qtbot.waitUntil(lambda: bool(actors))
    assert actors == [YOU]


def test_an_error_without_a_handler_is_logged(backend: Backend, qtbot: QtBot) -> None:
    with qtbot.waitSignal(backend.fault) as told:
        backend.ask(lambda scheduler: scheduler.remove_job("none"))
    assert told.args == ["there is no job 'none'"]


def test_a_fault_in_the_work_does_not_end_the_thread(
    backend: Backend, qtbot: QtBot, caplog: pytest.LogCaptureFixture
) -> None:
    answers: list[object] = []
    backend.ask(lambda _: 1 // 0, failed=answers.append)
    backend.ask(lambda _: "well", answers.append)
    qtbot.waitUntil(lambda: len(answers) == 2)
    assert "internal error" in str(answers[0])
    assert answers[1] == "well"
    assert "ZeroDivisionError" in caplog.text


def test_nothing_is_delivered_to_deleted_objects(backend: Backend, qtbot: QtBot) -> None:
    answers: list[str] = []
    owner = QObject()
    begin = threading.Event()

    def work(_scheduler: Scheduler) -> str:
        begin.wait(10)
        return "late"

    backend.ask(work, answers.append, owner=owner)
    del owner
    begin.set()
    backend.ask(lambda _: "next", answers.append)
    qtbot.waitUntil(lambda: "next" in answers)
    assert answers == ["next"]


def test_a_cancelled_request_is_not_started(backend: Backend, qtbot: QtBot) -> None:
    done: list[str] = []
    begin = threading.Event()
    backend.ask(lambda _: begin.wait(10))
    asked = backend.ask(lambda _: done.append("work"), lambda _: done.append("answer"))
    asked.cancel()
    begin.set()
    backend.ask(lambda _: None, lambda _: done.append("end"))
    qtbot.waitUntil(lambda: "end" in done)
    assert done == ["end"]


def test_a_slow_request_does_not_delay_a_quick_one(backend: Backend, qtbot: QtBot) -> None:
    answers: list[str] = []
    begin = threading.Event()
    backend.ask(lambda _: begin.wait(10), lambda _: answers.append("slow"), lane=Lane.SLOW)
    backend.ask(lambda _: None, lambda _: answers.append("quick"))
    qtbot.waitUntil(lambda: answers == ["quick"])
    begin.set()
    qtbot.waitUntil(lambda: answers == ["quick", "slow"])


def test_a_stream_comes_in_pieces_and_ends(backend: Backend, qtbot: QtBot) -> None:
    batches: list[list[int]] = []
    ended: list[bool] = []
    backend.ask_stream(
        lambda _scheduler, _is_cancelled: iter(range(1_000)), batches.append, lambda: ended.append(True)
    )
    qtbot.waitUntil(lambda: bool(ended))
    assert [number for batch in batches for number in batch] == list(range(1_000))
    assert max(len(batch) for batch in batches) <= 200


def test_a_cancelled_stream_stops_where_it_is(backend: Backend, qtbot: QtBot) -> None:
    taken: list[int] = []
    ended = threading.Event()

    def endless(_scheduler: Scheduler, is_cancelled: Callable[[], bool]) -> Iterator[int]:
        try:
            while not is_cancelled():
                yield 1
        finally:
            ended.set()

    asked = backend.ask_stream(endless, taken.extend)
    qtbot.waitUntil(lambda: bool(taken))
    asked.cancel()
    assert ended.wait(10)


def test_changes_made_here_are_reported_without_an_engine(backend: Backend, qtbot: QtBot) -> None:
    heard: list[Change] = []
    backend.changed.connect(heard.append)
    backend.ask(lambda scheduler: scheduler.add_job("backup", Every("1h")))
    qtbot.waitUntil(lambda: len(heard) == 1)
    assert heard[0].kind is ChangeKind.JOB


def test_a_closed_database_is_opened_again(backend: Backend, qtbot: QtBot) -> None:
    names: list[list[str]] = []
    backend.ask(lambda scheduler: scheduler.add_job("backup", Every("1h")))
    backend.close_database()
    backend.ask(lambda scheduler: [job.name for job in scheduler.list_jobs()], names.append)
    qtbot.waitUntil(lambda: bool(names))
    assert names == [["backup"]]
