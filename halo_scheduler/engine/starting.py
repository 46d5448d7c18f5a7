"""Starting runs with what they need: login environment, secrets, work items, spool files, a sleep inhibitor."""

from __future__ import annotations

import logging
from collections.abc import Callable
from contextlib import suppress
from typing import TYPE_CHECKING, Protocol

from halo_scheduler.actions.callback import Handlers
from halo_scheduler.actions.launch import why_not_started
from halo_scheduler.actions.run_context import context_of
from halo_scheduler.actions.run_services import Ended, RunServices
from halo_scheduler.actions.runner import Leftover, Runner
from halo_scheduler.actions.spool import spool_folder
from halo_scheduler.engine.active_runs import ActiveRun, ActiveRuns
from halo_scheduler.engine.endings import Ending
from halo_scheduler.engine.handle import Handle, HeldLease
from halo_scheduler.errors import StaleEngineError, StoreError, StoreReplacedError
from halo_scheduler.grammar.english import shortened
from halo_scheduler.host.login_environment import LoginEnvironment
from halo_scheduler.host.process import ThreadWatch, Watch
from halo_scheduler.model import Callback, Outcome, Run, SkipReason
from halo_scheduler.model.changes import Change
from halo_scheduler.model.messages import Message, MessageKind, message
from halo_scheduler.store.events import EventKind
from halo_scheduler.store.job_records import JobRecord
from halo_scheduler.store.runs import RunEnd
from halo_scheduler.store.secrets import SecretStore
from halo_scheduler.store.settings import OUTPUT_LIMIT_BYTES, SPOOL_LIMIT_BYTES, NumberSetting
from halo_scheduler.store.store import Store
from halo_scheduler.web.pool import ConnectionPool
from halo_scheduler.work_sources.item import result_comment
from halo_scheduler.work_sources.work_desk import WorkDesk

if TYPE_CHECKING:
    from halo_scheduler.host.awake import KeepAwake

_LOG = logging.getLogger(__name__)


class Threads(Protocol):
    """Runs calls on a worker thread, which may block, or on the engine's thread."""

    def submit(self, work: Callable[[], None]) -> None: ...

    def post(self, news: Callable[[], None]) -> None: ...


class SleepInhibitor:
    """Holds one sleep inhibitor per run that wants one, from its start to its recorded end."""

    def __init__(self, threads: Threads, add_note: Callable[[Run, Message], None]) -> None:
        """`add_note` is called on the engine's thread with a run whose inhibitor was refused."""
        self._threads = threads
        self._add_note = add_note
        self._keeper: KeepAwake | None = None

    def hold(self, run: Run, job_name: str) -> None:
        """Keep the computer awake for a run that wants it; a refusal becomes a note and delays nothing."""
        try:
            self._hold(run, job_name)
        except Exception as error:  # noqa: BLE001 - the run has begun: it must not fail because of this
            _LOG.exception("The computer is not kept awake.")
            self._add_note(run, message(MessageKind.NOT_KEPT_AWAKE, error=str(error)))

    def _hold(self, run: Run, job_name: str) -> None:
        if self._keeper is None:
            from halo_scheduler.host.awake import KeepAwake  # noqa: PLC0415 - only when wanted

            self._keeper = KeepAwake(self._threads.submit)

        def fail(error: str) -> None:
            note = message(MessageKind.NOT_KEPT_AWAKE, error=error)
            self._threads.post(lambda: self._add_note(run, note))

        self._keeper.hold(run.id, f"{shortened(job_name)} is running", fail)

    def release(self, run_id: str) -> None:
        """Release the inhibitor of a run."""
        if self._keeper is not None:
            self._keeper.release(run_id)

    def close(self) -> None:
        """Release all inhibitors."""
        if self._keeper is not None:
            self._keeper.close()
            self._keeper = None


class RunResources:
    """The shared resources of one engine's runs."""

    def __init__(self, store: Store, handle: Handle) -> None:
        self._store = store
        self._handle = handle
        self._folder = spool_folder(store.database.path)
        self._environment = LoginEnvironment()
        self._pool = ConnectionPool()
        self._secrets = SecretStore(store.secrets, store.database.path)
        self.work_desk = WorkDesk(
            self._folder,
            self._secrets.reader,
            handle.now_ms,
            environment=self._environment.get,
            comment_of=lambda run_id: result_comment(store.runs.get(run_id), store.outputs.read(run_id)),
        )
        self.runner = self._make_runner(ThreadWatch(handle.post))

    def equip(self, watch: Watch) -> None:
        """Give runs access to the event loop's facilities."""
        self.runner = self._make_runner(watch)

    def _make_runner(self, watch: Watch) -> Runner:
        services = RunServices(
            engine=self._handle,
            watch=watch,
            login_environment=self._environment.get,
            output_limit=self._output_limit,
            spool_limit=lambda: self._number(SPOOL_LIMIT_BYTES),
            pool=self._pool,
        )
        return Runner(self._folder, services, self._secrets.reader, self.work_desk.open)

    def close_connections(self) -> None:
        """Close the idle connections kept for further requests."""
        self._pool.close()

    def _output_limit(self, job_id: str) -> int:
        """Return how much output of a run is kept: by its job's limit, else by the settings."""
        with suppress(StoreError):
            record = self._store.jobs.get(job_id)
            own = None if record is None else record.spec.policy.output_limit_bytes
            if own is not None:
                return own
        return self._number(OUTPUT_LIMIT_BYTES)

    def _number(self, setting: NumberSetting) -> int:
        """Return a setting, or its default while the database cannot be read, so that a run can still end."""
        with suppress(StoreError):
            return self._store.settings.number(setting)
        return setting.default

    def read_environment(self) -> None:
        """Read the login shell's environment in advance, so that no command has to wait for it."""
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
    """Starts claimed runs; a run that cannot start ends with the reason and affects no other."""

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
        """Start a claimed run; return False if no runner supports its action."""
        try:
            is_started = self._start(record, run)
        except (StaleEngineError, StoreReplacedError):
            raise
        except Exception as error:  # noqa: BLE001 - the one broad catch: a fault in one job, recorded
            outcome, reason, why = why_not_started(error)
            self._handle.end(Ended(run_id=run.id, outcome=outcome, reason=reason, message=why))
            return True
        if is_started:
            self.keep_awake(self._runs[run.id])
        return is_started

    def _start(self, record: JobRecord, run: Run) -> bool:
        self._lease.check_before_start()
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
        """Record a run whose action has no runner as skipped, and note that once per job; `finish` records ends."""
        now_ms, kind = self._handle.now_ms(), record.spec.action.kind
        end = RunEnd(
            outcome=Outcome.SKIPPED,
            finished_at=now_ms,
            reason=SkipReason.UNSUPPORTED_TYPE,
            message=message(MessageKind.UNSUPPORTED_ACTION, action=kind),
        )
        with self._lease.transaction():
            changes = finish([Ending(run, end)])
            if record.id not in self._told_unsupported:
                self._told_unsupported.add(record.id)
                self._store.events.append(now_ms, EventKind.JOB_UNSUPPORTED, record.id, action=kind)
        return changes

    def adopt(self, left: Leftover, active_run: ActiveRun) -> None:
        """Adopt a run that outlived its engine."""
        self._runs.add(active_run)
        self._runs.works[left.run.id] = self._resources.runner.adopt(left)
        self.keep_awake(active_run)

    def keep_awake(self, active_run: ActiveRun) -> None:
        """Keep the computer awake for a run that wants it."""
        if active_run.keeps_awake:
            self._inhibitor.hold(active_run.run, active_run.job_name)
