"""Running the engine of a database from a scheduler: start, tick, stop, and what it is doing."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from time import monotonic
from typing import TYPE_CHECKING

from halo_scheduler.errors import EngineHeldError, SchedulerError, SchedulerShutdownError
from halo_scheduler.grammar.english import counted
from halo_scheduler.grammar.interval import SECOND_MS
from halo_scheduler.host.process import is_alive
from halo_scheduler.model import JobSpec, ProcessAction
from halo_scheduler.model.changes import Change, ChangeKind
from halo_scheduler.service.session import Session
from halo_scheduler.store.requests import Request, RequestKind
from halo_scheduler.store.settings import MAX_CONCURRENT

if TYPE_CHECKING:
    from PySide6.QtCore import QObject

    from halo_scheduler.actions.callback import Handler, Handlers
    from halo_scheduler.actions.threads import DaemonPool
    from halo_scheduler.conditions.surroundings import Surroundings
    from halo_scheduler.engine.engine import Engine
    from halo_scheduler.engine.test_run import Trial
    from halo_scheduler.model.alarms import Alarm

_SETTLE_S = 1.0
_STOP_RUNS_MS = 60_000  # beyond the grace that jobs give their runs


@dataclass(frozen=True, slots=True, kw_only=True)
class Status:
    """What the engine of a database is doing, in whatever process it is."""

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
    """Starts and stops an engine in this process; `lost_by` says why the one that was here is gone."""

    def __init__(self, session: Session, max_concurrent: int | None, owner: str) -> None:
        self._session = session
        self._store = session.store
        self._owner = owner
        self._max_concurrent = max_concurrent
        self._pool: DaemonPool | None = None
        self._handlers: Handlers | None = None
        self._engine: Engine | None = None
        self.lost_by: SchedulerError | None = None
        self._has_tried = False
        self.surroundings: Surroundings | None = None
        """What conditions are checked against; None for the machine's own surroundings."""

    @property
    def is_running(self) -> bool:
        """Whether the engine is here, driven by `start`, and has not been taken over."""
        return self._session.loop is not None

    def status(self) -> Status:
        """Return what the engine is doing, in whatever process it is."""
        row = self._store.lease.read()
        is_held = (
            row is not None
            and row.is_held(self._session.clock.now_ms())
            and is_alive(row.pid, row.process_start)
        )
        return Status(
            state="running" if is_held else "stopped",
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

    def refresh_environment(self) -> None:
        """Let the engine ask the login shell for its environment again, before the next command."""
        request = Request(kind=RequestKind.REFRESH, job_id="", run_id="", at=self._session.clock.now_ms())
        self._store.requests.append(request)
        self._session.changed(Change(ChangeKind.ENGINE))

    def on_job_due(self, handler: Handler, name: str | None = None) -> None:
        """Register the function that runs callback jobs of that name; without a name, all the others."""
        self.get_handlers().register(handler, name)

    def try_job(self, spec: JobSpec, parent: QObject | None = None) -> Trial:
        """Return a test run of a job that is not stored; it needs the Qt event loop of this thread."""
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
        """Run due jobs from now on, with a Qt event loop; `Scheduler.start` describes the arguments."""
        from halo_scheduler.engine.loop import EngineLoop  # noqa: PLC0415 - Qt, for those who need it

        if self._session.loop is not None:
            raise EngineHeldError("this scheduler already runs its jobs")
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
        except BaseException:
            # It holds descriptors from the moment it is made.
            loop.stop()
            loop.deleteLater()
            engine.release()
            self._engine = None
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
        """Do once what the engine does when it wakes; handlers that end within a second are recorded."""
        engine = self.get_engine()
        if not engine.is_started:
            engine.start()
        while engine.tick():
            self.get_handlers().settle(_SETTLE_S)

    def get_engine(self) -> Engine:
        """Return the engine of this scheduler, made when it is first needed."""
        from halo_scheduler.engine.engine import Engine  # noqa: PLC0415 - only for those who run jobs

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
        from halo_scheduler.actions.callback import Handlers  # noqa: PLC0415 - threads, for those who need them

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

    def stop(self, *, wait: bool = True, timeout_ms: int = 30_000, end_runs: bool = False) -> None:
        """Stop the engine; `Scheduler.stop` describes the arguments."""
        engine = self._engine
        if engine is None or not engine.is_started:
            return
        engine.stop_claiming()
        running = self._wait(engine, timeout_ms) if wait else 0
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
            raise SchedulerShutdownError(sentence, unrecorded)
        if running:
            what = counted(running, "run")
            how = ", stopped now" if end_runs else ""
            raise SchedulerShutdownError(f"{what} did not end in time{how}", running)

    def end_runs(self) -> None:
        """Stop what runs, as for a quit; those who wait for it in `stop` then wait less long."""
        if self._engine is not None:
            self._engine.stop_runs()
            self._session.changed()

    def _retire_loop(self) -> None:
        # It may be what calls us: it is destroyed when its event loop has its turn.
        if self._session.loop is not None:
            self._session.loop.deleteLater()
        self._session.loop = None

    def _longest_grace_ms(self) -> int:
        """Return how long the runs under way may take to end when they are asked to."""
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
