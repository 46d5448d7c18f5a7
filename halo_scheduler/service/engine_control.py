"""Controls the engine of a database from a scheduler: start, tick, stop, status."""

from __future__ import annotations

import logging
import sys
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from time import monotonic
from typing import TYPE_CHECKING

from halo_scheduler.errors import SchedulerError, SchedulerShutdownError, StaleEngineError, StoreError
from halo_scheduler.grammar.english import counted
from halo_scheduler.grammar.interval import SECOND_MS
from halo_scheduler.host.process import is_alive
from halo_scheduler.ipc.client import ask_to_stop, read_trouble
from halo_scheduler.model import JobSpec, ProcessAction
from halo_scheduler.model.changes import Change, ChangeKind
from halo_scheduler.service.session import Session
from halo_scheduler.store.requests import Request, RequestKind
from halo_scheduler.store.settings import MAX_CONCURRENT
from halo_scheduler.wording.measures import duration_in_words

if TYPE_CHECKING:
    from PySide6.QtCore import QObject

    from halo_scheduler.actions.callback import Handler, Handlers
    from halo_scheduler.actions.threads import DaemonPool
    from halo_scheduler.conditions.surroundings import Surroundings
    from halo_scheduler.engine.engine import Engine
    from halo_scheduler.engine.test_run import Trial
    from halo_scheduler.model.alarms import Alarm, StoreTrouble

_LOG = logging.getLogger(__name__)
_SETTLE_S = 1.0
_STOP_RUNS_MS = 60_000  # beyond the grace that jobs give their runs
_NO_THREADS = (
    "jobs cannot be run: the system gives you no more processes or threads; end some, "
    "or raise that limit (ulimit -u)"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Status:
    """The state of a database's engine, in this or another process.

    `state` is `running`, `stopping` (it starts no more runs and waits for the current ones) or `stopped`.
    """

    state: str
    owner: str
    pid: int | None
    started_at: int | None
    last_tick_at: int | None
    ticks: int
    runs: int
    running: int
    running_by_group: Mapping[str, int]
    next_due_at: int | None


class EngineControl:
    """Starts and stops an engine in this process; `lost_by` is the error that ended the last one here."""

    def __init__(self, session: Session, max_concurrent: int | None, owner: str) -> None:
        self._session = session
        self._store = session.store
        self._owner = owner or Path(sys.argv[0]).name or "Python"
        self._max_concurrent = max_concurrent
        self._pool: DaemonPool | None = None
        self._handlers: Handlers | None = None
        self._engine: Engine | None = None
        self.lost_by: SchedulerError | None = None
        self._has_tried = False
        self._is_stop_cancelled = False
        self.surroundings: Surroundings | None = None
        """What conditions are checked against; None for the computer's own surroundings."""

    @property
    def is_running(self) -> bool:
        """Whether an engine started by `start` runs here and still holds its lease."""
        return self._session.loop is not None

    def status(self) -> Status:
        """Return the state of the engine, in this or another process."""
        row = self._store.lease.read()
        is_held = (
            row is not None
            and row.is_held(self._session.clock.now_ms())
            and is_alive(row.pid, row.process_start)
        )
        is_stopping = row is not None and row.stopping_at is not None
        return Status(
            state=("stopping" if is_stopping else "running") if is_held else "stopped",
            owner=row.owner if row and is_held else "",
            pid=row.pid if row and is_held else None,
            started_at=row.started_at if row and is_held else None,
            last_tick_at=row.last_tick_at if row else None,
            ticks=row.ticks if row else 0,
            runs=row.runs if row else 0,
            running=self._store.runs.count_running(),
            running_by_group=self._store.runs.running_by_group(),
            next_due_at=self._store.jobs.next_due(),
        )

    def require_in_place(self) -> None:
        """Raise StoreReplacedError if the database file was deleted or replaced since it was opened."""
        self._store.database.require_in_place()

    def release_lost(self) -> None:
        """Release the lease of an engine of this process that ended when its database file was gone for a while."""
        row = self._store.lease.read()
        if row is not None:
            with self._store.transaction():
                self._store.lease.give_up(row.generation, row.last_tick_at)

    def trouble(self) -> StoreTrouble | None:
        """Return the engine's problem with the store, in whichever process it runs."""
        return read_trouble(self._session.path)

    def stop_run(self, run_id: str) -> bool:
        """Ask the engine to stop a started run without the store; return whether one received it."""
        # The engine keeps active runs in memory; only waiting ones can disappear from the store.
        with suppress(StoreError):
            if self._store.runs.get(run_id) is None:
                return False
        if self._session.loop is None:
            return ask_to_stop(self._session.path, run_id)
        self._session.loop.stop_run(run_id)
        return True

    def refresh_environment(self) -> None:
        """Have the engine read the login shell's environment again before the next command."""
        request = Request(kind=RequestKind.REFRESH, job_id="", run_id="", at=self._session.clock.now_ms())
        self._store.requests.append(request)
        self._session.changed(Change(ChangeKind.ENGINE))

    def on_job_due(self, handler: Handler, name: str | None = None) -> None:
        """Register the handler of callback jobs with this name; without a name, of all others."""
        self.get_handlers().register(handler, name)

    def try_job(self, spec: JobSpec, parent: QObject | None = None) -> Trial:
        """Return a test run of a job that is not stored; it needs this thread's Qt event loop."""
        from halo_scheduler.actions.run_context import context_of  # noqa: PLC0415 - only when needed
        from halo_scheduler.engine.test_run import Trial, clear_left_trials, trial_folder  # noqa: PLC0415 - Qt

        folder = trial_folder(self._session.path)
        if not self._has_tried:
            clear_left_trials(folder)
            self._has_tried = True
        context = context_of(self._store, "", spec, None)
        return Trial(spec, folder, self._session.secrets.reader, self._session.clock, parent, context=context)

    # --- Starting and ticking ------------------------------------------------------------------------

    def start(
        self,
        *,
        adopt_orphans: bool = False,
        heartbeat: Callable[[], None] = lambda: None,
        heartbeat_ms: int | None = None,
        alarmed: Callable[[Alarm], None] = lambda _alarm: None,
    ) -> None:
        """Start running due jobs in a Qt event loop; `Scheduler.start` describes the arguments.

        Has no effect while the engine already runs here.
        """
        from halo_scheduler.actions.launch import is_out_of_threads  # noqa: PLC0415 - loaded with the engine
        from halo_scheduler.engine.loop import EngineLoop  # noqa: PLC0415 - Qt, only when needed

        if self._session.loop is not None:
            return
        engine = self.get_engine()
        loop = EngineLoop(
            engine,
            self._session.clock,
            self._store,
            changed=self._session.publish,
            lost=self._lose_engine,
            heartbeat=heartbeat,
            heartbeat_ms=heartbeat_ms,
            alarmed=alarmed,
        )
        try:
            loop.start()
        except BaseException as error:
            # The loop holds descriptors as soon as it is created.
            loop.stop()
            loop.deleteLater()
            engine.release()
            self._engine = None
            if is_out_of_threads(error):
                raise SchedulerError(_NO_THREADS) from error
            raise
        if adopt_orphans:
            engine.adopt_orphans()
        self._session.loop = loop

    def _lose_engine(self, error: SchedulerError) -> None:
        self.lost_by = error
        self._retire_loop()
        self._engine = None
        self._session.publish(Change(ChangeKind.ENGINE))

    def tick(self) -> None:
        """Run one pass of the engine; handlers that end within a second are recorded."""
        engine = self.get_engine()
        if not engine.is_started:
            engine.start()
        while engine.tick():
            self.get_handlers().settle(_SETTLE_S)

    def get_engine(self) -> Engine:
        """Return the engine of this scheduler, created on first use."""
        from halo_scheduler.engine.engine import Engine  # noqa: PLC0415 - only to run jobs

        if self._engine is None:
            self._engine = Engine(
                self._store,
                self._session.clock,
                self.get_handlers(),
                self._get_pool(),
                max_concurrent=self._concurrency_limit,
                publish=self._session.publish,
                owner=self._owner,
                surroundings=self.surroundings,
            )
        return self._engine

    def get_handlers(self) -> Handlers:
        """Return the functions that run callback jobs."""
        from halo_scheduler.actions.callback import Handlers  # noqa: PLC0415 - threads, only when needed

        self._handlers = self._handlers or Handlers(self._get_pool())
        return self._handlers

    def _get_pool(self) -> DaemonPool:
        from halo_scheduler.actions.threads import DaemonPool  # noqa: PLC0415

        self._pool = self._pool or DaemonPool()
        return self._pool

    def _concurrency_limit(self) -> int:
        chosen = self._max_concurrent
        return self._store.settings.number(MAX_CONCURRENT) if chosen is None else chosen

    # --- Stopping ------------------------------------------------------------------------------------

    def close(self) -> None:
        """Stop without waiting; an error of the store is only logged."""
        try:
            self.stop(wait=False)
        except (StoreError, StaleEngineError) as error:
            # The database is locked or gone: the engine's lease then expires.
            _LOG.warning("%s", error)

    def stop(self, *, wait: bool = True, timeout_ms: int = 30_000, end_runs: bool = False) -> None:
        """Stop the engine; `Scheduler.stop` describes the arguments."""
        engine = self._engine
        if engine is None or not engine.is_started:
            return
        engine.stop_claiming()
        running = self._wait(engine, timeout_ms) if wait else 0
        if self._is_stop_cancelled:
            self._is_stop_cancelled = False
            return
        if end_runs and running:
            engine.stop_runs()
            self._wait(engine, _STOP_RUNS_MS + self._longest_grace_ms())
        unrecorded = engine.running_count - engine.living_count
        if self._session.loop is not None:
            self._session.loop.stop()
            self._retire_loop()
        engine.release()
        self._engine = None
        if wait and unrecorded:
            what = counted(unrecorded, "run")
            sentence = f"the end of {what} could not be recorded; the next engine does that"
            raise SchedulerShutdownError(sentence, unrecorded, timed_out=False)
        if running:
            limit = "in time" if timeout_ms < SECOND_MS else f"within {duration_in_words(timeout_ms)}"
            how = ", stopped now" if end_runs else ""
            raise SchedulerShutdownError(f"{counted(running, 'run')} did not end {limit}{how}", running)

    def cancel_stop(self) -> None:
        """Cancel a `stop` that waits for its runs; the engine continues."""
        if self._engine is not None and self._session.loop is not None:
            self._is_stop_cancelled = True
            self._engine.resume_claiming()
            self._session.loop.stop_waiting()
            self._session.changed(Change(ChangeKind.ENGINE))

    def end_runs(self) -> None:
        """Stop the active runs because Halo quits, so that a waiting `stop` ends sooner."""
        if self._engine is not None:
            self._engine.stop_runs()
            self._session.changed()

    def _retire_loop(self) -> None:
        # The loop may be our caller, so it is destroyed later, by its event loop.
        if self._session.loop is not None:
            self._session.loop.deleteLater()
        self._session.loop = None

    def _longest_grace_ms(self) -> int:
        """Return the longest grace period of the active runs."""
        jobs = self._store.jobs.get_many({run.job_id for run in self._store.runs.running()})
        specs = [record.spec for record in jobs.values()]
        actions = [spec.action for spec in (*specs, *self._store.requests.tests_under_way().values())]
        return max((action.grace_ms for action in actions if isinstance(action, ProcessAction)), default=0)

    def _wait(self, engine: Engine, timeout_ms: int) -> int:
        if self._session.loop is not None:
            return self._session.loop.wait_until_idle(timeout_ms)
        engine.tick()
        deadline = monotonic() + timeout_ms / SECOND_MS
        while engine.running_count and (left_s := deadline - monotonic()) > 0:
            if engine.wait_for_end(left_s):
                engine.tick()
        return engine.living_count
