"""Whether a run that was asked for begins: what `halo run` says of one that it does not wait for."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from concurrent.futures import Future
from pathlib import Path

import pytest
from job_values import make_run

from halo_scheduler import Manual
from halo_scheduler.cli.terminal import following
from halo_scheduler.cli.terminal.following import begins
from halo_scheduler.ipc.client import ChangeStream
from halo_scheduler.service.scheduler import Scheduler


@pytest.fixture
def scheduler(tmp_path: Path) -> Iterator[Scheduler]:
    with Scheduler.open(tmp_path / "halo.db", max_concurrent=1) as found:
        found.on_job_due(lambda *_: Future())
        yield found


@pytest.fixture
def lazy_engine(scheduler: Scheduler, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the engine look only when it is told to."""
    scheduler.tick()
    monkeypatch.setattr(following, "_MOMENT_S", 0.0)
    monkeypatch.setattr(following, "poke", lambda _: scheduler.tick())


class _Chatter:
    """Changes of other jobs without end; after some of them, something happens."""

    is_open = True

    def __init__(self, scheduler: Scheduler, job_id: str) -> None:
        self._scheduler = scheduler
        self._job_id = job_id
        self._heard = 0
        self._reading, self._writing = socket.socketpair()
        self._writing.send(b"x")

    def fileno(self) -> int:
        return self._reading.fileno()

    def drain(self) -> None:
        self._heard += 1
        if self._heard == 20:
            self._scheduler._store.runs.insert([make_run(id="awaited", job_id=self._job_id)], 1)

    def close(self) -> None:
        self._reading.close()
        self._writing.close()


def test_news_of_others_do_not_shorten_the_wait_for_a_start(
    scheduler: Scheduler, monkeypatch: pytest.MonkeyPatch
) -> None:
    chatter = _Chatter(scheduler, scheduler.add_job("job", Manual()))
    monkeypatch.setattr(ChangeStream, "connect", lambda _: chatter)
    assert begins(scheduler, "awaited")


def test_a_follower_of_output_pauses_between_polls_however_much_arrives(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    paused: list[float] = []
    monkeypatch.setattr(following, "sleep", paused.append)
    near, far = socket.socketpair()
    with near, far:
        news = following._Changes(ChangeStream(near))
        for _ in range(3):
            far.send(b"news\n")
            news.wait()
        first, *others = paused
        assert first == 0
        assert all(0 < pause <= following._SHORTEST_POLL_S for pause in others)
        far.close()
        news.wait()
        news.wait()
        assert paused[-1] == following._POLL_S


@pytest.mark.usefixtures("lazy_engine")
def test_an_engine_that_is_only_busy_is_waited_for(scheduler: Scheduler) -> None:
    assert begins(scheduler, scheduler.trigger(scheduler.add_job("job", Manual())))


@pytest.mark.usefixtures("lazy_engine")
def test_a_run_that_the_engine_does_not_start_at_once_is_reported_as_waiting(scheduler: Scheduler) -> None:
    first, second = (scheduler.trigger(scheduler.add_job(name, Manual())) for name in ("first", "second"))
    assert begins(scheduler, first)
    assert not begins(scheduler, second)


def test_an_engine_that_does_not_respond_is_not_awaited_forever(
    scheduler: Scheduler, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("_MOMENT_S", "_PATIENCE_S"):
        monkeypatch.setattr(following, name, 0.0)
    assert not begins(scheduler, scheduler.trigger(scheduler.add_job("job", Manual())))
