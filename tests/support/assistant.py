"""An assistant that uses a scheduler by the names that people use."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from halo_scheduler.model import JobSpec
from halo_scheduler.model.changes import Actor
from halo_scheduler.service.scheduler import Scheduler

_FIELDS = ("name", "schedule", "action", "description", "group", "policy", "followers")


class Assistant:
    """Makes each call on behalf of an assistant; of the one that acts already, if one does."""

    def __init__(self, scheduler: Scheduler, name: str = "") -> None:
        self._scheduler = scheduler
        self._actor = scheduler.actor if scheduler.actor.is_assistant else Actor.assistant(name)

    def __getattr__(self, name: str) -> Callable[..., Any]:
        """Return a method of the scheduler that is called by the assistant."""

        def call(*given: Any, **named: Any) -> Any:
            with self._scheduler.acting_as(self._actor):
                return getattr(self._scheduler, name)(*given, **named)

        return call

    def add(self, spec: JobSpec) -> str:
        """Add a job as a spec says."""
        added: str = self.add_job(**{name: getattr(spec, name) for name in _FIELDS})
        return added
