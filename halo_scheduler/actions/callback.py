"""Callback jobs: Python functions of the embedding program, each run on its own thread."""

from __future__ import annotations

import threading
from collections.abc import Awaitable, Callable
from concurrent.futures import Future
from typing import Any

from halo_scheduler.actions.run_services import Ended
from halo_scheduler.actions.threads import DaemonPool
from halo_scheduler.model import Job, Outcome, Run
from halo_scheduler.model.messages import Message, MessageKind, message

Handler = Callable[[Job, Run], Any]

_LONGEST_ERROR = 2_000
_ENDINGS = frozenset(Outcome) - {Outcome.RUNNING}


class Handlers:
    """The registered functions, by callback name; None handles all other names."""

    def __init__(self, pool: DaemonPool) -> None:
        self._by_name: dict[str | None, Handler] = {}
        self._pool = pool
        self._calls = 0
        self._calls_changed = threading.Condition()

    def register(self, handler: Handler, name: str | None) -> None:
        self._by_name[name] = handler

    def find(self, name: str) -> Handler | None:
        return self._by_name.get(name) or self._by_name.get(None)

    def start(self, handler: Handler, job: Job, run: Run, ended: Callable[[Ended], None]) -> None:
        """Call the handler on a thread, and `ended` from there when the run ends."""
        with self._calls_changed:
            self._calls += 1

        def work() -> None:
            _call(handler, job, run, ended)
            with self._calls_changed:
                self._calls -= 1
                if not self._calls:
                    self._calls_changed.notify_all()

        self._pool.submit(work)

    def settle(self, timeout_s: float) -> None:
        """Wait until every handler has returned, possibly with a Future, or the time is up."""
        with self._calls_changed:
            self._calls_changed.wait_for(lambda: not self._calls, timeout_s)


def _call(handler: Handler, job: Job, run: Run, ended: Callable[[Ended], None]) -> None:
    try:
        result = handler(job, run)
        if isinstance(result, Awaitable):
            result = _awaited(result)
    except BaseException as error:  # noqa: BLE001 - whatever a handler raises is the run's failure, not ours
        ended(Ended(run_id=run.id, outcome=Outcome.FAILURE, message=_raised(error)))
        return
    if isinstance(result, Future):
        result.add_done_callback(lambda future: ended(_of_future(run.id, future)))
    else:
        ended(_of_result(run.id, result))


def _awaited(result: Awaitable[Any]) -> Any:
    """Return the result of an asynchronous handler, run in this thread's own event loop."""
    import asyncio  # noqa: PLC0415 - for asynchronous handlers only

    async def wait() -> Any:
        return await result

    return asyncio.run(wait())


def _of_future(run_id: str, future: Future[Any]) -> Ended:
    if future.cancelled():
        return Ended(run_id=run_id, outcome=Outcome.CANCELLED)
    error = future.exception()
    return (
        _of_result(run_id, future.result())
        if error is None
        else Ended(run_id=run_id, outcome=Outcome.FAILURE, message=_raised(error))
    )


def _of_result(run_id: str, result: object) -> Ended:
    if result is None:
        return Ended(run_id=run_id, outcome=Outcome.SUCCESS)
    if isinstance(result, str) and result in _ENDINGS:
        return Ended(run_id=run_id, outcome=Outcome(result))
    kind = type(result).__name__
    why = message(MessageKind.HANDLER_RETURNED, type=kind)
    return Ended(run_id=run_id, outcome=Outcome.FAILURE, message=why)


def _raised(error: BaseException) -> Message:
    try:
        text = str(error)
    except Exception:  # noqa: BLE001 - an exception that cannot even be shown
        text = ""
    shown = text[:_LONGEST_ERROR].encode(errors="replace").decode().replace("\0", "")
    return message(MessageKind.HANDLER_RAISED, error=type(error).__name__, text=shown)
