"""What the parts of a scheduler share: the open store, the actor, and how others hear of changes."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from halo_scheduler.clock import Clock
from halo_scheduler.errors import StoreFullError
from halo_scheduler.ipc.client import poke
from halo_scheduler.model import Condition, JobSpec, Policy
from halo_scheduler.model.changes import Actor, Change, gathered
from halo_scheduler.model.settings import AssistantAccess
from halo_scheduler.rules.admission import refuse_unobservable
from halo_scheduler.rules.assistants import require_access
from halo_scheduler.rules.edit import Edit, begin_edit
from halo_scheduler.store.secrets import SecretStore
from halo_scheduler.store.store import Store

if TYPE_CHECKING:
    from halo_scheduler.conditions.probing import ConditionState
    from halo_scheduler.engine.loop import EngineLoop

_OPENING_TRIES = 3
_LOG = logging.getLogger(__name__)


class Session:
    """One open database, used by the thread that opened it."""

    def __init__(self, store: Store, clock: Clock, actor: Actor) -> None:
        self.store = store
        self.clock = clock
        self.actor = actor
        self.secrets = SecretStore(store.secrets, store.database.path)
        self.loop: EngineLoop | None = None
        """The event loop of the engine, if it runs in this scheduler."""
        self._listeners: list[Callable[[Change], None]] = []

    @property
    def path(self) -> Path:
        """The database's file."""
        return self.store.database.path

    @contextmanager
    def acting_as(self, actor: Actor) -> Iterator[None]:
        """Make every edit inside on behalf of another actor."""
        before, self.actor = self.actor, actor
        try:
            yield
        finally:
            self.actor = before

    @contextmanager
    def edit(self) -> Iterator[Edit]:
        """Make one edit in one transaction, then publish what it changed."""
        with begin_edit(self.store, self.actor, self.clock.now_ms()) as edit:
            yield edit
        self.changed(*edit.changes)

    def changed(self, *changes: Change) -> None:
        """Wake the engine, in this process or another, and publish what was written."""
        if self.loop is not None:
            self.loop.look_again()
        elif changes:
            poke(self.path, changes)
        for change in gathered(changes):
            self.publish(change)

    def publish(self, change: Change) -> None:
        """Pass a change on to everybody who listens, here and through the engine's socket."""
        if self.loop is not None:
            self.loop.tell(change)
        for listener in list(self._listeners):
            try:
                listener(change)
            except Exception:  # noqa: BLE001 - a listener's fault is not the scheduler's
                _LOG.exception("a listener failed")

    def subscribe(self, listener: Callable[[Change], None]) -> Callable[[], None]:
        """Call a listener after every change, and return how to end that."""
        self._listeners.append(listener)
        return lambda: self._listeners.remove(listener) if listener in self._listeners else None

    def refuse_unobservable(self, specs: Iterable[JobSpec], known: Sequence[Condition] = ()) -> None:
        """Refuse conditions that are not `known` and cannot be observed here, which may take seconds.

        Never in a transaction, whose end others wait for; and not for an assistant that may not edit.
        """
        if self.actor.is_assistant:
            require_access(self.store, AssistantAccess.EDIT)
        refuse_unobservable(specs, known, self.check_condition)

    def refuse_unobservable_change(self, job_id: str, policy: Policy | None) -> None:
        """Refuse the new conditions of a job's changed policy that cannot be observed here."""
        if isinstance(policy, Policy) and policy.conditions:
            spec = self.store.jobs.require(job_id).spec
            self.refuse_unobservable([replace(spec, policy=policy)], spec.policy.conditions)

    def check_condition(self, condition: Condition) -> ConditionState:
        """Check whether a condition can be observed here and is met now, which may take seconds."""
        from halo_scheduler.conditions.probing import check_condition  # noqa: PLC0415 - only when needed

        return check_condition(condition)


def open_store(path: Path, now_ms: int) -> Store:
    """Open a database; on a full disk, reclaim space first, which a job that goes on printing may take again."""
    for _ in range(_OPENING_TRIES):
        with suppress(StoreFullError):
            return Store.open(path, now_ms)
        from halo_scheduler.engine.full_disk import reclaim_beside  # noqa: PLC0415 - on a full disk only

        reclaim_beside(path)
    return Store.open(path, now_ms)
