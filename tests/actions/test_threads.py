"""Threads for what may block: as many as there is work, and none that is counted on but not there."""

from __future__ import annotations

import _thread
import queue
import threading

import pytest

from halo_scheduler.actions import threads
from halo_scheduler.actions.threads import DaemonPool

_LIMIT_S = 10


def test_blocking_work_does_not_delay_other_work() -> None:
    pool, go_on = DaemonPool(), threading.Event()
    done: queue.SimpleQueue[str] = queue.SimpleQueue()
    pool.submit(lambda: done.put(f"slow {go_on.wait(_LIMIT_S)}"))
    pool.submit(lambda: done.put("quick"))
    assert done.get(timeout=_LIMIT_S) == "quick"
    go_on.set()
    assert done.get(timeout=_LIMIT_S) == "slow True"


def test_work_that_got_no_thread_is_not_done_later(monkeypatch: pytest.MonkeyPatch) -> None:
    pool = DaemonPool()
    done: queue.SimpleQueue[str] = queue.SimpleQueue()

    def find_no_thread(*_: object) -> None:
        raise RuntimeError("can't start new thread")

    with monkeypatch.context() as context:
        context.setattr(_thread, "start_new_thread", find_no_thread)
        with pytest.raises(RuntimeError, match="new thread"):
            pool.submit(lambda: done.put("refused"))
    # Whoever was refused has said so by now.
    pool.submit(lambda: done.put("taken"))
    pool.submit(lambda: done.put("taken too"))
    assert {done.get(timeout=_LIMIT_S), done.get(timeout=_LIMIT_S)} == {"taken", "taken too"}


def test_a_fault_is_logged_and_the_next_work_is_done(monkeypatch: pytest.MonkeyPatch) -> None:
    pool = DaemonPool()
    done: queue.SimpleQueue[str] = queue.SimpleQueue()
    monkeypatch.setattr(threads._LOG, "exception", done.put)
    pool.submit(lambda: done.put(str(1 / 0)))
    assert "failed" in done.get(timeout=_LIMIT_S)
    pool.submit(lambda: done.put("done"))
    assert done.get(timeout=_LIMIT_S) == "done"
