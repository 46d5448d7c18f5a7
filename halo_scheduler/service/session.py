"""What the parts of a scheduler share: the open store, the actor, and the publishing of changes."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from halo_scheduler.clock import Clock
from halo_scheduler.errors import ScheduleError, StoreFullError
from halo_scheduler.ipc.client import poke
from halo_scheduler.model import Condition, Event, JobSpec, OnChat, Schedule, Several
from halo_scheduler.model.changes import Actor, Change, gathered
from halo_scheduler.model.schedules import day_sources, entries_of, schedules_of, with_days
from halo_scheduler.model.settings import AssistantAccess
from halo_scheduler.rules.assistants import require_access
from halo_scheduler.rules.edit import Edit, begin_edit, refuse_unobservable
from halo_scheduler.rules.job_edits import with_kept_keys
from halo_scheduler.store.secrets import SecretStore
from halo_scheduler.store.store import Store

if TYPE_CHECKING:
    from halo_scheduler.conditions.probes import ConditionState
    from halo_scheduler.engine.loop import EngineLoop

_OPENING_TRIES = 3
_LOG = logging.getLogger(__name__)


class Session:
    """One open database, used only by the thread that opened it."""

    def __init__(self, store: Store, clock: Clock, actor: Actor) -> None:
        self.store = store
        self.clock = clock
        self.actor = actor
        self.loop: EngineLoop | None = None
        """The event loop of the engine, if it runs in this scheduler."""
        self._listeners: list[Callable[[Change], None]] = []

    @cached_property
    def secrets(self) -> SecretStore:
        """The secrets' names and values."""
        return SecretStore(self.store.secrets, self.path)

    @property
    def path(self) -> Path:
        """The database's file."""
        return self.store.database.path

    @contextmanager
    def acting_as(self, actor: Actor) -> Iterator[None]:
        """Make every edit inside the block on behalf of another actor."""
        before, self.actor = self.actor, actor
        try:
            yield
        finally:
            self.actor = before

    @contextmanager
    def edit(self) -> Iterator[Edit]:
        """Make one edit in one transaction, then publish its changes."""
        with begin_edit(self.store, self.actor, self.clock.now_ms()) as edit:
            yield edit
        self.changed(*edit.changes)

    def changed(self, *changes: Change) -> None:
        """Wake the engine, in this process or another, and publish the changes."""
        if self.loop is not None:
            self.loop.look_again()
        elif changes:
            poke(self.path, changes)
        for change in gathered(changes):
            self.publish(change)

    def publish(self, change: Change) -> None:
        """Publish a change to every listener, here and through the engine's socket."""
        if self.loop is not None:
            self.loop.tell(change)
        for listener in list(self._listeners):
            try:
                listener(change)
            except Exception:  # noqa: BLE001 - a listener's fault is not the scheduler's
                _LOG.exception("a listener failed")

    def subscribe(self, listener: Callable[[Change], None]) -> Callable[[], None]:
        """Call a listener after every change; return a function that unsubscribes it."""
        self._listeners.append(listener)
        return lambda: self._listeners.remove(listener) if listener in self._listeners else None

    def refuse_unobservable(
        self, specs: Iterable[JobSpec], known: Sequence[Condition | Schedule] = ()
    ) -> None:
        """Refuse conditions and events that are not `known` and that this system cannot observe.

        Checking may take seconds.

        Not to be called inside a transaction, which would block others, nor for an assistant that may not edit.
        """
        if self.actor.is_assistant:
            require_access(self.store, AssistantAccess.EDIT)
        refuse_unobservable(specs, known, self.check_condition, self.why_unobservable)

    def refuse_unobservable_change(self, job_id: str, changes: Mapping[str, Any]) -> None:
        """Refuse new conditions and events in a changed job that this system cannot observe."""
        changed = {name: changes[name] for name in ("policy", "schedule") if name in changes}
        if changed:
            spec = self.store.jobs.require(job_id).spec
            known = (*spec.policy.conditions, *schedules_of(spec.schedule))
            self.refuse_unobservable([replace(spec, **changed)], known)

    def with_days(self, schedule: Schedule | Several, known: Iterable[str] = ()) -> Schedule | Several:
        """Return schedules with the days of their calendars: stored days for `known` sources, else looked up.

        A lookup may take a second, so this is never called inside a transaction.
        """
        if not day_sources(schedule):
            return schedule
        from halo_scheduler.day_sources.looking_up import look_up_source  # noqa: PLC0415 - only for such calendars

        found, entries = dict(self.store.day_sources.of(known)), entries_of(schedule)
        for index, entry in enumerate(entries):
            for source in (one for one in entry.calendar.sources if one not in found):
                name = "only" if source in entry.calendar.only else "not"
                try:
                    found[source] = look_up_source(source, self.clock.now_ms())
                except ScheduleError as error:
                    raise error.under(name).under(
                        f"schedules[{index}]" if entries[1:] else "schedule"
                    ) from None
        return with_days(schedule, found)

    def with_days_in(self, job_id: str, changes: Mapping[str, Any]) -> dict[str, Any]:
        """Return the changes of a job with looked-up days for a new schedule's calendars."""
        if "schedule" not in changes:
            return dict(changes)
        before = self.store.jobs.require(job_id).spec
        schedule = replace(before, schedule=with_kept_keys(before, changes)["schedule"]).schedule
        filled = self.with_days(schedule, day_sources(before.schedule))
        return dict(changes) if filled is schedule else {**changes, "schedule": filled}

    def why_unobservable(self, event: Event) -> str:
        """Return why this system cannot observe an event, as a sentence; "" if it can."""
        from halo_scheduler.rules.chat import why_unusable  # noqa: PLC0415 - only for jobs with events
        from halo_scheduler.triggers.watching import refusal  # noqa: PLC0415

        return why_unusable(self.store, event) if isinstance(event, OnChat) else refusal(event)

    def check_condition(self, condition: Condition) -> ConditionState:
        """Check whether this system can probe a condition and whether it is met now; may take seconds."""
        from halo_scheduler.conditions.probes import check_condition  # noqa: PLC0415 - only when needed

        return check_condition(condition)


def open_store(path: Path, now_ms: int) -> Store:
    """Open a database; on a full disk, free space first, which a printing job may use up again."""
    for _ in range(_OPENING_TRIES):
        with suppress(StoreFullError):
            return Store.open(path, now_ms)
        from halo_scheduler.engine.maintenance import reclaim_beside  # noqa: PLC0415 - on a full disk only

        reclaim_beside(path)
    return Store.open(path, now_ms)
