"""Cleanup after recorded runs: their spool files, work items and surviving processes."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from typing import ClassVar, Protocol

from halo_scheduler.actions.run_services import Ended, Late
from halo_scheduler.actions.runner import Leftover
from halo_scheduler.engine.active_runs import ActiveRun, ActiveRuns
from halo_scheduler.engine.handle import Handle
from halo_scheduler.engine.starting import RunResources
from halo_scheduler.grammar.interval import DAY_MS, HOUR_MS, MINUTE_MS
from halo_scheduler.host.process_tree import marked_processes
from halo_scheduler.host.reaper import REAPER
from halo_scheduler.model import ERRORS, Outcome, Question, QuestionState, Run, SkipReason
from halo_scheduler.model.messages import Message, MessageKind, message
from halo_scheduler.store.store import Store
from halo_scheduler.wording.messages import error_message, message_words
from halo_scheduler.work_sources.item import SourceError, Verdict
from halo_scheduler.work_sources.work_desk import WorkDesk

_LOG = logging.getLogger(__name__)
# An outage may last for hours: the delays between retries grow, to spare the source.
_PAUSES_MS = (MINUTE_MS, 5 * MINUTE_MS, 15 * MINUTE_MS, HOUR_MS)
_LONGEST_MS = 7 * DAY_MS
_DELAY_MS = 1_000
_MOST_NAMED = 10
ReadLater = Callable[[Run, Iterable[str], Callable[[Late], None]], None]
_REAP_PAUSE_MS = 1_000


class Threads(Protocol):
    """Runs calls on a worker thread, which may block, or on the engine's thread."""

    def submit(self, work: Callable[[], None]) -> None: ...

    def post(self, news: Callable[[], None]) -> None: ...

    def now_ms(self) -> int: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class _Report:
    """A work item's result that must be reported to its queue, and the failed attempts so far."""

    run_id: str
    run: Run | None
    verdict: Verdict
    is_noted: bool
    """Whether the run says already, perhaps since an earlier engine, that its item could not be settled."""
    tries: int = 0
    due_at: int = 0

    def is_hopeless(self, now_ms: int) -> bool:
        """Return whether it was retried long enough to give up; a clock jump alone does not suffice."""
        ended_at = None if self.run is None else self.run.finished_at
        is_old = now_ms - (now_ms if ended_at is None else ended_at) >= _LONGEST_MS
        return self.tries >= len(_PAUSES_MS) and (is_old or self.tries * HOUR_MS >= _LONGEST_MS)


class Settlement:
    """Reports the results of work items to their queues, each on its own thread.

    A failed report is retried with increasing delay for a week. What is unsettled when the engine stops stays on disk,
    for the next one.
    """

    PAUSES_S: ClassVar[tuple[float, ...]] = (2.0, 10.0)

    def __init__(
        self,
        store: Store,
        desk: WorkDesk,
        threads: Threads,
        add_note: Callable[[Run, Message], None],
    ) -> None:
        self._store = store
        self._desk = desk
        self._threads = threads
        self._add_note = add_note
        self._later: dict[str, _Report] = {}
        self._held: set[str] = set()
        self._is_over = threading.Event()

    def settle(self, run_id: str, wait_until_prepared: Callable[[str], None]) -> None:
        """Settle the work item of a recorded run, if any, once the call that claims items has returned."""

        def wait() -> None:
            wait_until_prepared(run_id)
            self._threads.post(lambda: self._begin(run_id))

        self._threads.submit(wait)

    def look_at_questions(self) -> None:
        """Settle the items that waited for an answer which will not come."""
        for run_id in [run_id for run_id in self._held if verdict_of(self._store, run_id) is not None]:
            self._begin(run_id)

    def give_up(self) -> None:
        """Stop retrying."""
        self._is_over.set()

    @property
    def due_at(self) -> int | None:
        """When it is due for a poll."""
        return min((report.due_at for report in self._later.values()), default=None)

    def poll(self, now_ms: int) -> None:
        """Retry the reports that are due."""
        for report in [report for report in self._later.values() if report.due_at <= now_ms]:
            del self._later[report.run_id]
            self._submit(report, ())

    def shift(self, by_ms: int) -> None:
        """Shift all retry times after the clock was set."""
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
            is_noted = run is not None and any(
                note.kind is MessageKind.ITEM_NOT_SETTLED for note in run.notes
            )
            report = _Report(run_id=run_id, run=run, verdict=verdict, is_noted=is_noted)
            self._submit(report, self.PAUSES_S)

    def _submit(self, report: _Report, pauses_s: tuple[float, ...]) -> None:
        tell_source = None if self._is_over.is_set() else self._desk.settlement(report.run_id, report.verdict)
        if tell_source is not None:
            self._threads.submit(lambda: self._try(report, tell_source, pauses_s))

    def _try(self, report: _Report, tell_source: Callable[[], None], pauses_s: tuple[float, ...]) -> None:
        error = message(MessageKind.TEXT, text="")
        for pause_s in (0.0, *pauses_s):
            if self._is_over.wait(pause_s):
                return
            try:
                tell_source()
            except SourceError as fault:
                error = fault.message
            except Exception as fault:  # noqa: BLE001 - whatever a source raises, the item is not settled
                _LOG.exception("The result of a work item could not be reported.")
                error = error_message(fault)
            else:
                if report.is_noted:
                    settled = message(MessageKind.ITEM_SETTLED_LATE, verdict=report.verdict)
                    self._threads.post(partial(self._note, report, settled))
                return
        self._threads.post(lambda: self._put_off(replace(report, tries=report.tries + 1), error))

    def _put_off(self, report: _Report, error: Message) -> None:
        if self._is_over.is_set():
            return
        now_ms = self._threads.now_ms()
        if report.is_hopeless(now_ms):
            self._desk.forget(report.run_id)
            self._note(report, _not_settled(report, error, is_final=True))
            return
        pause_ms = _PAUSES_MS[min(report.tries, len(_PAUSES_MS)) - 1]
        self._later[report.run_id] = replace(report, due_at=now_ms + pause_ms, is_noted=True)
        if not report.is_noted:
            self._note(report, _not_settled(report, error, is_final=False))

    def _note(self, report: _Report, note: Message) -> None:
        _LOG.warning("Run %s: %s", report.run_id, message_words(note))
        if report.run is not None:
            self._add_note(report.run, note)


def _not_settled(report: _Report, error: Message, *, is_final: bool) -> Message:
    return message(MessageKind.ITEM_NOT_SETTLED, verdict=report.verdict, is_final=is_final, error=error)


def verdict_of(store: Store, run_id: str) -> Verdict | None:
    """Return the result of a run's work item from the run's record; None while it is undecided.

    The item of a run with an open question stays taken, so that no other run asks the same again.
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
        return Verdict.RELEASED  # The work queue was closed before the item was started.
    if run.outcome is Outcome.SUCCESS:
        return Verdict.DONE
    return Verdict.FAILED if run.outcome in ERRORS else Verdict.RELEASED


def _is_waited_for(store: Store, question: Question) -> bool:
    """Return whether a run with the answer to a question is requested or active; it takes over the item."""
    record = store.jobs.get(question.job_id)
    if record is None or record.removed_at is not None or question.state is QuestionState.DISMISSED:
        return False
    answer = None if question.answer_run_id is None else store.runs.get(question.answer_run_id)
    return answer is None or answer.outcome is Outcome.RUNNING


class SurvivorScan:
    """Collects runs and looks for their processes in one scan, because scanning all processes is expensive."""

    def __init__(self) -> None:
        self._runs: dict[str, Run] = {}
        self.due_at: int | None = None

    def add(self, run: Run, now_ms: int) -> None:
        """Look for this run's processes in the next scan."""
        self._runs[run.id] = run
        self.due_at = self.due_at or now_ms + _DELAY_MS

    def shift(self, by_ms: int) -> None:
        """Shift the time of the next scan after the clock was set."""
        self.due_at = None if self.due_at is None else self.due_at + by_ms

    def take(self) -> Callable[[], list[tuple[Run, Message]]]:
        """Return the scan for these runs' processes, for any thread; it reports the runs that left some."""
        runs, self._runs, self.due_at = self._runs, {}, None
        return lambda: [
            (runs[run_id], _left_running(pids)) for run_id, pids in marked_processes(runs).items()
        ]


def _left_running(pids: list[int]) -> Message:
    return message(MessageKind.LEFT_RUNNING, pids=pids[:_MOST_NAMED])


class DeferredOutputs:
    """Tracks which recorded runs' output is unstored, on any thread: still to be read, or read but not stored yet."""

    def __init__(self) -> None:
        self.unstored: set[str] = set()
        self.arrived: dict[str, tuple[Run, Late]] = {}

    def expect(self, run_ids: Iterable[str]) -> None:
        """Note that the output of runs is still to be read."""
        self.unstored.update(run_ids)

    def fetch(self, run: Run, names: frozenset[str], read_later: ReadLater) -> None:
        """Read the output of a recorded run once its secrets are available."""

        def arrive(late: Late) -> None:
            self.arrived[run.id] = run, late

        self.unstored.add(run.id)
        read_later(run, names, arrive)

    def is_awaited(self, run_id: str) -> bool:
        """Return whether the output of a recorded run is still to be read."""
        return run_id in self.unstored and run_id not in self.arrived

    def take_stored(self) -> list[str]:
        """Forget the outputs that are now stored, and return whose they were."""
        stored = list(self.arrived)
        self.unstored.difference_update(stored)
        self.arrived.clear()
        return stored


class PostRun:
    """Cleans up after the runs of this engine and of the previous one."""

    def __init__(self, store: Store, resources: RunResources, handle: Handle) -> None:
        self._store = store
        self._resources = resources
        self._handle = handle
        self.settlement = Settlement(store, resources.work_desk, handle, handle.note_on)
        self.scan = SurvivorScan()
        self.deferred_outputs = DeferredOutputs()
        self._is_adopting = False
        self._reaped_at = 0
        self._reap_at: int | None = None

    def clear(self, ends: Iterable[Ended], runs: ActiveRuns, now_ms: int) -> None:
        """Delete the files of recorded runs, and settle their work items."""
        for run_id in self.deferred_outputs.take_stored():
            with _one_run():
                self._resources.clear_spool(run_id)
                self._settle(run_id)
        for ended in ends:
            if ended.run_id in runs.works:
                with _one_run():
                    self._clear_one(ended, runs[ended.run_id], now_ms)

    def _clear_one(self, ended: Ended, active_run: ActiveRun, now_ms: int) -> None:
        run = active_run.run
        if ended.needs_secrets:
            self._fetch_output(run, ended.needs_secrets)
        else:
            if ended.has_files:
                self._resources.clear_spool(run.id)
            if active_run.takes_items:
                self._settle(run.id)
        if ended.exit_code is not None and not ended.notes:
            self.scan.add(run, now_ms)

    def take_up(self, ended: Iterable[Leftover], running: frozenset[str]) -> None:
        """Clean up after the ended runs of the previous engine."""
        waiting: set[str] = set()
        known = set(running)
        for left in ended:
            known.add(left.run.id)
            if left.ended.needs_secrets:
                self._fetch_output(left.run, left.ended.needs_secrets)
                waiting.add(left.run.id)
            else:
                self._resources.clear_spool(left.run.id)
        waiting |= self._take_up_outputs(known)
        for run_id in self._resources.work_desk.claimed() - running - waiting:
            self._settle(run_id)

    def _take_up_outputs(self, known: set[str]) -> set[str]:
        """Store the outputs that waited for secrets when the previous engine stopped, and delete useless files."""
        waiting: set[str] = set()
        for run_id in self._resources.runner.left_behind() - known:
            run = self._store.runs.get(run_id)
            names = self._resources.runner.secrets_of(run_id)
            if run is not None and names and not self._store.outputs.has(run_id):
                self._fetch_output(run, names)
                waiting.add(run_id)
            else:
                self._resources.clear_spool(run_id)
        return waiting

    def _fetch_output(self, run: Run, names: frozenset[str]) -> None:
        self.deferred_outputs.fetch(run, names, self._resources.runner.read_later)

    def _settle(self, run_id: str) -> None:
        self.settlement.settle(run_id, self._resources.runner.wait_until_prepared)

    # --- Later ---------------------------------------------------------------------------------------

    @property
    def due_at(self) -> int | None:
        """When it is due for a poll."""
        instants = (self.scan.due_at, self.settlement.due_at, self._reap_at)
        return min((at for at in instants if at is not None), default=None)

    def poll(self, now_ms: int) -> None:
        """Do what is due."""
        if self.scan.due_at is not None and self.scan.due_at <= now_ms:
            # On another thread: the scan covers all processes of the computer, which may be thousands.
            look = self.scan.take()
            self._handle.submit(lambda: self._handle.post(partial(self._note_survivors, look())))
        self.settlement.poll(now_ms)
        if self._is_adopting and abs(now_ms - self._reaped_at) >= _REAP_PAUSE_MS:
            self._reap(now_ms)

    def _reap(self, now_ms: int) -> None:
        """Reap orphans whenever the engine is awake; check again soon only if some had ended."""
        self._reaped_at = now_ms
        self._reap_at = now_ms + _REAP_PAUSE_MS if REAPER.reap(now_ms) else None

    def start_adopting(self) -> None:
        """Become the subreaper of the processes that runs leave, where the system supports it."""
        self._is_adopting = self._is_adopting or REAPER.start()

    def stop_adopting(self) -> None:
        if self._is_adopting:
            REAPER.stop()
        self._is_adopting, self._reap_at = False, None

    def shift(self, by_ms: int) -> None:
        """Shift all instants after the clock was set."""
        self.scan.shift(by_ms)
        self.settlement.shift(by_ms)
        self._reap_at = None if self._reap_at is None else self._reap_at + by_ms

    def give_up(self) -> None:
        """Stop retrying; scan for surviving processes at once."""
        self.settlement.give_up()
        self._note_survivors(self.scan.take()())

    def _note_survivors(self, found: list[tuple[Run, Message]]) -> None:
        for run, note in found:
            self._handle.note_on(run, note)


@contextmanager
def _one_run() -> Iterator[None]:
    """Keep an error in the cleanup after one run from affecting claimed runs."""
    try:
        yield
    except Exception:  # noqa: BLE001 - whatever it was, the end is recorded, and must not be a second time
        _LOG.exception("The files of a run could not be cleaned up; the next start retries.")
