"""The one door to the scheduler, for command line, desktop program and library users alike."""

from __future__ import annotations

import logging
import os
import sys
from collections.abc import Callable
from contextlib import suppress
from dataclasses import fields, replace
from pathlib import Path
from time import monotonic
from typing import TYPE_CHECKING, Any, Self

from halo_scheduler.clock import Clock, SystemClock
from halo_scheduler.errors import (
    EngineHeldError,
    ScheduleError,
    SchedulerError,
    SchedulerShutdownError,
    StaleEngineError,
    StoreError,
    StoreFullError,
)
from halo_scheduler.grammar.checks import require_whole
from halo_scheduler.grammar.english import counted
from halo_scheduler.grammar.interval import SECOND_MS
from halo_scheduler.ipc.client import poke
from halo_scheduler.model import JobSpec, ProcessAction
from halo_scheduler.model.changes import Change, ChangeKind, gathered
from halo_scheduler.model.settings import Settings
from halo_scheduler.paths import database_path
from halo_scheduler.service.assistants import Assisting
from halo_scheduler.service.backups import make_backup
from halo_scheduler.service.queries import RunStats, Status
from halo_scheduler.store.backup import Backup
from halo_scheduler.store.requests import Request, RequestKind
from halo_scheduler.store.secret_names import SecretPlace
from halo_scheduler.store.settings import MAX_CONCURRENT
from halo_scheduler.store.store import Store

if TYPE_CHECKING:
    from PySide6.QtCore import QObject

    from halo_scheduler.actions.callback import Handler, Handlers
    from halo_scheduler.actions.threads import DaemonPool
    from halo_scheduler.conditions.surroundings import Surroundings
    from halo_scheduler.engine.engine import Engine
    from halo_scheduler.engine.loop import EngineLoop
    from halo_scheduler.engine.test_run import Trial
    from halo_scheduler.model.alarms import Alarm

__all__ = ["RunStats", "Scheduler", "Status"]

_SETTLE_S = 1.0
_OPENING_TRIES = 3
_STOP_RUNS_MS = 60_000  # beyond the grace that jobs give their runs
_LOG = logging.getLogger(__name__)


class Scheduler(Assisting):
    """Jobs and their runs; used by the thread that opened it."""

    def __init__(self, store: Store, clock: Clock, max_concurrent: int | None, owner: str = "") -> None:
        super().__init__(store, clock)
        self._owner = owner or Path(sys.argv[0]).name or "Python"
        self._max_concurrent = max_concurrent
        self._listeners: list[Callable[[Change], None]] = []
        self._pool: DaemonPool | None = None
        self._handlers: Handlers | None = None
        self._engine: Engine | None = None
        self._loop: EngineLoop | None = None
        self.lost_by: SchedulerError | None = None
        """Why the engine that was here is no longer."""
        self._has_tried = False
        self._surroundings: Surroundings | None = None
        # Loops that have ended live as long as this does: destroying one in a thread beside the window's is not
        # safe (docs/adr/0010).
        self._ended_loops: list[EngineLoop] = []

    @classmethod
    def open(
        cls,
        path: str | os.PathLike[str] | None = None,
        *,
        clock: Clock | None = None,
        max_concurrent: int | None = None,
        owner: str = "",
    ) -> Self:
        """Open a database, or the default one, creating it when there is none.

        `owner` is what others are told who runs the jobs; without one, the name of the program.
        """
        if max_concurrent is not None:
            require_whole("max_concurrent", max_concurrent, 1)
        clock = clock or SystemClock()
        store = _open_store(database_path() if path is None else Path(path), clock.now_ms())
        return cls(store, clock, max_concurrent, owner)

    @classmethod
    def open_to_read(cls, path: str | os.PathLike[str] | None = None, *, clock: Clock | None = None) -> Self:
        """Open a database for whoever only reads: also one that cannot be written, which `refusal` then tells."""
        clock = clock or SystemClock()
        where = database_path() if path is None else Path(path)
        return cls(Store.open_to_read(where, clock.now_ms()), clock, None)

    @property
    def refusal(self) -> str:
        """Why the database can only be read: a sentence; nothing if it can be written."""
        return self._store.database.refusal

    def close(self) -> None:
        """Stop without waiting, and close the database."""
        try:
            self.stop(wait=False)
        except (StoreError, StaleEngineError) as error:
            # Locked or gone: the engine's row then runs out by itself.
            _LOG.warning("%s", error)
        finally:
            self._store.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    # --- Settings and backups ------------------------------------------------------------------------

    def mark_failures_seen(self) -> None:
        """Remember that all failures up to now were seen; what is under way now can still become one."""
        with self._store.transaction():
            history = self._store.history
            self._store.settings.set_failures_seen(history.newest_seq(), history.seqs_under_way())
        self._changed(Change(ChangeKind.SETTINGS))

    def change_settings(self, **changes: Any) -> Settings:
        """Change what is given of the settings, at once; refused whole when it would be invalid."""
        with self._store.transaction():
            before = self._store.settings.read()
            changes = before.with_current_names(changes)
            unknown = set(changes) - {field.name for field in fields(Settings)}
            if unknown:
                raise ScheduleError("is not a known setting", path=min(unknown))
            settings = replace(before, **changes)
            self._store.settings.save({name: getattr(settings, name) for name in changes})
        self._changed(Change(ChangeKind.SETTINGS))
        return settings

    def make_backup(self) -> Backup:
        """Back up everything but output now."""
        return make_backup(self.path, self._clock.now_ms())

    # --- Secrets -------------------------------------------------------------------------------------

    def set_secret(self, name: str, value: str, *, in_file: bool = False) -> None:
        """Keep a secret for `${secret:NAME}` in the system's keyring or, if chosen, in a private file."""
        place = SecretPlace.FILE if in_file else SecretPlace.KEYRING
        self._secrets.set(name, value, place, self._clock.now_ms())

    def remove_secret(self, name: str) -> None:
        """Forget a secret; jobs that use it fail from then on, and say so."""
        self._secrets.remove(name)

    # --- The engine ----------------------------------------------------------------------------------

    def refresh_environment(self) -> None:
        """Let the engine ask the login shell for its environment again, before the next command."""
        request = Request(kind=RequestKind.REFRESH, job_id="", run_id="", at=self._clock.now_ms())
        self._store.requests.append(request)
        self._changed(Change(ChangeKind.ENGINE))

    def on_job_due(self, handler: Handler, name: str | None = None) -> None:
        """Register the function that runs callback jobs of that name; without a name, all the others."""
        self._get_handlers().register(handler, name)

    def try_job(self, spec: JobSpec, parent: QObject | None = None) -> Trial:
        """Return a test run of a job that is not stored; it needs the Qt event loop of this thread."""
        from halo_scheduler.actions.run_context import context_of  # noqa: PLC0415 - for those who need it
        from halo_scheduler.engine.test_run import Trial, clear_left_trials, trial_folder  # noqa: PLC0415 - Qt

        folder = trial_folder(self.path)
        if not self._has_tried:
            clear_left_trials(folder)
            self._has_tried = True
        context = context_of(self._store, "", spec, None)
        return Trial(spec, folder, self._secrets.reader, self._clock, parent, context=context)

    def start(
        self,
        *,
        adopt_orphans: bool = False,
        heartbeat: Callable[[], None] = lambda: None,
        heartbeat_ms: int | None = None,
        alarmed: Callable[[Alarm], None] = lambda _alarm: None,
    ) -> None:
        """Run due jobs from now on; needs a Qt event loop. EngineHeldError names another engine.

        With `adopt_orphans`, this process becomes a subreaper on Linux until `stop`: no process can leave the tree of
        its run unseen. That concerns every process it starts, so it is for programs that are Halo's own.
        `heartbeat` is called whenever the loop wakes up and works, and at least once in `heartbeat_ms`. `alarmed` is
        called when the engine notices that it does not do its work, on whatever thread: its own may be what hangs.
        """
        from halo_scheduler.engine.loop import EngineLoop  # noqa: PLC0415 - Qt, for those who need it

        if self._loop is not None:
            raise EngineHeldError("this scheduler already runs its jobs")
        engine = self._get_engine()
        loop = EngineLoop(
            engine,
            self._clock,
            self._store,
            heartbeat=heartbeat,
            heartbeat_ms=heartbeat_ms,
            alarmed=alarmed,
        )
        loop.changed_elsewhere.connect(self._tell)
        loop.lost.connect(self._lose_engine)
        try:
            loop.start()
        except BaseException:
            # It holds descriptors from the moment it is made.
            loop.stop()
            self._ended_loops.append(loop)
            engine.give_up()
            self._engine = None
            raise
        if adopt_orphans:
            engine.adopt_orphans()
        self._loop = loop

    @property
    def runs_jobs(self) -> bool:
        """Whether the engine is here, driven by `start`, and has not been taken over."""
        return self._loop is not None

    def _lose_engine(self, error: SchedulerError) -> None:
        self.lost_by = error
        self._retire_loop()
        self._engine = None
        self._tell(Change(ChangeKind.ENGINE))

    def tick(self) -> None:
        """Do once what the engine does when it wakes, for those who drive the time themselves.

        Handlers that end within a second are waited for and recorded; those that return a Future are not.
        """
        engine = self._get_engine()
        if not engine.is_started:
            engine.start()
        while engine.tick():
            self._get_handlers().settle(_SETTLE_S)

    def stop(self, wait: bool = True, timeout_ms: int = 30_000, *, end_runs: bool = False) -> None:  # noqa: FBT001, FBT002 - a public name
        """Start nothing any more and wait for what runs; SchedulerShutdownError counts what did not end in time.

        With `end_runs` that is then stopped, as a cancelled run is; otherwise commands live on, and the next
        engine takes them up.
        """
        engine = self._engine
        if engine is None or not engine.is_started:
            return
        engine.stop_claiming()
        running = self._wait(engine, timeout_ms) if wait else 0
        if end_runs and running:
            engine.stop_runs()
            self._wait(engine, _STOP_RUNS_MS + self._longest_grace_ms())
        unrecorded = engine.running_count - engine.living_count
        if self._loop is not None:
            self._loop.stop()
            self._retire_loop()
        engine.give_up()
        self._engine = None
        if wait and unrecorded:
            what = counted(unrecorded, "run")
            sentence = f"the end of {what} could not be recorded; the next engine does that"
            raise SchedulerShutdownError(sentence, unrecorded)
        if running:
            what = counted(running, "run")
            how = ", stopped now" if end_runs else ""
            raise SchedulerShutdownError(f"{what} did not end in time{how}", running)

    def _retire_loop(self) -> None:
        self._ended_loops += [] if self._loop is None else [self._loop]
        self._loop = None

    def end_runs(self) -> None:
        """Stop what runs, as for a quit; those who wait for it in `stop` then wait less long."""
        if self._engine is not None:
            self._engine.stop_runs()
            self._changed()

    def _longest_grace_ms(self) -> int:
        """Return how long the runs under way may take to end when they are asked to."""
        jobs = self._store.jobs.get_many({run.job_id for run in self._store.runs.running()})
        specs = [record.spec for record in jobs.values()]
        actions = [spec.action for spec in (*specs, *self._store.requests.tests_under_way().values())]
        return max((action.grace_ms for action in actions if isinstance(action, ProcessAction)), default=0)

    def _wait(self, engine: Engine, timeout_ms: int) -> int:
        if self._loop is not None:
            return self._loop.wait_until_idle(timeout_ms)
        engine.tick()
        deadline = monotonic() + timeout_ms / SECOND_MS
        while engine.running_count and (left_s := deadline - monotonic()) > 0:
            if engine.wait_for_end(left_s):
                engine.tick()
        return engine.living_count

    def subscribe(self, listener: Callable[[Change], None]) -> Callable[[], None]:
        """Call the listener after every change made through this scheduler; returns how to end that."""
        self._listeners.append(listener)
        return lambda: self._listeners.remove(listener) if listener in self._listeners else None

    def _get_handlers(self) -> Handlers:
        from halo_scheduler.actions.callback import Handlers  # noqa: PLC0415 - threads, for those who need them

        self._handlers = self._handlers or Handlers(self._get_pool())
        return self._handlers

    def _get_pool(self) -> DaemonPool:
        from halo_scheduler.actions.threads import DaemonPool  # noqa: PLC0415

        self._pool = self._pool or DaemonPool()
        return self._pool

    def _get_engine(self) -> Engine:
        from halo_scheduler.engine.engine import Engine  # noqa: PLC0415 - only for those who run jobs

        if self._engine is None:
            self._engine = Engine(
                self._store,
                self._clock,
                self._get_handlers(),
                self._get_pool(),
                max_concurrent=self._places,
                tell=self._tell,
                owner=self._owner,
                surroundings=self._surroundings,
            )
        return self._engine

    def _places(self) -> int:
        return (
            self._store.settings.number(MAX_CONCURRENT)
            if self._max_concurrent is None
            else self._max_concurrent
        )

    def _changed(self, *changes: Change) -> None:
        """Let the engine, in this process or another, look at what we wrote."""
        if self._loop is not None:
            self._loop.look_again()
        elif changes:
            poke(self.path, changes)
        for change in gathered(changes):
            self._tell(change)

    def _tell(self, change: Change) -> None:
        if self._loop is not None:
            self._loop.tell(change)
        for listener in list(self._listeners):
            try:
                listener(change)
            except Exception:  # noqa: BLE001 - a listener's fault is not the scheduler's
                _LOG.exception("a listener failed")


def _open_store(path: Path, now_ms: int) -> Store:
    """Open a database; on a full disk, make some room for it first, which a job that goes on printing may take."""
    for _ in range(_OPENING_TRIES):
        with suppress(StoreFullError):
            return Store.open(path, now_ms)
        from halo_scheduler.engine.room import make_room_beside  # noqa: PLC0415 - on a full disk only

        make_room_beside(path)
    return Store.open(path, now_ms)
