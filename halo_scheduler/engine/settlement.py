"""Settling items: once a run's end is recorded, its work source is told what became of the item."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import ClassVar, Protocol

from halo_scheduler.grammar.interval import DAY_MS, HOUR_MS, MINUTE_MS
from halo_scheduler.model import Outcome, Question, QuestionState, Run, SkipReason
from halo_scheduler.store.store import Store
from halo_scheduler.work_sources.item import SourceError, Verdict
from halo_scheduler.work_sources.work_desk import WorkDesk

_LOG = logging.getLogger(__name__)
# An outage may last for hours; whoever asks then must not press the source.
_PAUSES_MS = (MINUTE_MS, 5 * MINUTE_MS, 15 * MINUTE_MS, HOUR_MS)
_LONGEST_MS = 7 * DAY_MS
_NOT_TOLD = "the item could not be"
_WORDS = {
    Verdict.DONE: "reported as done",
    Verdict.FAILED: "reported as failed",
    Verdict.RELEASED: "given back",
}


class Threads(Protocol):
    """Where things happen: on a thread that may wait, or on the engine's."""

    def submit(self, work: Callable[[], None]) -> None: ...

    def post(self, news: Callable[[], None]) -> None: ...

    def now_ms(self) -> int: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class _Report:
    """What a source is to be told about the item of a run, and how often that was tried in vain."""

    run_id: str
    run: Run | None
    verdict: Verdict
    is_noted: bool
    """Whether the run says already, perhaps since an earlier engine, that its item could not be settled."""
    tries: int = 0
    due_at: int = 0

    def is_hopeless(self, now_ms: int) -> bool:
        """Tell whether it was tried for long enough; a clock that jumps does not decide that alone."""
        ended_at = None if self.run is None else self.run.finished_at
        is_old = now_ms - (now_ms if ended_at is None else ended_at) >= _LONGEST_MS
        return self.tries >= len(_PAUSES_MS) and (is_old or self.tries * HOUR_MS >= _LONGEST_MS)


class Settlement:
    """Settles one item after another, each on a thread of its own: nothing waits for a source.

    What cannot be told is tried again later and later, for a week. What is not settled when the engine goes stays
    on disk, for the next one.
    """

    PAUSES_S: ClassVar[tuple[float, ...]] = (2.0, 10.0)

    def __init__(
        self,
        store: Store,
        desk: WorkDesk,
        threads: Threads,
        add_note: Callable[[Run, str], None],
    ) -> None:
        self._store = store
        self._desk = desk
        self._threads = threads
        self._add_note = add_note
        self._later: dict[str, _Report] = {}
        self._held: set[str] = set()
        self._is_over = threading.Event()

    def settle(self, run_id: str, wait_until_prepared: Callable[[str], None]) -> None:
        """Settle the item of a recorded run, if it has one, as soon as nothing claims for it any more."""

        def wait() -> None:
            wait_until_prepared(run_id)
            self._threads.post(lambda: self._begin(run_id))

        self._threads.submit(wait)

    def look_at_questions(self) -> None:
        """Settle the items that no answer is waited for any more."""
        for run_id in [run_id for run_id in self._held if verdict_of(self._store, run_id) is not None]:
            self._begin(run_id)

    def give_up(self) -> None:
        """Try nothing any more."""
        self._is_over.set()

    @property
    def due_at(self) -> int | None:
        """When it wants to be polled again."""
        return min((report.due_at for report in self._later.values()), default=None)

    def poll(self, now_ms: int) -> None:
        """Try again what is due."""
        for report in [report for report in self._later.values() if report.due_at <= now_ms]:
            del self._later[report.run_id]
            self._submit(report, ())

    def shift(self, by_ms: int) -> None:
        """Move all instants it waits for: the clock was set."""
        self._later = {
            run_id: replace(report, due_at=report.due_at + by_ms) for run_id, report in self._later.items()
        }

    def _begin(self, run_id: str) -> None:
        verdict = verdict_of(self._store, run_id)
        self._held.discard(run_id)
        if verdict is None:
            self._held.add(run_id)
        else:
            run = self._store.runs.get(run_id)
            is_noted = run is not None and _NOT_TOLD in run.note
            report = _Report(run_id=run_id, run=run, verdict=verdict, is_noted=is_noted)
            self._submit(report, self.PAUSES_S)

    def _submit(self, report: _Report, pauses_s: tuple[float, ...]) -> None:
        tell_source = None if self._is_over.is_set() else self._desk.settlement(report.run_id, report.verdict)
        if tell_source is not None:
            self._threads.submit(lambda: self._try(report, tell_source, pauses_s))

    def _try(self, report: _Report, tell_source: Callable[[], None], pauses_s: tuple[float, ...]) -> None:
        error: Exception | None = None
        for pause_s in (0.0, *pauses_s):
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
                if report.is_noted:
                    self._threads.post(lambda: self._note(report, f"by now it was {_WORDS[report.verdict]}"))
                return
        self._threads.post(lambda: self._put_off(replace(report, tries=report.tries + 1), str(error)))

    def _put_off(self, report: _Report, error: str) -> None:
        if self._is_over.is_set():
            return
        now_ms = self._threads.now_ms()
        sentence = f"{_NOT_TOLD} {_WORDS[report.verdict]}"
        if report.is_hopeless(now_ms):
            self._desk.forget(report.run_id)
            self._note(report, f"{sentence} within 7 days, so nobody tries it any more: {error}")
            return
        pause_ms = _PAUSES_MS[min(report.tries, len(_PAUSES_MS)) - 1]
        self._later[report.run_id] = replace(report, due_at=now_ms + pause_ms, is_noted=True)
        if not report.is_noted:
            self._note(report, f"{sentence}, which is tried again for 7 days: {error}")

    def _note(self, report: _Report, sentence: str) -> None:
        _LOG.warning("Run %s: %s", report.run_id, sentence)
        if report.run is not None:
            self._add_note(report.run, sentence)


def verdict_of(store: Store, run_id: str) -> Verdict | None:
    """Return what became of the item of a run, by what is recorded of it; None while it is not over.

    The item of a run that left a question waits with it: it is not done, and nobody else is to ask the same again.
    """
    run = store.runs.get(run_id)
    question = store.questions.of_run(run_id)
    if question is not None:
        return None if _is_waited_for(store, question) else Verdict.RELEASED
    if run is None:
        return Verdict.RELEASED
    if run.outcome is Outcome.RUNNING:
        return None
    if run.reason is SkipReason.SOURCE_UNAVAILABLE:
        return Verdict.RELEASED  # What a source broke off was never begun.
    if run.outcome is Outcome.SUCCESS:
        return Verdict.DONE
    return Verdict.FAILED if run.outcome in (Outcome.FAILURE, Outcome.TIMEOUT) else Verdict.RELEASED


def _is_waited_for(store: Store, question: Question) -> bool:
    """Tell whether a run with the answer to a question is still to come, or under way: it takes the item over."""
    record = store.jobs.get(question.job_id)
    if record is None or record.removed_at is not None or question.state is QuestionState.DISMISSED:
        return False
    answer = None if question.answer_run_id is None else store.runs.get(question.answer_run_id)
    return answer is None or answer.outcome is Outcome.RUNNING
