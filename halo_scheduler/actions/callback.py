"""Callback jobs: functions of the embedding program, run on threads that never hold anyone up."""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable
from concurrent.futures import Future
from dataclasses import dataclass
from typing import Any

from halo_scheduler.model import Job, Outcome, Run

Handler = Callable[[Job, Run], Any]

_IDLE_SECONDS = 10
_LONGEST_ERROR = 2_000
_ENDINGS = frozenset(Outcome) - {Outcome.RUNNING}


@dataclass(frozen=True, slots=True)
class Ended:
    """What a handler made of its run."""

    run_id: str
    outcome: Outcome
    error: str = ""


class Handlers:
    """The registered functions, by the name of the callbacks they serve; None serves all others."""

    def __init__(self) -> None:
        self._by_name: dict[str | None, Handler] = {}
        self._pool = _DaemonPool()
        self._calls = 0
        self._calls_changed = threading.Condition()

    def register(self, handler: Handler, name: str | None) -> None:
        self._by_name[name] = handler

    def find(self, name: str) -> Handler | None:
        return self._by_name.get(name) or self._by_name.get(None)

    def start(self, handler: Handler, job: Job, run: Run, ended: Callable[[Ended], None]) -> None:
        """Call the handler on a thread, and `ended` from there when the run is over."""
        with self._calls_changed:
            self._calls += 1

        def work() -> None:
            _call(handler, job, run, ended)
            with self._calls_changed:
                self._calls -= 1
                self._calls_changed.notify_all()

        self._pool.submit(work)

    def settle(self, timeout_s: float) -> None:
        """Wait until every handler has returned, be it only with a Future, or the time is over."""
        with self._calls_changed:
            self._calls_changed.wait_for(lambda: not self._calls, timeout_s)


def _call(handler: Handler, job: Job, run: Run, ended: Callable[[Ended], None]) -> None:
    try:
        result = handler(job, run)
    except BaseException as error:  # noqa: BLE001 - whatever a handler raises is the run's failure, not ours
        ended(Ended(run.id, Outcome.FAILURE, _sentence(error)))
        return
    if isinstance(result, Future):
        result.add_done_callback(lambda future: ended(_of_future(run.id, future)))
    else:
        ended(_of_result(run.id, result))


def _of_future(run_id: str, future: Future[Any]) -> Ended:
    if future.cancelled():
        return Ended(run_id, Outcome.CANCELLED)
    error = future.exception()
    return (
        _of_result(run_id, future.result())
        if error is None
        else Ended(run_id, Outcome.FAILURE, _sentence(error))
    )


def _of_result(run_id: str, result: object) -> Ended:
    if result is None:
        return Ended(run_id, Outcome.SUCCESS)
    if isinstance(result, str) and result in _ENDINGS:
        return Ended(run_id, Outcome(result))
    kind = type(result).__name__
    return Ended(
        run_id, Outcome.FAILURE, f"the handler returned a {kind}; expected None, an Outcome or a Future"
    )


def _sentence(error: BaseException) -> str:
    try:
        text = str(error)
    except Exception:  # noqa: BLE001 - an exception that cannot even be shown
        text = ""
    name = type(error).__name__
    return (
        (f"{name}: {text}" if text else name)[:_LONGEST_ERROR]
        .encode(errors="replace")
        .decode()
        .replace("\0", "")
    )


class _DaemonPool:
    """As many threads as there is work; a hung one holds up neither the others nor the exit."""

    def __init__(self) -> None:
        self._work: queue.SimpleQueue[Callable[[], None]] = queue.SimpleQueue()
        self._idle = 0
        self._lock = threading.Lock()

    def submit(self, work: Callable[[], None]) -> None:
        with self._lock:
            has_idle = self._idle > 0
            if has_idle:
                self._idle -= 1
        self._work.put(work)
        if not has_idle:
            threading.Thread(target=self._serve, name="halo-handler", daemon=True).start()

    def _serve(self) -> None:
        while True:
            try:
                work = self._work.get(timeout=_IDLE_SECONDS)
            except queue.Empty:
                with self._lock:
                    if self._idle == 0:
                        continue  # Somebody counts on this thread: its work is on the way.
                    self._idle -= 1
                    return
            work()
            with self._lock:
                self._idle += 1
