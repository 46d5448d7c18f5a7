"""Starting runs, with what they need: the login environment, secrets, work items, files."""

from __future__ import annotations

import logging
from collections.abc import Callable
from contextlib import suppress

from halo_scheduler.actions.callback import Handlers
from halo_scheduler.actions.run_context import context_of
from halo_scheduler.actions.run_services import Ended, RunServices
from halo_scheduler.actions.runner import Leftover, Runner
from halo_scheduler.actions.spool import spool_folder
from halo_scheduler.actions.start_errors import why_not_started
from halo_scheduler.engine.active_runs import ActiveRun, ActiveRuns
from halo_scheduler.engine.endings import Ending
from halo_scheduler.engine.handle import Handle
from halo_scheduler.engine.held_lease import HeldLease
from halo_scheduler.engine.keep_awake import SleepInhibitor
from halo_scheduler.errors import StaleEngineError, StoreError, StoreReplacedError
from halo_scheduler.host.login_environment import LoginEnvironment
from halo_scheduler.host.watch import ThreadWatch, Watch
from halo_scheduler.model import Callback, Outcome, Run, SkipReason
from halo_scheduler.model.changes import Change
from halo_scheduler.store.events import EventKind
from halo_scheduler.store.job_records import JobRecord
from halo_scheduler.store.runs import RunEnd
from halo_scheduler.store.secrets import SecretStore
from halo_scheduler.store.settings import OUTPUT_LIMIT_BYTES, SPOOL_LIMIT_BYTES, NumberSetting
from halo_scheduler.store.store import Store
from halo_scheduler.web.pool import ConnectionPool
from halo_scheduler.work_sources.work_desk import WorkDesk

_LOG = logging.getLogger(__name__)


class RunResources:
    """What the runs of one engine are made with."""

    def __init__(self, store: Store, handle: Handle) -> None:
        self._store = store
        self._handle = handle
        self._folder = spool_folder(store.database.path)
        self._environment = LoginEnvironment()
        self._pool = ConnectionPool()
        self._secrets = SecretStore(store.secrets, store.database.path)
        self.work_desk = WorkDesk(
            self._folder, self._secrets.reader, handle.now_ms, environment=self._environment.get
        )
        self.runner = self._make_runner(ThreadWatch(handle.post))

    def equip(self, watch: Watch) -> None:
        """Let runs use what an event loop offers."""
        self.runner = self._make_runner(watch)

    def _make_runner(self, watch: Watch) -> Runner:
        services = RunServices(
            engine=self._handle,
            watch=watch,
            login_environment=self._environment.get,
            output_limit=lambda: self._number(OUTPUT_LIMIT_BYTES),
            spool_limit=lambda: self._number(SPOOL_LIMIT_BYTES),
            pool=self._pool,
        )
        return Runner(self._folder, services, self._secrets.reader, self.work_desk.open)

    def close_connections(self) -> None:
        """Close the idle connections that requests have left for others."""
        self._pool.close()

    def _number(self, setting: NumberSetting) -> int:
        """Return a setting; a run must be able to end also while the database cannot be read."""
        with suppress(StoreError):
            return self._store.settings.number(setting)
        return setting.default

    def read_environment(self) -> None:
        """Ask the login shell for its environment, before a command has to wait for that."""
        self._environment.forget()
        self._handle.submit(self._read_environment)

    def _read_environment(self) -> None:
        self._environment.get()

    def clear_spool(self, run_id: str) -> None:
        """Delete the files of a run."""
        try:
            self.runner.spool(run_id).remove()
        except OSError as error:
            # The next start tries again.
            _LOG.warning("The files of a run could not be deleted: %s", error)


class Starter:
    """Starts claimed runs; whatever keeps one from starting is its own end and disturbs no other."""

    def __init__(
        self,
        store: Store,
        handlers: Handlers,
        resources: RunResources,
        *,
        lease: HeldLease,
        runs: ActiveRuns,
        handle: Handle,
        inhibitor: SleepInhibitor,
    ) -> None:
        self._store = store
        self._handlers = handlers
        self._resources = resources
        self._lease = lease
        self._runs = runs
        self._handle = handle
        self._inhibitor = inhibitor
        self._told_unsupported: set[str] = set()

    def start(self, record: JobRecord, run: Run) -> bool:
        """Start a claimed run; return False if nothing here can run such a job."""
        try:
            is_started = self._start(record, run)
        except (StaleEngineError, StoreReplacedError):
            raise
        except Exception as error:  # noqa: BLE001 - the one broad catch: a fault in one job, recorded
            outcome, reason, sentence = why_not_started(error)
            self._handle.end(Ended(run_id=run.id, outcome=outcome, reason=reason, error=sentence))
            return True
        if is_started:
            self.keep_awake(self._runs[run.id])
        return is_started

    def _start(self, record: JobRecord, run: Run) -> bool:
        self._lease.check_before_start()
        # Another engine may run the same slot from a file, or a journal, that came into the place of ours.
        self._store.database.require_in_place()
        action = record.spec.action
        if isinstance(action, Callback):
            return self._start_handler(action, record, run)
        context = context_of(self._store, record.id, record.spec, run)
        work = self._resources.runner.start(record.job, run, context)
        if work is not None:
            self._runs.works[run.id] = work
        return work is not None

    def _start_handler(self, action: Callback, record: JobRecord, run: Run) -> bool:
        handler = self._handlers.find(action.name)
        if handler is None:
            return False
        self._handlers.start(
            handler, record.job, run, lambda ended: self._handle.post(lambda: self._handle.end(ended))
        )
        return True

    def skip_unsupported(
        self, record: JobRecord, run: Run, finish: Callable[[list[Ending]], list[Change]]
    ) -> list[Change]:
        """Record as skipped what nothing here can run, and note it once for each job; `finish` records ends."""
        now_ms, kind = self._handle.now_ms(), record.spec.action.kind
        end = RunEnd(
            outcome=Outcome.SKIPPED,
            finished_at=now_ms,
            reason=SkipReason.UNSUPPORTED_TYPE,
            error=f"nothing here can run a {kind} job",
        )
        with self._lease.transaction():
            changes = finish([Ending(run, end)])
            if record.id not in self._told_unsupported:
                self._told_unsupported.add(record.id)
                self._store.events.append(now_ms, EventKind.JOB_UNSUPPORTED, record.id, action=kind)
        return changes

    def adopt(self, left: Leftover, active_run: ActiveRun) -> None:
        """Go on with a run that outlived its engine."""
        self._runs.add(active_run)
        self._runs.works[left.run.id] = self._resources.runner.adopt(left)
        self.keep_awake(active_run)

    def keep_awake(self, active_run: ActiveRun) -> None:
        """Keep the machine awake for a run that wants it."""
        if active_run.keeps_awake:
            self._inhibitor.hold(active_run.run, active_run.job_name)
