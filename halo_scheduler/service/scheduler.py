"""The entry point for the command line, the desktop program and library users: a facade over its parts."""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from halo_scheduler.clock import Clock, SystemClock
from halo_scheduler.errors import StoreUnavailableError
from halo_scheduler.grammar.checks import require_whole
from halo_scheduler.model import (
    Action,
    Entry,
    Follower,
    HintSource,
    Job,
    JobSpec,
    JobStatus,
    Outcome,
    Policy,
    Run,
    Schedule,
    Several,
    StartCheck,
    StatusReason,
    Trigger,
)
from halo_scheduler.model.changes import YOU, Actor, Change
from halo_scheduler.paths import database_path
from halo_scheduler.rules import job_edits, pauses, run_requests
from halo_scheduler.service.engine_control import EngineControl, Status
from halo_scheduler.service.imports import Imports
from halo_scheduler.service.jobs import Jobs
from halo_scheduler.service.moved_names import find_moved
from halo_scheduler.service.runs import Questions, Runs, RunStats
from halo_scheduler.service.session import Session, open_store
from halo_scheduler.service.settings import Backups, Chat, Secrets, SettingsPart, Webhooks, set_group_limit
from halo_scheduler.store.store import Store

if TYPE_CHECKING:
    from halo_scheduler.actions.callback import Handler
    from halo_scheduler.model.alarms import Alarm


_PROGRAM = HintSource.PROGRAM


class Scheduler:
    """Add, change and run jobs. Use it only on the thread that opened it; rarer functions are on its parts."""

    jobs = cached_property(lambda self: Jobs(self._session))
    runs = cached_property(lambda self: Runs(self._session))
    questions = cached_property(lambda self: Questions(self._session))
    settings = cached_property(lambda self: SettingsPart(self._session))
    secrets = cached_property(lambda self: Secrets(self._session))
    backups = cached_property(lambda self: Backups(self._session))
    imports = cached_property(lambda self: Imports(self._session))
    webhooks = cached_property(lambda self: Webhooks(self._session))
    chat = cached_property(lambda self: Chat(self._session))

    def __init__(
        self,
        store: Store,
        clock: Clock,
        max_concurrent: int | None = None,
        owner: str = "",
        actor: Actor = YOU,
    ) -> None:
        self._store = store
        self._clock = clock
        self._session = Session(store, clock, actor)
        self.engine = EngineControl(self._session, max_concurrent, owner)

    @classmethod
    def open(
        cls,
        path: str | os.PathLike[str] | None = None,
        *,
        clock: Clock | None = None,
        max_concurrent: int | None = None,
        owner: str = "",
        actor: Actor = YOU,
    ) -> Self:
        """Open a database and create it if needed; without a path, the one of the desktop program.

        `owner` names the program that runs the jobs, for others to read; without one, the name of the program's file.
        `actor` is who makes the edits; it is stored with each of them.
        """
        if max_concurrent is not None:
            require_whole("max_concurrent", max_concurrent, 1)
        clock = clock or SystemClock()
        store = open_store(database_path() if path is None else Path(path), clock.now_ms())
        return cls(store, clock, max_concurrent, owner, actor)

    @classmethod
    def open_to_read(cls, path: str | os.PathLike[str] | None = None, *, clock: Clock | None = None) -> Self:
        """Open a database to read it; if it cannot be written, `refusal` says why."""
        clock = clock or SystemClock()
        return cls(Store.open_to_read(database_path() if path is None else Path(path), clock.now_ms()), clock)

    @property
    def path(self) -> Path:
        """The database's file."""
        return self._session.path

    @property
    def refusal(self) -> str:
        """Why the database is read-only, as a sentence; empty if it can be written."""
        return self._store.database.refusal

    @property
    def actor(self) -> Actor:
        """Who makes the edits."""
        return self._session.actor

    def acting_as(self, actor: Actor) -> AbstractContextManager[None]:
        """Make every edit inside a `with` block on behalf of another actor; an assistant may not do everything."""
        return self._session.acting_as(actor)

    def close(self) -> None:
        """Stop without waiting, and close the database."""
        try:
            self.engine.close()
        finally:
            self._store.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def subscribe(self, listener: Callable[[Change], None]) -> Callable[[], None]:
        """Call a listener after every change made through this scheduler; return a function that unsubscribes it."""
        return self._session.subscribe(listener)

    # --- Jobs ----------------------------------------------------------------------------------------

    def add_job(
        self,
        name: str,
        schedule: Schedule | Several | Sequence[Schedule | Entry],
        action: Action | None = None,
        *,
        parameters: Mapping[str, str] | None = None,
        job_id: str | None = None,
        description: str = "",
        group: str | None = None,
        anchor_at: int | None = None,
        enabled: bool = True,
        policy: Policy | None = None,
        metadata: Mapping[str, str] | None = None,
        followers: Sequence[Follower] = (),
        paused_by: StatusReason | None = None,
    ) -> str:
        """Store a job and return its id; with `paused_by` it starts paused, for that reason.

        A list of schedules runs the job whenever one of them is due, once if they coincide. `parameters` are the
        names and defaults of what can be set for a run.
        """
        given: dict[str, Any] = {"name": name, "schedule": schedule, "action": action, "job_id": job_id}
        given |= {"description": description, "group": group, "anchor_at": anchor_at, "enabled": enabled}
        given |= {"policy": policy, "metadata": metadata, "followers": followers, "paused_by": paused_by}
        return self.add_jobs([{**given, "parameters": parameters}])[0]

    def add_jobs(self, jobs: Iterable[Mapping[str, Any]]) -> list[str]:
        """Store several jobs in one transaction, all or none; each is a mapping of arguments for `add_job`.

        One can name another by its `job_id` as next job. Refusing unobservable conditions and events may take seconds.
        """
        records = job_edits.new_records(jobs, self.actor, self._clock.now_ms(), self._session.with_days)
        self._session.refuse_unobservable(record.spec for record in records)
        with self._session.edit() as edit:
            job_edits.add(edit, records)
        return [record.id for record in records]

    def update_job(
        self,
        job_id: str,
        *,
        paused_by: StatusReason | None = None,
        seen: JobSpec | None = None,
        **changes: Any,
    ) -> None:
        """Change the given fields of a job; nothing is changed if one of them is invalid.

        With `paused_by` the job is paused in the same step. With `seen`, the spec that was edited, the change is
        refused if the spec has changed since. New unobservable conditions and events are refused; checking may take
        seconds.
        """
        self._session.refuse_unobservable_change(job_id, changes)
        changes = self._session.with_days_in(job_id, changes)
        with self._session.edit() as edit:
            job_edits.update(edit, job_id, changes, paused_by=paused_by, seen=seen)

    def remove_job(self, job_id: str) -> None:
        """Move a job to the trash, where it is kept for 30 days."""
        with self._session.edit() as edit:
            job_edits.remove(edit, job_id)

    def restore_job(self, job_id: str) -> None:
        """Restore a job from the trash; missed runs aren't caught up."""
        with self._session.edit() as edit:
            job_edits.restore(edit, job_id)

    def get_job(self, job_id: str) -> Job | None:
        """Return a job; None if it does not exist or is in the trash."""
        return self.jobs.get(job_id)

    def list_jobs(
        self,
        *,
        status: JobStatus | None = None,
        group: str | None = None,
        text: str | None = None,
        metadata: Mapping[str, str] | None = None,
    ) -> list[Job]:
        """Return jobs, the next to run first; `text` searches names, groups, descriptions, actions and schedules."""
        return self.jobs.list(status=status, group=group, text=text, metadata=metadata)

    def list_removed(self) -> list[Job]:
        """Return the jobs in the trash, the latest first."""
        return self.jobs.removed()

    # --- Pauses, hints and limits --------------------------------------------------------------------

    def pause_job(self, job_id: str, until: int | None = None) -> bool:
        """Pause a job until it is resumed, or until an instant; a current run finishes.

        A job that awaits review stays paused beyond the instant. Return False if an assistant asks, and the job is
        already paused by a person or awaits review.
        """
        with self._session.edit() as edit:
            return pauses.pause(edit, [job_id], until)

    def pause_all(self, until: int | None = None) -> None:
        """Pause all jobs that are neither disabled nor already paused for longer."""
        with self._session.edit() as edit:
            pauses.pause_all(edit, until)

    def resume_job(self, job_id: str, *, seen: JobSpec | None = None) -> None:
        """Resume a paused or disabled job and reset its error count; missed runs aren't caught up.

        With `seen`, the spec that the person saw, it is refused if an assistant has changed the job since.
        """
        with self._session.edit() as edit:
            pauses.resume(edit, [job_id], seen)

    def resume_all(self) -> None:
        """Resume all paused jobs except those that wait for a review and a `once` whose time has passed."""
        with self._session.edit() as edit:
            pauses.resume_all(edit)

    def skip_next(self, job_id: str, *, skip: bool = True) -> None:
        """Skip the next scheduled run of a job and record it as skipped; with `skip=False`, cancel the skip."""
        with self._session.edit() as edit:
            (pauses.skip_next if skip else pauses.keep_next)(edit, job_id)

    def propose_interval(
        self, job_id: str, interval: str, ttl: str = "60m", reason: str = "", *, source: HintSource = _PROGRAM
    ) -> None:
        """Propose a pace for a while: a faster one applies at once, a slower one after the next run."""
        with self._session.edit() as edit:
            pauses.propose_interval(edit, job_id, interval, ttl=ttl, reason=reason, source=source)

    def propose_next_run(
        self, job_id: str, at: int, ttl: str = "60m", reason: str = "", *, source: HintSource = _PROGRAM
    ) -> None:
        """Propose one run at an instant; it applies if it is earlier than the planned run."""
        with self._session.edit() as edit:
            pauses.propose_next_run(edit, job_id, at, ttl=ttl, reason=reason, source=source)

    def clear_hints(self, job_id: str, *, source: HintSource = _PROGRAM) -> None:
        """Remove all hints and return to the schedule; `source` is who asks for it."""
        with self._session.edit() as edit:
            pauses.clear_hints(edit, job_id, source)

    def set_group_limit(self, group: str, max_concurrent: int | None) -> None:
        """Limit how many jobs of a group may run at once; None removes the limit."""
        with self._session.edit() as edit:
            set_group_limit(edit, group, max_concurrent)

    # --- Runs ----------------------------------------------------------------------------------------

    def trigger(
        self,
        job_id: str,
        *,
        parameters: Mapping[str, str] | None = None,
        input: str | bytes | None = None,  # noqa: A002 - what the manual calls it
        now: bool = False,
        at: int | None = None,
    ) -> str:
        """Request a manual run, now or `at` an instant, and return its id; it starts as soon as the limits allow.

        `parameters` replace defaults of the job. `now` ignores the group's limit, even for a run that is waiting
        already, but never the global limit.
        """
        with self._session.edit() as edit:
            return run_requests.trigger(edit, job_id, parameters=parameters, given=input, now=now, at=at)

    def cancel_run(self, run_id: str) -> None:
        """Stop a run; one that has ended stays as it is."""
        try:
            with self._session.edit() as edit:
                run_requests.cancel(edit, run_id)
        except StoreUnavailableError:
            # Requests belong into the store, but a broken store must not keep a run from being stopped.
            if self._session.actor.is_assistant or not self.engine.stop_run(run_id):
                raise

    def get_run(self, run_id: str) -> Run | None:
        """Return a run; None if it does not exist, or while a manual run waits to start."""
        return self.runs.get(run_id)

    def get_output(self, run_id: str) -> bytes:
        """Return the output of a run, also while it runs; secrets are redacted."""
        return self.runs.output(run_id)

    def get_run_log(
        self,
        job_id: str | None = None,
        limit: int = 50,
        *,
        outcome: Outcome | None = None,
        outcomes: Collection[Outcome] | None = None,
        trigger: Trigger | None = None,
        since: int | None = None,
        until: int | None = None,
        before: str | None = None,
    ) -> list[Run]:
        """Return runs, newest first; `before` is the last run of the previous page."""
        return self.runs.log(
            job_id,
            limit,
            outcome=outcome,
            outcomes=outcomes,
            trigger=trigger,
            since=since,
            until=until,
            before=before,
        )

    def get_run_stats(self, job_id: str, since: int | None = None) -> RunStats:
        """Return statistics of a job's runs."""
        return self.runs.stats(job_id, since)

    def check(self, job_id: str) -> StartCheck:
        """Return whether a job would start by itself now, or why not; checking its conditions may take seconds."""
        return self.jobs.check_start(job_id)

    # --- The engine ----------------------------------------------------------------------------------

    def on_job_due(self, handler: Handler, name: str | None = None) -> None:
        """Register the handler of callback jobs with this name; without a name, of all others."""
        self.engine.on_job_due(handler, name)

    def start(
        self,
        *,
        adopt_orphans: bool = False,
        heartbeat: Callable[[], None] = lambda: None,
        heartbeat_ms: int | None = None,
        alarmed: Callable[[Alarm], None] = lambda _alarm: None,
    ) -> None:
        """Start running due jobs; needs a Qt event loop. Raises EngineHeldError if another engine runs them.

        Does nothing if the engine already runs here. With `adopt_orphans`, this process becomes a subreaper on Linux
        until `stop`, for all its children: no process can leave the tree of its run unseen. Only for Halo's programs.
        `heartbeat` is called at each wake-up, at least once in `heartbeat_ms`; `alarmed`, on any thread, if it hangs.
        """
        self.engine.start(
            adopt_orphans=adopt_orphans, heartbeat=heartbeat, heartbeat_ms=heartbeat_ms, alarmed=alarmed
        )

    def tick(self) -> None:
        """Run one pass of the engine: record ends, claim what is due, start it. For programs without an event loop.

        Handlers that end within a second are waited for and recorded; those that return a Future are not.
        """
        self.engine.tick()

    def stop(self, wait: bool = True, timeout_ms: int = 30_000, *, end_runs: bool = False) -> None:  # noqa: FBT001, FBT002 - a public name
        """Start no more runs and wait for current ones; raises SchedulerShutdownError if some do not end in time.

        With `end_runs` those are stopped, as by `cancel_run`; otherwise commands keep running for the next engine.
        """
        self.engine.stop(wait=wait, timeout_ms=timeout_ms, end_runs=end_runs)

    def status(self) -> Status:
        """Return what the engine is doing, in this or another process."""
        return self.engine.status()

    if not TYPE_CHECKING:  # A type checker should report moved names, not accept every name.
        __getattr__ = find_moved
