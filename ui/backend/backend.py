"""Runs calls of the service on their own threads and delivers the results in the GUI thread.

An fsync or a long query never blocks the window, because no call of the service runs in the GUI thread.
"""

from __future__ import annotations

import logging
import queue
import threading
import weakref
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from enum import StrEnum
from functools import partial
from pathlib import Path
from time import monotonic
from typing import Self, TypeVar

from PySide6.QtCore import QObject, Qt, Signal
from shiboken6 import isValid

from halo_scheduler.clock import Clock, SystemClock
from halo_scheduler.errors import SchedulerError
from halo_scheduler.model import Job, JobStatus, Outcome, Run, Situation
from halo_scheduler.model.alarms import StoreTrouble, UnrecordedEnd
from halo_scheduler.model.changes import YOU, Change, ChangeKind
from halo_scheduler.model.words import ERRORS
from halo_scheduler.paths import database_path
from halo_scheduler.service.scheduler import Scheduler

_LOG = logging.getLogger(__name__)
_BATCH_S = 0.03
_LARGEST_BATCH = 200
# A keyring that waits for its password must not keep the program from ending.
_LONGEST_CLOSE_S = 3.0
T = TypeVar("T")
Ends = Mapping[str, UnrecordedEnd]
"""The results still to be recorded, by job id: a job has one current run at most."""
NO_ENDS: Ends = {}


class Lane(StrEnum):
    """Which thread answers: QUICK for what the user waits for, SLOW for long work."""

    QUICK = "quick"
    SLOW = "slow"


class Asked:
    """One request; after cancel() its answer is dropped."""

    def __init__(self, owner: QObject | None) -> None:
        self._owner = None if owner is None else weakref.ref(owner)
        self._is_cancelled = False

    def cancel(self) -> None:
        self._is_cancelled = True

    def is_cancelled(self) -> bool:
        """Return whether the request was cancelled; safe to call from any thread."""
        return self._is_cancelled

    def is_wanted(self) -> bool:
        """Return, in the GUI thread, whether the owner still exists."""
        if self._is_cancelled or self._owner is None:
            return not self._is_cancelled
        owner = self._owner()
        return owner is not None and isValid(owner)


Answer = Callable[[], None]


class Backend(QObject):
    """Runs calls of the service on its threads and emits changes."""

    changed = Signal(object)
    """A Change, wherever it was made; emitted in the GUI thread."""
    fault = Signal(str)
    """A sentence about an error that no one else handles."""
    trouble_changed = Signal(object)
    """A StoreTrouble, or None when the store can be written again."""
    crash_found = Signal(object)
    """The Crash of an earlier Halo that was not reported yet, or None."""
    _answered = Signal(object)
    _changed_here = Signal(object)
    _done_with = Signal(object)

    def __init__(
        self, path: Path | None = None, clock: Clock | None = None, parent: QObject | None = None
    ) -> None:
        super().__init__(parent)
        self._path = path
        self._clock = clock or SystemClock()
        self._lanes: dict[Lane, _LaneThread] = {}
        # Kept until its thread has released it: a window must not be destroyed in that thread.
        self._tasks: dict[int, _Task] = {}
        self._inline: Scheduler | None = None
        self._is_closed = False
        self.trouble: StoreTrouble | None = None
        """The problem with the store, as the engine reports it."""
        self._answered.connect(self._deliver, Qt.ConnectionType.QueuedConnection)
        self._changed_here.connect(self.changed, Qt.ConnectionType.QueuedConnection)
        self._done_with.connect(self._let_go, Qt.ConnectionType.QueuedConnection)

    @classmethod
    def inline(cls, scheduler: Scheduler, clock: Clock, parent: QObject | None = None) -> Self:
        """Return a backend without threads, for tests: calls run at once, answers arrive through the event loop."""
        made = cls(scheduler.path, clock, parent)
        made._inline = scheduler
        scheduler.subscribe(made.changed.emit)
        return made

    def now_ms(self) -> int:
        """Return the current instant."""
        return self._clock.now_ms()

    def ask(
        self,
        work: Callable[[Scheduler], T],
        then: Callable[[T], object] | None = None,
        failed: Callable[[SchedulerError], object] | None = None,
        *,
        owner: QObject | None = None,
        lane: Lane = Lane.QUICK,
    ) -> Asked:
        """Call the service on a thread; `then` gets the result in the GUI thread.

        Without `failed`, an error is emitted as `fault`. Nothing is delivered once `owner` is gone.
        """

        def results(scheduler: Scheduler) -> Iterator[Answer]:
            result = work(scheduler)
            if then is not None:
                yield partial(_call, then, result)

        return self._submit(Asked(owner), results, failed, lane)

    def ask_stream(
        self,
        work: Callable[[Scheduler, Callable[[], bool]], Iterator[T]],
        each: Callable[[list[T]], object],
        done: Callable[[], object] | None = None,
        failed: Callable[[SchedulerError], object] | None = None,
        *,
        owner: QObject | None = None,
        lane: Lane = Lane.SLOW,
    ) -> Asked:
        """Consume an iterator on a thread until it ends or is cancelled; `each` gets its items in batches.

        `work` also gets a function that tells whether the request was cancelled.
        """
        asked = Asked(owner)

        def results(scheduler: Scheduler) -> Iterator[Answer]:
            for batch in _batches(work(scheduler, asked.is_cancelled), asked.is_cancelled):
                yield partial(_call, each, batch)
            if done is not None:
                yield partial(_call, lambda _nothing: done(), None)

        return self._submit(asked, results, failed, lane)

    def _submit(
        self,
        asked: Asked,
        results: Callable[[Scheduler], Iterator[Answer]],
        failed: Callable[[SchedulerError], object] | None,
        lane: Lane,
    ) -> Asked:
        task = _Task(asked, results, failed or self._tell_fault)
        if self._is_closed:
            return asked
        if self._inline is not None:
            task.run(self._the_inline, self._answered.emit)
            return asked
        if lane not in self._lanes:
            self._lanes[lane] = _LaneThread(lane, self._open, self._answered.emit, self._done_with.emit)
        self._tasks[id(task)] = task
        self._lanes[lane].put(task)
        return asked

    def _the_inline(self) -> Scheduler:
        if self._inline is None:
            raise RuntimeError("there is no inline scheduler")
        return self._inline

    def _open(self) -> Scheduler:
        scheduler = Scheduler.open(self._path, clock=self._clock, actor=YOU)
        # Changes made here are emitted at once, even if no engine runs that would report them.
        scheduler.subscribe(self._changed_here.emit)
        return scheduler

    @property
    def ends(self) -> Ends:
        """The results of runs that the store could not record yet."""
        return NO_ENDS if self.trouble is None else {end.job_id: end for end in self.trouble.ends}

    @property
    def path(self) -> Path:
        """The database's file."""
        return self._path or database_path()

    def show_trouble(self, trouble: StoreTrouble | None) -> None:
        """Emit the problem with the store; None if it can be written."""
        if trouble != self.trouble:
            self.trouble = trouble
            self.trouble_changed.emit(trouble)
            self.changed.emit(Change(ChangeKind.JOB))

    def tell(self, change: Change) -> None:
        """Emit a change that an engine reported."""
        self.changed.emit(change)

    def close(self) -> None:
        """Finish pending requests, drop their answers and end the threads."""
        self._is_closed = True
        self.close_database()

    def close_database(self) -> None:
        """End the threads and their connections; the next request opens the database again."""
        lanes, self._lanes = self._lanes, {}
        for lane in lanes.values():
            lane.close()

    def _deliver(self, delivery: tuple[Asked, Answer]) -> None:
        asked, answer = delivery
        if asked.is_wanted():
            answer()

    def _let_go(self, task_id: int) -> None:
        del self._tasks[task_id]

    def _tell_fault(self, error: SchedulerError) -> None:
        self.fault.emit(str(error))


def _call(then: Callable[[T], object], result: T) -> None:
    then(result)


class _Task:
    def __init__(
        self,
        asked: Asked,
        results: Callable[[Scheduler], Iterator[Answer]],
        failed: Callable[[SchedulerError], object],
    ) -> None:
        self._asked = asked
        self._results = results
        self._failed = failed

    def run(
        self, scheduler: Callable[[], Scheduler], deliver: Callable[[tuple[Asked, Answer]], None]
    ) -> None:
        if self._asked.is_cancelled():
            return
        try:
            for answer in self._results(scheduler()):
                deliver((self._asked, answer))
        except SchedulerError as error:
            self._fail(error, deliver)
        except Exception as error:  # noqa: BLE001 - a fault in one question must not end the thread
            _LOG.exception("A call to the service failed.")
            self._fail(SchedulerError(f"internal error: {error}"), deliver)

    def _fail(self, error: SchedulerError, deliver: Callable[[tuple[Asked, Answer]], None]) -> None:
        failed = self._failed
        deliver((self._asked, partial(_call, failed, error)))


class _LaneThread:
    """A plain thread with its own connection; it knows no Qt objects."""

    def __init__(
        self,
        lane: Lane,
        open_scheduler: Callable[[], Scheduler],
        deliver: Callable[[tuple[Asked, Answer]], None],
        done_with: Callable[[int], None],
    ) -> None:
        self._open = open_scheduler
        self._deliver = deliver
        self._done_with = done_with
        self._tasks: queue.SimpleQueue[_Task | None] = queue.SimpleQueue()
        self._scheduler: Scheduler | None = None
        self._thread = threading.Thread(target=self._run, name=f"halo-{lane}", daemon=True)
        self._thread.start()

    def put(self, task: _Task) -> None:
        self._tasks.put(task)

    def close(self) -> None:
        self._tasks.put(None)
        self._thread.join(_LONGEST_CLOSE_S)

    def _get(self) -> Scheduler:
        # Opened by the first request that succeeds: a database locked now may be free later.
        self._scheduler = self._scheduler or self._open()
        return self._scheduler

    def _run(self) -> None:
        while (task := self._tasks.get()) is not None:
            task.run(self._get, self._deliver)
            task_id = id(task)
            del task
            self._done_with(task_id)
        if self._scheduler is not None:
            self._scheduler.close()


def _batches(items: Iterator[T], is_cancelled: Callable[[], bool]) -> Iterator[list[T]]:
    batch: list[T] = []
    since = monotonic()
    for item in items:
        if is_cancelled():
            return
        batch.append(item)
        if len(batch) >= _LARGEST_BATCH or monotonic() - since >= _BATCH_S:
            yield batch
            batch, since = [], monotonic()
    if batch and not is_cancelled():
        yield batch


def ended_job(job: Job, ends: Ends) -> Job:
    """Return a job as after its run, if the run has ended."""
    end = ends.get(job.id)
    if end is None or job.status is not JobStatus.RUNNING:
        return job
    return replace(job, status=JobStatus.IDLE, last_outcome=end.outcome, last_completed_at=end.finished_at)


def ended_situation(situation: Situation, ends: Ends) -> Situation:
    """Return a job's situation as after its run, if the run has ended."""
    end = ends.get(situation.job_id)
    if end is None or situation.status is not JobStatus.RUNNING:
        return situation
    return situation._replace(
        status=JobStatus.IDLE,
        waiting=None,
        last_outcome=end.outcome,
        resumed_since_run=False,
        errors=situation.errors + (end.outcome in ERRORS),
    )


def ended_run(run: Run, ends: Ends) -> Run:
    """Return a run with its actual result, if it has ended."""
    end = ends.get(run.job_id)
    if end is None or end.run_id != run.id or run.outcome is not Outcome.RUNNING:
        return run
    return replace(run, outcome=end.outcome, finished_at=end.finished_at)


def still_running(runs: Iterable[Run], ends: Ends) -> list[Run]:
    """Return the runs that have not ended."""
    return [run for run in runs if ended_run(run, ends).outcome is Outcome.RUNNING]
