"""MCP tools: each has a name, a schema for its arguments and a function."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, fields
from typing import Any, TypeVar

from halo_scheduler.grammar.checks import require_whole
from halo_scheduler.mcp.schemas import Schema, schema_of
from halo_scheduler.mcp.views import View
from halo_scheduler.model.changes import Actor
from halo_scheduler.model.codec import decode
from halo_scheduler.model.settings import AssistantAccess
from halo_scheduler.service.scheduler import Scheduler

_Given = TypeVar("_Given", bound="Given")


@dataclass(frozen=True, slots=True, kw_only=True)
class Given:
    """A tool's arguments; numbers are checked against their fields' limits."""

    def __post_init__(self) -> None:
        for item in fields(self):
            if "low" in item.metadata:
                require_whole(
                    item.name, getattr(self, item.name), item.metadata["low"], item.metadata["high"]
                )


def said(words: str) -> dict[str, Any]:
    """Return field metadata with a description for the assistant."""
    return {"words": words}


def within(words: str, low: int, high: int) -> dict[str, Any]:
    """Return field metadata with a description and limits for a whole number."""
    return {"words": words, "low": low, "high": high}


@dataclass(frozen=True, slots=True, kw_only=True)
class OfJob(Given):
    """Arguments that name a job."""

    job: str = field(metadata=said("the job's name, its id, or the beginning of its id"))


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolSpec:
    """A tool as it is offered, while the settings allow what it does.

    One that neither reads nor only adds may change or start something: it may do whatever the jobs do.
    """

    name: str
    title: str
    description: str
    schema: Schema
    function: Callable[[Scheduler, dict[str, Any]], View]
    reads_only: bool = False
    only_adds: bool = False
    is_idempotent: bool = False
    edits: bool = False

    @property
    def access(self) -> AssistantAccess:
        """The permission that this tool needs."""
        if self.reads_only:
            return AssistantAccess.READ
        return AssistantAccess.EDIT if self.edits else AssistantAccess.RUN

    def call(self, scheduler: Scheduler, arguments: dict[str, Any], assistant: str = "") -> View:
        """Call the tool on behalf of the named assistant; `rules/assistants` checks each edit in its transaction."""
        # First: without permission, errors in the arguments do not matter.
        scheduler.settings.require_assistants_may(self.access)
        with scheduler.acting_as(Actor.assistant(assistant)):
            return self.function(scheduler, arguments)

    @property
    def is_destructive(self) -> bool:
        """Whether the tool may start work, prevent work or replace something."""
        return not self.reads_only and not self.only_adds


def tool_of(given: type[_Given], function: Callable[[Scheduler, _Given], View], **rest: Any) -> ToolSpec:
    """Return a tool that parses its arguments into a class and passes them to a function."""

    def call(scheduler: Scheduler, arguments: dict[str, Any]) -> View:
        return function(scheduler, decode(given, arguments))

    return ToolSpec(schema=schema_of(given), function=call, **rest)
