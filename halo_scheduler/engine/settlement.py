"""Settling items: once a run's end is recorded, its work source is told what became of the item."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable
from typing import ClassVar, Protocol

from halo_scheduler.model import Outcome, SkipReason
from halo_scheduler.store.store import Store
from halo_scheduler.work.desk import WorkDesk
from halo_scheduler.work.item import SourceError, Verdict

_LOG = logging.getLogger(__name__)
_WORDS = {
    Verdict.DONE: "reported as done",
    Verdict.FAILED: "reported as failed",
    Verdict.RELEASED: "given back",
}


class Threads(Protocol):
    """Where things happen: on a thread that may wait, or on the engine's."""

    def submit(self, work: Callable[[], None]) -> None: ...

    def post(self, news: Callable[[], None]) -> None: ...


class Settlement:
    """Settles one item after another, each on a thread of its own: nothing waits for a source.

    What is not settled when the engine goes stays on disk, for the next one.
    """

    PAUSES_S: ClassVar[tuple[float, ...]] = (2.0, 10.0)

    def __init__(
        self,
        store: Store,
        desk: WorkDesk,
        threads: Threads,
        add_note: Callable[[str, str], None],
    ) -> None:
        self._store = store
        self._desk = desk
        self._threads = threads
        self._add_note = add_note
        self._is_over = threading.Event()

    def settle(self, run_id: str, wait_until_prepared: Callable[[str], None]) -> None:
        """Settle the item of a recorded run, if it has one, as soon as nothing claims for it any more."""

        def wait() -> None:
            wait_until_prepared(run_id)
            self._threads.post(lambda: self._begin(run_id))

        self._threads.submit(wait)

    def give_up(self) -> None:
        """Try nothing any more."""
        self._is_over.set()

    def _begin(self, run_id: str) -> None:
        verdict = verdict_of(self._store, run_id)
        if verdict is None or self._is_over.is_set():
            return
        tell_source = self._desk.settlement(run_id, verdict)
        if tell_source is not None:
            self._threads.submit(lambda: self._try(run_id, verdict, tell_source))

    def _try(self, run_id: str, verdict: Verdict, tell_source: Callable[[], None]) -> None:
        error: Exception | None = None
        for pause_s in (0.0, *self.PAUSES_S):
            if self._is_over.wait(pause_s):
                return
            try:
                tell_source()
            except SourceError as fault:
                error = fault
            except Exception as fault:  # noqa: BLE001 - whatever a source raises, the item is not settled
                _LOG.exception("An item could not be settled.")
                error = fault
            else:
                return
        sentence = f"the item could not be {_WORDS[verdict]}: {error}"
        self._threads.post(lambda: self._give_up_on(run_id, sentence))

    def _give_up_on(self, run_id: str, sentence: str) -> None:
        if self._is_over.is_set():
            return
        _LOG.warning("Run %s: %s", run_id, sentence)
        self._desk.forget(run_id)
        self._add_note(run_id, sentence)


def verdict_of(store: Store, run_id: str) -> Verdict | None:
    """Return what became of the item of a run, by what is recorded of it; None while it is not over."""
    run = store.runs.get(run_id)
    if run is None:
        return Verdict.RELEASED
    if run.outcome is Outcome.RUNNING:
        return None
    # Whoever waits for an answer has not finished; and what a source broke off was never begun.
    if run.reason is SkipReason.SOURCE_UNAVAILABLE or store.questions.of_run(run_id) is not None:
        return Verdict.RELEASED
    if run.outcome is Outcome.SUCCESS:
        return Verdict.DONE
    return Verdict.FAILED if run.outcome in (Outcome.FAILURE, Outcome.TIMEOUT) else Verdict.RELEASED
