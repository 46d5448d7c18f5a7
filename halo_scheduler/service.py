"""The one door to the scheduler, for command line, desktop program and library users alike."""

from __future__ import annotations

import json
import logging
import os
import sys
from collections.abc import Callable, Iterable, Mapping
from dataclasses import fields, replace
from pathlib import Path
from time import monotonic
from typing import TYPE_CHECKING, Any, Self

from halo_scheduler.backups import make_backup
from halo_scheduler.changes import Change, ChangeKind, gathered
from halo_scheduler.checks import require_instant, require_kind, require_label, require_whole
from halo_scheduler.clock import Clock, SystemClock
from halo_scheduler.errors import (
    EngineHeldError,
    JobNotFoundError,
    ScheduleError,
    SchedulerShutdownError,
    ScheduleTriggerError,
    StaleEngineError,
    StoreError,
)
from halo_scheduler.home import database_path
from halo_scheduler.ids import new_job_id, new_run_id
from halo_scheduler.ipc import poke
from halo_scheduler.model import (
    SHORTEST_EVERY_MS,
    Action,
    Callback,
    Command,
    Hints,
    JobSpec,
    Manual,
    Once,
    Policy,
    Schedule,
    SkipReason,
    StatusReason,
)
from halo_scheduler.planning import plan, slept_through, without_plan
from halo_scheduler.reading import Reader, RunStats, Status
from halo_scheduler.schedule.interval import SECOND_MS, parse_interval
from halo_scheduler.schedule.words import counted
from halo_scheduler.settings import Settings
from halo_scheduler.store.backup import Backup
from halo_scheduler.store.events import EventKind
from halo_scheduler.store.jobs import TRASH_MS, JobRecord
from halo_scheduler.store.requests import Request, RequestKind
from halo_scheduler.store.secret_names import SecretPlace
from halo_scheduler.store.settings import MAX_CONCURRENT
from halo_scheduler.store.store import Store

if TYPE_CHECKING:
    from PySide6.QtCore import QObject

    from halo_scheduler.actions.callback import Handler, Handlers
    from halo_scheduler.actions.threads import DaemonPool
    from halo_scheduler.engine.engine import Engine
    from halo_scheduler.engine.loop import EngineLoop
    from halo_scheduler.engine.trial import Trial

__all__ = ["RunStats", "Scheduler", "Status"]

_SETTLE_S = 1.0
_STOP_RUNS_MS = 60_000  # beyond the grace that jobs give their runs
_LOG = logging.getLogger(__name__)
_SPEC_NAMES = {field.name for field in fields(JobSpec)}


class Scheduler(Reader):
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
        self._has_tried = False
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
        store = Store.open(database_path() if path is None else Path(path), clock.now_ms())
        if path is None:
            # The default folder is ours alone; one that somebody chose may hold other things.
            store.database.path.parent.chmod(0o700)
        return cls(store, clock, max_concurrent, owner)

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

    # --- Jobs ----------------------------------------------------------------------------------------

    def add_job(
        self,
        name: str,
        schedule: Schedule,
        action: Action | None = None,
        *,
        job_id: str | None = None,
        description: str = "",
        group: str | None = None,
        anchor_at: int | None = None,
        enabled: bool = True,
        policy: Policy | None = None,
        metadata: Mapping[str, str] | None = None,
    ) -> str:
        """Store a job and return its id."""
        (added,) = self.add_jobs(
            [
                {
                    "name": name,
                    "schedule": schedule,
                    "action": action,
                    "job_id": job_id,
                    "description": description,
                    "group": group,
                    "anchor_at": anchor_at,
                    "enabled": enabled,
                    "policy": policy,
                    "metadata": metadata,
                }
            ]
        )
        return added

    def add_jobs(self, jobs: Iterable[Mapping[str, Any]]) -> list[str]:
        """Store several jobs, all or none; each is given as the arguments of `add_job`."""
        now_ms = self._clock.now_ms()
        records = [self._new_record(dict(job), now_ms) for job in jobs]
        with self._store.transaction():
            self._refuse_taken(records)
            self._store.jobs.insert(records)
            self._store.events.append_many(
                now_ms, EventKind.JOB_ADDED, [(record.id, {"name": record.spec.name}) for record in records]
            )
        self._changed(*(Change(ChangeKind.JOB, job_id=record.id) for record in records))
        return [record.id for record in records]

    def _new_record(self, given: dict[str, Any], now_ms: int) -> JobRecord:
        job_id = given.pop("job_id", None) or new_job_id()
        require_label("job_id", job_id)
        chosen = {key: value for key, value in given.items() if value is not None}
        spec = JobSpec(**{"action": Callback(), "anchor_at": now_ms, **chosen})
        if isinstance(spec.schedule, Once) and spec.schedule.due_at <= now_ms:
            raise ScheduleError("this time is in the past; give one that lies ahead", path="schedule.at")
        record = JobRecord(
            id=job_id,
            created_at=now_ms,
            updated_at=now_ms,
            spec=spec,
            counted_until=now_ms,
            disabled_reason=None if spec.enabled else StatusReason.USER,
        )
        return plan(record, now_ms, lambda _job_id, _slot_at: False)

    def _refuse_taken(self, records: list[JobRecord]) -> None:
        names = self._store.jobs.taken_names(record.spec.name for record in records)
        ids = set(self._store.jobs.get_many(record.id for record in records))
        for record in records:
            name = record.spec.name
            if name in names:
                raise ScheduleError(
                    f"there is already a job named {name!r}; choose another name", path="name"
                )
            if record.id in ids:
                raise ScheduleError(f"there is already a job with the id {record.id!r}", path="job_id")
            names.add(name)
            ids.add(record.id)

    def update_job(self, job_id: str, **changes: Any) -> None:
        """Change what is given of a job's spec, and nothing else; refused whole when it would be invalid."""
        now_ms = self._clock.now_ms()
        unknown = set(changes) - _SPEC_NAMES
        if unknown:
            raise ScheduleError("is not a known field of a job", path=min(unknown))
        with self._store.transaction():
            record = self._existing(job_id)
            spec = replace(record.spec, **changes)
            if spec.name != record.spec.name and self._store.jobs.id_of_name(spec.name) is not None:
                raise ScheduleError(
                    f"there is already a job named {spec.name!r}; choose another name", path="name"
                )
            self._store.jobs.save_spec(job_id, spec, now_ms)
            self._store.events.append(
                now_ms, EventKind.JOB_EDITED, job_id, before=record.spec.to_dict(), after=spec.to_dict()
            )
            self._store.jobs.save_states([self._after_edit(record, spec, now_ms)])
        self._changed(Change(ChangeKind.JOB, job_id=job_id))

    def _after_edit(self, record: JobRecord, spec: JobSpec, now_ms: int) -> JobRecord:
        edited = record.evolve(spec=spec)
        if spec.enabled != record.spec.enabled:
            edited = edited.evolve(disabled_reason=None if spec.enabled else StatusReason.USER)
        if spec.schedule != record.spec.schedule:
            if isinstance(spec.schedule, Once) and spec.schedule.due_at <= now_ms:
                raise ScheduleError("this time is in the past; give one that lies ahead", path="schedule.at")
            if edited.disabled_reason is StatusReason.DONE:
                edited = edited.evolve(disabled_reason=None)
        is_replanned = (spec.schedule, spec.policy, spec.anchor_at, spec.enabled) != (
            *(record.spec.schedule, record.spec.policy, record.spec.anchor_at, record.spec.enabled),
        )
        if not is_replanned or self._is_in_its_slot(record):
            return edited
        if (spec.schedule, spec.anchor_at) != (record.spec.schedule, record.spec.anchor_at):
            # A retry that will not come any more leaves its slot failed.
            errors = edited.errors + int(edited.attempt > 1)
            edited = without_plan(edited.evolve(counted_until=now_ms, errors=errors))
        return plan(edited, now_ms, self._store.runs.has_slot, reason="edited")

    def remove_job(self, job_id: str) -> None:
        """Put a job into the trash, where it stays for 30 days."""
        now_ms = self._clock.now_ms()
        with self._store.transaction():
            record = self._existing(job_id)
            self._store.jobs.set_removed(job_id, now_ms)
            self._store.jobs.save_states(
                [plan(record.evolve(removed_at=now_ms), now_ms, self._store.runs.has_slot)]
            )
            self._store.events.append(now_ms, EventKind.JOB_REMOVED, job_id)
            self._store.jobs.purge(now_ms - TRASH_MS)
        self._changed(Change(ChangeKind.JOB, job_id=job_id))

    def restore_job(self, job_id: str) -> None:
        """Take a job out of the trash; it goes on from now."""
        now_ms = self._clock.now_ms()
        with self._store.transaction():
            record = self._store.jobs.get(job_id)
            if record is None or record.removed_at is None:
                raise JobNotFoundError(f"there is no removed job {job_id!r}")
            if self._store.jobs.id_of_name(record.spec.name) is not None:
                raise ScheduleError(
                    f"there is now another job named {record.spec.name!r}; rename it first", path="name"
                )
            self._store.jobs.set_removed(job_id, None)
            restored = record.evolve(removed_at=None, counted_until=now_ms)
            recorded: list[Change] = []
            if not self._is_in_its_slot(record):
                restored = plan(restored, now_ms, self._store.runs.has_slot)
                recorded = self._record_time_in_trash(record, now_ms)
            self._store.jobs.save_states([restored])
            self._store.events.append(now_ms, EventKind.JOB_RESTORED, job_id)
        self._changed(Change(ChangeKind.JOB, job_id=job_id), *recorded)

    def _record_time_in_trash(self, record: JobRecord, now_ms: int) -> list[Change]:
        """Record the one slot of a `once` whose time came while it lay in the trash."""
        skipped = slept_through(record, SkipReason.DISABLED, "the job was in the trash at that time", now_ms)
        if skipped is None or (skipped.slot_at or 0) > now_ms:
            return []
        if self._store.runs.has_slot(record.id, skipped.slot_at or 0):
            return []
        row = self._store.lease.read()
        self._store.runs.insert([skipped], 0 if row is None else row.generation)
        return [Change(ChangeKind.RUN_FINISHED, job_id=record.id, run_id=skipped.id)]

    def list_names(self) -> list[tuple[str, str | None]]:
        """Return the name and the group of every job, without the jobs."""
        return self._store.jobs.names()

    # --- Pauses, hints, limits -----------------------------------------------------------------------

    def pause_job(self, job_id: str, until: int | None = None) -> None:
        """Pause a job, for good or until an instant; one that runs finishes first."""
        self._pause([job_id], until)

    def pause_all(self, until: int | None = None) -> None:
        """Pause every job that is neither disabled nor already paused for longer."""
        self._pause(
            [record.id for record in self._store.jobs.all() if _is_paused_longer_by(record, until)], until
        )

    def resume_job(self, job_id: str) -> None:
        """Let a paused or disabled job go on from now, its error count at 0; nothing is caught up."""
        self._resume([job_id])

    def resume_all(self) -> None:
        """Resume every paused job; disabled ones stay so, and so does a `once` whose time is past."""
        now_ms = self._clock.now_ms()
        paused = [record for record in self._store.jobs.all() if record.paused]
        self._resume([record.id for record in paused if not self._is_over(record, now_ms)])

    def _pause(self, job_ids: list[str], until: int | None) -> None:
        now_ms = self._clock.now_ms()
        if until is not None and require_instant("until", until) <= now_ms:
            raise ScheduleError("the pause would already be over; give a time that lies ahead", path="until")
        with self._store.transaction():
            paused = [self._existing(job_id).evolve(paused=True, paused_until=until) for job_id in job_ids]
            self._store.jobs.save_states(
                [plan(record, now_ms, self._store.runs.has_slot) for record in paused]
            )
            for record in paused:
                self._store.events.append(now_ms, EventKind.JOB_PAUSED, record.id, until=until)
        self._changed(*(Change(ChangeKind.JOB, job_id=job_id) for job_id in job_ids))

    def _resume(self, job_ids: list[str]) -> None:
        now_ms = self._clock.now_ms()
        with self._store.transaction():
            resumed = [self._resumed(self._existing(job_id), now_ms) for job_id in job_ids]
            self._store.jobs.save_states(resumed)
            for record in resumed:
                self._store.events.append(now_ms, EventKind.JOB_RESUMED, record.id, by="user")
        self._changed(*(Change(ChangeKind.JOB, job_id=job_id) for job_id in job_ids))

    def _resumed(self, record: JobRecord, now_ms: int) -> JobRecord:
        if self._is_over(record, now_ms):
            raise ScheduleError("its one time is past; give the job a new time instead", path="schedule.at")
        if not record.spec.enabled:
            self._store.jobs.save_spec(record.id, replace(record.spec, enabled=True), now_ms)
        awake = record.evolve(
            spec=replace(record.spec, enabled=True),
            paused=False,
            paused_until=None,
            disabled_reason=None,
            errors=0,
        )
        if self._is_in_its_slot(record):
            return awake
        return plan(
            awake, now_ms, self._store.runs.has_slot, reason="paused" if record.paused else "disabled"
        )

    def _is_over(self, record: JobRecord, now_ms: int) -> bool:
        """Whether the job is a `once` that has no run left: neither under way nor waiting for its place."""
        schedule = record.spec.schedule
        is_past = isinstance(schedule, Once) and schedule.due_at <= now_ms
        return is_past and record.next_run_at is None and not self._is_in_its_slot(record)

    def _is_in_its_slot(self, record: JobRecord) -> bool:
        """Whether the job runs because it was due: then it is planned when that run ends."""
        return record.run_id is not None and self._store.runs.is_scheduled(record.run_id)

    def propose_interval(self, job_id: str, interval: str, ttl: str = "60m", reason: str = "") -> None:
        """Advise a pace for a while: a faster one counts at once, a slower one after the next run."""
        interval_ms = max(parse_interval(interval), SHORTEST_EVERY_MS)
        self._propose(job_id, {"interval_ms": interval_ms}, ttl, reason)

    def propose_next_run(self, job_id: str, at: int, ttl: str = "60m", reason: str = "") -> None:
        """Advise one run at an instant; it counts if it is earlier than what is planned."""
        self._propose(job_id, {"next_at": require_instant("at", at)}, ttl, reason)

    def clear_hints(self, job_id: str) -> None:
        """Forget all advice, and plan as the schedule says."""
        now_ms = self._clock.now_ms()
        with self._store.transaction():
            record = self._existing(job_id).evolve(hints=Hints())
            if not self._is_in_its_slot(record):
                record = plan(record, now_ms, self._store.runs.has_slot)
            self._store.jobs.save_states([record])
            self._store.events.append(now_ms, EventKind.JOB_HINTED, job_id, cleared=True)
        self._changed(Change(ChangeKind.JOB, job_id=job_id))

    def _propose(self, job_id: str, advice: Mapping[str, int], ttl: str, reason: str) -> None:
        now_ms = self._clock.now_ms()
        expires_at = now_ms + parse_interval(ttl)
        with self._store.transaction():
            record = self._existing(job_id)
            schedule = record.spec.schedule
            if isinstance(schedule, Manual) or (isinstance(schedule, Once) and schedule.due_at <= now_ms):
                raise ScheduleError("a job that is never due by itself takes no hints", path="hints")
            hints = replace(record.hints, **advice, expires_at=expires_at, reason=reason)
            hinted = record.evolve(hints=hints)
            if record.is_active and not self._is_in_its_slot(record):
                sooner = plan(hinted, now_ms, self._store.runs.has_slot)
                planned_at = record.next_run_at
                if sooner.next_run_at is not None and (planned_at is None or sooner.next_run_at < planned_at):
                    hinted = sooner
            self._store.jobs.save_states([hinted])
            self._store.events.append(now_ms, EventKind.JOB_HINTED, job_id, **advice, reason=reason)
        self._changed(Change(ChangeKind.JOB, job_id=job_id))

    def set_group_limit(self, group: str, max_concurrent: int | None) -> None:
        """Let at most so many jobs of a group run at once; None lifts the limit."""
        require_label("group", group)
        if max_concurrent is not None:
            require_whole("max_concurrent", max_concurrent, 1)
        self._store.groups.set_limit(group, max_concurrent)
        self._changed(Change(ChangeKind.JOB))

    # --- Runs ----------------------------------------------------------------------------------------

    def trigger(self, job_id: str) -> str:
        """Ask for a run by hand and return its id; the engine starts it as soon as there is a place."""
        now_ms = self._clock.now_ms()
        with self._store.transaction():
            record = self._existing(job_id)
            self._refuse_running(record)
            request = Request(kind=RequestKind.TRIGGER, job_id=job_id, run_id=new_run_id(), at=now_ms)
            self._store.requests.append(request)
        self._changed(Change(ChangeKind.JOB, job_id=job_id))
        return request.run_id

    def test_job(self, job_id: str, spec: JobSpec) -> str:
        """Ask for a test run of a job as it was edited, and return its id; the job itself stays as it is."""
        now_ms = self._clock.now_ms()
        require_kind("spec", spec, JobSpec, "a JobSpec")
        with self._store.transaction():
            self._refuse_running(self._existing(job_id))
            request = Request(
                kind=RequestKind.TEST,
                job_id=job_id,
                run_id=new_run_id(),
                at=now_ms,
                payload=json.dumps(spec.to_dict()),
            )
            self._store.requests.append(request)
        self._changed(Change(ChangeKind.JOB, job_id=job_id))
        return request.run_id

    def _refuse_running(self, record: JobRecord) -> None:
        if record.run_id is not None or self._store.requests.has_trigger(record.id):
            raise ScheduleTriggerError(f"{record.spec.name} is already running", SkipReason.ALREADY_RUNNING)

    def cancel_run(self, run_id: str) -> None:
        """Ask for a run to be stopped; one that has ended is left as it is."""
        run = self._store.runs.get(run_id)
        if run is None:
            if self._store.requests.withdraw_trigger(run_id):
                return
            raise JobNotFoundError(f"there is no run {run_id!r}")
        request = Request(kind=RequestKind.CANCEL, job_id=run.job_id, run_id=run_id, at=self._clock.now_ms())
        self._store.requests.append(request)
        self._changed(Change(ChangeKind.JOB, job_id=run.job_id))

    def mark_failures_seen(self) -> None:
        """Remember that all failures up to now were seen; what is under way now can still become one."""
        with self._store.transaction():
            history = self._store.history
            self._store.settings.set_failures_seen(history.newest_seq(), history.seqs_under_way())
        self._changed(Change(ChangeKind.SETTINGS))

    # --- Settings and backups ------------------------------------------------------------------------

    def change_settings(self, **changes: Any) -> Settings:
        """Change what is given of the settings, at once; refused whole when it would be invalid."""
        unknown = set(changes) - {field.name for field in fields(Settings)}
        if unknown:
            raise ScheduleError("is not a known setting", path=min(unknown))
        with self._store.transaction():
            settings = replace(self._store.settings.read(), **changes)
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
        from halo_scheduler.engine.trial import Trial, clear_left_trials, trial_folder  # noqa: PLC0415 - Qt

        folder = trial_folder(self.path)
        if not self._has_tried:
            clear_left_trials(folder)
            self._has_tried = True
        return Trial(spec, folder, self._secrets.reader, self._clock, parent)

    def start(self) -> None:
        """Run due jobs from now on; needs a Qt event loop. EngineHeldError names another engine."""
        from halo_scheduler.engine.loop import EngineLoop  # noqa: PLC0415 - Qt, for those who need it

        if self._loop is not None:
            raise EngineHeldError("this scheduler already runs its jobs")
        engine = self._get_engine()
        loop = EngineLoop(engine, self._clock, self._store)
        loop.changed_elsewhere.connect(self._tell)
        loop.lost.connect(self._lose_engine)
        loop.start()
        self._loop = loop

    @property
    def runs_jobs(self) -> bool:
        """Whether the engine is here, driven by `start`, and has not been taken over."""
        return self._loop is not None

    def _lose_engine(self) -> None:
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
        if self._loop is not None:
            self._loop.stop()
            self._retire_loop()
        engine.give_up()
        self._engine = None
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
        return max((action.grace_ms for action in actions if isinstance(action, Command)), default=0)

    def _wait(self, engine: Engine, timeout_ms: int) -> int:
        if self._loop is not None:
            return self._loop.wait_until_idle(timeout_ms)
        engine.tick()
        deadline = monotonic() + timeout_ms / SECOND_MS
        while engine.running_count and (left_s := deadline - monotonic()) > 0:
            if engine.wait_for_end(left_s):
                engine.tick()
        return engine.running_count

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


def _is_paused_longer_by(record: JobRecord, until: int | None) -> bool:
    if record.disabled_reason is not None:
        return False
    if not record.paused:
        return True
    return record.paused_until is not None and (until is None or until > record.paused_until)
